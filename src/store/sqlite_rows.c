/*
 * The columns of a lock and of a session.
 *
 * Holders are a blob of elements of 48 bytes, big-endian: session, grant,
 * lease in milliseconds, flags. One row per lock, because a row is what a
 * write costs; but what clients keep in a lock may be large and is seldom
 * written, so it has a row of its own, if there is any.
 */
#include "store/sqlite_rows.h"

#include <sqlite3.h>
#include <string.h>

#include "ddblock.h"

#define IDENT_BYTES 16
#define HOLDER_BYTES 48
#define HOLDER_FAIL_CLOSED 1
#define ATTRIBUTE_HEAD_BYTES 16	/* lengths of its name and its value */
#define ATTRIBUTE_TYPED (UINT64_C(1) << 32)	/* in the latter */

static void
sqlite_rows_put_number(unsigned char *p, uint64_t number)
{
	for (int i = 7; i >= 0; i--) {
		p[i] = (unsigned char)(number & 0xff);
		number >>= 8;
	}
}

static uint64_t
sqlite_rows_get_number(const unsigned char *p)
{
	uint64_t number = 0;

	for (int i = 0; i < 8; i++)
		number = number << 8 | p[i];
	return number;
}

static void
sqlite_rows_put_ident(unsigned char *p, struct ident id)
{
	sqlite_rows_put_number(p, id.high);
	sqlite_rows_put_number(p + 8, id.low);
}

static struct ident
sqlite_rows_get_ident(const unsigned char *p)
{
	return (struct ident){
		.high = sqlite_rows_get_number(p),
		.low = sqlite_rows_get_number(p + 8),
	};
}

/* The elements of a blob column; its length must be a multiple of @unit. */
static int
sqlite_rows_blob(sqlite3_stmt *s, int column, size_t unit, size_t n_max,
    const unsigned char **ret, size_t *ret_n)
{
	const unsigned char *p = sqlite3_column_blob(s, column);
	size_t length = (size_t)sqlite3_column_bytes(s, column);

	if (length % unit != 0 || length / unit > n_max)
		return DDBLOCK_E_BAD_RECORD;
	*ret = p;
	*ret_n = length / unit;
	return 0;
}

static int
sqlite_rows_read_holders(sqlite3_stmt *s, struct arena *a,
    struct lock_record *r)
{
	struct holder *holders;
	const unsigned char *p;
	size_t n;
	int code;

	code = sqlite_rows_blob(s, 4, HOLDER_BYTES, HOLDERS_MAX, &p, &n);
	if (code < 0 || n == 0)
		return code;
	holders = arena_alloc(a, n * sizeof(*holders));
	if (holders == NULL)
		return DDBLOCK_E_NOMEM;
	for (size_t i = 0; i < n; i++, p += HOLDER_BYTES)
		holders[i] = (struct holder){
			.session = sqlite_rows_get_ident(p),
			.grant = sqlite_rows_get_ident(p + 16),
			.lease_ms = sqlite_rows_get_number(p + 32),
			.fail_closed = sqlite_rows_get_number(p + 40) ==
			    HOLDER_FAIL_CLOSED,
		};
	r->holders = holders;
	r->n_holders = n;
	return 0;
}

static int
sqlite_rows_read_idents(sqlite3_stmt *s, int column, struct arena *a,
    const struct ident **ret, size_t *ret_n)
{
	struct ident *idents;
	const unsigned char *p;
	size_t n;
	int code;

	code = sqlite_rows_blob(s, column, IDENT_BYTES, WAITER_MARKS_MAX, &p,
	    &n);
	if (code < 0 || n == 0)
		return code;
	idents = arena_alloc(a, n * sizeof(*idents));
	if (idents == NULL)
		return DDBLOCK_E_NOMEM;
	for (size_t i = 0; i < n; i++, p += IDENT_BYTES)
		idents[i] = sqlite_rows_get_ident(p);
	*ret = idents;
	*ret_n = n;
	return 0;
}

static int
sqlite_rows_read_text(sqlite3_stmt *s, int column, struct arena *a,
    const char **ret)
{
	const unsigned char *text = sqlite3_column_text(s, column);

	if (text == NULL)
		return 0;
	*ret = arena_copy_text(a, text,
	    (size_t)sqlite3_column_bytes(s, column));
	return *ret == NULL ? DDBLOCK_E_NOMEM : 0;
}

static int
sqlite_rows_read_number(sqlite3_stmt *s, int column, uint64_t *ret)
{
	sqlite3_int64 number = sqlite3_column_int64(s, column);

	if (sqlite3_column_type(s, column) != SQLITE_INTEGER || number < 0)
		return DDBLOCK_E_BAD_RECORD;
	*ret = (uint64_t)number;
	return 0;
}

int
sqlite_rows_read_lock(sqlite3_stmt *s, struct arena *a,
    struct lock_record *ret)
{
	struct lock_record r = { .exists = true };
	uint64_t mode = 0;
	int code;

	code = sqlite_rows_read_number(s, 1, &mode);
	if (code == 0)
		code = sqlite_rows_read_number(s, 2, &r.token);
	if (code == 0)
		code = sqlite_rows_read_number(s, 3, &r.limit);
	if (code == 0)
		code = sqlite_rows_read_holders(s, a, &r);
	if (code == 0)
		code = sqlite_rows_read_text(s, 5, a, &r.owner);
	if (code == 0)
		code = sqlite_rows_read_number(s, 6, &r.acquired_at_s);
	if (code == 0)
		code = sqlite_rows_read_text(s, 7, a, &r.broken_by);
	if (code == 0)
		code = sqlite_rows_read_idents(s, 8, a, &r.exclusive_waiters,
		    &r.n_exclusive_waiters);
	if (code == 0)
		code = sqlite_rows_read_idents(s, 9, a, &r.shared_waiters,
		    &r.n_shared_waiters);
	if (code == 0)
		code = sqlite_rows_read_number(s, 10, &r.ttl_s);
	if (code == 0)
		code = sqlite_rows_read_number(s, 11, &r.revision.sequence);
	r.revision.random = (uint64_t)sqlite3_column_int64(s, 12);
	if (code == 0)
		code = sqlite_rows_read_number(s, 13, &r.ran_s);
	r.marked = sqlite3_column_type(s, 14) != SQLITE_NULL;
	if (code == 0 && r.marked)
		code = sqlite_rows_read_number(s, 14, &r.ran_before_s);
	if (code == 0 && (mode > LOCK_MODE_SHARED || r.token > TOKEN_MAX))
		code = DDBLOCK_E_BAD_RECORD;
	if (code < 0)
		return code;
	r.mode = (enum lock_mode)mode;
	*ret = r;
	return 0;
}

/* One attribute at *@p, of which @left bytes are left; false: it is broken. */
static bool
sqlite_rows_read_attribute(const unsigned char **p, size_t *left,
    struct attribute *ret)
{
	uint64_t name, value;

	if (*left < ATTRIBUTE_HEAD_BYTES)
		return false;
	name = sqlite_rows_get_number(*p);
	value = sqlite_rows_get_number(*p + 8);
	ret->typed = (value & ATTRIBUTE_TYPED) != 0;
	value &= ~ATTRIBUTE_TYPED;
	*p += ATTRIBUTE_HEAD_BYTES;
	*left -= ATTRIBUTE_HEAD_BYTES;
	if (name > *left || value > *left - name)
		return false;
	ret->name = (struct key){ (const char *)*p, (size_t)name };
	ret->value = (struct key){ (const char *)*p + name, (size_t)value };
	*p += name + value;
	*left -= (size_t)(name + value);
	return true;
}

int
sqlite_rows_read_contents(sqlite3_stmt *s, struct arena *a,
    struct contents *ret)
{
	struct contents c = { { NULL, 0 }, NULL, 0 };
	struct attribute *attributes;
	const unsigned char *p;
	size_t left = (size_t)sqlite3_column_bytes(s, 2);

	c.data.length = (size_t)sqlite3_column_bytes(s, 1);
	c.data.bytes =
	    arena_copy(a, sqlite3_column_blob(s, 1), c.data.length);
	p = arena_copy(a, sqlite3_column_blob(s, 2), left);
	attributes = arena_alloc(a, ATTRIBUTES_MAX * sizeof(*attributes));
	if (c.data.bytes == NULL || p == NULL || attributes == NULL)
		return DDBLOCK_E_NOMEM;
	while (left > 0) {
		if (c.n_attributes == ATTRIBUTES_MAX ||
		    !sqlite_rows_read_attribute(&p, &left,
		    &attributes[c.n_attributes++]))
			return DDBLOCK_E_BAD_RECORD;
	}
	c.attributes = attributes;
	if (contents_size(&c) > CONTENTS_MAX)
		return DDBLOCK_E_BAD_RECORD;
	*ret = c;
	return 0;
}

int
sqlite_rows_read_session(sqlite3_stmt *s, struct arena *a,
    struct session_record *ret)
{
	struct session_record r = { .exists = true };
	int code;

	code = sqlite_rows_read_number(s, 1, &r.beat);
	if (code == 0)
		code = sqlite_rows_read_number(s, 2, &r.lease_ms);
	if (code == 0)
		code = sqlite_rows_read_text(s, 3, a, &r.host);
	if (code == 0)
		code = sqlite_rows_read_text(s, 4, a, &r.dead_by);
	if (code < 0)
		return code;
	r.dead = r.dead_by != NULL;
	*ret = r;
	return 0;
}

int
sqlite_rows_bind_bytes(sqlite3_stmt *s, int n, const char *bytes,
    size_t length)
{
	/* Never NULL: an empty key is not an absent one. */
	return sqlite3_bind_blob(s, n, length == 0 ? "" : bytes, (int)length,
	    SQLITE_STATIC);
}

int
sqlite_rows_bind_ident(sqlite3_stmt *s, int n, struct arena *a,
    struct ident id)
{
	unsigned char *p = arena_alloc(a, IDENT_BYTES);

	if (p == NULL)
		return DDBLOCK_E_NOMEM;
	sqlite_rows_put_ident(p, id);
	(void)sqlite3_bind_blob(s, n, p, IDENT_BYTES, SQLITE_STATIC);
	return 0;
}

static int
sqlite_rows_bind_idents(sqlite3_stmt *s, int n, struct arena *a,
    const struct ident *idents, size_t n_idents)
{
	unsigned char *p;

	if (n_idents == 0) {
		(void)sqlite3_bind_null(s, n);
		return 0;
	}
	p = arena_alloc(a, n_idents * IDENT_BYTES);
	if (p == NULL)
		return DDBLOCK_E_NOMEM;
	for (size_t i = 0; i < n_idents; i++)
		sqlite_rows_put_ident(p + i * IDENT_BYTES, idents[i]);
	(void)sqlite3_bind_blob(s, n, p, (int)(n_idents * IDENT_BYTES),
	    SQLITE_STATIC);
	return 0;
}

static int
sqlite_rows_bind_holders(sqlite3_stmt *s, int n, struct arena *a,
    const struct lock_record *r)
{
	unsigned char *first;
	unsigned char *p;

	if (r->n_holders == 0) {
		(void)sqlite3_bind_null(s, n);
		return 0;
	}
	first = arena_alloc(a, r->n_holders * HOLDER_BYTES);
	if (first == NULL)
		return DDBLOCK_E_NOMEM;
	p = first;
	for (size_t i = 0; i < r->n_holders; i++, p += HOLDER_BYTES) {
		const struct holder *h = &r->holders[i];

		sqlite_rows_put_ident(p, h->session);
		sqlite_rows_put_ident(p + 16, h->grant);
		sqlite_rows_put_number(p + 32, h->lease_ms);
		sqlite_rows_put_number(p + 40,
		    h->fail_closed ? HOLDER_FAIL_CLOSED : 0);
	}
	(void)sqlite3_bind_blob(s, n, first,
	    (int)(r->n_holders * HOLDER_BYTES), SQLITE_STATIC);
	return 0;
}

static void
sqlite_rows_bind_number(sqlite3_stmt *s, int n, uint64_t number)
{
	(void)sqlite3_bind_int64(s, n, (sqlite3_int64)number);
}

static void
sqlite_rows_bind_text(sqlite3_stmt *s, int n, const char *text)
{
	/* A NULL text is a null. */
	(void)sqlite3_bind_text(s, n, text, -1, SQLITE_STATIC);
}

int
sqlite_rows_bind_lock(sqlite3_stmt *s, struct arena *a, struct key key,
    const struct lock_record *r)
{
	int code;

	(void)sqlite_rows_bind_bytes(s, 1, key.bytes, key.length);
	sqlite_rows_bind_number(s, 2, (uint64_t)r->mode);
	sqlite_rows_bind_number(s, 3, r->token);
	sqlite_rows_bind_number(s, 4, r->limit);
	code = sqlite_rows_bind_holders(s, 5, a, r);
	sqlite_rows_bind_text(s, 6, r->owner);
	sqlite_rows_bind_number(s, 7, r->acquired_at_s);
	sqlite_rows_bind_text(s, 8, r->broken_by);
	if (code == 0)
		code = sqlite_rows_bind_idents(s, 9, a, r->exclusive_waiters,
		    r->n_exclusive_waiters);
	if (code == 0)
		code = sqlite_rows_bind_idents(s, 10, a, r->shared_waiters,
		    r->n_shared_waiters);
	sqlite_rows_bind_number(s, 11, r->ttl_s);
	sqlite_rows_bind_number(s, 12, r->revision.sequence);
	sqlite_rows_bind_number(s, 13, r->revision.random);
	sqlite_rows_bind_number(s, 14, r->ran_s);
	if (r->marked)
		sqlite_rows_bind_number(s, 15, r->ran_before_s);
	else
		(void)sqlite3_bind_null(s, 15);
	return code;
}

int
sqlite_rows_bind_contents(sqlite3_stmt *s, struct arena *a, struct key key,
    const struct contents *c)
{
	size_t room = contents_size(c) - c->data.length +
	    c->n_attributes * ATTRIBUTE_HEAD_BYTES;
	unsigned char *attributes = arena_alloc(a, room);
	unsigned char *p = attributes;

	if (attributes == NULL)
		return DDBLOCK_E_NOMEM;
	for (size_t i = 0; i < c->n_attributes; i++) {
		const struct attribute *one = &c->attributes[i];

		sqlite_rows_put_number(p, one->name.length);
		sqlite_rows_put_number(p + 8, one->value.length |
		    (one->typed ? ATTRIBUTE_TYPED : 0));
		p += ATTRIBUTE_HEAD_BYTES;
		memcpy(p, one->name.bytes, one->name.length);
		p += one->name.length;
		if (one->value.length > 0)
			memcpy(p, one->value.bytes, one->value.length);
		p += one->value.length;
	}
	(void)sqlite_rows_bind_bytes(s, 1, key.bytes, key.length);
	(void)sqlite_rows_bind_bytes(s, 2, c->data.bytes, c->data.length);
	(void)sqlite3_bind_blob(s, 3, attributes, (int)room, SQLITE_STATIC);
	return 0;
}

int
sqlite_rows_bind_session(sqlite3_stmt *s, struct arena *a, struct ident id,
    const struct session_record *r, uint64_t ttl_s)
{
	sqlite_rows_bind_number(s, 2, r->beat);
	sqlite_rows_bind_number(s, 3, r->lease_ms);
	sqlite_rows_bind_text(s, 4, r->host);
	sqlite_rows_bind_text(s, 5, r->dead ? r->dead_by : NULL);
	sqlite_rows_bind_number(s, 6, ttl_s);
	return sqlite_rows_bind_ident(s, 1, a, id);
}
