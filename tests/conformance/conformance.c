/*
 * The conformance suite's loop: submits, waits, and stores the outcome.
 */
#include "conformance.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "common/clock.h"
#include "ddblock.h"

#define CASE_DEADLINE_MS 20000
#define CASE_REPEATS 10
#define CASE_LIMIT_S 60		/* generous: only a defect gets there */
#define CASE_KEYS 64

/* As ck_assert(), which notes every success in a file: here they are many. */
#define case_must(condition)                                                   \
	do {                                                                   \
		if (!(condition))                                              \
			ck_abort_msg("%s", #condition);                        \
	} while (0)

struct waiting {
	struct operation *operation;
	struct seen *seen;
};

static const struct conformance_target *case_this;
static struct event_base *case_event_base;
static struct store *case_open_store;
static bool case_submitting;
static struct waiting *case_waiting;	/* since the last wait */
static size_t case_n_waiting;
static size_t case_left;
static struct seen **case_seen;		/* freed with the case */
static size_t case_n_seen;

static void *
case_alloc(size_t n, size_t size)
{
	void *p = calloc(n == 0 ? 1 : n, size);

	case_must(p != NULL);
	return p;
}

static void
case_copy_text(char *to, const char *from)
{
	size_t length = from != NULL ? strlen(from) : 0;

	case_must(length <= OWNER_LENGTH_MAX);
	if (length > 0)
		memcpy(to, from, length);
	to[length] = '\0';
}

static void
case_copy_lock(struct seen_lock *to, const struct lock_record *from)
{
	to->record = *from;
	case_must(from->n_holders <= SEEN_MAX);
	case_must(from->n_exclusive_waiters <= LINE_PLACES_MAX);
	case_must(from->n_shared_waiters <= SEEN_MAX);
	for (size_t i = 0; i < from->n_holders; i++)
		to->holders[i] = from->holders[i];
	for (size_t i = 0; i < from->n_exclusive_waiters; i++)
		to->exclusive_waiters[i] = from->exclusive_waiters[i];
	for (size_t i = 0; i < from->n_shared_waiters; i++)
		to->shared_waiters[i] = from->shared_waiters[i];
	case_must(from->n_line <= LINE_PLACES_MAX);
	for (size_t i = 0; i < from->n_line; i++)
		to->line[i] = from->line[i];
	case_copy_text(to->owner, from->owner);
	case_copy_text(to->broken_by, from->broken_by);
	case_copy_text(to->version, from->version);
	to->record.holders = to->holders;
	to->record.exclusive_waiters = to->exclusive_waiters;
	to->record.shared_waiters = to->shared_waiters;
	to->record.line = to->line;
	to->record.owner = from->owner != NULL ? to->owner : NULL;
	to->record.broken_by = from->broken_by != NULL ? to->broken_by : NULL;
	to->record.version = from->version != NULL ? to->version : NULL;
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
		case_must(l->key_length <= sizeof(l->key));
		memcpy(l->key, from->rows[i].key.bytes, l->key_length);
	}
	s->n_examined = from->n_examined;
	s->cursor_length = from->next_cursor.length;
	case_must(s->cursor_length <= sizeof(s->cursor));
	if (s->cursor_length > 0)
		memcpy(s->cursor, from->next_cursor.bytes, s->cursor_length);
}

static void
case_copy_parts(struct seen *s, const struct operation *o,
    const struct outcome *from)
{
	case_must(from->parts != NULL);
	s->n_locks = o->n_keys;
	s->n_parts = o->n_keys;
	s->locks = case_alloc(s->n_locks, sizeof(*s->locks));
	s->parts = case_alloc(s->n_parts, sizeof(*s->parts));
	for (size_t i = 0; i < s->n_parts; i++) {
		case_copy_lock(&s->locks[i], &from->parts[i].lock);
		s->parts[i].kind = from->parts[i].kind;
		s->parts[i].code = from->parts[i].code;
	}
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
	s->contents = contents_copy(&from->lock.contents);
	case_must(s->contents != NULL);
	s->session = from->session;
	case_copy_text(s->host, from->session.host);
	case_copy_text(s->dead_by, from->session.dead_by);
	s->session.host = from->session.host != NULL ? s->host : NULL;
	s->session.dead_by = from->session.dead_by != NULL ? s->dead_by : NULL;
	if (from->kind == OUTCOME_DONE && (o->kind == OPERATION_READ_MANY ||
	    o->kind == OPERATION_SCAN))
		case_copy_list(s, o, from);
	if (o->kind == OPERATION_MULTI &&
	    (from->kind == OUTCOME_DONE || from->kind == OUTCOME_CONFLICT))
		case_copy_parts(s, o, from);
}

static void
case_on_outcome(void *arg, struct operation *operation,
    const struct outcome *outcome)
{
	(void)arg;
	case_must(!case_submitting);	/* not within the submission */
	for (size_t i = 0; i < case_n_waiting; i++) {
		struct waiting *w = &case_waiting[i];

		if (w->operation != operation)
			continue;
		case_must(w->seen->kind == 0);	/* not a second one */
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
	case_must(case_seen != NULL);
	case_seen[case_n_seen++] = s;
	return s;
}

/* What holds for every outcome. */
static void
case_check(const struct seen *s)
{
	if (s->kind == OUTCOME_DONE) {
		case_must(s->sent_ms >= s->submitted_ms);
		case_must(s->sent_ms <= s->answered_ms);
	}
	if (s->kind == OUTCOME_REFUSED)
		case_must(s->code < 0);
}

struct seen *
case_submit(struct operation *operation)
{
	struct seen *s = case_new_seen();
	struct waiting *w;

	case_waiting = realloc(case_waiting,
	    (case_n_waiting + 1) * sizeof(*case_waiting));
	case_must(case_waiting != NULL);
	w = &case_waiting[case_n_waiting++];
	w->operation = operation;
	w->seen = s;
	case_left++;
	s->submitted_ms = clock_boot_ms();
	case_submitting = true;
	store_submit(case_open_store, operation);
	case_submitting = false;
	return s;
}

void
case_wait(void)
{
	struct timeval limit = { .tv_sec = CASE_LIMIT_S };
	struct event *timer;

	timer = evtimer_new(case_event_base, case_on_limit, NULL);
	case_must(timer != NULL);
	case_must(event_add(timer, &limit) == 0);
	while (case_left > 0)
		case_must(event_base_loop(case_event_base, 0) == 0);
	event_free(timer);
	for (size_t i = 0; i < case_n_waiting; i++)
		case_check(case_waiting[i].seen);
	free(case_waiting);
	case_waiting = NULL;
	case_n_waiting = 0;
}

void
case_turn(void)
{
	struct timeval tick = { .tv_usec = 1000 };

	case_must(event_base_loopexit(case_event_base, &tick) == 0);
	case_must(event_base_loop(case_event_base, 0) == 0);
}

void
case_do_many(struct operation *operations, size_t n, struct seen **ret)
{
	for (size_t i = 0; i < n; i++)
		ret[i] = case_submit(&operations[i]);
	case_wait();
}

void
case_do_all(struct operation *operations, size_t n, struct seen **ret)
{
	case_do_many(operations, n, ret);
	for (size_t i = 0; i < n; i++) {
		struct operation *o = &operations[i];

		for (int left = CASE_REPEATS; left > 0 &&
		    ret[i]->code == DDBLOCK_E_UNREACHABLE; left--) {
			o->submitted_ms = clock_boot_ms();
			o->deadline_ms = o->submitted_ms + CASE_DEADLINE_MS;
			ret[i] = case_do(o);
		}
		case_done(ret[i]);
	}
}

struct seen *
case_do(struct operation *operation)
{
	struct seen *s = case_submit(operation);

	case_wait();
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

	case_must(getrandom(&id, sizeof(id), 0) == sizeof(id));
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
	case_must(IDENT_TEXT_LENGTH + length <= KEY_LENGTH_MAX);
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
		.mode = LOCK_MODE_EXCLUSIVE,
	};
}

static void
case_setup(void)
{
	case_event_base = event_base_new();
	case_must(case_event_base != NULL);
	case_open_store =
	    case_this->open(case_event_base, case_on_outcome, NULL);
	case_must(case_open_store != NULL);
}

static void
case_teardown(void)
{
	case_this->close(case_open_store);
	event_base_free(case_event_base);
	for (size_t i = 0; i < case_n_seen; i++) {
		free(case_seen[i]->contents);
		free(case_seen[i]->locks);
		free(case_seen[i]->processed);
		free(case_seen[i]->parts);
		free(case_seen[i]);
	}
	free(case_seen);
}

void
conformance_add(Suite *suite, TCase *cases)
{
	tcase_add_checked_fixture(cases, case_setup, case_teardown);
	tcase_set_timeout(cases, 2 * CASE_LIMIT_S);
	suite_add_tcase(suite, cases);
}

Suite *
conformance_empty(const struct conformance_target *target)
{
	case_this = target;
	return suite_create(target->name);
}

static Suite *
conformance_suite(const struct conformance_target *target)
{
	Suite *suite = conformance_empty(target);

	conformance_add(suite, conformance_locks());
	conformance_add(suite, conformance_shared());
	conformance_add(suite, conformance_multi());
	conformance_add(suite, conformance_waiters());
	conformance_add(suite, conformance_every());
	conformance_add(suite, conformance_line());
	conformance_add(suite, conformance_breaks());
	conformance_add(suite, conformance_contents());
	conformance_add(suite, conformance_reads());
	conformance_add(suite, conformance_sessions());
	if (target->sorts)
		conformance_add(suite, conformance_sorts());
	return suite;
}

int
conformance_main(const struct conformance_target *target, bool all,
    const char *file)
{
	Suite *suite = all ? conformance_suite(target) :
	    conformance_empty(target);

	if (file != NULL)
		conformance_add(suite, test_case(target->name, file));
	return suite_end(suite);
}
