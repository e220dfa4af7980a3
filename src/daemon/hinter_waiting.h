/*
 * What waits until another host's session was read: hints for it, and datagrams
 * from it, which cannot be read without its key. None waits long, and where
 * there are too many the oldest gives way.
 */
#ifndef DDBLOCKD_DAEMON_HINTER_WAITING_H
#define DDBLOCKD_DAEMON_HINTER_WAITING_H

#include "core/core.h"
#include "hints/hint_format.h"

#define WAITING_HINTS 64
#define WAITING_LETTERS 16
#define WAITING_MS 1000

struct hinter_waiting {
	struct {
		struct core_hint hint;
		uint64_t until_ms;	/* 0: there is none here */
		bool asked;		/* for the session */
	} hints[WAITING_HINTS];
	uint32_t next_hint;
	struct {
		uint8_t bytes[HINT_BYTES];
		struct ident sender;
		uint64_t until_ms;	/* 0: there is none here */
		bool ready;
	} letters[WAITING_LETTERS];
	uint32_t next_letter;
};

void waiting_add_hint(struct hinter_waiting *, const struct core_hint *,
    uint64_t now_ms);

/* One whose session was not asked for yet; it is from now on. False: none. */
bool waiting_ask(struct hinter_waiting *, struct core_hint *ret);

/* One for this session, which is known now. False: there is no more. */
bool waiting_take_hint(struct hinter_waiting *, struct ident session,
    uint64_t now_ms, struct core_hint *ret);

void waiting_add_letter(struct hinter_waiting *, struct ident sender,
    const uint8_t bytes[HINT_BYTES], uint64_t now_ms);

/* This session is known now. Is there any of it? */
bool waiting_ready(struct hinter_waiting *, struct ident sender);

/* One of a session that is known. False: there is no more. */
bool waiting_take_letter(struct hinter_waiting *, uint64_t now_ms,
    uint8_t ret[HINT_BYTES]);

#endif
