/*
 * Recorded requests of older clients, played against the model of DynamoDB: it
 * must give the recorded answers.
 *
 * A recording has the order of the answers. Where two clients meet, two
 * requests may have taken effect in the other order; then the later is moved
 * before the earlier, and the moves are counted.
 */
#include "config.h"

#include <string.h>

#include "suite.h"
#include "traces.h"

/* ---- an order in which all agree -------------------------------------- */

static void
play_quietly(struct dynamo *d, const struct trace *t)
{
	int status;

	for (size_t i = 0; i < t->n; i++)
		json_object_put(trace_ask(d, t->rows[i].operation,
		    t->rows[i].request, &status));
}

/* The record that a takeover finds. */
static struct dynamo *
stage(const struct trace_client *c, enum trace_scene scene)
{
	struct dynamo *d = trace_dynamo(c);
	struct trace death;

	if (scene == TRACE_TAKEOVER) {
		trace_read(&death, c, TRACE_DEATH);
		play_quietly(d, &death);
		trace_done(&death);
	}
	return d;
}

/* The place of the first that does not agree, or of the end. */
static size_t
play(struct dynamo *d, const struct trace *t, const size_t *order)
{
	for (size_t i = 0; i < t->n; i++) {
		const struct trace_row *row = &t->rows[order[i]];
		int status;
		struct json_object *answer = trace_ask(d, row->operation,
		    row->request, &status);
		bool agrees = trace_agrees(row, status, answer);

		json_object_put(answer);
		if (!agrees)
			return i;
	}
	return t->n;
}

/* The number of requests that were exchanged with the next. */
static size_t
moves(const struct trace_client *c, enum trace_scene scene,
    const struct trace *t)
{
	size_t order[TRACE_ROWS_MAX];
	size_t n = 0, last = t->n;

	for (size_t i = 0; i < t->n; i++)
		order[i] = i;
	for (;;) {
		struct dynamo *d = stage(c, scene);
		size_t at = play(d, t, order), moved;

		dynamo_free(d);
		if (at == t->n)
			return n;
		moved = order[at];
		ck_assert_msg(at + 1 < t->n && moved != last,
		    "%s.%s: line %zu has another answer: %s", c->name,
		    trace_scene_name(scene), moved + 1,
		    json_object_to_json_string(t->rows[moved].request));
		last = moved;
		order[at] = order[at + 1];
		order[at + 1] = moved;
		n++;
	}
}

START_TEST(each_answer_is_the_recorded_one)
{
	size_t rows = 0, moved = 0;
	struct trace t;

	for (const struct trace_client *c = trace_clients; c->name != NULL;
	    c++) {
		for (enum trace_scene s = 0; s < TRACE_SCENES; s++) {
			size_t n;

			if (s == TRACE_TAKEOVER && c->fails_closed)
				continue;
			trace_read(&t, c, s);
			n = moves(c, s, &t);
			/* One client's answers come in their order. */
			ck_assert(n == 0 || s == TRACE_CONTENDED);
			rows += t.n;
			moved += n;
			trace_done(&t);
		}
	}
	/* If a file is missing or cut, less is proven. */
	ck_assert_uint_eq(rows, 267);
	ck_assert_uint_eq(moved, 2);
}
END_TEST

/* The comparison above can fail. */
START_TEST(another_answer_is_noticed)
{
	struct trace_row row = { .status = 200 };
	struct json_object *other;

	row.answer = json_tokener_parse("{\"Item\":{\"key\":{\"S\":\"a\"}}}");
	other = json_tokener_parse("{\"Item\":{\"key\":{\"S\":\"b\"}}}");
	ck_assert(trace_agrees(&row, 200, row.answer));
	ck_assert(!trace_agrees(&row, 200, other));
	ck_assert(!trace_agrees(&row, 400, row.answer));
	json_object_put(other);
	json_object_put(row.answer);
	row.status = 400;
	row.answer = json_tokener_parse("{\"__type\":\"x#A\","
	    "\"Message\":\"m\"}");
	other = json_tokener_parse("{\"__type\":\"x#A\",\"message\":\"m\"}");
	ck_assert(trace_agrees(&row, 400, other));
	json_object_put(other);
	other = json_tokener_parse("{\"__type\":\"x#B\",\"message\":\"m\"}");
	ck_assert(!trace_agrees(&row, 400, other));
	json_object_put(other);
	json_object_put(row.answer);
}
END_TEST

int
main(void)
{
	const TTest *const tests[] = {
		each_answer_is_the_recorded_one,
		another_answer_is_noticed,
		NULL,
	};

	return suite_run("traces", tests);
}
