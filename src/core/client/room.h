/*
 * Inside of the client room: what its files ask of each other.
 */
#ifndef DDBLOCKD_CORE_CLIENT_ROOM_H
#define DDBLOCKD_CORE_CLIENT_ROOM_H

#include "core/action.h"
#include "core/client/client.h"
#include "core/figures.h"

#define CLIENT_MULTI "the data of a lock that is held as one of several "    \
	"cannot be changed"
#define CLIENT_SHARES "this connection shares the lock; only an exclusive "    \
	"holder changes its data"

#define RESUME_FIRST "a connection resumes holds before it asks for a lock "   \
	"of its own"

/* ---- clients.c -------------------------------------------------------- */
void client_touch(struct core *, struct client *);
int client_new(struct core *, uint64_t id, uint32_t user, struct client **ret);
void client_free(struct core *, struct client *);

/* ---- share.c ---------------------------------------------------------- */
#define SHARE_LOCK_BYTES (sizeof(struct hold) + sizeof(struct lock))

/* ---- leave.c ---------------------------------------------------------- */
/* All of it in this step, whatever it has. */
void client_cut_off_now(struct core *, uint64_t id);
void leave_begin(struct client *, bool cut);
/* At most so many of what it has. True: there is more. */
bool leave_some(struct core *, struct client *, uint32_t n_max);

/* ---- request.c -------------------------------------------------------- */
struct request *request_of(struct waiter *);	/* accepts NULL */
uint32_t request_hash(const struct hash_link *);
int request_new(struct core *, struct client *, const struct core_request *,
    struct request **ret);
void request_drop(struct core *, struct request *);
void request_free(struct core *, struct request *);
struct hold *request_hold(struct core *, struct request *, uint64_t id);

/* ---- release.c -------------------------------------------------------- */
void release_unheard(struct core *, const struct client *,
    const struct core_request *);

/* ---- hold.c ----------------------------------------------------------- */
/* A hold that is one of several, or has labels. */
struct special_hold {
	struct hold hold;	/* first */
	struct multi *multi;	/* it is one of several, or NULL */
	struct core_labels labels;
	char texts[];		/* theirs */
};

static inline void
hold_touch(struct core *core, struct hold *h)
{
	saved_touch(core, &h->saved, SAVED_HOLD);
}

uint32_t hold_hash(const struct hash_link *);
struct hold *hold_new(const struct core_request *, struct multi *);
struct multi *hold_multi(const struct hold *);
struct hold *hold_known_as(const struct core *, uint64_t id);
const char *hold_why_lost(const struct hold *);
uint64_t hold_working_ms(const struct hold *);
bool hold_may_change(const struct hold *, const struct change *);
bool multi_is_kept(const struct hold *);
struct hold *multi_speaker(struct hold *);

/* ---- promise.c -------------------------------------------------------- */
bool linger_keeps(const struct hold *);
bool linger_outlives(const struct hold *, bool cut);
bool at_least_keeps(const struct core *, const struct hold *);
bool process_has(const struct hold *);
void promise_tell(const struct core *, const struct hold *,
    struct core_reply *);
uint64_t terms_until_ms(const struct hold *);
uint64_t terms_danger_ms(const struct terms *);
bool terms_have_warning(const struct terms *);
bool terms_are_endangered(const struct core *, const struct hold *);
bool terms_are_common(const struct hold *);
bool multi_is_endangered(const struct core *, const struct multi *);

/* ---- hold_life.c ------------------------------------------------------ */
void hold_link(struct core *, struct hold *, struct client *);
void hold_share(struct core *, const struct hold *, struct client *from,
    struct client *to);
void hold_give(struct core *, struct hold *, struct client *);
void hold_count_valid(const struct hold *, int more);
void hold_mark_lost(struct core *, struct hold *, enum core_loss);
void hold_lose(struct core *, struct hold *, enum core_loss);
void hold_lose_by_us(struct core *, struct hold *, enum core_loss);
bool hold_is_nobodys(const struct hold *);
void hold_desert(struct core *, struct hold *);
void hold_desert_all(struct core *, struct hold *);
void hold_cut_off(struct core *, struct hold *);
void hold_tell_end(const struct core *, const struct hold *, enum core_end);
void hold_end(struct core *, struct hold *);
void hold_free(struct core *, struct hold *);

/* ---- notice.c --------------------------------------------------------- */
void notice_send(struct core *, struct hold *, enum core_notice_kind);
void notice_withdraw(struct core *, struct hold *);

/* ---- terms.c ---------------------------------------------------------- */
/* What not every hold has: its own end, promise or warning. */
struct terms {
	struct hold *hold;
	struct timer timer;	/* for whichever is first */
	uint64_t max_hold_ms;
	uint64_t end_ms;	/* CORE_FOREVER: not by itself */
	uint64_t keepalive_ms;
	uint64_t listening_ms;	/* the client's silence counts from here */
	uint64_t danger_ms;	/* 0: with all of its session */
	uint64_t sent_ms;	/* manual: the lease counts from here */
	uint32_t count;		/* reentrant: times that it is held; or 0 */
	uint64_t linger_ms;
	bool resumes;	/* after a cut, if for no longer */
	uint64_t linger_end_ms;	/* its client has left */
	struct timer linger_timer;	/* for that */
	uint64_t working_ms;	/* or was cut off: it may work until then */
	uint64_t at_least_ms;
	uint64_t least_ms;	/* it stays until then (at_least.c), and has
				 * linger_timer when it was let go */
	bool manual;
	bool stays;		/* when its client leaves */
	bool danger;		/* of its own: it was told */
	bool process_told;	/* that it is lost */
	uint64_t process;	/* that it is for; 0: none */
	struct hash_link process_link;	/* then in core->process_holds */
	bool closed_process;	/* fail-closed: it was asked for a process */
	struct core_parted parted;
};

int terms_check(const struct namespace *, const struct core_terms *,
    char *ret_text, size_t text_size);
struct terms *terms_alloc(struct core *, struct hold *);
int terms_new(struct core *, const struct namespace *, struct hold *,
    const struct core_terms *);
void terms_schedule(struct core *, struct terms *);
void terms_free(struct core *, struct hold *);
void terms_begin(struct core *, struct hold *);
void terms_end(struct core *, struct hold *);
void terms_forget(struct core *, struct hold *);
void terms_prolong(struct core *, struct hold *);
bool terms_stay(struct core *, struct hold *);
bool terms_are_left(const struct hold *);
bool terms_may_reenter(const struct hold *, const struct core_terms *);
uint32_t terms_leave(struct hold *, bool all);
void terms_linger(struct core *, struct hold *, uint64_t least_ms);
void terms_resume(struct core *, struct hold *, bool resumes);

/* ---- linger.c --------------------------------------------------------- */
/* Holds that outlive their connection, for a client that knows the secret. */
struct linger {
	struct linger *prev, *next;	/* in core->lingers */
	struct client *client;
	struct core_secret secret;
	uint32_t user;		/* who may resume it */
	bool asked;		/* for linger */
	uint64_t least_ms;	/* its client was cut off: the last of its
				 * deadlines, and a margin */
	struct resume *resume;	/* by which another client has it; or NULL */
};

/* Has it no client now, but may again? */
static inline void
linger_count(struct hold *h, bool lingers)
{
	if (h->lingers == lingers)
		return;
	h->lingers = lingers;
	h->use.lock->ns->n_lingering += lingers ? 1 : UINT32_MAX;
}

bool linger_may_resume(const struct core *, const struct client *);
int linger_new(struct core *, struct client *, const struct core_request *);
int linger_ask(struct core *, struct client *, const struct core_request *);
void linger_free(struct core *, struct linger *);	/* accepts NULL */
void linger_begin(struct core *, struct hold *, bool cut);
void linger_tell_loss(struct core *, struct hold *);
void linger_go_on(struct core *, struct client *);

/* ---- at_least.c ------------------------------------------------------- */
void at_least_let_go(struct core *, struct hold *);
void at_least_cut_off(struct core *, struct hold *);
void at_least_go_on(struct core *, struct hold *);

/* ---- resumes.c -------------------------------------------------------- */
struct resume {
	struct resume *prev, *next;	/* in core->resumes */
	struct client *to;
	struct linger *from;	/* whose holds go there; NULL: all have gone */
	struct request *request;	/* NULL: it is not there any more */
	struct core_close closing;	/* the other's connection, or 0 */
	bool inherited;		/* what it comes from is not known yet */
	bool moves;		/* the other client has left */
	bool resumes;		/* as it was asked for */
};

/* NULL: no memory. */
struct resume *resume_new(struct core *, struct client *to);
void resume_free(struct core *, struct resume *);	/* accepts NULL */
void resume_forget(struct core *);	/* those of the last step */

/* DDBLOCK_E_NOMEM, DDBLOCK_E_BAD_RECORD */
int resume_inherit(struct core *, struct client *, bool resumes);

/* ---- resume.c --------------------------------------------------------- */
/* The next of the holds, or less. It may be over then, and freed. */
void resume_part(struct core *, struct resume *);
void resume_all(struct core *);

/* ---- process.c -------------------------------------------------------- */
void process_lose(struct core *, struct hold *);
void process_tell(struct core *, struct hold *);
bool process_keeps(struct core *, struct hold *);
void process_part(struct core *, struct hold *);
void process_part_request(struct core *, struct request *);

/* ---- processes.c ------------------------------------------------------ */
int process_init(struct core *);		/* DDBLOCK_E_NOMEM */
void process_done(struct core *);
void process_note(struct core *, struct terms *);
void process_forget(struct core *, struct terms *);
void process_note_request(struct core *, struct request *);
void process_forget_request(struct core *, struct request *);
struct hold *process_find_hold(const struct core *, uint64_t client,
    uint64_t process);
struct request *process_find_request(const struct core *, uint64_t client,
    uint64_t process);

/* ---- wait.c ----------------------------------------------------------- */
bool wait_is_hopeless(const struct core *, const struct request *);
void wait_expire(struct core *, struct request *);
void wait_overdue(struct core *, struct request *);
void wait_drain(struct core *, struct request *);
void wait_fill_grant(struct core *, struct request *, const struct hold *);

/* ---- reentrant.c -------------------------------------------------------- */
bool reentrant_now(struct core *, struct hold *, struct request *);
void reentrant_waiting(struct core *, struct hold *);

/* ---- multi.c ---------------------------------------------------------- */
struct part {
	struct lock *lock;	/* with a reference, until the answer */
	struct hold *hold;	/* without a grant: not held (any more) */
};

/* Several locks as one, from the request for them to the end of the hold. */
struct multi {
	struct multi *prev, *next;	/* in core->multis */
	struct multi *next_due;
	struct request *request;	/* NULL: answered */
	struct multi_operation *multi_operation;	/* under way, or NULL */
	struct core_part *answer;
	bool due;
	bool in_order;		/* something was in the way of all at once */
	bool held;		/* by the client, and no more for the request */
	bool is_multi;		/* it was asked for several keys */
	uint32_t n;
	uint32_t n_rows;	/* of the answer */
	uint32_t n_left;	/* held: not forgotten yet */
	struct part parts[];	/* in the order of their keys; those of a bridge
				 * before all others */
};

struct lease *multi_renew(struct core *, const struct multi *);
void multi_keep(struct core *, struct multi *, struct grant *);
struct lock *multi_obstacle(const struct core *, const struct multi *);

/* ---- multi_new.c ------------------------------------------------------ */
int multi_new(struct core *, struct request *, const struct core_request *,
    struct multi **ret);
void multi_free(struct core *, struct multi *);
void multi_free_all(struct core *);
uint32_t multi_n_parts(const struct namespace *, uint32_t n_keys);

/* ---- multi_life.c ----------------------------------------------------- */
bool multi_has(const struct part *);
uint32_t multi_first(const struct multi *);
void multi_due(struct core *, struct multi *);
void multi_not_due(struct core *, struct multi *);
void multi_set_asked(struct multi *, struct multi_operation *);
void multi_leave(struct core *, struct multi *);
void multi_forsake(struct multi *);
void multi_lose(struct core *, struct hold *, enum core_loss);
void multi_ended(struct core *, struct hold *);
void multi_bury(struct core *, struct multi *);

/* ---- multi_store.c ---------------------------------------------------- */
struct multi_operation {
	struct core_submit submit;
	struct multi_operation *prev, *next;	/* in core->togethers */
	struct multi *multi;		/* NULL: its request has gone */
	size_t n;
	struct lock *locks[MULTI_MAX];
	struct key keys[MULTI_MAX];
	struct ident grants[MULTI_MAX];
	const struct operation *parts[MULTI_MAX];
};

/* ---- bridge_tokens.c -------------------------------------------------- */
struct lock *bridge_tokens_first(const struct multi *);

#endif
