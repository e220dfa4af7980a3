/*
 * What the process after this one needs to go on with a connection: entries in
 * the journal (keep.c). All functions do nothing for a connection, or a server,
 * that does not keep.
 */
#ifndef DDBLOCKD_IPC_CONNECTION_KEEP_H
#define DDBLOCKD_IPC_CONNECTION_KEEP_H

#include "ipc/connection/connection.h"

struct process;

enum keep_kind {
	KEEP_CONNECTION = SERVER_ENTRY_KINDS,
	KEEP_INPUT,		/* read, and not run or not complete */
	KEEP_OUTPUT,		/* to be sent */
	KEEP_RUN,		/* how far the input of one of them was run */
	KEEP_REQUEST,		/* without an answer */
	KEEP_PROCESS,		/* that a lock is held for */
	KEEP_HIDDEN_INPUT,	/* the same, but nobody can read them */
	KEEP_HIDDEN_OUTPUT,
};

/* Each begins with these, and has a tail. */
struct keep_connection {	/* its name */
	uint64_t client;
	uint64_t cookie;	/* of its socket */
	uint64_t in_from;	/* bytes that were run at the least, */
	uint64_t out_from;	/* and sent */
	uint32_t n_guesses;
	uint8_t renewed, tells_restart, promises, secretive;
	uint8_t draining, skipping, resumes;
	uint8_t flags;
};
#define KEEP_NAMED 1		/* flags: who writes on it is known */
#define KEEP_SET_USER_ID 2	/* its process writes as another user */
#define KEEP_BY_HEIR 4		/* what is to be run is not all its own */

struct keep_bytes {		/* INPUT, OUTPUT: these; RUN: nothing */
	uint64_t client;
	uint64_t from;		/* RUN: bytes that were run */
};

struct keep_hidden {		/* those, turned (secret.h) */
	struct keep_bytes bytes;
	uint8_t nonce[16];
};

struct keep_request {	/* its line, as it came; nothing: it cannot be run
			 * again */
	uint64_t client;
	uint64_t serial;	/* in the order of their asking */
	uint64_t asked_ms;	/* CLOCK_BOOTTIME */
	uint64_t process;	/* ACQUIRE: that was passed with it, or 0 */
	uint32_t answered;	/* WATCH: it was, and the watch goes on */
	uint32_t spare;
	uint32_t tag_length;
	char tag[CODEC_TAG_MAX];
};

struct keep_process {		/* the name of its client */
	uint64_t number;
	uint64_t client;
	uint64_t began;		/* as /proc has it */
	int64_t pid;
	uint32_t uid;
	int32_t signal;
	uint32_t told;
	uint32_t spare;
};

/* The journal has no room for this: see server_calls.grow. False: nothing is
 * kept any more. */
bool keep_put(struct server *, journal_place *, enum keep_kind,
    const void *head, size_t head_length, const void *tail,
    size_t tail_length);
void keep_drop(struct server *, journal_place *);
void keep_commit(struct server *);

/* It says something for the first time: its socket is kept from now on. */
void keep_begin(struct connection *);
/* The same, of a socket that is kept already. */
void keep_again(struct connection *);
/* False: it never is. Its number is 0 while there is no room for it. */
bool keep_socket(struct connection *);
void keep_end(struct connection *);
/* Its HELLO, or what it promised, is another. */
void keep_connection(struct connection *);

/* Its input is run: up to this byte of what there was. */
void keep_run(struct connection *, size_t used);
/* What is left of that, of @length bytes. */
void keep_input(struct connection *, size_t length);
/* It has more output; or sent @n bytes of it. */
void keep_output(struct connection *);
void keep_sent(struct connection *, size_t n);

/* The line that is run, before it is taken apart. */
void keep_line(struct connection *, const char *line, size_t length);
/* It has a secret. */
void keep_no_line(struct server *);
/* It waits for its answer: if it still does when what was done about it is
 * written, which is when keep_asked() is called. Most are answered by then. */
void keep_request(struct connection *, struct pending *, uint64_t process);
void keep_asked(struct server *);

/* A WATCH or UNWATCH is asked, of this lock; it was done. */
void keep_watch(struct connection *, struct pending *,
    const struct core_request *);
void keep_watched(struct connection *, struct pending *, bool watches);
/* It watches this one no more. */
void keep_watch_no_more(struct connection *, uint32_t namespace_index,
    struct key);

/* A journal from now on: server_journal(). */
int keep_start(struct server *, struct journal *);

#endif
