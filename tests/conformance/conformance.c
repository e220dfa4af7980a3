/*
 * The conformance suite's loop: submits, waits, and keeps what was seen.
 */
#include "conformance.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "common/clock.h"

#define CASE_DEADLINE_MS 20000
#define CASE_LIMIT_S 60		/* generous: only a defect gets there */
#define CASE_KEYS 64

struct waiting {
	struct operation *operation;
	struct seen *seen;
	bool answered;
};

static const struct conformance_target *case_this;
static struct event_base *case_event_base;
static struct store *case_open_store;
static bool case_submitting;
static struct waiting *case_waiting;
static size_t case_n_waiting;
static size_t case_left;
static struct seen **case_seen;		/* freed with the case */
static size_t case_n_seen;

static void *
case_alloc(size_t n, size_t size)
{
	void *p = calloc(n == 0 ? 1 : n, size);

	ck_assert_ptr_nonnull(p);
	return p;
}

static void
case_copy_text(char *to, const char *from)
{
	size_t length = from != NULL ? strlen(from) : 0;

	ck_assert_uint_le(length, OWNER_LENGTH_MAX);
	if (length > 0)
		memcpy(to, from, length);
	to[length] = '\0';
}

static void
case_copy_lock(struct seen_lock *to, const struct lock_record *from)
{
	to->record = *from;
	ck_assert_uint_le(from->n_holders, SEEN_MAX);
	ck_assert_uint_le(from->n_exclusive_wishes, SEEN_MAX);
	for (size_t i = 0; i < from->n_holders; i++)
		to->holders[i] = from->holders[i];
	for (size_t i = 0; i < from->n_exclusive_wishes; i++)
		to->exclusive_wishes[i] = from->exclusive_wishes[i];
	case_copy_text(to->owner, from->owner);
	to->record.holders = to->holders;
	to->record.exclusive_wishes = to->exclusive_wishes;
	to->record.owner = from->owner != NULL ? to->owner : NULL;
	to->record.broken_by = NULL;
}

static void
case_copy_list(struct seen *s, const struct operation *o,
    const struct outcome *from)
{
	bool many = o->kind == OPERATION_READ_MANY;

	s->n_locks = many ? o->n_keys : from->n_rows;
	s->locks = case_alloc(s->n_locks, sizeof(*s->locks));
	s->processed = case_alloc(s->n_locks, sizeof(*s->processed));
	for (size_t i = 0; i < s->n_locks; i++) {
		struct seen_lock *l = &s->locks[i];

		if (many) {
			case_copy_lock(l, &from->locks[i]);
			s->processed[i] = from->processed[i];
			continue;
		}
		case_copy_lock(l, &from->rows[i].record);
		l->key_length = from->rows[i].key.length;
		ck_assert_uint_le(l->key_length, sizeof(l->key));
		memcpy(l->key, from->rows[i].key.bytes, l->key_length);
	}
	s->cursor_length = from->next_cursor.length;
	ck_assert_uint_le(s->cursor_length, sizeof(s->cursor));
	if (s->cursor_length > 0)
		memcpy(s->cursor, from->next_cursor.bytes, s->cursor_length);
}

static void
case_copy(struct seen *s, const struct operation *o,
    const struct outcome *from)
{
	s->kind = from->kind;
	s->code = from->code;
	memcpy(s->text, from->text, sizeof(s->text));
	s->sent_ms = from->sent_ms;
	s->unanswered = from->unanswered;
	s->answered_ms = clock_boot_ms();
	case_copy_lock(&s->lock, &from->lock);
	s->session = from->session;
	case_copy_text(s->host, from->session.host);
	case_copy_text(s->dead_by, from->session.dead_by);
	s->session.host = from->session.host != NULL ? s->host : NULL;
	s->session.dead_by = from->session.dead_by != NULL ? s->dead_by : NULL;
	if (from->kind == OUTCOME_DONE && (o->kind == OPERATION_READ_MANY ||
	    o->kind == OPERATION_SCAN))
		case_copy_list(s, o, from);
}

static void
case_on_outcome(void *arg, struct operation *operation,
    const struct outcome *outcome)
{
	(void)arg;
	ck_assert_msg(!case_submitting, "an outcome within the submission");
	for (size_t i = 0; i < case_n_waiting; i++) {
		struct waiting *w = &case_waiting[i];

		if (w->operation != operation)
			continue;
		ck_assert_msg(!w->answered, "a second outcome");
		w->answered = true;
		case_left--;
		case_copy(w->seen, operation, outcome);
		if (case_left == 0)
			(void)event_base_loopbreak(case_event_base);
		return;
	}
	ck_abort_msg("an outcome that nobody waits for");
}

static void
case_on_limit(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)arg;
	ck_abort_msg("no outcome came");
}

static struct seen *
case_new_seen(void)
{
	struct seen *s = case_alloc(1, sizeof(*s));

	case_seen = realloc(case_seen, (case_n_seen + 1) * sizeof(s));
	ck_assert_ptr_nonnull(case_seen);
	case_seen[case_n_seen++] = s;
	return s;
}

/* What holds for every outcome. */
static void
case_check(const struct seen *s)
{
	if (s->kind == OUTCOME_DONE) {
		ck_assert_uint_ge(s->sent_ms, s->submitted_ms);
		ck_assert_uint_le(s->sent_ms, s->answered_ms);
	}
	if (s->kind == OUTCOME_REFUSED)
		ck_assert_int_lt(s->code, 0);
}

void
case_do_many(struct operation *operations, size_t n, struct seen **ret)
{
	struct timeval limit = { .tv_sec = CASE_LIMIT_S };
	struct event *timer;

	timer = evtimer_new(case_event_base, case_on_limit, NULL);
	ck_assert_ptr_nonnull(timer);
	ck_assert_int_eq(event_add(timer, &limit), 0);
	case_waiting = case_alloc(n, sizeof(*case_waiting));
	case_n_waiting = n;
	case_left = n;
	for (size_t i = 0; i < n; i++) {
		ret[i] = case_new_seen();
		ret[i]->submitted_ms = clock_boot_ms();
		case_waiting[i].operation = &operations[i];
		case_waiting[i].seen = ret[i];
		case_submitting = true;
		store_submit(case_open_store, &operations[i]);
		case_submitting = false;
	}
	while (case_left > 0)
		ck_assert_int_eq(event_base_loop(case_event_base, 0), 0);
	event_free(timer);
	free(case_waiting);
	case_waiting = NULL;
	case_n_waiting = 0;
	for (size_t i = 0; i < n; i++)
		case_check(ret[i]);
}

struct seen *
case_do(struct operation *operation)
{
	struct seen *s;

	case_do_many(operation, 1, &s);
	return s;
}

struct event_base *
case_base(void)
{
	return case_event_base;
}

struct store *
case_store(void)
{
	return case_open_store;
}

const struct conformance_target *
case_target(void)
{
	return case_this;
}

struct ident
case_ident(void)
{
	struct ident id;

	ck_assert_int_eq(getrandom(&id, sizeof(id), 0), sizeof(id));
	return id;
}

struct holder
case_holder(void)
{
	return (struct holder){
		.session = case_ident(),
		.grant = case_ident(),
		.lease_ms = 20000,
	};
}

struct key
case_key(const char *text)
{
	static char names[CASE_KEYS][KEY_LENGTH_MAX];
	static char run[IDENT_TEXT_LENGTH + 1];
	static size_t next;
	char *name = names[next++ % CASE_KEYS];
	size_t length = strlen(text);

	if (run[0] == '\0')
		ident_format(case_ident(), run);
	ck_assert_uint_le(IDENT_TEXT_LENGTH + length, KEY_LENGTH_MAX);
	memcpy(name, run, IDENT_TEXT_LENGTH);
	if (length > 0)
		memcpy(name + IDENT_TEXT_LENGTH, text, length);
	return (struct key){ name, IDENT_TEXT_LENGTH + length };
}

struct operation
case_operation(enum operation_kind kind, struct key key)
{
	uint64_t now_ms = clock_boot_ms();

	return (struct operation){
		.kind = kind,
		.submitted_ms = now_ms,
		.deadline_ms = now_ms + CASE_DEADLINE_MS,
		.key = key,
	};
}

static void
case_setup(void)
{
	case_event_base = event_base_new();
	ck_assert_ptr_nonnull(case_event_base);
	case_open_store =
	    case_this->open(case_event_base, case_on_outcome, NULL);
	ck_assert_ptr_nonnull(case_open_store);
}

static void
case_teardown(void)
{
	case_this->close(case_open_store);
	event_base_free(case_event_base);
	for (size_t i = 0; i < case_n_seen; i++) {
		free(case_seen[i]->locks);
		free(case_seen[i]->processed);
		free(case_seen[i]);
	}
	free(case_seen);
}

static void
conformance_add(Suite *suite, TCase *cases)
{
	tcase_add_checked_fixture(cases, case_setup, case_teardown);
	tcase_set_timeout(cases, 2 * CASE_LIMIT_S);
	suite_add_tcase(suite, cases);
}

Suite *
conformance_suite(const struct conformance_target *target)
{
	Suite *suite = suite_create(target->name);

	case_this = target;
	conformance_add(suite, conformance_locks());
	conformance_add(suite, conformance_wishes());
	conformance_add(suite, conformance_reads());
	conformance_add(suite, conformance_sessions());
	return suite;
}

int
conformance_run(Suite *suite)
{
	SRunner *runner = srunner_create(suite);
	int failed;

	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
