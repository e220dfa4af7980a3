/*
 * The layout of a hint. See hint_format.h.
 *
 * What is read is accepted in one form only: each byte that has no meaning is
 * zero, so that what is written again is the same.
 */
#include "hints/hint_format.h"

#include <string.h>

#define HINT_VERSION 1
#define HINT_SENDER 4
#define HINT_RECEIVER (HINT_SENDER + HINT_ID_BYTES)
#define HINT_SEQUENCE (HINT_RECEIVER + HINT_ID_BYTES)
#define HINT_DIGESTS 4	/* in the body */

_Static_assert(HINT_BYTES == 192, "proto/hints.md says so");

static const uint8_t hint_magic[] = { 'd', 'd', 'h', HINT_VERSION };

bool
hint_id_equal(const struct hint_id *a, const struct hint_id *b)
{
	return memcmp(a->bytes, b->bytes, HINT_ID_BYTES) == 0;
}

bool
hint_format_is_sound(const struct hint_body *body)
{
	switch (body->kind) {
	case HINT_FREED:
	case HINT_WANTED:
	case HINT_BROKEN:
	case HINT_CHANGED:
	case HINT_WATCHING:
	case HINT_USED:
		return body->n_digests >= 1 &&
		    body->n_digests <= HINT_DIGESTS_MAX;
	case HINT_PING:
	case HINT_PONG:
		return body->n_digests == 1;
	}
	return false;
}

void
hint_format_write_number(uint64_t number, uint8_t ret[8])
{
	for (int i = 0; i < 8; i++)
		ret[i] = (uint8_t)(number >> (56 - 8 * i));
}

uint64_t
hint_format_read_number(const uint8_t bytes[8])
{
	uint64_t number = 0;

	for (int i = 0; i < 8; i++)
		number = number << 8 | bytes[i];
	return number;
}

void
hint_format_write_head(const struct hint_head *head,
    uint8_t ret[HINT_HEAD_BYTES])
{
	memcpy(ret, hint_magic, sizeof(hint_magic));
	memcpy(ret + HINT_SENDER, head->sender.bytes, HINT_ID_BYTES);
	memcpy(ret + HINT_RECEIVER, head->receiver.bytes, HINT_ID_BYTES);
	hint_format_write_number(head->sequence, ret + HINT_SEQUENCE);
}

bool
hint_format_read_head(const uint8_t *bytes, size_t length,
    struct hint_head *ret)
{
	uint64_t sequence;

	if (length != HINT_BYTES ||
	    memcmp(bytes, hint_magic, sizeof(hint_magic)) != 0)
		return false;
	sequence = hint_format_read_number(bytes + HINT_SEQUENCE);
	if (sequence == 0)
		return false;
	memcpy(ret->sender.bytes, bytes + HINT_SENDER, HINT_ID_BYTES);
	memcpy(ret->receiver.bytes, bytes + HINT_RECEIVER, HINT_ID_BYTES);
	ret->sequence = sequence;
	return true;
}

void
hint_format_write_body(const struct hint_body *body,
    uint8_t ret[HINT_BODY_BYTES])
{
	memset(ret, 0, HINT_BODY_BYTES);
	ret[0] = (uint8_t)body->kind;
	ret[1] = body->n_digests;
	for (size_t i = 0; i < body->n_digests && i < HINT_DIGESTS_MAX; i++)
		hint_format_write_number(body->digests[i],
		    ret + HINT_DIGESTS + i * HINT_DIGEST_BYTES);
}

bool
hint_format_read_body(const uint8_t bytes[HINT_BODY_BYTES],
    struct hint_body *ret)
{
	struct hint_body body = {
		.kind = (enum hint_kind)bytes[0], .n_digests = bytes[1],
	};
	uint8_t again[HINT_BODY_BYTES];

	if (!hint_format_is_sound(&body))
		return false;
	for (size_t i = 0; i < body.n_digests; i++)
		body.digests[i] = hint_format_read_number(
		    bytes + HINT_DIGESTS + i * HINT_DIGEST_BYTES);
	hint_format_write_body(&body, again);
	if (memcmp(again, bytes, sizeof(again)) != 0)
		return false;
	*ret = body;
	return true;
}
