/*
 * Conformance: stories of one lock or one session, told in text.
 *
 * A line names the operation, and the record after it:
 *
 *	acquire a: held a #1
 *	want b: held a #1 wait b
 *	acquire c: conflict
 *	release a: free #1 wait b
 *
 * After every line the outcome is compared with what a read shows; after a
 * conflict the record is the one before. Rules of every record are checked
 * always: the last holder is named as owner, a held lock has no time to live, a
 * free lock has an hour at least.
 *
 * Sessions and their holds have one letter: a2 is another hold of session a, A
 * a session that is never taken over. #1 is the story's first token.
 */
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/error.h"
#include "conformance.h"

#define STORY_LETTERS 26
#define STORY_HOLDS 3
#define STORY_WORDS 4
#define STORY_TEXT_MAX 256
#define STORY_DAY_S (24 * 3600)
#define STORY_FREE_S 3500	/* tokens could go back sooner */

struct story_state {
	struct key key;
	struct ident sessions[STORY_LETTERS];
	struct ident grants[STORY_LETTERS][STORY_HOLDS];
	uint64_t first;			/* token; 0: not seen yet */
	const char *owner;		/* of the last grant */
	const struct seen *before;	/* NULL: the story begins */
	uint64_t beat;			/* of the session, seen last */
	char words[STORY_WORDS][16];	/* of the line */
	const char *where;		/* for messages */
};

__attribute__((format(printf, 2, 3)))
static void
story_add(char *text, const char *format, ...)
{
	size_t length = strlen(text);
	va_list arguments;
	int n;

	va_start(arguments, format);
	n = vsnprintf(text + length, STORY_TEXT_MAX - length, format,
	    arguments);
	va_end(arguments);
	ck_assert(n >= 0 && (size_t)n < STORY_TEXT_MAX - length);
}

/* ---- names ---- */

static size_t
story_letter(const char *word)
{
	int c = tolower((unsigned char)word[0]);

	ck_assert_msg(c >= 'a' && c <= 'z', "no name: %s", word);
	return (size_t)(c - 'a');
}

static struct holder
story_hold(const struct story_state *t, size_t letter, size_t hold)
{
	return (struct holder){
		.session = t->sessions[letter],
		.grant = t->grants[letter][hold],
		.lease_ms = 20000,
		.fail_closed = hold == 2,
	};
}

static struct holder
story_holder(const struct story_state *t, const char *word)
{
	return story_hold(t, story_letter(word),
	    isupper((unsigned char)word[0]) ? 2 : word[1] == '2');
}

static uint64_t
story_number(const char *word, uint64_t otherwise)
{
	return word[0] == '\0' ? otherwise : strtoull(word, NULL, 10);
}

/* "#3" */
static uint64_t
story_token(const struct story_state *t, const char *word)
{
	ck_assert_msg(word[0] == '#', "no token: %s", word);
	return t->first + strtoull(word + 1, NULL, 10) - 1;
}

/* ---- what a record shows ---- */

static void
story_tell_holders(const struct story_state *t, const struct seen_lock *l,
    char *text)
{
	size_t n = 0;

	for (size_t i = 0; i < STORY_LETTERS * STORY_HOLDS; i++) {
		const size_t letter = i / STORY_HOLDS, hold = i % STORY_HOLDS;
		const struct holder h = story_hold(t, letter, hold);

		if (!case_has(l, &h))
			continue;
		story_add(text, " %c%s", (hold == 2 ? 'A' : 'a') + (int)letter,
		    hold == 1 ? "2" : "");
		n++;
	}
	if (n != l->record.n_holders)
		story_add(text, " and others");
}

static void
story_tell_wishes(const struct story_state *t, const char *title,
    const struct seen_lock *l, size_t expected,
    bool (*wished)(const struct seen_lock *, struct ident), char *text)
{
	size_t n = 0;

	if (expected > 0)
		story_add(text, " %s", title);
	for (size_t i = 0; i < STORY_LETTERS; i++) {
		if (!wished(l, t->sessions[i]))
			continue;
		story_add(text, " %c", 'a' + (int)i);
		n++;
	}
	if (n != expected)
		story_add(text, " and others");
}

/* In its order. */
static void
story_tell_line(const struct story_state *t, const struct seen_lock *l,
    char *text)
{
	if (l->record.n_line > 0)
		story_add(text, " line");
	for (size_t i = 0; i < l->record.n_line; i++) {
		size_t letter = 0;

		while (letter < STORY_LETTERS &&
		    !ident_equal(l->line[i], t->sessions[letter]))
			letter++;
		ck_assert_msg(letter < STORY_LETTERS, "%s: who is in line?",
		    t->where);
		story_add(text, " %c", 'a' + (int)letter);
	}
}

static void
story_tell(const struct story_state *t, const struct seen_lock *l, char *text)
{
	const struct lock_record *r = &l->record;

	text[0] = '\0';
	if (!r->exists) {
		story_add(text, "none");
		return;
	}
	story_add(text, "%s", r->n_holders == 0 ? "free" :
	    r->mode == LOCK_MODE_SHARED ? "shared" : "held");
	story_tell_holders(t, l, text);
	if (r->n_holders == 0 && r->mode == LOCK_MODE_SHARED)
		story_add(text, " was shared");
	if (r->limit != 0)
		story_add(text, " of %llu", (unsigned long long)r->limit);
	story_add(text, " #%lld", (long long)(r->token - t->first) + 1);
	story_tell_wishes(t, "wait", l, r->n_exclusive_waiters, case_marked,
	    text);
	story_tell_wishes(t, "share-wait", l, r->n_shared_waiters,
	    case_marked_shared, text);
	story_tell_line(t, l, text);
	if (r->broken_by != NULL)
		story_add(text, " broken by %s", l->broken_by);
}

/* What goes without saying. */
static void
story_check(struct story_state *t, const struct seen_lock *l)
{
	const struct lock_record *r = &l->record;
	uint64_t wall_s = clock_wall_ms() / 1000;

	if (!r->exists)
		return;
	if (t->first == 0) {
		t->first = r->token;
		ck_assert_uint_gt(r->token, (wall_s - STORY_DAY_S) << 20);
		ck_assert_uint_lt(r->token, (wall_s + STORY_DAY_S) << 20);
	}
	if (r->n_holders == 0) {
		ck_assert_msg(r->ttl_s > wall_s + STORY_FREE_S,
		    "%s: to live until %llu", t->where,
		    (unsigned long long)r->ttl_s);
		return;
	}
	ck_assert_msg(r->ttl_s == 0, "%s: held, and to live until %llu",
	    t->where, (unsigned long long)r->ttl_s);
	ck_assert_msg(strcmp(l->owner, t->owner) == 0, "%s: owner %s",
	    t->where, l->owner);
	ck_assert_uint_gt(r->acquired_at_s, wall_s - STORY_DAY_S);
	ck_assert_uint_lt(r->acquired_at_s, wall_s + STORY_DAY_S);
}

/* ---- what is done to a lock ---- */

static struct seen *
story_acquire(struct story_state *t)
{
	struct holder me = story_holder(t, t->words[1]);

	return case_acquire(t->key, &me,
	    (uint32_t)story_number(t->words[2], 1));
}

static struct seen *
story_share(struct story_state *t)
{
	struct holder me = story_holder(t, t->words[1]);

	return case_share(t->key, &me, story_number(t->words[2], 0));
}

/* The holds named in one word: "ab" are two. */
static size_t
story_holders(const struct story_state *t, const char *word,
    struct holder *ret)
{
	size_t n = 0;

	for (; *word != '\0'; word++) {
		if (isalpha((unsigned char)*word))
			ret[n++] = story_holder(t, word);
	}
	return n;
}

static struct seen *
story_take(struct story_state *t)
{
	struct holder me = story_holder(t, t->words[1]), dead[16];
	size_t n = story_holders(t, t->words[2], dead);

	return case_take(t->key, &me, dead, n,
	    story_token(t, t->words[3]));
}

static struct seen *
story_release(struct story_state *t)
{
	struct operation o = case_operation(OPERATION_RELEASE, t->key);
	struct holder holders[16];

	o.n_holders = story_holders(t, t->words[1], holders);
	o.holders = holders;
	/* A hint, which may be wrong. */
	o.others_hold = strcmp(t->words[2], "others") == 0;
	return case_do(&o);
}

static struct seen *
story_extend(struct story_state *t)
{
	struct holder me = story_holder(t, t->words[1]);

	return case_extend(t->key, &me, story_token(t, t->words[2]),
	    (uint32_t)story_number(t->words[3], 1));
}

static struct seen *
story_break(struct story_state *t)
{
	return case_break(t->key, story_token(t, t->words[1]));
}

/* "raise 2": to the second whole number above the first token; "raise 0": to
 * that below it. */
static struct seen *
story_raise(struct story_state *t)
{
	struct operation o = case_operation(OPERATION_RAISE, t->key);

	o.tokens = (t->first / TOKENS_RAISED +
	    story_number(t->words[1], 1)) * TOKENS_RAISED;
	return case_do(&o);
}

static struct seen *
story_waiter_mark(struct story_state *t)
{
	struct ident session = t->sessions[story_letter(t->words[1])];
	bool shared = strstr(t->words[0], "shared") != NULL;
	bool add = t->words[0][0] == 'w';

	if (shared)
		return (add ? case_add_shared_waiter :
		    case_remove_shared_waiter)(t->key, session);
	return (add ? case_add_waiter : case_remove_waiter)(t->key, session);
}

/* "join b 2": where the line has room for two. */
static struct seen *
story_join(struct story_state *t)
{
	struct operation o = case_operation(OPERATION_ADD_WAITER, t->key);

	o.session = t->sessions[story_letter(t->words[1])];
	o.line_max = (uint32_t)story_number(t->words[2], LINE_PLACES_MAX);
	return case_do(&o);
}

/* "leave b 2": which is its place. */
static struct seen *
story_leave(struct story_state *t)
{
	struct operation o = case_operation(OPERATION_REMOVE_WAITER, t->key);

	o.session = t->sessions[story_letter(t->words[1])];
	o.place = (uint32_t)story_number(t->words[2], 1);
	return case_do(&o);
}

/* "next b 2" acquires from that place (0: from none), "next-share b 2" to share
 * it; "next b 2 a" takes it from the dead a. */
static struct seen *
story_next(struct story_state *t)
{
	struct operation o = case_operation(OPERATION_ACQUIRE, t->key);
	bool share = strcmp(t->words[0], "next-share") == 0;
	struct holder dead[16];

	o.mode = share ? LOCK_MODE_SHARED : LOCK_MODE_EXCLUSIVE;
	o.me = story_holder(t, t->words[1]);
	o.tokens = 1;
	o.owner = share ? "web-1/reader:4711" : "web-1/nightly:4711";
	o.place = (uint32_t)story_number(t->words[2], 1);
	o.n_dead = story_holders(t, t->words[3], dead);
	o.dead = dead;
	o.token_seen = t->before == NULL ? 0 : t->before->lock.record.token;
	return case_do(&o);
}

static const struct {
	const char *word;
	struct seen *(*act)(struct story_state *);
	const char *owner;	/* of the grant, if it is one */
} story_acts[] = {
	{ "acquire", story_acquire, "web-1/nightly:4711" },
	{ "share", story_share, "web-1/reader:4711" },
	{ "take", story_take, "web-2/nightly:4712" },
	{ "release", story_release, NULL },
	{ "extend", story_extend, NULL },
	{ "break", story_break, NULL },
	{ "raise", story_raise, NULL },
	{ "want", story_waiter_mark, NULL },
	{ "unwant", story_waiter_mark, NULL },
	{ "want-shared", story_waiter_mark, NULL },
	{ "unwant-shared", story_waiter_mark, NULL },
	{ "join", story_join, NULL },
	{ "leave", story_leave, NULL },
	{ "next", story_next, "web-1/nightly:4711" },
	{ "next-share", story_next, "web-1/reader:4711" },
};

static void
story_lock(struct story_state *t, const char *expected)
{
	const size_t n = sizeof(story_acts) / sizeof(story_acts[0]);
	bool conflict = strcmp(expected, "conflict") == 0;
	char text[STORY_TEXT_MAX];
	const struct seen *after;
	struct seen *s;
	size_t i = 0;

	while (i < n && strcmp(story_acts[i].word, t->words[0]) != 0)
		i++;
	ck_assert_msg(i < n, "%s: cannot be done", t->where);
	s = story_acts[i].act(t);
	ck_assert_msg(s->kind == (conflict ? OUTCOME_CONFLICT : OUTCOME_DONE),
	    "%s: %s, %s: %s", t->where, outcome_kind_name(s->kind),
	    error_word(s->code), s->text);
	after = case_done(case_read(t->key));
	case_same(&s->lock, &after->lock);
	if (conflict && t->before != NULL)
		case_same(&after->lock, &t->before->lock);
	else if (conflict)
		ck_assert(!after->lock.record.exists);
	if (!conflict && story_acts[i].owner != NULL && (t->before == NULL ||
	    t->before->lock.record.token != after->lock.record.token))
		t->owner = story_acts[i].owner;
	story_check(t, &after->lock);
	story_tell(t, &after->lock, text);
	ck_assert_msg(conflict || strcmp(text, expected) == 0, "%s, is: %s",
	    t->where, text);
	t->before = after;
}

/* ---- what is done to a session ---- */

static const struct {
	const char *word;
	enum operation_kind kind;
} story_session_acts[] = {
	{ "open", OPERATION_SESSION_OPEN },
	{ "beat", OPERATION_SESSION_BEAT },
	{ "kill", OPERATION_SESSION_KILL },
	{ "bury", OPERATION_SESSION_BURY },
	{ "close", OPERATION_SESSION_CLOSE },
};

/* With the beat that was seen last, or that of the opening: "kill a 0"; for
 * this host, or another: "kill a by web-4". */
static void
story_session(struct story_state *t, enum operation_kind kind,
    const char *expected)
{
	struct operation o = case_operation(kind, (struct key){ 0 });
	struct ident session = t->sessions[story_letter(t->words[1])];
	bool conflict = strcmp(expected, "conflict") == 0;
	char text[STORY_TEXT_MAX] = "";
	const struct session_record *r;
	const struct seen *after;
	struct seen *s;

	o.session = session;
	o.beat = isdigit((unsigned char)t->words[2][0]) ? 0 : t->beat;
	o.lease_ms = 20000;
	o.owner = t->words[3][0] != '\0' ? t->words[3] : "web-3";
	s = case_do(&o);
	ck_assert_msg(s->kind == (conflict ? OUTCOME_CONFLICT : OUTCOME_DONE),
	    "%s: %s, %s: %s", t->where, outcome_kind_name(s->kind),
	    error_word(s->code), s->text);
	after = case_done(case_session(OPERATION_SESSION_READ, session, 0));
	r = &after->session;
	ck_assert_int_eq(s->session.exists, r->exists);
	ck_assert_int_eq(s->session.dead, r->dead);
	if (r->exists && !r->dead)
		ck_assert_uint_eq(s->session.beat, r->beat);
	if (conflict && t->before != NULL) {
		const struct session_record *was = &t->before->session;

		ck_assert_int_eq(r->exists, was->exists);
		ck_assert_int_eq(r->dead, was->dead);
		ck_assert_uint_eq(r->beat, was->beat);
		ck_assert_str_eq(after->dead_by, t->before->dead_by);
	} else if (conflict) {
		ck_assert(!r->exists);
	} else {
		ck_assert(kind != OPERATION_SESSION_BEAT || r->beat > t->beat);
		story_add(text, "%s%s", !r->exists ? "none" :
		    r->dead ? "dead by " : "alive", after->dead_by);
		ck_assert_msg(strcmp(text, expected) == 0, "%s, is: %s",
		    t->where, text);
	}
	t->beat = r->beat;
	t->before = after;
}

/* ---- lines ---- */

static void
story_line(struct story_state *t, const char *line)
{
	const size_t n = sizeof(story_session_acts) /
	    sizeof(story_session_acts[0]);
	const char *colon = strstr(line, ": ");
	char act[STORY_TEXT_MAX];

	ck_assert_msg(colon != NULL, "%s: no colon", t->where);
	(void)snprintf(act, sizeof(act), "%.*s", (int)(colon - line), line);
	memset(t->words, 0, sizeof(t->words));
	ck_assert_int_ge(sscanf(act, "%15s %15s %15s %15s", t->words[0],
	    t->words[1], t->words[2], t->words[3]), 2);
	for (size_t i = 0; i < n; i++) {
		if (strcmp(story_session_acts[i].word, t->words[0]) != 0)
			continue;
		story_session(t, story_session_acts[i].kind, colon + 2);
		return;
	}
	story_lock(t, colon + 2);
}

void
story_play(const struct story *story)
{
	struct story_state t = { .key = case_key(story->name), .owner = "" };
	char where[STORY_TEXT_MAX + 64], line[STORY_TEXT_MAX];
	const char *at = story->lines;

	for (size_t i = 0; i < STORY_LETTERS; i++) {
		t.sessions[i] = case_ident();
		for (size_t k = 0; k < STORY_HOLDS; k++)
			t.grants[i][k] = case_ident();
	}
	t.where = where;
	ck_assert(at[0] != '\0');
	while (at[0] != '\0') {
		int length = (int)strcspn(at, "\n");

		(void)snprintf(line, sizeof(line), "%.*s", length, at);
		(void)snprintf(where, sizeof(where), "\"%s\": %s", story->name,
		    line);
		story_line(&t, line);
		at += length;
		at += at[0] == '\n';
	}
}
