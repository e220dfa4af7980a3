/*
 * What came back for one request: all that is known of it before anybody has
 * looked into the body (errors.h).
 */
#ifndef DDBLOCKD_AWS_ANSWER_H
#define DDBLOCKD_AWS_ANSWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A status of 0 means that no answer came that is whole and undamaged; then
 * @code is DDBLOCK_E_UNREACHABLE, or what stands in the way of sending
 * anything; @text says why, and @maybe_applied is false only if not a byte of
 * the request can have left.
 */
struct aws_answer {
	int status;
	int code;
	bool maybe_applied;
	const char *body;
	size_t body_length;
	const char *text;	/* never NULL */
	bool queued;		/* its time was over before its turn came */
	uint64_t retry_after_ms;	/* the endpoint's wish; 0: none */
	uint64_t sent_ms;	/* boot time at which it was put on the wire */
	uint32_t signer;	/* aws_client_signer() */
};

#endif
