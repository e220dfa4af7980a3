/*
 * Records of the native format by chance, and as items.
 */
#include "trial_native.h"

#include <check.h>
#include <inttypes.h>

#include "common/base64.h"
#include "dialect/native/native.h"

struct ident
native_session(struct trial *t)
{
	return (struct ident){ 7, 1 + trial_below(t, NATIVE_SESSIONS) };
}

/* A grant has one name and one element, with any holder. */
static struct holder
native_holder(uint64_t n)
{
	return (struct holder){
		.session = { 7, 1 + n % NATIVE_SESSIONS },
		.grant = { 8, 1 + n },
		.lease_ms = 20000 + n, .fail_closed = n == 1,
	};
}

struct holder
native_any_holder(struct trial *t)
{
	return native_holder(trial_below(t, NATIVE_HOLDERS));
}

const char *
native_any_text(struct trial *t)
{
	static const char *const texts[] = { NULL, "web-1/x:9", "", "db-2" };

	return texts[trial_below(t, 4)];
}

uint64_t
native_any_token(struct trial *t)
{
	return trial_one_in(t, 10) ? TOKEN_MAX - trial_below(t, 3) :
	    trial_below(t, 4);
}

struct revision
native_any_revision(struct trial *t)
{
	struct revision none = { 0, 0 };

	return trial_one_in(t, 3) ? none : (struct revision){
		1 + trial_below(t, 3), 1 + 2 * trial_below(t, 3),
	};
}

struct contents
native_any_contents(struct trial *t, struct native_pieces *p)
{
	p->attributes[0] = (struct attribute){
		{ "colour", 6 }, { "blue", 4 }, false,
	};
	p->attributes[1] = (struct attribute){
		{ "n", 1 }, { "{\"N\":\"7\"}", 9 }, true,
	};
	return (struct contents){
		.data = { "bytes", 5 * (size_t)trial_below(t, 2) },
		.attributes = p->attributes,
		.n_attributes = (size_t)trial_below(t, 3),
	};
}

/* ---- records ------------------------------------------------------------- */

void
native_make(struct trial *t, struct native_pieces *p, struct lock_record *l)
{
	uint64_t first = trial_below(t, NATIVE_HOLDERS);

	*l = (struct lock_record){ .exists = !trial_one_in(t, 10) };
	if (!l->exists)
		return;
	l->mode = (enum lock_mode)(1 + trial_below(t, 2));
	l->n_holders = trial_one_in(t, 2) ? 0 :
	    1 + (size_t)trial_below(t, 4);
	if (l->mode == LOCK_MODE_EXCLUSIVE && l->n_holders > 1)
		l->n_holders = 1;
	if (l->n_holders == 0 && trial_one_in(t, 8))
		l->mode = LOCK_MODE_NONE;	/* somebody made it by hand */
	for (size_t i = 0; i < l->n_holders; i++)
		p->holders[i] = native_holder((first + i) % NATIVE_HOLDERS);
	for (size_t i = 0; i < NATIVE_SESSIONS; i++) {
		struct ident id = { 7, 1 + i };

		if (trial_one_in(t, 5))
			p->exclusive[l->n_exclusive_waiters++] = id;
		if (trial_one_in(t, 5))
			p->shared[l->n_shared_waiters++] = id;
	}
	while (l->n_line < NATIVE_SESSIONS && trial_one_in(t, 2)) {
		struct ident id = { 7, 1 + (first + l->n_line) %
		    NATIVE_SESSIONS };

		p->line[l->n_line++] = id;
	}
	l->line = p->line;
	l->holders = p->holders;
	l->exclusive_waiters = p->exclusive;
	l->shared_waiters = p->shared;
	l->limit = trial_one_in(t, 2) ? 0 : 1 + trial_below(t, 4);
	l->token = native_any_token(t);
	if (l->n_holders > 0 && trial_one_in(t, 2))
		l->kept = p->holders[0].grant;
	l->owner = native_any_text(t);
	l->broken_by = native_any_text(t);
	l->acquired_at_s = 1000 * trial_below(t, 2);
	l->ttl_s = 2000 * trial_below(t, 2);
	l->ran_s = trial_one_in(t, 3) ? 0 :
	    TRIAL_WALL_MS / 1000 + 1 - trial_below(t, 5);
	l->marked = trial_one_in(t, 2);
	l->ran_before_s = l->marked ? 500 * trial_below(t, 2) : 0;
	l->revision = native_any_revision(t);
	if (l->revision.sequence > 0)
		l->contents = native_any_contents(t, p);
}

static void
put_idents(struct buffer *b, const char *name, const struct ident *ids,
    size_t n)
{
	char text[IDENT_TEXT_LENGTH + 1];

	for (size_t i = 0; i < n; i++) {
		ident_format(ids[i], text);
		(void)buffer_printf(b, "%s\"%s\"", i == 0 ? name : ",", text);
	}
	(void)buffer_append_text(b, n > 0 ? "]}" : "");
}

static void
put_line(struct buffer *b, const struct lock_record *l)
{
	char text[IDENT_TEXT_LENGTH + 1];

	for (size_t i = 0; i < l->n_line; i++) {
		ident_format(l->line[i], text);
		(void)buffer_printf(b, "%s{\"S\":\"%s\"}", i == 0 ?
		    ",\"line\":{\"L\":[" : ",", text);
	}
	(void)buffer_append_text(b, l->n_line > 0 ? "]}" : "");
}

static void
put_number(struct buffer *b, const char *name, uint64_t n)
{
	if (n > 0)
		(void)buffer_printf(b, ",\"%s\":{\"N\":\"%" PRIu64 "\"}",
		    name, n);
}

static void
put_text(struct buffer *b, const char *name, const char *text)
{
	if (text != NULL)
		(void)buffer_printf(b, ",\"%s\":{\"S\":\"%s\"}", name, text);
}

static void
put_contents(struct buffer *b, const struct lock_record *l)
{
	const struct contents *c = &l->contents;

	if (l->revision.sequence > 0)
		(void)buffer_printf(b, ",\"rev\":{\"N\":\"%" PRIu64 "%020"
		    PRIu64 "\"}", l->revision.sequence, l->revision.random);
	if (c->data.length > 0) {
		(void)buffer_append_text(b, ",\"data\":{\"B\":\"");
		base64_append(b, c->data.bytes, c->data.length);
		(void)buffer_append_text(b, "\"}");
	}
	if (c->n_attributes > 0)
		(void)buffer_append_text(b,
		    ",\"attrs\":{\"M\":{\"colour\":{\"S\":\"blue\"}");
	if (c->n_attributes > 1)
		(void)buffer_append_text(b, ",\"n\":{\"N\":\"7\"}");
	if (c->n_attributes > 0)
		(void)buffer_append_text(b, "}}");
}

static void
put_lock(struct buffer *b, const struct lock_record *l)
{
	static const char *const modes[] = { NULL, "x", "s" };
	char text[NATIVE_HOLDER_SIZE];

	(void)buffer_printf(b, ",\"token\":{\"N\":\"%" PRIu64 "\"}", l->token);
	put_text(b, "mode", modes[l->mode]);
	ident_format(l->kept, text);
	put_text(b, "kept", ident_is_none(l->kept) ? "-" : text);
	put_text(b, "owner", l->owner);
	put_text(b, "broken_by", l->broken_by);
	put_number(b, "limit", l->limit);
	put_number(b, "acquired_at", l->acquired_at_s);
	put_number(b, "ttl", l->ttl_s);
	put_number(b, "ran", l->ran_s);
	if (l->marked)
		(void)buffer_printf(b, ",\"ran_before\":{\"N\":\"%" PRIu64
		    "\"}", l->ran_before_s);
	for (size_t i = 0; i < l->n_holders; i++) {
		native_format_holder(&l->holders[i], text);
		(void)buffer_printf(b, "%s\"%s\"", i == 0 ?
		    ",\"holders\":{\"SS\":[" : ",", text);
	}
	(void)buffer_append_text(b, l->n_holders > 0 ? "]}" : "");
	put_idents(b, ",\"xwait\":{\"SS\":[", l->exclusive_waiters,
	    l->n_exclusive_waiters);
	put_idents(b, ",\"swait\":{\"SS\":[", l->shared_waiters,
	    l->n_shared_waiters);
	put_line(b, l);
	put_contents(b, l);
}

static void
put_session(struct buffer *b, const struct session_record *s)
{
	(void)buffer_printf(b, ",\"beat\":{\"N\":\"%" PRIu64 "\"},"
	    "\"lease_ms\":{\"N\":\"%" PRIu64 "\"}", s->beat, s->lease_ms);
	put_text(b, "host", s->host);
	put_text(b, "dead", s->dead_by);
}

/* The table has this item, and no other of that key. */
void
native_put(struct trial *t, const char *key, const struct lock_record *l,
    const struct session_record *s)
{
	bool exists = l != NULL ? l->exists : s->exists;
	struct buffer b;

	buffer_init(&b, 8192);
	(void)buffer_printf(&b, "{\"TableName\":\"" TRIAL_TABLE "\",\"%s\":"
	    "{\"key\":{\"S\":\"%s\"}", exists ? "Item" : "Key", key);
	if (exists && l != NULL)
		put_lock(&b, l);
	else if (exists)
		put_session(&b, s);
	(void)buffer_append_text(&b, "}}");
	ck_assert_int_eq(buffer_failed(&b), 0);
	ck_assert(trial_send(t, exists ? "PutItem" : "DeleteItem", b.data,
	    b.length));
	buffer_done(&b);
}
