/*
 * The text of a trace about operations, tokens and holders, and a daemon's
 * report of its state.
 */
#include "world_state.h"

#include <inttypes.h>

#include "common/error.h"

static const char *const show_verbs[] = {
	[CORE_ACQUIRE] = "acquire",
	[CORE_CANCEL] = "cancel",
	[CORE_RELEASE] = "release",
	[CORE_RENEW] = "renew",
	[CORE_DOWNGRADE] = "downgrade",
	[CORE_GET] = "get",
	[CORE_LIST] = "list",
	[CORE_BREAK] = "break",
	[CORE_WATCH] = "watch",
	[CORE_UNWATCH] = "unwatch",
	[CORE_RESUME] = "resume",
	[CORE_RAISE] = "raise",
};

const char *
show_verb(enum core_verb verb)
{
	return show_verbs[verb];
}

unsigned
show_client(uint64_t client)
{
	return (unsigned)(client % (PLAN_CLIENTS_MAX + 1));
}

/* Tokens of older clients are numbers, if they have any. */
void
show_token(uint64_t token, char *text, size_t size)
{
	int64_t s = (int64_t)(token >> 20) - (int64_t)(WORLD_WALL_MS / 1000);

	if (token >> 40 == 0) {
		(void)snprintf(text, size, "%" PRIu64, token);
		return;
	}
	(void)snprintf(text, size, "%" PRId64 "s+%" PRIu64, s,
	    token & 0xfffff);
}

/* ---- operations ------------------------------------------------------- */

/* Exclusive use goes without saying. */
static void
show_use(const struct operation *o, char *text, size_t size)
{
	text[0] = '\0';
	if (o->mode != LOCK_MODE_SHARED || o->kind == OPERATION_RELEASE)
		return;
	if (o->limit == 0 || o->kind != OPERATION_ACQUIRE)
		(void)snprintf(text, size, " shared");
	else
		(void)snprintf(text, size, " shared by %" PRIu64, o->limit);
}

static struct ident
show_nth(const struct operation *o, size_t i)
{
	return i < o->n_dead ? o->dead[i].session :
	    o->holders[i - o->n_dead].session;
}

/* The elements removed by an acquire, or by a release beside its own: "A1", "3
 * of A1". */
static void
show_dead(const struct host *by, const struct operation *o, char *text,
    size_t size)
{
	size_t length = 0, n = o->n_dead + o->n_holders, same = 1;

	text[0] = '\0';
	for (size_t i = 0; i < n && length < size; i++, same++) {
		struct ident session = show_nth(o, i);
		const char *head = length == 0 ? " from " : ", ";
		const char *name = table_session_name(by->world, session);

		/* Its own; without a session each is. */
		if (o->kind == OPERATION_RELEASE && (name[0] == '?' ||
		    table_session_host(by->world, session) == by->index)) {
			same = 0;
			continue;
		}
		if (i + 1 < n && ident_equal(session, show_nth(o, i + 1)))
			continue;
		length += (size_t)(same == 1 ? snprintf(text + length,
		    size - length, "%s%s", head, name) : snprintf(text +
		    length, size - length, "%s%zu of %s", head, same, name));
		same = 0;
	}
}

void
show_operation(const struct host *h, const struct operation *o, char *text,
    size_t size)
{
	const struct world *w = h->world;
	const char *kind = operation_kind_name(o->kind);
	char use[32], dead[64];

	text[0] = '\0';
	if (w->options->trace == NULL)
		return;		/* it is never read */
	if (dialect_is_session(o->kind))
		(void)snprintf(text, size, "%s %s", kind,
		    table_session_name(w, o->session));
	else if (o->kind == OPERATION_READ_MANY ||
	    o->kind == OPERATION_MULTI)
		(void)snprintf(text, size, "%s of %zu", kind, o->n_keys);
	else if (o->kind == OPERATION_SCAN)
		(void)snprintf(text, size, "%s %.*s", kind,
		    (int)o->prefix.length, (const char *)o->prefix.bytes);
	else {
		show_use(o, use, sizeof(use));
		show_dead(h, o, dead, sizeof(dead));
		(void)snprintf(text, size, "%s %.*s%s%s", kind,
		    (int)o->key.length, (const char *)o->key.bytes, use, dead);
	}
}

/* ---- the state of a lock ------------------------------------------ */

void
show_holder(const struct core_holder_view *v, char *text, size_t size)
{
	char token[32], unchanged[40] = "", ends[64] = "", many[32] = "";

	if (!v->held) {
		(void)snprintf(text, size, " free%s%s",
		    v->broken_by != NULL ? " broken by " : "",
		    v->broken_by != NULL ? v->broken_by : "");
		return;
	}
	show_token(v->token, token, sizeof(token));
	if (v->n_holders > 1)
		(void)snprintf(many, sizeof(many), " of %" PRIu32,
		    v->n_holders);
	if (v->seen)
		(void)snprintf(unchanged, sizeof(unchanged),
		    " unchanged %" PRIu64, v->unchanged_ms);
	if (v->ends)
		(void)snprintf(ends, sizeof(ends), " ends in %" PRIu64
		    " renewal %" PRIu64, v->ends_ms, v->renewal);
	if (v->here)
		(void)snprintf(text, size, " held here by c%u%s token %s%s%s",
		    show_client(v->client), many, token, unchanged, ends);
	else
		(void)snprintf(text, size, " %s by %s%s token %s%s%s",
		    v->dead ? "dead" : "held", v->owner, many, token,
		    unchanged, ends);
}

static void
show_waiters(struct host *h)
{
	struct core_waiter_view v = { .serial = 0 };

	while (core_next_waiter(h->core, v.serial, host_boot_ms(h), &v))
		world_trace(h->world, WORLD_TRACE_ALL, h->name,
		    "shows c%u waiting for %.*s, %" PRIu32 " ahead%s%s",
		    show_client(v.client), (int)v.key.length,
		    (const char *)v.key.bytes, v.ahead,
		    v.cause != 0 ? ", " : "",
		    v.cause != 0 ? error_word(v.cause) : "");
}

void
show_all(struct host *h)
{
	struct core_namespace_view v;

	if (h->core == NULL) {
		world_trace(h->world, WORLD_TRACE_ALL, h->name,
		    "shows nothing");
		return;
	}
	for (uint32_t i = 0; i < h->world->plan->n_namespaces; i++) {
		core_view_namespace(h->core, i, host_boot_ms(h), &v);
		world_trace(h->world, WORLD_TRACE_ALL, h->name,
		    "shows %s%s, remaining %" PRIu64 ", held %" PRIu32
		    ", waiting %" PRIu32 ", locks %" PRIu32 ", doubts %"
		    PRIu32 ", granted %" PRIu64 ", lost %" PRIu64 "%s%s%s",
		    v.open ? "open" : "not open", v.danger ? " in danger" : "",
		    v.remaining_ms, v.held, v.waiting, v.locks, v.n_in_doubt,
		    v.counters.granted, v.counters.lost,
		    v.counters.tokens_back > 0 ? ", tokens went back" : "",
		    v.cause != 0 ? ", " : "",
		    v.cause != 0 ? error_word(v.cause) : "");
	}
	show_waiters(h);
}

void
show_tally(struct host *h)
{
	char text[256] = " nothing";
	size_t n = 0;

	for (int i = 0; i <= OPERATION_SESSION_CLOSE && n < sizeof(text); i++) {
		if (h->tally[i] == 0)
			continue;
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s %u %s",
		    n == 0 ? "" : ",", h->tally[i],
		    operation_kind_name((enum operation_kind)i));
		h->tally[i] = 0;
	}
	world_trace(h->world, WORLD_TRACE_ALL, h->name, "did%s", text);
	if (starve_made(h->index) > 0)
		world_trace(h->world, WORLD_TRACE_ALL, h->name, "made %" PRIu32
		    " allocations", starve_made(h->index));
}
