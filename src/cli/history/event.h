/*
 * A line of the audit trail, as the journal has it.
 */
#ifndef DDBLOCKD_CLI_HISTORY_EVENT_H
#define DDBLOCKD_CLI_HISTORY_EVENT_H

#include <stdbool.h>
#include <stdint.h>

#include "common/trail_kind.h"

#define EVENT_KEY_MAX 1025	/* with the NUL */
#define EVENT_TEXT_MAX 512
#define EVENT_WORD_MAX 64

struct event {
	enum trail_kind kind;
	uint64_t wall_us;		/* when it was written, */
	uint64_t boot_us;		/* and by the clock of leases; 0 */
	/* As the journal says; who writes a line cannot choose these. */
	char boot[EVENT_WORD_MAX];
	char machine[EVENT_WORD_MAX];
	char host[EVENT_TEXT_MAX];
	char unit[EVENT_TEXT_MAX];	/* of the daemon; empty: none */
	uint64_t daemon;		/* its process */
	/* The lock; all may be empty, or 0. */
	char ns[EVENT_TEXT_MAX];
	char key[EVENT_KEY_MAX];
	char sort[EVENT_KEY_MAX];
	char token[EVENT_WORD_MAX];
	uint64_t hold;
	bool shared;
	/* Its client. */
	bool has_client;
	uint64_t uid;
	uint64_t pid;
	char name[EVENT_TEXT_MAX];
	char owner[EVENT_TEXT_MAX];	/* of a break: whose it was */
	char broken_by[EVENT_TEXT_MAX];
	char reason[EVENT_TEXT_MAX];
	char code[EVENT_WORD_MAX];
	bool inherited;			/* of a start */
	char text[4 * EVENT_TEXT_MAX];	/* for people */
};

#endif
