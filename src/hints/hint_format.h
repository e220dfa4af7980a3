/*
 * The layout of a hint (proto/hints.md): a small datagram from one host's
 * session to another's, that causes a read and nothing else. This is the only
 * place that knows which byte is where; keys and sequences are others' work.
 *
 *	 0  "ddh", version
 *	 4  the sender's session
 *	20  the receiver's session
 *	36  sequence, big-endian
 *	44  the body, sealed: kind, number of digests, two zeros, 16 digests
 *     176  the tag over all before it
 *     192
 *
 * All hints have one length, so that it tells nothing, and an answer is as long
 * as its question.
 */
#ifndef DDBLOCKD_HINTS_HINT_FORMAT_H
#define DDBLOCKD_HINTS_HINT_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HINT_ID_BYTES 16
#define HINT_DIGEST_BYTES 8
#define HINT_DIGESTS_MAX 16
#define HINT_TAG_BYTES 16
#define HINT_HEAD_BYTES (4 + 2 * HINT_ID_BYTES + 8)
#define HINT_BODY_BYTES (4 + HINT_DIGESTS_MAX * HINT_DIGEST_BYTES)
#define HINT_BYTES (HINT_HEAD_BYTES + HINT_BODY_BYTES + HINT_TAG_BYTES)

/* Numbers of the format: none is used for anything else later. */
enum hint_kind {
	HINT_FREED = 1,	/* the lock was released: the receiver is next */
	HINT_WANTED,	/* a host waits for a lock that the receiver keeps */
	HINT_BROKEN,	/* a hold of the receiver was broken */
	HINT_CHANGED,	/* a lock that the receiver watches changed */
	HINT_PING,	/* answer, with the same digest */
	HINT_PONG,
	HINT_WATCHING,	/* the sender watches a lock that the receiver has, or
			 * waits for */
	HINT_USED,	/* a client of the sender has what is WANTED */
};

/* A session, as its item in the table names it. */
struct hint_id {
	uint8_t bytes[HINT_ID_BYTES];
};

struct hint_head {
	struct hint_id sender;
	struct hint_id receiver;
	uint64_t sequence;
};

struct hint_body {
	enum hint_kind kind;
	uint8_t n_digests;	/* from 1; of PING and PONG 1 */
	/* Which locks are meant (proto/hints.md); of a PING, any number. */
	uint64_t digests[HINT_DIGESTS_MAX];
};

bool hint_id_equal(const struct hint_id *, const struct hint_id *);

/* Is it a body that may be sent? */
bool hint_format_is_sound(const struct hint_body *);

/* Big-endian, as all numbers of a hint. */
void hint_format_write_number(uint64_t, uint8_t ret[8]);
uint64_t hint_format_read_number(const uint8_t bytes[8]);

void hint_format_write_head(const struct hint_head *,
    uint8_t ret[HINT_HEAD_BYTES]);
void hint_format_write_body(const struct hint_body *,
    uint8_t ret[HINT_BODY_BYTES]);

/* False: it is not a hint of this version. @ret is written only if it is. */
bool hint_format_read_head(const uint8_t *bytes, size_t length,
    struct hint_head *ret);
bool hint_format_read_body(const uint8_t bytes[HINT_BODY_BYTES],
    struct hint_body *ret);

#endif
