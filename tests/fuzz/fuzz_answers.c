/*
 * Whatever DynamoDB, an emulator or a proxy may answer, to each kind of
 * operation in each record format: what the answer is (aws/errors.h), what it
 * means for the operation (store/translation.h), and what record it shows.
 *
 * The first line chooses: a format, an operation, and settings of the table,
 * a letter each. The others are answers, a letter for the status and the body.
 * The first of them is of a read; the operation follows from the record that
 * this shows, as the core's would, and gets the rest.
 */
#include "fuzz.h"

#include "aws/errors.h"
#include "core/operation.h"
#include "ddblock.h"
#include "store/translation.h"

#define FORMATS (sizeof(formats) / sizeof(formats[0]))
#define KINDS OPERATION_SESSION_CLOSE
#define LATER_KIND OPERATION_RAISE	/* it came when there was a corpus */
#define KEYS 3
#define PAGES_MAX 3
#define ANSWERS_MAX 12
#define WALL UINT64_C(1800000000000)

static const struct dialect *const formats[] = {
#define FORMAT(name, own, ...) &dialect_##own,
#include "dialect/formats.def"
};

static const struct {
	char letter;
	int status;
} statuses[] = {
	{ '2', 200 }, { '4', 400 }, { '3', 403 }, { 'n', 404 }, { 'l', 413 },
	{ '5', 500 }, { 's', 503 }, { 't', 429 }, { '0', 0 }, { '1', 0 },
};

static const struct holder me = { { 1, 2 }, { 3, 4 }, 20000, false };
static const struct holder alone = { { 3, 4 }, { 3, 4 }, 20000, false };
static const struct holder closed = { { 3, 4 }, { 3, 4 }, 0, true };
static const struct attribute attribute = { { "a", 1 }, { "v", 1 }, false };
static const struct key keys[KEYS] = { { "k", 1 }, { "7", 1 }, { "l", 1 } };

struct life {
	const struct dialect *dialect;
	struct dialect_table table;
	unsigned settings;
	struct fuzz_input in;
	char *body;	/* of the last answer */
	uint64_t now_ms;
	struct translation translation;
	struct outcome outcome;
	struct operation parts[KEYS];
	const struct operation *part_list[KEYS];
};

/* ---- what must hold ---------------------------------------------------- */

static void
life_check_lock(const struct lock_record *l)
{
	struct lock_record *copy = lock_record_copy(l);

	FUZZ_CHECK(copy != NULL);
	free(copy);
	FUZZ_CHECK(l->token <= TOKEN_MAX);
	FUZZ_CHECK(l->n_holders <= HOLDERS_MAX);
	FUZZ_CHECK(l->n_exclusive_waiters <= WAITER_MARKS_MAX);
	FUZZ_CHECK(l->n_shared_waiters <= WAITER_MARKS_MAX);
	FUZZ_CHECK(l->n_marks <= MARKS_MAX);
	FUZZ_CHECK(l->exists || l->n_holders == 0);
}

static void
life_check_rows(const struct outcome *o)
{
	FUZZ_CHECK(o->n_rows <= SCAN_PAGE_MAX);
	FUZZ_CHECK(o->next_cursor.length <= SCAN_CURSOR_MAX);
	for (size_t i = 0; i < o->n_rows; i++) {
		FUZZ_CHECK(o->rows[i].key.length <= KEY_BYTES_MAX);
		life_check_lock(&o->rows[i].record);
	}
}

static void
life_check(const struct life *l, const struct operation *o)
{
	const struct outcome *out = &l->outcome;

	FUZZ_CHECK(out->kind >= OUTCOME_DONE && out->kind <= OUTCOME_REFUSED);
	FUZZ_CHECK((out->kind == OUTCOME_REFUSED) <= (out->code < 0));
	/* It may recite a record; the log and the codec make it fit to show. */
	FUZZ_CHECK(memchr(out->text, 0, sizeof(out->text)) != NULL);
	if (out->kind != OUTCOME_DONE && out->kind != OUTCOME_CONFLICT)
		return;
	if (out->kind == OUTCOME_DONE)
		FUZZ_CHECK(out->sent_ms > 0 && out->sent_ms <= l->now_ms);
	if (o->kind == OPERATION_SCAN)
		life_check_rows(out);
	else if (o->kind == OPERATION_READ_MANY)
		for (size_t i = 0; i < o->n_keys; i++)
			life_check_lock(&out->locks[i]);
	else if (o->kind == OPERATION_MULTI)
		for (size_t i = 0; i < o->n_keys; i++)
			life_check_lock(&out->parts[i].lock);
	else if (!dialect_is_session(o->kind))
		life_check_lock(&out->lock);
}

/* ---- answers ----------------------------------------------------------- */

/* The next answer; false: there is none. */
static bool
life_next_answer(struct life *l, struct aws_answer *ret)
{
	struct fuzz_input line;
	char letter;

	if (!fuzz_line(&l->in, &line))
		return false;
	letter = (char)fuzz_byte(&line);
	*ret = (struct aws_answer){ .status = 400, .text = "",
		.maybe_applied = letter != '1' };
	for (size_t i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++)
		if (statuses[i].letter == letter)
			ret->status = statuses[i].status;
	if (ret->status == 0) {
		ret->code = DDBLOCK_E_UNREACHABLE;
		ret->text = "said so";
		line.length = 0;
	}
	free(l->body);
	l->body = fuzz_exact_copy(line.at, line.length);
	ret->body = l->body;
	ret->body_length = line.length;
	ret->sent_ms = l->now_ms;
	return true;
}

/* False: there is no other attempt. */
static bool
life_attempt(struct life *l)
{
	const struct dialect_request *request;
	struct translation_answer a;
	struct aws_answer answer;
	struct aws_error error;
	uint32_t attempt;

	l->now_ms += 1000;
	translation_set_wall(&l->translation, WALL + l->now_ms);
	if (translation_next(&l->translation, l->now_ms, &request,
	    &attempt) < 0 || !life_next_answer(l, &answer)) {
		translation_give_up(&l->translation, &l->outcome);
		return false;
	}
	FUZZ_CHECK(request->operation != NULL && request->body.length > 0);
	aws_errors_classify_answer(&answer, &error);
	a = translation_read(&answer, &error);
	return translation_answer(&l->translation, attempt, &a,
	    &l->outcome) != TRANSLATION_FINAL;
}

/* Until translation_done() the outcome is there. */
static void
life_run(struct life *l, const struct operation *o)
{
	translation_init(&l->translation, l->dialect, &l->table, o,
	    WALL + l->now_ms);
	for (int i = 0; life_attempt(l); i++) {
		if (i == ANSWERS_MAX) {
			translation_give_up(&l->translation, &l->outcome);
			break;
		}
	}
	life_check(l, o);
}

/* ---- operations -------------------------------------------------------- */

static const struct holder *
life_me(const struct life *l)
{
	switch (l->dialect->life) {
	case LOCK_LIFE_SESSION:
		return &me;
	case LOCK_LIFE_NEVER:
		return &closed;
	default:
		return &alone;
	}
}

/* Does the core ask that of a format? */
static bool
life_has(const struct life *l, enum operation_kind kind)
{
	const bool sessions = l->dialect->life == LOCK_LIFE_SESSION;
	const unsigned features = l->dialect->features;

	if (dialect_is_session(kind))
		return sessions;
	switch (kind) {
	case OPERATION_MULTI:
		return (features & DIALECT_MULTI) != 0;
	case OPERATION_RAISE:
		return sessions;
	case OPERATION_ADD_WAITER:
	case OPERATION_REMOVE_WAITER:
		return (features & DIALECT_WAITER_MARKS) != 0;
	case OPERATION_EXTEND:
		return (features & DIALECT_TOKENS) != 0;
	case OPERATION_UPDATE:
		return (features & (DIALECT_DATA | DIALECT_ATTRIBUTES)) != 0;
	case OPERATION_REFRESH:
		return !sessions && l->dialect->life != LOCK_LIFE_NEVER;
	case OPERATION_MARK:
		return l->dialect->life == LOCK_LIFE_RECORD;
	default:
		return true;
	}
}

/* For letters the kind that it was before there was a later one. */
static enum operation_kind
life_kind(unsigned byte)
{
	unsigned kind = 1 + byte % (KINDS - 1);

	if (byte >= 'z' + KINDS)
		return LATER_KIND;
	return (enum operation_kind)(kind < LATER_KIND ? kind : kind + 1);
}

static struct operation
life_base(const struct life *l, enum operation_kind kind)
{
	const struct holder *holder = life_me(l);

	return (struct operation){
		.kind = kind, .key = keys[1], .me = *holder,
		.mode = LOCK_MODE_EXCLUSIVE, .tokens = 1, .holders = holder,
		.n_holders = 1, .owner = "us", .with_contents = true,
		.session = me.session, .lease_ms = 20000, .keys = keys,
		.n_keys = KEYS, .revision = { 1, 1 },
		.deadline_ms = UINT64_MAX,
	};
}

/* The parts of a MULTI. */
static void
life_add_parts(struct life *l, struct operation *o)
{
	for (size_t i = 0; i < KEYS; i++) {
		l->parts[i] = life_base(l, OPERATION_ACQUIRE);
		l->parts[i].key = keys[i];
		l->parts[i].me.grant.low += i;
		l->part_list[i] = &l->parts[i];
	}
	o->parts = l->part_list;
}

static void
life_add_contents(const struct life *l, struct operation *o)
{
	const unsigned features = l->dialect->features;

	if ((features & DIALECT_DATA) != 0)
		o->contents.data = (struct key){ "\0d", 2 };
	if ((features & DIALECT_ATTRIBUTES) != 0) {
		o->contents.attributes = &attribute;
		o->contents.n_attributes = 1;
	}
}

/* What the core might ask after it saw @seen. */
static void
life_follow(struct life *l, struct operation *o, const struct lock_record *seen)
{
	const bool shared = (l->settings & 1) != 0 &&
	    (l->dialect->features & DIALECT_SHARED) != 0;

	o->token_seen = seen->token;
	o->beat = seen->beat;
	if (l->dialect->life != LOCK_LIFE_SESSION)
		o->version = seen->version;
	if (o->kind == OPERATION_ACQUIRE && seen->n_holders > 0 &&
	    l->dialect->life != LOCK_LIFE_NEVER) {
		o->dead = seen->holders;
		o->n_dead = seen->n_holders;
	}
	if (o->kind == OPERATION_RELEASE && seen->n_holders > 0 &&
	    (l->settings & 2) != 0) {
		o->holders = seen->holders;
		o->n_holders = seen->n_holders < RELEASE_MAX ?
		    seen->n_holders : RELEASE_MAX;
	}
	if (o->kind == OPERATION_MARK) {
		o->mark = me.session;
		o->mark_form = seen->n_marks == 0 ? MARK_FIRST :
		    seen->n_marks < MARKS_MAX ? MARK_BESIDE : MARK_INSTEAD;
	}
	if (shared && o->kind != OPERATION_MULTI) {
		o->mode = LOCK_MODE_SHARED;
		o->limit = o->kind == OPERATION_ACQUIRE ? 3 : 0;
	}
	/* These are not about one lock. */
	if (o->kind == OPERATION_SCAN || o->kind == OPERATION_READ_MANY ||
	    o->kind == OPERATION_MULTI)
		o->key = (struct key){ NULL, 0 };
	o->others_hold = (l->settings & 4) != 0;
	o->keeps_contents = (l->settings & 8) != 0;
	o->held_only = (l->settings & 16) != 0;
	if (o->kind == OPERATION_UPDATE)
		life_add_contents(l, o);
	if (o->kind == OPERATION_MULTI)
		life_add_parts(l, o);
}

/* A listing goes on from its pages' ends. */
static void
life_list(struct life *l, struct operation *o)
{
	char cursor[SCAN_CURSOR_MAX];

	for (int i = 0; i < PAGES_MAX; i++) {
		life_run(l, o);
		if (l->outcome.kind != OUTCOME_DONE ||
		    l->outcome.next_cursor.length == 0) {
			translation_done(&l->translation);
			return;
		}
		memcpy(cursor, l->outcome.next_cursor.bytes,
		    l->outcome.next_cursor.length);
		o->cursor = (struct key){ cursor,
			l->outcome.next_cursor.length };
		translation_done(&l->translation);
	}
}

static void
life_go(struct life *l, enum operation_kind kind)
{
	static const struct lock_record none = { .exists = false };
	struct operation o = life_base(l, OPERATION_READ);
	struct lock_record *seen = NULL;

	if (!dialect_is_session(kind)) {
		life_run(l, &o);
		if (l->outcome.kind == OUTCOME_DONE)
			seen = lock_record_copy(&l->outcome.lock);
		translation_done(&l->translation);
	}
	o = life_base(l, kind);
	life_follow(l, &o, seen != NULL ? seen : &none);
	if (!operation_is_sound(&o) || ((kind == OPERATION_BREAK) &&
	    l->dialect->life != LOCK_LIFE_SESSION && o.version == NULL)) {
		free(seen);
		return;
	}
	if (kind == OPERATION_SCAN) {
		life_list(l, &o);
	} else {
		life_run(l, &o);
		translation_done(&l->translation);
	}
	free(seen);
}

static void
life_set_table(struct life *l)
{
	static const struct dialect_name names[] = { { "owner", "o" } };
	const unsigned s = l->settings;
	const bool js = strncmp(l->dialect->name, "js", 2) == 0;

	l->table = (struct dialect_table){
		.table = "locks", .key_attribute = "key", .host = "web-1",
		.sort_attribute = (s & 32) != 0 ? "sort" : NULL,
		.prefix = (s & 64) != 0 && (s & 128) == 0 ? "p" : NULL,
		.key_type = js && (s & 128) != 0 ? DIALECT_KEY_NUMBER :
		    DIALECT_KEY_TEXT,
		.pid = "1", .version = "0", .retention_s = 604800,
		.expiry_s = 3600, .skew_ms = 500,
		.ttl_attribute = (s & 256) != 0 ? "ttl" : NULL,
		.go_lease = (s & 512) != 0, .keep_released = (s & 1024) != 0,
		.keep_attributes = (s & 2048) != 0,
		.local_time = (s & 4096) != 0, .fencing = (s & 8192) != 0,
		.renamed = names, .n_renamed = (s & 16384) != 0,
	};
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct life l = { .in = fuzz_input(data, size), .now_ms = 50000 };
	struct fuzz_input line;
	enum operation_kind kind;

	if (!fuzz_line(&l.in, &line))
		return 0;
	l.dialect = formats[fuzz_byte(&line) % FORMATS];
	kind = life_kind(fuzz_byte(&line));
	for (int i = 0; i < 4; i++)
		l.settings |= (fuzz_byte(&line) & 15) << (4 * i);
	life_set_table(&l);
	if (life_has(&l, kind))
		life_go(&l, kind);
	free(l.body);
	return 0;
}
