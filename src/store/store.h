/*
 * The seam between the core's operations and what carries them out. Each
 * implementation, store_*.c, passes the same conformance suite; kind.h says
 * which there are.
 *
 * Everything here runs on the event loop's thread and never blocks it.
 */
#ifndef DDBLOCKD_STORE_STORE_H
#define DDBLOCKD_STORE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/finding.h"
#include "core/operation.h"
#include "ddblock.h"

struct store;
struct event_base;

/*
 * The one outcome of @operation, from the event loop, never from within
 * store_submit(). @outcome and what it points to is valid until the return.
 */
typedef void (*store_outcome_fn)(void *arg, struct operation *operation,
    const struct outcome *outcome);

/*
 * An attempt of @operation, a session's beat, is about to be sent with this
 * number; or it was refused, so that it has not landed and will not. Also from
 * within store_submit(): it must not submit anything.
 */
typedef void (*store_attempt_fn)(void *arg, const struct operation *operation,
    uint64_t beat);

/* The answer to store_init_table() and store_check_table(); @code is 0 or
 * DDBLOCK_E_*, @text says the result, for people, and of
 * DDBLOCK_E_WRONG_TABLE what to do: only the store knows what is wrong. */
typedef void (*store_table_fn)(void *arg, int code, const char *text);

/* What store_check() found, from the event loop, never from within it; NULL:
 * that was all. */
typedef void (*store_finding_fn)(void *arg, const struct finding *);

/* A session of any host, as its item shows it: it is not dead. */
struct store_session {
	struct ident id;
	const char *contact;	/* NULL: its host hears no hints */
	const char *host;	/* NULL: absent */
	bool expired;	/* it was not renewed within its lease, and may be dead
			 * all the same */
};

/* How store_sessions() ended. */
struct store_sessions_end {
	int code;		/* 0 or DDBLOCK_E_*: it broke off */
	const char *text;	/* of that, for people */
	bool all;		/* the whole table was looked at, */
	uint64_t n_examined;	/* or so many of its items */
};

struct store_sessions_calls {
	void (*session)(void *arg, const struct store_session *);
	void (*ended)(void *arg, const struct store_sessions_end *);
};

#define STORE_FIELDS_MAX 16

/* What STATUS shows of this store, besides the fields of all stores: the name
 * is that of the protocol. */
struct store_field {
	const char *name;
	enum {
		STORE_FIELD_NUMBER = 1,
		STORE_FIELD_DURATION,	/* ms */
		STORE_FIELD_TEXT,
	} kind;
	uint64_t number;
	const char *text;
};

/* What became of the requests to an endpoint, since the start. */
struct store_traffic {
	uint64_t succeeded;
	uint64_t failed;	/* of these, with others: */
	uint64_t throttled;	/* it asked to slow down */
	uint64_t unanswered;
	uint64_t hedges;	/* late renewals that were sent twice */
	uint64_t hedges_won;
	uint64_t read_milliunits;	/* consumed, as its answers say */
	uint64_t write_milliunits;
};

struct store_status {
	const char *kind;	/* as in kind.h */
	const char *scope;
	const char *where;	/* endpoint and table, or file */
	const char *format;	/* of the records; NULL: there is but one */
	bool sorts;		/* locks may have sort values (core/key.h) */
	int last_error;		/* DDBLOCK_E_* or 0 */
	const char *last_text;	/* of that error; may be empty */
	uint64_t requests;	/* sent, including repetitions */
	uint64_t repetitions;
	uint32_t in_flight;
	bool has_traffic;
	struct store_traffic traffic;
	struct store_field fields[STORE_FIELDS_MAX];
	size_t n_fields;
};

/* What a store implementation provides; it embeds a struct store first. */
struct store_methods {
	void (*submit)(struct store *, struct operation *);
	void (*init_table)(struct store *, store_table_fn, void *arg);
	void (*check_table)(struct store *, store_table_fn, void *arg);
	int (*check)(struct store *, store_finding_fn, void *arg);
	/* NULL: it has none, or does not show them. */
	int (*sessions)(struct store *, const struct store_sessions_calls *,
	    void *arg);
	void (*status)(const struct store *, struct store_status *ret);
	void (*free)(struct store *);
};

struct store {
	const struct store_methods *methods;
	store_outcome_fn outcome;
	void *outcome_arg;
	store_attempt_fn sending;	/* NULL: nobody wants to know */
	store_attempt_fn refused;
	void *attempt_arg;
};

/* Before the first submission. */
static inline void
store_on_attempts(struct store *s, store_attempt_fn sending,
    store_attempt_fn refused, void *arg)
{
	s->sending = sending;
	s->refused = refused;
	s->attempt_arg = arg;
}

/* For implementations: before each attempt of any operation. */
static inline void
store_sending(const struct store *s, const struct operation *operation,
    uint64_t beat)
{
	if (operation->kind == OPERATION_SESSION_BEAT && s->sending != NULL)
		s->sending(s->attempt_arg, operation, beat);
}

/* And where it was refused. */
static inline void
store_refused(const struct store *s, const struct operation *operation,
    uint64_t beat)
{
	if (operation->kind == OPERATION_SESSION_BEAT && s->refused != NULL)
		s->refused(s->attempt_arg, operation, beat);
}

/* The store owns the operation until its outcome. Cannot fail: what cannot be
 * done ends in REFUSED or UNKNOWN. */
static inline void
store_submit(struct store *s, struct operation *operation)
{
	s->methods->submit(s, operation);
}

/* Create what the namespace needs; safe to run twice. */
static inline void
store_init_table(struct store *s, store_table_fn done, void *arg)
{
	s->methods->init_table(s, done, arg);
}

/* Compare the store's table or file with the needs of the namespace; changes
 * nothing. */
static inline void
store_check_table(struct store *s, store_table_fn done, void *arg)
{
	s->methods->check_table(s, done, arg);
}

/*
 * Look at all that the namespace needs of the world, in the order in which one
 * thing depends on another; what depends on something that is not there is
 * left out. Changes nothing, costs some requests, and takes no operation's
 * place. One at a time for each store.
 *
 * DDBLOCK_E_NOMEM
 */
static inline int
store_check(struct store *s, store_finding_fn found, void *arg)
{
	return s->methods->check(s, found, arg);
}

/*
 * Go through the sessions that the store has, of this host and of others, from
 * the loop. Of a large table it looks at the beginning only. One at a time for
 * each store.
 *
 * DDBLOCK_E_UNSUPPORTED, DDBLOCK_E_NOMEM
 */
static inline int
store_sessions(struct store *s, const struct store_sessions_calls *calls,
    void *arg)
{
	return s->methods->sessions == NULL ? DDBLOCK_E_UNSUPPORTED :
	    s->methods->sessions(s, calls, arg);
}

static inline void
store_view_status(const struct store *s, struct store_status *ret)
{
	s->methods->status(s, ret);
}

/* Accepts NULL. Operations under way get no outcome any more. */
static inline void
store_free(struct store *s)
{
	if (s != NULL)
		s->methods->free(s);
}

#endif
