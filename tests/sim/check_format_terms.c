/*
 * Every term of every condition that our record formats write: together they
 * suffice, and each is needed.
 *
 * For each format there are the records that it may meet (none, ours, others',
 * released, ended), and each of these with one attribute absent, of another
 * type or of another value (corpus.h). Each of our requests meets each record.
 * If its condition holds, core/apply.h must agree, on the record as our reader
 * sees it. Then the terms of the condition are dropped one by one: the result
 * must change for at least one of the records.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/apply.h"
#include "corpus.h"
#include "ddblock.h"
#include "suite.h"
#include "terms.h"

/* ---- requests ---------------------------------------------------------- */

/* What an operation knows of the record. */
enum sight {
	SIGHT_NONE,
	SIGHT_HELD,
	SIGHT_BARE,	/* held, without optional attributes */
	SIGHT_FREE,
};

struct move {
	const char *name;
	enum operation_kind kind;
	enum sight sight;
	bool keeps_contents;
	bool late;	/* when the hold has ended */
	enum mark_form mark;
	bool marked;	/* take it, if our mark is there */
};

static const struct move moves[] = {
	{ "acquire", OPERATION_ACQUIRE, SIGHT_NONE, .late = true },
	{ "take what is over", OPERATION_ACQUIRE, SIGHT_HELD, .late = true },
	{ "take what has no token", OPERATION_ACQUIRE, SIGHT_BARE,
	    .late = true },
	{ "take it too early", OPERATION_ACQUIRE, SIGHT_HELD, .late = false },
	{ "take that too early", OPERATION_ACQUIRE, SIGHT_BARE, .late = false },
	{ "take what is free", OPERATION_ACQUIRE, SIGHT_FREE, .late = true },
	{ "refresh", OPERATION_REFRESH, SIGHT_NONE, .late = false },
	{ "update", OPERATION_UPDATE, SIGHT_NONE, .late = false },
	{ "extend", OPERATION_EXTEND, SIGHT_NONE, .late = false },
	{ "release", OPERATION_RELEASE, SIGHT_NONE, .late = false },
	{ "release and keep", OPERATION_RELEASE, SIGHT_NONE, .keeps_contents =
	    true },
	{ "break", OPERATION_BREAK, SIGHT_HELD, .late = false },
	{ "take what is marked", OPERATION_ACQUIRE, SIGHT_HELD, .late = true,
	    .marked = true },
	{ "mark", OPERATION_MARK, SIGHT_HELD, .mark = MARK_FIRST },
	{ "mark beside", OPERATION_MARK, SIGHT_HELD, .mark = MARK_BESIDE },
	{ "mark instead", OPERATION_MARK, SIGHT_HELD, .mark = MARK_INSTEAD },
};
#define MOVES (sizeof(moves) / sizeof(moves[0]))

/* A request as its format writes it. */
struct written {
	const struct move *move;
	char version[CORPUS_TEXT_MAX];		/* of the seen record */
	uint64_t token, wall_ms, beat;
	bool *holds;			/* for each record */
	char operation[32];
	char *head, *condition, *tail;	/* its body */
};

/* ---- both -------------------------------------------------------------- */

static bool
holds_for(struct stage *s, const struct written *w, const char *condition,
    struct json_object *item)
{
	char *body;
	bool holds;

	ck_assert_int_gt(asprintf(&body, "%s%s%s", w->head, condition,
	    w->tail), 0);
	corpus_put(s, item);
	holds = corpus_send(s, w->operation, body);
	free(body);
	return holds;
}

/* The operation that a request was written for. */
static struct operation
operation_of(struct stage *s, const struct move *m, const struct written *w)
{
	struct operation o = corpus_operation(s, m->kind, &us);

	o.keeps_contents = m->keeps_contents;
	o.version = m->sight != SIGHT_NONE ? w->version : NULL;
	/* The first acquire has the first token. */
	o.token_seen = m->kind == OPERATION_EXTEND ? 1 : w->token;
	o.dead = &corpus_above;
	o.n_dead = m->sight == SIGHT_HELD || m->sight == SIGHT_BARE;
	o.mark_form = m->mark;
	if (m->marked || m->mark != MARK_NONE)
		o.mark = corpus_mark;
	return o;
}

/*
 * May the operation change this record? Three operations change nothing that
 * matters: a mark that is there already; a release after the release, whose
 * record names the last hold; an acquire of a hold of ours that has ended.
 */
static bool
is_presumed(struct stage *s, const struct written *w)
{
	const struct lock_record *l = &s->view.lock;
	const struct operation o = operation_of(s, w->move, w);
	const struct apply a = {
		.life = s->dialect->life, .beat = w->beat,
		.tokens_unbounded = s->table.fencing,
	};
	uint64_t now_ms = s->wall_ms;
	int code, verdict;

	s->wall_ms = w->wall_ms;
	code = corpus_read(s);
	s->wall_ms = now_ms;
	if (code != 0)
		return w->move->kind != OPERATION_ACQUIRE ||
		    w->move->sight != SIGHT_NONE;
	if (w->move->kind == OPERATION_RELEASE && l->n_holders == 0)
		return true;
	verdict = apply_judge_lock(&a, &o, l);
	return verdict == APPLY_NEW || (verdict == APPLY_SAME &&
	    (o.kind == OPERATION_MARK || (o.kind == OPERATION_ACQUIRE &&
	    s->dialect->life == LOCK_LIFE_DEADLINE && l->ends_in_ms == 0)));
}

static void
check_all(struct corpus *c, const struct written *w)
{
	for (size_t i = 0; i < c->n; i++) {
		w->holds[i] = holds_for(c->stage, w, w->condition,
		    c->items[i]);
		if (!w->holds[i])
			continue;
		corpus_put(c->stage, c->items[i]);
		ck_assert_msg(is_presumed(c->stage, w), "%s, %s: %s holds for "
		    "%s", c->stage->client->name, w->move->name, w->condition,
		    json_object_to_json_string(c->items[i]));
	}
}

/* Does a record notice the other @condition, of any request that has @of's? */
static bool
is_noticed(struct corpus *c, const struct written *all, size_t n,
    const struct written *of, const char *condition)
{
	for (const struct written *w = all; w < all + n; w++) {
		if (strcmp(w->condition, of->condition) != 0)
			continue;
		for (size_t i = 0; i < c->n; i++)
			if (holds_for(c->stage, w, condition, c->items[i]) !=
			    w->holds[i])
				return true;
	}
	return false;
}

static void
check_each(struct corpus *c, const struct written *all, size_t n,
    const struct written *w)
{
	char term[TERMS_TEXT_MAX], dropped[TERMS_TEXT_MAX], *condition;
	struct terms t;

	terms_find(w->condition, &t);
	ck_assert_uint_gt(t.n, 0);
	for (size_t i = 0; i < t.n; i++) {
		const struct term *of = &t.of[i];

		ck_assert_uint_lt(of->length, sizeof(term));
		memcpy(term, w->condition + of->at, of->length);
		term[of->length] = '\0';
		for (unsigned way = 0; term_drop(term, t.any[of->group], way,
		    dropped); way++) {
			ck_assert_int_gt(asprintf(&condition, "%.*s%s%s",
			    (int)of->at, w->condition, dropped,
			    w->condition + of->at + of->length), 0);
			ck_assert_msg(is_noticed(c, all, n, w,
			    condition),
			    "%s, %s: nothing needs \"%s\", or nobody tests it "
			    "(%s)", c->stage->client->name, w->move->name,
			    term, condition);
			free(condition);
		}
	}
}

/* A dlock without fencing wrote it, in a table where others have tokens. */
static bool
put_bare(struct stage *s)
{
	struct json_object *item;

	if (!s->table.fencing)
		return false;
	item = stage_item(s);
	json_object_object_del(item, "fencingToken");
	corpus_put(s, item);
	json_object_put(item);
	return true;
}

/* The record of another client, as it was seen. False: there is none. */
static bool
look_at(struct stage *s, struct written *w)
{
	corpus_put(s, NULL);
	corpus_act(s, OPERATION_ACQUIRE, &corpus_above, beat_of(s, 0), false);
	if (w->move->sight == SIGHT_FREE)
		corpus_act(s, OPERATION_RELEASE, &corpus_above, 0, true);
	if (w->move->sight == SIGHT_BARE && !put_bare(s))
		return false;
	ck_assert_int_eq(corpus_read(s), 0);
	if (!s->view.lock.exists)
		return false;
	(void)snprintf(w->version, sizeof(w->version), "%s",
	    s->view.lock.version);
	w->token = s->view.lock.token;
	return true;
}

/* False: the format has no such request. */
static bool
written_make(struct stage *s, const struct move *m, struct written *w)
{
	static const char member[] = "\"ConditionExpression\":\"";
	struct operation o;
	uint64_t began_ms = s->wall_ms;
	char *at;
	int code;

	memset(w, 0, sizeof(*w));
	w->move = m;
	if (m->sight != SIGHT_NONE && !look_at(s, w))
		return false;
	o = operation_of(s, m, w);
	if (m->marked && s->dialect->life != LOCK_LIFE_RECORD)
		return false;
	if (m->late)
		s->wall_ms += us.lease_ms + SKEW_MS;
	w->beat = beat_of(s, 3);
	w->wall_ms = s->wall_ms;
	code = corpus_write(s, &o, w->beat);
	s->wall_ms = began_ms;
	if (code == DDBLOCK_E_UNSUPPORTED)
		return false;
	ck_assert_msg(code == 0, "%s: %s", m->name, s->view.text);
	(void)snprintf(w->operation, sizeof(w->operation), "%s",
	    s->request.operation);
	w->head = strdup(s->request.body.data);
	at = strstr(w->head, member);
	ck_assert_msg(at != NULL, "%s: %s", m->name, w->head);
	at += strlen(member);
	w->tail = strdup(strchr(at, '"'));
	w->condition = strndup(at, strcspn(at, "\""));
	*at = '\0';
	w->holds = calloc(CORPUS_MAX, sizeof(*w->holds));
	ck_assert_ptr_ne(w->holds, NULL);
	return true;
}

static void
written_done(struct written *w)
{
	free(w->head);
	free(w->condition);
	free(w->tail);
	free(w->holds);
}

START_TEST(each_term_is_needed)
{
	const struct trace_client *client = &trace_clients[_i];
	struct written all[MOVES];
	struct corpus c;
	struct stage s;
	size_t n = 0;

	stage_init(&s, client, "ours");
	corpus_fill(&c, &s);
	for (size_t i = 0; i < MOVES; i++)
		n += written_make(&s, &moves[i], &all[n]);
	ck_assert_uint_ge(n, 4);
	for (size_t i = 0; i < n; i++)
		check_all(&c, &all[i]);
	for (size_t i = 0; i < n; i++)
		check_each(&c, all, n, &all[i]);
	for (size_t i = 0; i < n; i++)
		written_done(&all[i]);
	corpus_done(&c);
	stage_done(&s);
}
END_TEST

int
main(void)
{
	const TTest *const tests[] = {
		each_term_is_needed,
		NULL,
	};

	return suite_run_loops("terms of formats", tests, TRACE_CLIENTS);
}
