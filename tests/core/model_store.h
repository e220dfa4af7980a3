/*
 * A store in memory, with the conditions and effects of operation.h as the
 * native record format has them. It knows no time and no network: one call
 * carries out one attempt of one operation, at once and atomically.
 */
#ifndef DDBLOCKD_TESTS_MODEL_STORE_H
#define DDBLOCKD_TESTS_MODEL_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/operation.h"

#define MODEL_KEY_MAX 64
#define MODEL_HOLDERS_MAX (RELEASE_MAX + 32)
#define MODEL_WISHES_MAX 32
#define MODEL_NAME_MAX 16
#define MODEL_OWNER_MAX 64
#define MODEL_DATA_MAX 64
#define MODEL_ATTRIBUTES_MAX 4
#define MODEL_RETENTION_S (7 * 86400)
#define MODEL_WALL_S UINT64_C(1700000000)	/* when the virtual time is 0 */

/* What clients keep in a lock: little, and copied with it. */
struct model_contents {
	struct revision revision;
	char data[MODEL_DATA_MAX];
	size_t data_length;
	struct {
		char name[MODEL_NAME_MAX];
		char value[MODEL_DATA_MAX];
		bool typed;
	} attributes[MODEL_ATTRIBUTES_MAX];
	size_t n_attributes;
	struct attribute shown[MODEL_ATTRIBUTES_MAX];
};

struct model_lock {
	struct model_lock *next;
	uint32_t namespace_index;
	char key[MODEL_KEY_MAX];
	bool exists;
	bool tampered;		/* changed by hand: the judge looks away */
	enum lock_mode mode;
	uint64_t token;		/* 0: never had one */
	uint64_t limit;		/* 0: none */
	uint64_t base;		/* what its first token was added to */
	struct holder holders[MODEL_HOLDERS_MAX];
	size_t n_holders;
	struct ident exclusive_wishes[MODEL_WISHES_MAX];
	size_t n_exclusive_wishes;
	struct ident shared_wishes[MODEL_WISHES_MAX];
	size_t n_shared_wishes;
	char owner[MODEL_OWNER_MAX];
	uint64_t acquired_at_s;
	char broken_by[MODEL_OWNER_MAX];
	uint64_t ttl_s;
	struct model_contents contents;
};

struct model_session {
	struct model_session *next;
	struct ident ident;
	char name[MODEL_NAME_MAX];	/* "A1": the first of host A */
	int host;			/* who opened it; -1: nobody here */
	bool exists;
	bool dead;
	uint64_t beat;
	uint64_t lease_ms;
	char dead_by[MODEL_OWNER_MAX];
	uint64_t sent_ms;	/* of the attempt that this beat is from */
};

struct model_store {
	struct model_lock *locks;	/* in the order of their creation */
	struct model_session *sessions;
	size_t scan_page;		/* rows of a page */
	uint64_t scan_milliunits;	/* that a page consumes */
	size_t wishes_shown;		/* at most, of a record's */
	uint64_t wishes_serial;
};

/* One attempt. */
struct model_try {
	uint64_t wall_s;
	uint64_t sent_ms;	/* boot time of the sender */
	const uint64_t *beats;	/* SESSION_BEAT: every attempt's number */
	size_t attempt;		/* which of them this is */
	bool repeated;		/* an earlier attempt was not answered */
	size_t unprocessed;	/* READ_MANY: leave out that many keys */
};

/* What the answer to an attempt carries: copies of that moment. */
struct model_answer {
	enum outcome_kind kind;
	int code;			/* REFUSED: why */
	size_t attempt;			/* whose effect the record shows */
	struct model_lock lock;
	struct model_session session;
	struct model_lock *locks;	/* READ_MANY, SCAN; malloc'd */
	bool *processed;		/* READ_MANY; malloc'd */
	size_t n_locks;
	char cursor[MODEL_KEY_MAX];	/* SCAN: empty after the last page */
	size_t n_examined;		/* SCAN */
	uint64_t read_milliunits;
};

void model_store_init(struct model_store *);
void model_store_done(struct model_store *);

/* Carry out one attempt. The answer is done with model_answer_done(). */
void model_store_apply(struct model_store *, const struct operation *,
    const struct model_try *, struct model_answer *ret);
void model_answer_done(struct model_answer *);

/* A record as operation.h shows it; it points into @lock or @session. */
void model_view_lock(struct model_lock *lock, struct lock_record *ret);
void model_view_session(const struct model_session *session,
    struct session_record *ret);

/* The lock or session, or NULL. */
struct model_lock *model_find_lock(const struct model_store *,
    uint32_t namespace_index, const char *key);
struct model_session *model_find_session(const struct model_store *,
    struct ident);
struct model_session *model_named_session(const struct model_store *,
    const char *name);

/* Remember a session's name before its item exists. */
struct model_session *model_name_session(struct model_store *, struct ident,
    const char *name, int host);

/* The name of a session; "?" if it has none. */
const char *model_session_name(const struct model_store *, struct ident);

/*
 * What somebody does by hand, or a host that is not simulated.
 */
struct model_lock *model_plant_lock(struct model_store *,
    uint32_t namespace_index, const char *key, struct ident session,
    uint64_t lease_ms);
struct model_session *model_plant_session(struct model_store *,
    const char *name, uint64_t lease_ms);
void model_delete_lock(struct model_store *, uint32_t namespace_index,
    const char *key);
void model_break_lock(struct model_store *, uint32_t namespace_index,
    const char *key, const char *by);
void model_delete_session(struct model_store *, const char *name);
void model_add_wish(struct model_lock *, enum lock_mode, struct ident session);

/* ---- between the files of the model ---- */
void model_put_contents(struct model_contents *, const struct contents *,
    struct revision);
/* As operation.h shows them; they point into the model's, which changes. */
void model_view_contents(struct model_contents *, struct lock_record *ret);
struct model_lock *model_make_lock(struct model_store *,
    uint32_t namespace_index, const char *key);
void model_copy_text(char *to, size_t size, const char *from);

#endif
