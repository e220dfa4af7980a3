/*
 * Operations of a format, on the model of DynamoDB.
 */
#include "trial.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

#include "ddblock.h"

static void
trial_create(struct trial *t)
{
	char body[500];
	int length = snprintf(body, sizeof(body), "{\"TableName\":\"%s\","
	    "\"BillingMode\":\"PAY_PER_REQUEST\",\"KeySchema\":"
	    "[{\"KeyType\":\"HASH\",\"AttributeName\":\"key\"}],"
	    "\"AttributeDefinitions\":[{\"AttributeType\":\"S\","
	    "\"AttributeName\":\"key\"}]}", TRIAL_TABLE);

	ck_assert(trial_send(t, "CreateTable", body, (size_t)length));
}

void
trial_init(struct trial *t, const struct dialect *dialect,
    const struct dialect_table *table, uint64_t seed)
{
	const uint64_t seeds[4] = { seed, 2, 3, 4 };

	*t = (struct trial){
		.dialect = dialect, .table = *table, .dynamo = dynamo_new(),
		.wall_ms = TRIAL_WALL_MS,
	};
	ck_assert_ptr_nonnull(t->dynamo);
	t->table.table = TRIAL_TABLE;
	t->table.key_attribute = "key";
	t->table.host = "web-1";
	t->table.pid = "812";
	t->table.version = "0.1.0";
	random_init(&t->random, seeds);
	dialect_request_init(&t->request);
	dynamo_answer_init(&t->answer);
	trial_create(t);
}

void
trial_done(struct trial *t)
{
	dialect_request_done(&t->request);
	dynamo_answer_done(&t->answer);
	dynamo_free(t->dynamo);
}

uint64_t
trial_below(struct trial *t, uint64_t limit)
{
	return random_next(&t->random) % limit;
}

bool
trial_one_in(struct trial *t, uint64_t n)
{
	return trial_below(t, n) == 0;
}

bool
trial_send(struct trial *t, const char *operation, const char *body,
    size_t length)
{
	dynamo_request(t->dynamo, t->wall_ms, operation, body, length,
	    &t->answer);
	if (t->answer.status == 200)
		return true;
	ck_assert_msg(strstr(t->answer.body.data, "ConditionalCheckFailed") !=
	    NULL, "%s\n%s", body, t->answer.body.data);
	return false;
}

int
trial_do(struct trial *t, const struct operation *o,
    const struct dialect_attempt *a)
{
	struct dialect_view view;
	int code, done;

	dialect_view_init(&view);
	code = t->dialect->request(&t->table, o, a, &t->request, &view);
	if (code < 0) {
		dialect_view_clear(&view);
		return code;
	}
	done = trial_send(t, t->request.operation, t->request.body.data,
	    t->request.body.length) ? 1 : 0;
	dialect_view_clear(&view);
	code = t->dialect->answer(&t->table, o, a, done == 0,
	    t->answer.body.data, t->answer.body.length, &view);
	ck_assert_msg(code == 0 || code == DDBLOCK_E_BAD_RECORD, "%s: %d",
	    operation_kind_name(o->kind), code);
	dialect_view_clear(&view);
	return code < 0 ? code : done;
}

void
trial_look(struct trial *t, const struct operation *o,
    struct dialect_view *view)
{
	struct operation read = {
		.kind = dialect_is_session(o->kind) ?
		    OPERATION_SESSION_READ : OPERATION_READ,
		.key = o->key, .session = o->session, .with_contents = true,
	};
	const struct dialect_attempt a = {
		.step = DIALECT_DO, .wall_ms = t->wall_ms,
	};
	int code;

	code = t->dialect->request(&t->table, &read, &a, &t->request, view);
	ck_assert_int_eq(code, 0);
	ck_assert(trial_send(t, t->request.operation,
	    t->request.body.data, t->request.body.length));
	code = t->dialect->answer(&t->table, &read, &a, false,
	    t->answer.body.data, t->answer.body.length, view);
	ck_assert_msg(code == 0, "%s: %s", view->text,
	    t->answer.body.data);
}

bool
trial_same_text(const char *a, const char *b)
{
	return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

bool
trial_same_idents(const struct ident *a, size_t n_a, const struct ident *b,
    size_t n_b)
{
	size_t found = 0;

	for (size_t i = 0; i < n_a; i++) {
		for (size_t j = 0; j < n_b; j++)
			found += ident_equal(a[i], b[j]);
	}
	return n_a == n_b && found == n_a;
}

bool
trial_same_order(const struct ident *a, size_t n_a, const struct ident *b,
    size_t n_b)
{
	for (size_t i = 0; n_a == n_b && i < n_a; i++) {
		if (!ident_equal(a[i], b[i]))
			return false;
	}
	return n_a == n_b;
}

bool
trial_same_holders(const struct lock_record *a, const struct lock_record *b,
    bool whole)
{
	size_t found = 0;

	for (size_t i = 0; i < a->n_holders; i++) {
		for (size_t j = 0; j < b->n_holders; j++) {
			const struct holder *h = &a->holders[i];
			const struct holder *g = &b->holders[j];

			found += ident_equal(h->session, g->session) &&
			    ident_equal(h->grant, g->grant) &&
			    h->fail_closed == g->fail_closed &&
			    (!whole || h->lease_ms == g->lease_ms);
		}
	}
	return a->n_holders == b->n_holders && found == a->n_holders;
}
