/*
 * One suite for every store: each implementation of store.h must answer these
 * operations in this way. A runner (check_store_*.c) only says how to open its
 * store.
 *
 * Every case runs in a process of its own with a store freshly opened, and uses
 * keys and names that were never used before, so that runners may share one
 * table among all cases and all runs.
 */
#ifndef DDBLOCKD_TESTS_CONFORMANCE_H
#define DDBLOCKD_TESTS_CONFORMANCE_H

#include <event2/event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/store.h"
#include "test.h"

struct conformance_target {
	const char *name;
	const char *host;	/* the record that the store wrote */
	bool binary_keys;	/* keys may be any bytes, not only UTF-8 */
	bool sorts;		/* locks may have sort values */
	bool has_line;		/* hosts may stand in line for a lock */

	/* Open the store. Fails the test (ck_abort_msg) if it cannot. */
	struct store *(*open)(struct event_base *, store_outcome_fn,
	    void *outcome_arg);
	/* Free it, and remove what the case left. */
	void (*close)(struct store *);
};

/*
 * main(): the suite, or not, and the tests of this file (NULL: none) with a
 * store for each of them. The exit status.
 */
int conformance_main(const struct conformance_target *, bool all,
    const char *file);

/* Its parts, for a runner that adds other tests. */
Suite *conformance_empty(const struct conformance_target *);
void conformance_add(Suite *, TCase *);

/* ---- for the cases ------------------------------------------------------ */

#define SEEN_MAX 8

/* Copies of records, which outlive their outcome. */
struct seen_lock {
	struct lock_record record;
	struct holder holders[SEEN_MAX];
	struct ident exclusive_waiters[LINE_PLACES_MAX];
	struct ident shared_waiters[SEEN_MAX];
	struct ident line[LINE_PLACES_MAX];
	char owner[OWNER_LENGTH_MAX + 1];
	char broken_by[OWNER_LENGTH_MAX + 1];
	char version[OWNER_LENGTH_MAX + 1];
	char key[KEY_BYTES_MAX];
	size_t key_length;
};

struct seen {
	enum outcome_kind kind;	/* 0: not yet */
	int code;
	char text[OUTCOME_TEXT_MAX];
	uint64_t sent_ms;
	bool unanswered;
	struct seen_lock lock;
	struct contents *contents;	/* of the lock */
	struct session_record session;
	char host[OWNER_LENGTH_MAX + 1];
	char dead_by[OWNER_LENGTH_MAX + 1];
	struct seen_lock *locks;	/* READ_MANY, SCAN, TOGETHER */
	bool *processed;		/* READ_MANY */
	size_t n_locks;
	struct outcome_part *parts;	/* TOGETHER; without their locks */
	size_t n_parts;
	char cursor[SCAN_CURSOR_MAX];
	size_t cursor_length;
	uint64_t n_examined;		/* SCAN */
	uint64_t submitted_ms;
	uint64_t answered_ms;
};

/* An open store and its loop; opened and closed around each case. */
struct event_base *case_base(void);
struct store *case_store(void);
const struct conformance_target *case_target(void);

/* Names never used before. */
struct ident case_ident(void);
struct holder case_holder(void);
struct key case_key(const char *text);	/* valid for 64 calls */

/* An operation of @kind on @key (of no key: NULL bytes) with a deadline, for
 * exclusive use. */
struct operation case_operation(enum operation_kind kind, struct key key);

/*
 * Submit, run the loop until the outcome, check the rules of every outcome, and
 * return the outcome, valid to the end of the case.
 */
struct seen *case_do(struct operation *);

/* The two halves of it: what was submitted is whole after the waiting. */
struct seen *case_submit(struct operation *);
void case_wait(void);

/* Let the loop run for a millisecond or so. */
void case_turn(void);

/* All at once; @ret has room for @n. */
void case_do_many(struct operation *, size_t n, struct seen **ret);

/* All at once until all are done. A store that is not answered for a second
 * gives up some of a great number, rather than ask again for each: those once
 * more, one by one. */
void case_do_all(struct operation *, size_t n, struct seen **ret);

/* The usual operations. */
struct seen *case_read(struct key key);
struct seen *case_acquire(struct key key, const struct holder *me,
    uint32_t tokens);
struct seen *case_share(struct key key, const struct holder *me,
    uint64_t limit);
struct seen *case_take(struct key key, const struct holder *me,
    const struct holder *dead, size_t n_dead, uint64_t token_seen);
struct seen *case_release(struct key key, const struct holder *);
struct seen *case_extend(struct key key, const struct holder *me,
    uint64_t token_seen, uint32_t tokens);
/* Contents with this revision. */
struct seen *case_update(struct key key, const struct holder *me,
    const struct contents *, uint64_t sequence, uint64_t random);
/* The read that shows contents. */
struct seen *case_read_contents(struct key key);
/* The page of a listing after the @last (NULL: the first); NULL: no more. */
struct seen *case_page(struct key prefix, bool held_only,
    const struct seen *last);
struct seen *case_add_waiter(struct key key, struct ident session);
struct seen *case_remove_waiter(struct key key, struct ident session);
struct seen *case_add_shared_waiter(struct key key, struct ident session);
struct seen *case_remove_shared_waiter(struct key key, struct ident session);
struct seen *case_break(struct key key, uint64_t token_seen);
struct seen *case_session(enum operation_kind kind, struct ident session,
    uint64_t beat);

/* Several acquires, and the operation that they are parts of. */
struct multi {
	size_t n;
	struct key keys[MULTI_MAX + 1];
	struct operation parts[MULTI_MAX + 1];
	const struct operation *list[MULTI_MAX + 1];
	struct operation whole;
};

/* Names for @n keys, in no order; and acquires of them for one session. */
void multi_keys(struct key *keys, size_t n);
void multi_init(struct multi *, const struct key *keys, size_t n);

/* Do both records say the same? */
void case_same(const struct seen_lock *, const struct seen_lock *);

/* It is that, or the test fails. Returns @s. */
struct seen *case_is_kind(struct seen *s, enum outcome_kind, const char *file,
    int line);
#define case_done(s) case_is_kind((s), OUTCOME_DONE, __FILE__, __LINE__)
#define case_conflict(s)                                                       \
	case_is_kind((s), OUTCOME_CONFLICT, __FILE__, __LINE__)

/* The lock's only holder is this one. */
bool case_holds(const struct seen_lock *, const struct holder *);
/* It is one of them. */
bool case_has(const struct seen_lock *, const struct holder *);
bool case_marked(const struct seen_lock *, struct ident session);
bool case_marked_shared(const struct seen_lock *, struct ident session);

/* The operations, and the record after each; see conformance_story.c. */
struct story {
	const char *name;
	const char *lines;
};

void story_play(const struct story *);

/* A test with a run for each row of a table of stories. */
#define STORIES(test, table)                                                   \
	TEST_ROWS(test, table)                                                 \
	{                                                                      \
		story_play(&(table)[_i]);                                      \
	}

TCase *conformance_locks(void);
TCase *conformance_shared(void);
TCase *conformance_multi(void);
TCase *conformance_breaks(void);
TCase *conformance_contents(void);
TCase *conformance_waiters(void);
TCase *conformance_every(void);
TCase *conformance_line(void);
TCase *conformance_reads(void);
TCase *conformance_sorts(void);
TCase *conformance_sessions(void);

#endif
