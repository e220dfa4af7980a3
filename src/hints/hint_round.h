/*
 * One round of PINGs (pure): which hosts are asked whether they hear us, what
 * they answered, and when there is no more to wait for.
 *
 * Each is asked once, and once more: at its first answer, because the way to
 * that may have led over the table, where it read who asks; or later, because
 * the first was lost.
 */
#ifndef DDBLOCKD_HINTS_HINT_ROUND_H
#define DDBLOCKD_HINTS_HINT_ROUND_H

#include <stdbool.h>
#include <stdint.h>

#include "hints/hint_address.h"
#include "hints/hint_format.h"
#include "hints/hint_keys.h"

#define HINT_ROUND_MAX 200	/* hosts that are asked */
#define HINT_ROUND_TRIES 2
#define HINT_ROUND_HOST_MAX 40	/* bytes of a name, and a NUL */
#define HINT_ROUND_NOBODY UINT32_MAX

/* A session of another host, as its item shows it: anybody may have written
 * it. */
struct hint_round_session {
	struct hint_id id;
	const char *contact;	/* NULL: none */
	const char *host;	/* NULL: absent */
	bool expired;		/* it should have been renewed by now */
};

struct hint_round_peer {
	struct hint_party party;
	struct hint_address address;
	char host[HINT_ROUND_HOST_MAX];	/* fit to be shown */
	const char *refused;	/* why nothing is sent to it; NULL: it is */
	uint64_t sent_us[HINT_ROUND_TRIES];	/* 0: not */
	bool limited;		/* that was one hint too many */
	bool answered;
	bool settled;		/* there is no more to come */
	uint64_t took_us;	/* the shorter way there and back */
};

struct hint_round {
	struct hint_address own;	/* of the socket */
	struct hint_address public;	/* as others have it */
	const char *host;		/* ours; borrowed */
	uint64_t digest;		/* from it on, PINGs are counted */
	uint32_t n;
	uint32_t n_more;	/* for which there was no room */
	uint32_t n_expired;
	uint32_t n_without;	/* sessions of hosts without hints */
	struct hint_round_peer peers[HINT_ROUND_MAX];
};

/* @digest is random, so that answers of another round are none of this one. */
void hint_round_init(struct hint_round *, const struct hint_address *own,
    const struct hint_address *public, const char *host, uint64_t digest);

/* Before the first is asked. */
void hint_round_add(struct hint_round *, const struct hint_round_session *);

/* Is this one still to be asked, by this try? */
bool hint_round_wants(const struct hint_round *, uint32_t peer,
    unsigned try);
uint64_t hint_round_digest(const struct hint_round *, uint32_t peer,
    unsigned try);

/* What came of it: @code is 0 or as hints_encode(). */
void hint_round_sent(struct hint_round *, uint32_t peer, unsigned try,
    int code, uint64_t now_us);

/* A PONG. The one that is to be asked again, now; HINT_ROUND_NOBODY: none. */
uint32_t hint_round_heard(struct hint_round *, const struct hint_id *sender,
    uint64_t digest, uint64_t now_us);

/* Is there nothing to wait for? */
bool hint_round_is_over(const struct hint_round *);

#endif
