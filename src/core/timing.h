/*
 * The timeline of a lease: arithmetic only, and the reasons for it.
 *
 * A lease of length L counts from the moment at which the renewal was SENT
 * that the store acknowledged:
 *
 *   0                  the renewal is sent
 *   heartbeat (L/4)    the next one is sent; failures are repeated to the end
 *   danger (L/2)       holders are warned; a later renewal takes that back
 *   L - margin         holders are told that the lock is lost; final
 *   L                  the lost session closes itself (one margin later)
 *   L * (1 + drift)    after an OBSERVER first saw the version unchanged:
 *                      the first moment at which anybody else may take over
 *
 * Why this is safe: the observer saw the version after it was written, that
 * is, after it was sent; it waits at least L of its own time, stretched by
 * the drift, so L of the owner's; the owner stops a margin before that. The
 * owner's deadline does not wait for any answer.
 *
 * Why the margin is at least drift * L: the drift is allowed to both clocks;
 * the observer's stretch covers one of them.
 */
#ifndef DDBLOCKD_CORE_TIMING_H
#define DDBLOCKD_CORE_TIMING_H

#include <stddef.h>
#include <stdint.h>

struct core_namespace;

/* Defaults for a lease of @lease_ms. */
uint64_t timing_heartbeat_ms(uint64_t lease_ms);
uint64_t timing_danger_ms(uint64_t lease_ms);
uint64_t timing_margin_ms(uint64_t lease_ms, uint32_t drift_ppm);

/* For how long a free lock is left to the next in line. */
uint64_t timing_reserve_ms(uint64_t poll_ms);

/* And for a request to the store that may take @request_ms. */
uint64_t timing_try_ms(uint64_t request_ms);

/* How long an observer must see a version unchanged. */
uint64_t timing_observe_ms(uint64_t lease_ms, uint32_t drift_ppm);

/*
 * Are the times of a namespace consistent? 0, or DDBLOCK_E_BAD_REQUEST with
 * the rule that is broken, for people, in @text, and the name of the setting
 * that breaks it (such as "heartbeat") in @ret_setting.
 */
int timing_check(const struct core_namespace *, const char **ret_setting,
    char *text, size_t text_size);

#endif
