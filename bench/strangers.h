/*
 * A greedy user's processes (the strangers), and what the daemon's other users
 * (the neighbours) meet meanwhile: for bench_strangers.c.
 */
#ifndef DDBLOCKD_BENCH_STRANGERS_H
#define DDBLOCKD_BENCH_STRANGERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STRANGERS 4		/* processes of an attack */
#define STRANGER_UID 65534
#define NEIGHBOUR_UID 65533
#define TIMES_MAX 40000
#define COMPLAINT_MAX 160
#define STRANGER_LINE_MAX 128	/* what is looked at of an answer */
#define STRANGER_QUEUE_MAX (1 << 17)

/* ---- what all processes of a measurement share ---- */

enum arena_phase {
	ARENA_PREPARE,
	ARENA_WARM,		/* strangers spin; nothing is measured yet */
	ARENA_QUIET,		/* the same, measured */
	ARENA_ATTACK,
	ARENA_OVER,		/* but the attack goes on */
};

struct times {
	uint32_t count;
	float us[TIMES_MAX];
};

/* Measured in a phase. */
struct served {
	struct times ping;
	struct times cycle;	/* TRY and RELEASE */
	struct times root;	/* connect, PING, TRY */
};

struct stranger_counts {
	volatile bool ready;
	volatile uint64_t answers;
	volatile uint64_t refused;	/* of them, ERR LIMIT */
	volatile uint64_t failed;	/* of them, another ERR */
	volatile uint64_t cut;		/* connections that the daemon ended */
	volatile uint64_t made;		/* holds, before the attack */
	char failure[COMPLAINT_MAX];	/* the first one */
};

struct arena {
	volatile enum arena_phase phase;
	volatile bool neighbour_ready;
	struct stranger_counts strangers[STRANGERS];
	struct served quiet;
	struct served attacked;
	/* What neighbours lost: locks, connections, requests. */
	uint32_t lost;
	char loss[COMPLAINT_MAX];	/* the first one */
	uint32_t root_failed;
	char root_failure[COMPLAINT_MAX];
};

/* ---- neighbour.c: the others, each as a process ---- */

/* TRY and RELEASE on some connections, PING on another one, in a fixed pace;
 * and some locks are held all the time. */
void neighbour_run(struct arena *, const char *path)
    __attribute__((noreturn));
void neighbour_run_root(struct arena *, const char *path)
    __attribute__((noreturn));

/* ---- stranger.c: a process of the greedy user ---- */

struct stranger;

/* A connection, and what it says. */
struct caller {
	int fd;			/* -1: it ended */
	bool listed;		/* in the epoll */
	bool writes;		/* and asked for as writable */

	const char *text;	/* said again and again; or NULL */
	size_t length;
	size_t sent;
	size_t crumbs_from;	/* from here on byte by byte; 0: never */
	/* Texts whose answers have not come, at most; 0: any number. */
	size_t window;
	size_t answers;		/* to one text */
	size_t unanswered;
	bool deaf;		/* never reads */
	bool again;		/* connects again after it was cut off */
	bool once;		/* says its text once */
	bool silent;		/* and has said it */

	/* Called with each final answer; may use caller_say(). */
	void (*hear)(struct stranger *, struct caller *, const char *answer);
	uint64_t serial;	/* the attack's own */
	char *queue;		/* of caller_say() */
	size_t queued;

	char line[STRANGER_LINE_MAX];	/* the beginning of one */
	size_t line_length;
};

struct stranger {
	struct arena *arena;
	struct stranger_counts *counts;
	const char *path;
	size_t number;		/* of STRANGERS */
	int epoll;
	struct caller *callers;
	size_t n_callers;
	struct line_client *line;	/* for stranger_fill() */
};

/* Each of its functions runs in each of the strangers. */
struct attack {
	const char *name;
	const char *what;	/* for the table */
	void (*prepare)(struct stranger *);	/* or NULL */
	void (*run)(struct stranger *);		/* or NULL: stranger_pump() */
};

extern const struct attack attacks_of_locks[];	/* ending with no name */
extern const struct attack attacks_of_reads[];
extern const struct attack attacks_of_sockets[];

void stranger_run(struct arena *, const struct attack *, size_t number,
    const char *path) __attribute__((noreturn));

/* A new one, connected. */
struct caller *caller_new(struct stranger *);
/* So many in all strangers together; the first one of this process. */
struct caller *callers_new(struct stranger *, size_t in_all);
/* Before the attack: say a line; and wait for its OK, which returns its id=, or
 * 0. One that a limit refuses ends. */
void caller_tell(const struct caller *, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
uint64_t caller_await(struct caller *);
/* Say this once, when the socket has room. */
void caller_say(struct stranger *, struct caller *, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Let all that were made from @c on repeat a text, which is kept. */
void callers_repeat(struct stranger *, struct caller *, const char *text,
    size_t length);
/* Let all that were made say what they have to say, and read; for ever. */
void stranger_pump(struct stranger *) __attribute__((noreturn));
/* Acquire that many locks on a connection, or as many as the limits allow, and
 * count them. Only one of the strangers does. */
int stranger_fill(struct stranger *, const char *prefix, size_t locks,
    const char *arguments);
/* A connection; -1 if there is none. */
int stranger_connect(const struct stranger *);

/* A text of at most so many bytes in which a line is repeated. */
char *text_repeat(const char *line, size_t length_max, size_t *ret_length);

#endif
