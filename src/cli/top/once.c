/*
 * A snapshot. As text it is the screen without an end: names have the room that
 * they need, and each line ends with its last character.
 */
#include <config.h>

#include "cli/top/once.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "cli/top/screen.h"
#include "common/json_quote.h"

#define ONCE_COLUMNS 5000	/* two names */
#define ONCE_BYTES_MAX (64 * 1024 * 1024)

/* ---- a text --------------------------------------------------------- */

struct once {
	unsigned line;
	size_t spaces;		/* not written yet: the line may end here */
};

static void
once_put(void *arg, unsigned line, unsigned column, enum page_style style,
    const char *bytes, size_t length)
{
	struct once *o = arg;

	(void)column;
	(void)style;
	for (; o->line < line; o->line++) {
		(void)putchar('\n');
		o->spaces = 0;
	}
	for (size_t i = 0; i < length; i++) {
		if (bytes[i] == ' ') {
			o->spaces++;
			continue;
		}
		for (; o->spaces > 0; o->spaces--)
			(void)putchar(' ');
		(void)putchar(bytes[i]);
	}
}

bool
once_text(const struct view *v, const struct model *m)
{
	struct once o = { .line = 0 };
	struct page page;

	page_init(&page, ONCE_COLUMNS, UINT_MAX, once_put, &o);
	screen_text(&page, v, m);
	page_done(&page);
	(void)putchar('\n');
	return !m->failed;
}

/* ---- JSON ----------------------------------------------------------- */

static void
once_string(struct buffer *b, const char *name, const char *value)
{
	(void)buffer_printf(b, "\"%s\":", name);
	json_quote(b, value, strlen(value));
	(void)buffer_append_text(b, ",");
}

static void
once_number(struct buffer *b, const char *name, uint64_t n)
{
	(void)buffer_printf(b, "\"%s\":%" PRIu64 ",", name, n);
}

static void
once_rate(struct buffer *b, const char *name, struct rate rate)
{
	if (rate.known)
		(void)buffer_printf(b, "\"%s\":%.3f,", name, rate.per_s);
	else
		(void)buffer_printf(b, "\"%s\":null,", name);
}

/* Instead of the comma behind the last member. */
static void
once_close(struct buffer *b, const char *end)
{
	if (b->length > 0 && b->data[b->length - 1] == ',')
		b->data[--b->length] = '\0';
	(void)buffer_append_text(b, end);
}

static void
once_namespace(struct buffer *b, const struct model_namespace *ns)
{
	(void)buffer_append_text(b, "{");
	once_string(b, "ns", ns->name);
	once_string(b, "store", ns->store);
	once_string(b, "scope", ns->scope);
	once_string(b, "where", ns->where);
	once_string(b, "state", ns->state);
	if (ns->cause[0] != '\0')
		once_string(b, "cause", ns->cause);
	(void)buffer_printf(b, "\"draining\":%s,",
	    ns->draining ? "true" : "false");
	if (ns->has_session) {
		once_number(b, "danger_ms", ns->danger_ms);
		once_number(b, "remaining_ms", ns->remaining_ms);
		once_number(b, "renewed_ms", ns->renewed_ms);
	}
	if (ns->counts) {
		once_number(b, "held", ns->held);
		once_number(b, "waiting", ns->waiting);
		once_number(b, "granted", ns->granted);
		once_number(b, "lost", ns->lost);
		once_rate(b, "grants_per_s", ns->grants);
	}
	once_number(b, "requests", ns->requests);
	once_rate(b, "requests_per_s", ns->asked);
	once_close(b, "},\n");
}

static void
once_lock(struct buffer *b, const struct row *r)
{
	(void)buffer_append_text(b, "{");
	once_string(b, "ns", r->ns);
	once_string(b, "key", r->key);
	if (r->sort[0] != '\0')
		once_string(b, "sort", r->sort);
}

static void
once_user(struct buffer *b, const struct row *r)
{
	once_number(b, "uid", r->uid);
	if (r->user[0] != '\0')
		once_string(b, "user", r->user);
}

static void
once_key(struct buffer *b, const struct model *m, const struct row *r)
{
	once_lock(b, r);
	once_number(b, "waiters", r->waiters);
	once_number(b, "holders", r->holders);
	once_number(b, "longest_wait_ms", r->waited_ms);
	once_rate(b, "grants_per_s", model_grants(m, r));
	if (r->is_held)
		once_number(b, "held_ms", r->held_ms);
	once_string(b, "holder", r->who);
	once_close(b, "},\n");
}

static void
once_hold(struct buffer *b, const struct model *m, const struct row *r)
{
	(void)m;
	once_lock(b, r);
	once_number(b, "id", r->id);
	once_number(b, "token", r->token);
	once_string(b, "state", r->state);
	once_number(b, "held_ms", r->held_ms);
	if (r->has_left)
		once_number(b, "remaining_ms", r->left_ms);
	once_number(b, "waiters", r->waiters);
	once_number(b, "pid", r->pid);
	once_user(b, r);
	once_string(b, "holder", r->who);
	once_close(b, "},\n");
}

static void
once_wait(struct buffer *b, const struct model *m, const struct row *r)
{
	(void)m;
	once_lock(b, r);
	once_number(b, "waited_ms", r->waited_ms);
	once_number(b, "ahead", r->ahead);
	once_number(b, "pid", r->pid);
	once_user(b, r);
	once_string(b, "waiter", r->who);
	once_string(b, "holder", r->holder);
	if (r->state[0] != '\0')
		once_string(b, "cause", r->state);
	once_close(b, "},\n");
}

static void
once_list(struct buffer *b, const struct model *m, enum list list,
    const char *name,
    void (*write)(struct buffer *, const struct model *, const struct row *))
{
	(void)buffer_printf(b, "\"%s\":[\n", name);
	for (size_t i = 0; i < m->shown[list].n; i++)
		write(b, m, &m->shown[list].rows[i]);
	if (m->shown[list].n > 0)
		b->length--;	/* the line's end */
	once_close(b, "\n],\n");
}

bool
once_json(const struct model *m)
{
	struct buffer b;
	bool ok;

	buffer_init(&b, ONCE_BYTES_MAX);
	(void)buffer_append_text(&b, "{\"daemon\":{");
	once_string(&b, "version", m->daemon.version);
	once_string(&b, "host", m->daemon.host);
	once_number(&b, "pid", m->daemon.pid);
	once_number(&b, "uptime_ms", m->daemon.uptime_ms);
	once_number(&b, "connections", m->daemon.connections);
	once_close(&b, "},\n\"namespaces\":[\n");
	for (size_t i = 0; i < m->n_namespaces; i++)
		once_namespace(&b, &m->namespaces[i]);
	if (m->n_namespaces > 0)
		b.length--;
	once_close(&b, "\n],\n");
	once_list(&b, m, LIST_KEYS, "keys", once_key);
	once_list(&b, m, LIST_HOLDS, "holds", once_hold);
	once_list(&b, m, LIST_WAITS, "waits", once_wait);
	once_number(&b, "n_holds", m->n_holds);
	once_number(&b, "n_waits", m->n_waits);
	(void)buffer_printf(&b, "\"partial\":%s,",
	    m->partial ? "true" : "false");
	once_number(&b, "took_ms", m->took_ms);
	once_close(&b, "}\n");
	ok = buffer_failed(&b) == 0 && !m->failed;
	if (ok)
		(void)fwrite(b.data, 1, b.length, stdout);
	buffer_done(&b);
	return ok;
}
