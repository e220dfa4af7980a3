/*
 * What is known of a lock when somebody asks why it cannot be acquired: the
 * daemon's answers and what /proc says of the processes, as values. gather.c
 * fills it in; all other files of this folder only read it.
 */
#ifndef DDBLOCKD_CLI_WHY_FACTS_H
#define DDBLOCKD_CLI_WHY_FACTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/buffer.h"

#define WHY_HOLDS_MAX 20	/* that are described; the others are counted */
#define WHY_WAITERS_MAX 20
#define WHY_TEXT_MAX 256
#define WHY_UNKNOWN_MS UINT64_MAX	/* of any time here */

/* A process of this host. */
struct why_process {
	pid_t pid;		/* 0: it is not known */
	bool seen;		/* /proc shows it, and it is that one */
	bool gone;		/* there is no such process here */
	bool stopped;		/* state T of proc(5) */
	pid_t stopped_child;	/* a child of it that is; or 0 */
	char command[WHY_TEXT_MAX];	/* its command line; may be empty */
};

/* What a row says of a client. */
struct why_client {
	struct why_process process;
	uint64_t uid;		/* UINT64_MAX: it has left */
	char user[WHY_TEXT_MAX];
	char name[WHY_TEXT_MAX];
	bool left;
};

struct why_hold {
	struct why_client client;
	struct why_process of;	/* the process that it is for; or none */
	char owner[WHY_TEXT_MAX];
	uint64_t token;
	bool lost, danger, shared, fail_closed;
	uint64_t held_ms;
	uint64_t remaining_ms;
	uint64_t lingers_ms;	/* WHY_UNKNOWN_MS: it does not */
	uint64_t at_least_ms;	/* it stays held so long in any case */
};

struct why_waiter {
	struct why_client client;
	bool shared;
	uint64_t limit;		/* 0: none */
	uint64_t waited_ms;
	uint64_t place;		/* of this host; 0: it stands in no line */
	uint64_t keys, had;	/* of a request for several */
	char cause[WHY_TEXT_MAX];	/* a code; may be empty */
};

/* The lock, as GET has it. */
struct why_lock {
	bool held;
	bool dead;		/* its holders are known to be gone */
	bool here;
	bool fail_closed;
	bool silent;		/* alive=no */
	bool shared;
	uint64_t limit;
	uint64_t holders;	/* of a shared one */
	uint64_t hosts_waiting;	/* other hosts' marks in the record */
	char token[32];		/* in decimal; empty: it has none */
	char owner[WHY_TEXT_MAX];
	char broken_by[2 * WHY_TEXT_MAX];
	char record[WHY_TEXT_MAX];	/* whole, or empty */
	uint64_t acquired_at_s;	/* 0: unknown */
	uint64_t pid;		/* here: its client's; 0: unknown */
	uint64_t held_ms;	/* all these: or unknown */
	uint64_t lease_ms;
	uint64_t unchanged_ms;
	uint64_t expires_ms;
	size_t data_bytes;
	size_t n_attributes;
};

/* Its namespace and its daemon, as STATUS has them. */
struct why_daemon {
	bool known;
	char ns[WHY_TEXT_MAX];
	char host[WHY_TEXT_MAX];
	char format[WHY_TEXT_MAX];	/* empty: the daemon's own */
	bool fleet;		/* scope=fleet */
	bool open;		/* it can grant */
	bool danger;
	bool draining, removed;
	uint64_t renewed_ms;
	uint64_t remaining_ms;
	char cause[WHY_TEXT_MAX];	/* a code; may be empty */
	char failure[2 * WHY_TEXT_MAX];
};

struct why_facts {
	const char *key;
	int code;		/* of GET: 0, or DDBLOCK_E_* */
	char text[2 * WHY_TEXT_MAX];	/* of the failure; may be empty */
	struct why_lock lock;
	struct why_daemon daemon;
	struct why_hold holds[WHY_HOLDS_MAX];
	size_t n_holds;
	size_t n_more_holds;	/* that there was no room for */
	struct why_waiter waiters[WHY_WAITERS_MAX];
	size_t n_waiters;
	size_t n_more_waiters;
	/* Nobody has it, but it is kept for a request for several locks, that
	 * waits for this one; or empty. */
	char kept_for[WHY_TEXT_MAX];
	char kept_words[WHY_TEXT_MAX * 10];	/* as below */
	uint64_t kept_keys, kept_had;
	uint64_t uid;		/* of the user who asks */
	/* For commands that are shown: the options and the key, quoted for a
	 * shell; empty if they have what cannot be pasted. */
	char words[WHY_TEXT_MAX * 10];
	/* The rows as JSON: each an object, with commas between. */
	struct buffer json_lock, json_holds, json_waiters;
	struct buffer json_namespace, json_daemon;
};

#endif
