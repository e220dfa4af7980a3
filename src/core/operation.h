/*
 * The language between the core and a store: operations that say what is
 * meant, and outcomes that say what became of them. Nothing here depends on
 * which store it is: a bound that one store has holds for all of them.
 *
 * An operation belongs to the core. The store borrows it, unchanged, from its
 * submission until its outcome, of which there is exactly one.
 */
#ifndef DDBLOCKD_CORE_OPERATION_H
#define DDBLOCKD_CORE_OPERATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/contents.h"
#include "core/ident.h"
#include "core/key.h"

#define OWNER_LENGTH_MAX 255
#define READ_MANY_MAX 100	/* keys; DynamoDB's bound */
#define MULTI_MAX 25		/* keys of one acquire */
#define SCAN_PAGE_MAX 100
#define SCAN_CURSOR_MAX 3074	/* the keys of an item, and where they part */
#define TOKENS_MAX 1024		/* the largest token block */
#define TOKENS_RAISED (UINT64_C(1) << 20)	/* RAISE: to a multiple of it */
#define TOKEN_MAX ((UINT64_C(1) << 53) - 1)
#define HOLDERS_MAX 1024	/* holders read from one record */
#define RELEASE_MAX 100		/* elements that one release can name */
#define WAITER_MARKS_MAX 1024
#define LINE_PLACES_MAX 32	/* hosts in the line of one lock */
#define MARKS_MAX 16	/* observers that one record has room for */
#define BEATS_MAX 64	/* numbers of renewals that one operation may use */
#define OUTCOME_TEXT_MAX 384	/* a table, keys and an attribute, shortened */
#define CONTACT_TEXT_MAX 127	/* bytes; a longer one is none */
#define USER_NONE UINT32_MAX	/* of no user; nor is it a uid */

/* One element of a lock record's holders. */
struct holder {
	struct ident session;
	struct ident grant;
	uint64_t lease_ms;
	bool fail_closed;
};

/*
 * How a record format shows that a holder lives, which decides how it is kept
 * alive and when another may take it.
 */
enum lock_life {
	LOCK_LIFE_SESSION = 0,	/* its session's beat, in an item of its own */
	LOCK_LIFE_RECORD,	/* a version in the record, which changes */
	LOCK_LIFE_DEADLINE,	/* an absolute time in the record */
	LOCK_LIFE_NEVER,	/* not at all: it is never taken */
};

enum lock_mode {
	LOCK_MODE_NONE = 0,	/* the record never had one */
	LOCK_MODE_EXCLUSIVE,
	LOCK_MODE_SHARED,
};

/*
 * A lock as the store shows it. Strings are NUL-terminated; NULL is absent.
 * Times in seconds are wall-clock seconds of the endpoint, for people only.
 */
struct lock_record {
	bool exists;
	enum lock_mode mode;
	uint64_t token;
	uint64_t limit;			/* 0: none */
	const struct holder *holders;	/* 0 of them: free */
	size_t n_holders;
	const struct ident *exclusive_waiters;
	size_t n_exclusive_waiters;
	const struct ident *shared_waiters;
	size_t n_shared_waiters;
	const struct ident *line;	/* those that wait in order: the next
					 * one first; LINE_PLACES_MAX at most */
	size_t n_line;
	struct ident kept;	/* the grant whose host keeps the lock between
				 * its clients: see ACQUIRE; or none */
	const char *owner;
	uint64_t acquired_at_s;
	uint64_t ran_s;	/* when the last run began that counts for the period of
			 * the next; 0: none did, */
	bool marked;	/* that is what the last acquire said, and before it */
	uint64_t ran_before_s;	/* this; or 0 */
	uint64_t asked_s;	/* the endpoint's clock as this was asked for */
	const char *broken_by;
	uint64_t ttl_s;
	struct revision revision;	/* of the last write of contents */
	struct contents contents;	/* if they were asked for */

	/*
	 * Formats without sessions, in which a record has one holder at most;
	 * its session and its grant are the same name:
	 */
	const char *version;	/* what the next write names, so that it can
				 * only follow this record; NULL: there is no
				 * record. Its form is the format's own */
	uint64_t beat;		/* another with each renewal of the holder */
	struct ident broken;	/* BREAK: the hold that it named; none: it is
				 * no hold of ours */
	const struct ident *marks;	/* LOCK_LIFE_RECORD: of observers, since
					 * the holder's write of @version */
	size_t n_marks;
	uint64_t ends_in_ms;	/* LOCK_LIFE_DEADLINE: 0 if it is over */
	const char *token_text;	/* in decimal, if @token has no room for it
				 * and is TOKEN_MAX; NULL otherwise */
};

/* With all that it points to, in one piece of memory, to be freed with free();
 * NULL: none left. */
struct lock_record *lock_record_copy(const struct lock_record *);

/* May its host have no client for it? */
bool lock_record_is_kept(const struct lock_record *);

/* A session as the store shows it. */
struct session_record {
	bool exists;
	bool dead;
	uint64_t beat;
	uint64_t lease_ms;
	const char *host;		/* NULL: absent */
	const char *dead_by;
	const char *contact;	/* how its host hears hints, in words of the
				 * daemons; NULL: it does not */
};

/* What a release says of the run that its holder was. */
enum run_end {
	RUN_AS_IT_IS = 0,
	RUN_COUNTS,	/* since it was acquired */
	RUN_NEVER_WAS,	/* what its acquire said is taken back */
};

enum operation_kind {
	OPERATION_READ = 1,	/* one lock */
	OPERATION_READ_MANY,	/* many locks; for the audit */
	OPERATION_ACQUIRE,	/* a free lock, a shared one, or a dead one's */
	OPERATION_MULTI,	/* several of these, all or nothing */
	OPERATION_RELEASE,	/* take elements out of the holders */
	OPERATION_REFRESH,	/* a hold of ours lives; without sessions */
	OPERATION_EXTEND,	/* more tokens for a hold of ours */
	OPERATION_UPDATE,	/* other contents, by a hold of ours */
	OPERATION_ADD_WAITER,		/* say that a session waits */
	OPERATION_REMOVE_WAITER,
	OPERATION_MARK,		/* observe a record; without sessions */
	OPERATION_BREAK,	/* remove all holders */
	OPERATION_RAISE,	/* a higher token, for nobody */
	OPERATION_SCAN,		/* a page of the table */
	OPERATION_SESSION_OPEN,
	OPERATION_SESSION_BEAT,
	OPERATION_SESSION_READ,
	OPERATION_SESSION_KILL,
	OPERATION_SESSION_BURY,	/* kill one whose item is absent */
	OPERATION_SESSION_CLOSE,
};
#define OPERATION_KINDS (OPERATION_SESSION_CLOSE + 1)

/* How a record is marked, by the marks that were seen in it. */
enum mark_form {
	MARK_NONE = 0,
	MARK_FIRST,	/* it has none of this version; those of others go */
	MARK_BESIDE,	/* it has some, and room for one more */
	MARK_INSTEAD,	/* it is full; the others go */
};

/*
 * Conditions, in the words of the native format (doc/records.md); a store
 * checks each of them and the write atomically. In code they are apply.h:
 *
 * ACQUIRE, exclusive, n_dead == 0
 *     The lock has no holder (and, while it was last held exclusively, no
 *     waiter mark for shared use), and no line, unless @place says where our
 *     session stands in it. @me becomes its holder, the token rises by
 *     @tokens. A record that never had a token starts at the endpoint's
 *     wall-clock seconds << 20. Our session's waiter mark for exclusive use
 *     is removed; it leaves the line, and so do all that stand before it: with
 *     @place above 1 the token is @token_seen, for what is said of others'
 *     places holds for one turn. Of each ACQUIRE: with @keeps its grant is
 *     @kept in the record, otherwise none is.
 * ACQUIRE, shared, n_dead == 0
 *     Either the lock has no holder (and, while it was last shared, no waiter
 *     mark for exclusive use, except our session's: a waiter for another limit
 *     leaves such a mark). Or it is shared under the same @limit, or without
 *     one like ours; it has fewer holders than @limit, or than HOLDERS_MAX;
 *     @me is not among them; and no waiter mark for exclusive use is there.
 *     And our session has its @place in the line, if that says one. @me
 *     becomes one of its holders, the token rises by one. Our session's waiter
 *     marks of both kinds are removed, and places in the line as above.
 * ACQUIRE, n_dead > 0
 *     The holders are exactly @dead and the token is @token_seen; of the line
 *     and @place as above, by @mode. @me becomes the only holder; the rest as
 *     above.
 * ACQUIRE, @every_s > 0 (@mode is exclusive)
 *     Also: no run counts that began less than that before, by the endpoint's
 *     clock. With @marks this one does from now on, until its release says
 *     otherwise; of each other ACQUIRE nothing is to be taken back.
 * MULTI
 *     The conditions of each of @parts, which are ACQUIREs of one session with
 *     n_dead == 0, of a lock each. What they say is done for all, or for none.
 *     DONE counts only after a consistent read that shows every grant.
 * RELEASE
 *     Each of @holders is in the record. They are taken out; if none is left,
 *     the record gets its time to live. There are RELEASE_MAX at most; after a
 *     lost answer the first of them tells whether it was done. With @run_end,
 *     if none is left, the run of the holder counts since its acquire; or what
 *     that said of it is as it was before.
 * EXTEND
 *     The only holder is @me and the token is @token_seen; it rises by @tokens,
 *     which over a bridge may be any number. For exclusive use: sharers need no
 *     tokens of their own.
 * UPDATE
 *     @me is among the holders, and the record's revision is lower than
 *     @revision, or it has none. The record's contents become @contents, and
 *     its revision @revision: of two writes of one holder's the earlier cannot
 *     land after the later. @revision is not none, and its random part is odd.
 * ADD_WAITER
 *     The lock has a holder. @session is added to its waiter marks for @mode.
 * ADD_WAITER, @line_max > 0 (@mode is exclusive)
 *     The lock has a holder or a line; @session is not in its line, which has
 *     fewer than @line_max. @session is added to the line, as the last, and to
 *     the waiter marks for exclusive use.
 * REMOVE_WAITER
 *     @session is among the waiter marks for @mode, and not in the line, where
 *     each has a mark for exclusive use. It is taken out.
 * REMOVE_WAITER, @place > 0 (@mode is exclusive)
 *     @session has that place in the line, and the token is @token_seen,
 *     unless that is 0: what is said of another's place holds for one turn. It
 *     is taken out of the line and of the waiter marks for exclusive use.
 * BREAK
 *     The lock has holders and its token is @token_seen. All of them are
 *     removed; the record says that @owner broke it, and gets its time to
 *     live.
 * RAISE
 *     There is a record, and its token is below @tokens, which is a multiple of
 *     TOKENS_RAISED; 0: the endpoint's next second << 20. It becomes the token,
 *     whether the lock is held or not. Not in formats without sessions.
 * ACQUIRE, in a format without sessions (@mode is exclusive, @tokens is 1)
 *     Without @version: nobody holds the lock, as far as the format can ask
 *     for that without having seen the record. With it: the record is the one
 *     that was seen, free (n_dead == 0) or held by @dead (or given back by
 *     them under that version), and then it has @mark, unless that is none.
 *     @me becomes the holder, with a token above the record's, if the format
 *     has one; all marks go.
 * MARK
 *     LOCK_LIFE_RECORD only. The record is held and has @version, and marks
 *     as @mark_form says. It gets @mark. There is one attempt, whatever
 *     becomes of it, so what was acknowledged cannot land once more.
 * REFRESH
 *     The holder is @me, by any of its renewals before this one. The record
 *     gets another beat, a higher one with each attempt: above @beat, and by
 *     BEATS_MAX at most above it unless it is a time.
 * EXTEND, UPDATE, in a format without sessions
 *     As REFRESH; and the token becomes @token_seen and @tokens, or that of
 *     @version and @tokens, if it is not above that; or the contents become
 *     @contents (@owner is who has it).
 * RELEASE, in a format without sessions
 *     The holder is holders[0], by any of its renewals.
 * BREAK, in a format without sessions
 *     The record has @version. The author of a break is not recorded.
 * ACQUIRE, EXTEND, where the token would rise above TOKEN_MAX
 *     No fleet comes there; it was written by hand. REFUSED with
 *     DDBLOCK_E_BAD_RECORD, and nothing is written.
 * SESSION_OPEN
 *     There is no such session.
 * SESSION_BEAT
 *     The session exists, is not dead, and its beat is lower than the new one
 *     and, unless that is 0, than @beat_below.
 *     Each attempt's new beat is the boot-time millisecond of its send, above
 *     @beat and above every earlier attempt's. With @contact that becomes the
 *     session's, too.
 * SESSION_KILL
 *     The beat is @beat and the session is not dead.
 * SESSION_BURY
 *     There is no such session.
 * SESSION_CLOSE
 *     The session exists, and its beat is lower than @beat_below, unless that
 *     is 0; it becomes dead by itself.
 */
struct operation {
	enum operation_kind kind;
	uint32_t namespace_index;
	uint32_t user;	/* for whose programs: stores serve users in turn;
			 * USER_NONE: for all of them */
	uint64_t deadline_ms;	/* boot time; the outcome comes by then */
	uint64_t submitted_ms;	/* boot time */
	uint64_t again_ms;	/* SESSION_OPEN, SESSION_BEAT: so long after an
				 * attempt there is another, whatever becomes of
				 * the first; 0: not */

	struct key key;				/* of a lock */
	struct holder me;			/* ACQUIRE, EXTEND, UPDATE */
	/* ACQUIRE: for which use. ADD_WAITER, REMOVE_WAITER: which waiter
	 * marks. Never NONE. */
	enum lock_mode mode;
	uint32_t place;	/* ACQUIRE, REMOVE_WAITER: in the line, from 1; 0: in
			 * none */
	uint32_t line_max;	/* ADD_WAITER: of the line; 0: a mark only */
	uint64_t limit;	/* ACQUIRE, shared: of the holders; 0: none */
	uint64_t tokens;	/* ACQUIRE (shared: 1), EXTEND; RAISE: to it */
	uint64_t token_seen;	/* ACQUIRE of dead or from behind, EXTEND,
				 * BREAK, REMOVE_WAITER */
	uint64_t every_s;	/* ACQUIRE, exclusive: so long after the last
				 * run; 0: at any time */
	bool marks;		/* ACQUIRE, @every_s > 0: it counts */
	enum run_end run_end;			/* RELEASE */
	const struct holder *dead;		/* ACQUIRE */
	size_t n_dead;
	const struct holder *holders;		/* RELEASE */
	size_t n_holders;
	bool others_hold;	/* RELEASE: a hint: other holders were seen */
	bool keeps;	/* ACQUIRE, exclusive: the lock may stay, without a
			 * client, for the next one here */
	bool keeps_contents;	/* RELEASE: the record stays for them, if the
				 * format would delete it; ACQUIRE: they stay,
				 * if it would replace them */
	const char *version;	/* ACQUIRE, BREAK, MARK: as it was seen, or
				 * NULL */
	struct ident mark;	/* MARK; ACQUIRE of dead: it must be there; or
				 * none */
	enum mark_form mark_form;		/* MARK */
	const char *owner;		/* ACQUIRE, BREAK, KILL, BURY: who */
	struct contents contents;		/* UPDATE */
	struct revision revision;		/* UPDATE */
	bool with_contents;	/* READ: show them. Writes always do, other
				 * reads never */

	struct ident session;	/* SESSION_*, ADD_WAITER, REMOVE_WAITER */
	uint64_t beat;	/* SESSION_BEAT, SESSION_KILL, REFRESH and the like */
	uint64_t beat_below;			/* SESSION_BEAT, _CLOSE; or 0 */
	uint64_t lease_ms;			/* SESSION_OPEN */
	const char *contact;	/* SESSION_OPEN; SESSION_BEAT: another one from
				 * now on; NULL: none, or as before */

	const struct key *keys;			/* READ_MANY, MULTI */
	size_t n_keys;
	const struct operation *const *parts;	/* MULTI: one for each key */
	struct key prefix;			/* SCAN */
	struct key cursor;	/* SCAN: empty, or the outcome's of a page */
	bool held_only;		/* SCAN: leave out what has no holder */

	void *store_data;	/* the store's own, between the two */
	struct operation *store_next;
};

enum outcome_kind {
	OUTCOME_DONE = 1,	/* it happened; here is the new record */
	OUTCOME_CONFLICT,	/* it did not; here is what stands in the way */
	OUTCOME_UNKNOWN,	/* it may have happened, or may yet */
	OUTCOME_REFUSED,	/* it did not happen, because of @code */
};
#define OUTCOME_KINDS (OUTCOME_REFUSED + 1)

/* What became of one part of a MULTI. */
struct outcome_part {
	/*
	 * DONE; CONFLICT: @lock stands in its way; REFUSED: it did not happen
	 * because of @code, or (0) because of the other parts alone; UNKNOWN:
	 * it happened, but its record cannot be read.
	 */
	enum outcome_kind kind;
	int code;
	struct lock_record lock;
};

struct scan_row {
	struct key key;
	struct lock_record record;
};

/*
 * What became of an operation. Everything it points to is the store's and is
 * valid until the receiver returns.
 *
 * Reads end in DONE (also when there is no such record: exists is false),
 * UNKNOWN (no answer) or REFUSED.
 */
struct outcome {
	enum outcome_kind kind;
	int code;		/* REFUSED: why. UNKNOWN: what was last seen */
	char text[OUTCOME_TEXT_MAX];	/* for people; may be empty */

	/*
	 * DONE: the first send of exactly the attempt whose effect the answer
	 * shows (doc/records.md, "After a lost answer"). Reads: of the attempt
	 * that was answered.
	 */
	uint64_t sent_ms;

	/* The store itself was not asked: this does not show its health. */
	bool from_memory;

	/*
	 * An attempt was sent whose answer never came, so it may land later,
	 * whatever the kind says; and when the last such was sent.
	 */
	bool unanswered;
	uint64_t unanswered_ms;

	struct lock_record lock;	/* READ, ACQUIRE..BREAK */
	struct session_record session;	/* SESSION_* */

	/*
	 * MULTI that is DONE (then every part is) or CONFLICT: one per key.
	 * If none of them is in the way, they can only be acquired one by one.
	 */
	const struct outcome_part *parts;

	/*
	 * READ_MANY: one per key, in the order of the keys. A key that the
	 * store left unprocessed has its bit in @processed false.
	 */
	const struct lock_record *locks;
	const bool *processed;

	const struct scan_row *rows;	/* SCAN */
	size_t n_rows;
	struct key next_cursor;		/* SCAN: empty after the last page */
	uint64_t n_examined;		/* SCAN: rows, and what was left out */
	uint64_t read_milliunits;	/* SCAN: consumed, as the service says;
					 * 0: it does not, or nothing */
};

/*
 * Does it say what it must, and nothing that contradicts the rest? One that
 * does not is REFUSED with DDBLOCK_E_BAD_REQUEST.
 */
bool operation_is_sound(const struct operation *);

/* Why it is not done, or not known to be: never 0. */
int outcome_code(const struct outcome *);

/* The word for messages and traces: "acquire", "session beat", "unknown". */
const char *operation_kind_name(enum operation_kind);
const char *outcome_kind_name(enum outcome_kind);

#endif
