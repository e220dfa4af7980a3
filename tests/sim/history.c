/* Histories of real daemons, as facts: files, lives, and their order. */
#include "history_line.h"

#include <errno.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

int
history_fail(struct history_line *l, const char *format, ...)
{
	va_list arguments;
	int n = snprintf(l->text, l->text_size, "%s:%zu: ", l->name,
	    l->number);

	if (n < 0 || (size_t)n >= l->text_size)
		return -1;
	va_start(arguments, format);
	(void)vsnprintf(l->text + n, l->text_size - (size_t)n, format,
	    arguments);
	va_end(arguments);
	return -1;
}

/* Room for one more. */
static void *
history_grow(void *array, size_t n, size_t *size, size_t of)
{
	if (n < *size)
		return array;
	*size = *size == 0 ? 256 : 2 * *size;
	array = realloc(array, *size * of);
	if (array == NULL) {
		(void)fprintf(stderr, "no memory\n");
		abort();
	}
	return array;
}

/* ---- fields ----------------------------------------------------------- */

/* NULL: it is absent or not a text. */
const char *
history_text(const struct history_line *l, const char *name)
{
	struct json_object *value;

	if (!json_object_object_get_ex(l->json, name, &value) ||
	    !json_object_is_type(value, json_type_string))
		return NULL;
	return json_object_get_string(value);
}

bool
history_number(const struct history_line *l, const char *name, uint64_t *ret)
{
	const char *text = history_text(l, name);
	char *end;

	if (text == NULL || *text < '0' || *text > '9')
		return false;
	errno = 0;
	*ret = strtoull(text, &end, 10);
	return *end == '\0' && errno == 0;
}

/* As its index; a namespace is known from the daemon's first lines. */
bool
history_namespace(const struct history_line *l, uint32_t *ret)
{
	const char *name = history_text(l, "DDBLOCK_NAMESPACE");

	for (uint32_t i = 0; name != NULL && i < l->history->n_namespaces;
	    i++) {
		if (strcmp(l->history->namespaces[i], name) == 0) {
			*ret = i;
			return true;
		}
	}
	return false;
}

static struct history_entry *
history_add(struct history *h, uint64_t boot_us, uint64_t pid,
    const struct fact *f)
{
	struct history_entry *e;

	h->entries = history_grow(h->entries, h->n_entries, &h->entries_size,
	    sizeof(*h->entries));
	e = &h->entries[h->n_entries];
	*e = (struct history_entry){
		.boot_us = boot_us, .order = h->n_entries++, .pid = pid,
		.fact = *f,
	};
	e->fact.at_ms = boot_us / 1000;
	if (f->until_ms == 0)
		e->fact.until_ms = FACT_NEVER;	/* it has none */
	if (f->key != NULL)
		e->key = strdup(f->key);
	e->fact.key = NULL;	/* entries move */
	return e;
}

void
history_add_told(struct history_line *l, const struct fact *f)
{
	struct history_entry *e =
	    history_add(l->history, l->life->end_us, 0, f);

	e->life = 1 + (size_t)(l->life - l->history->lives);
	e->serial = l->serial;
}

uint64_t
history_client(const struct history_line *l, uint64_t client)
{
	return client | (uint64_t)l->life->number << (64 - HISTORY_LIFE_BITS);
}

/* ---- lives ------------------------------------------------------------ */

/* No line about its end: it was killed, at its last line or later. Its holds
 * last until their deadlines in either case. */
static void
history_died(struct history_line *l)
{
	struct fact f = { .kind = FACT_DIED };

	if (l->life == NULL)
		return;
	f.host = l->life->host;
	l->serial = UINT64_MAX;		/* behind all of its lines */
	history_add_told(l, &f);
	l->life = NULL;
}

static int
history_started(struct history_line *l, uint64_t boot_us, uint64_t pid)
{
	struct history *h = l->history;
	struct fact f = { .kind = FACT_STARTED, .host = h->n_hosts };

	history_died(l);
	if (h->n_hosts == FACT_HOSTS_MAX)
		return history_fail(l, "more than %d daemons",
		    FACT_HOSTS_MAX);
	if (h->n_lives >> HISTORY_LIFE_BITS != 0)
		return history_fail(l, "too many lives");
	h->lives = history_grow(h->lives, h->n_lives, &h->lives_size,
	    sizeof(*h->lives));
	l->life = &h->lives[h->n_lives++];
	*l->life = (struct history_life){
		.pid = pid, .host = h->n_hosts, .begin_us = boot_us,
		.end_us = boot_us, .number = h->n_lives,
	};
	l->serial = 0;
	history_add_told(l, &f);
	return 0;
}

/* ---- takeovers -------------------------------------------------------- */

/* The life before this one in the file that was this process's. */
static struct history_life *
history_predecessor(const struct history_line *l, uint64_t pid)
{
	for (struct history_life *b = l->life; b-- > l->history->lives &&
	    b->host == l->life->host;) {
		if (b->pid == pid)
			return b;
	}
	return NULL;
}

/* Nobody heard of what the predecessor told after its last save; nor of what
 * others took over since and died before a save of their own. */
static void
history_unsay(struct history_line *l, size_t life, uint64_t serial)
{
	struct history *h = l->history;

	while (h->n_entries > 0) {
		const struct history_entry *e = &h->entries[h->n_entries - 1];

		if (e->life == 0 || e->life < life ||
		    (e->life == life && e->serial <= serial))
			return;
		if (e->life > life && e->fact.kind == FACT_ANSWERED)
			l->twice = true;
		free(e->key);
		h->n_entries--;
	}
}

/* To the judge it is one daemon, which stood still. */
static int
history_inherits(struct history_line *l)
{
	struct fact f = { .kind = FACT_PAUSED, .host = l->life->host };
	const struct history_life *before;
	uint64_t pid, serial;

	if (!history_number(l, "DDBLOCK_FROM_PID", &pid) ||
	    !history_number(l, "DDBLOCK_FROM_SERIAL", &serial))
		return history_fail(l, "it does not say whose it inherits");
	before = history_predecessor(l, pid);
	if (before == NULL)
		return history_fail(l, "it inherits from process %" PRIu64
		    ", of which nothing is known", pid);
	l->life->number = before->number;
	l->twice = false;
	history_unsay(l, 1 + (size_t)(before - l->history->lives), serial);
	(void)history_add(l->history, l->history->n_entries == 0 ? 0 :
	    l->history->entries[l->history->n_entries - 1].boot_us, 0, &f);
	l->history->entries[l->history->n_entries - 1].life =
	    1 + (size_t)(l->life - l->history->lives);
	return 0;
}

static int
history_inherited(struct history_line *l)
{
	const char *complete = history_text(l, "DDBLOCK_COMPLETE");
	struct fact f = { .kind = FACT_INHERITED, .host = l->life->host,
		.twice = l->twice,
		.whole = complete != NULL && strcmp(complete, "yes") == 0 };

	history_add_told(l, &f);
	f = (struct fact){ .kind = FACT_RESUMED, .host = l->life->host };
	history_add_told(l, &f);
	return 0;
}

/* ---- settings --------------------------------------------------------- */

static int
history_settings(struct history_line *l)
{
	struct history *h = l->history;
	const char *name = history_text(l, "DDBLOCK_NAMESPACE");
	struct judge_rules r;
	uint64_t drift_ppm, idle_ms;
	uint32_t index;

	memset(&r, 0, sizeof(r));	/* compared below, as it is */
	if (name == NULL || strlen(name) >= HISTORY_NAME_MAX ||
	    !history_number(l, "DDBLOCK_LEASE_MS", &r.lease_ms) ||
	    !history_number(l, "DDBLOCK_DANGER_MS", &r.danger_ms) ||
	    !history_number(l, "DDBLOCK_MARGIN_MS", &r.margin_ms) ||
	    !history_number(l, "DDBLOCK_DRIFT_PPM", &drift_ppm) ||
	    !history_number(l, "DDBLOCK_POLL_MS", &r.poll_ms) ||
	    !history_number(l, "DDBLOCK_REQUEST_MS", &r.request_ms) ||
	    !history_number(l, "DDBLOCK_TRY_MS", &r.try_ms) ||
	    !history_number(l, "DDBLOCK_AUDIT_MS", &r.audit_ms) ||
	    !history_number(l, "DDBLOCK_IDLE_MS", &idle_ms))
		return history_fail(l, "a setting is missing");
	r.drift_ppm = (uint32_t)drift_ppm;
	/* The judge takes it for a bound, so the longest one counts: the
	 * release before has another default. */
	r.idle_ms = h->rules.idle_ms;
	if (h->n_namespaces > 0 && memcmp(&r, &h->rules, sizeof(r)) != 0)
		return history_fail(l, "namespaces or daemons with different "
		    "settings cannot be judged together");
	if (idle_ms > r.idle_ms)
		r.idle_ms = idle_ms;
	h->rules = r;
	if (history_namespace(l, &index))
		return 0;
	if (h->n_namespaces == HISTORY_NAMESPACES_MAX)
		return history_fail(l, "too many namespaces");
	memcpy(h->namespaces[h->n_namespaces++], name, strlen(name) + 1);
	return 0;
}

static void
history_ended(struct history_line *l)
{
	const char *settled = history_text(l, "DDBLOCK_SETTLED");
	struct fact f = { .kind = FACT_ENDED, .host = l->life->host };

	/* If told to end at once, it need not answer every client. */
	if (settled == NULL || strcmp(settled, "yes") != 0) {
		history_died(l);
		return;
	}
	history_add_told(l, &f);
	l->life = NULL;
}

/* ---- files ------------------------------------------------------------ */

/* What only the test knows of daemons, because it did it. */
static const struct {
	const char *event;
	enum fact_kind kind;
} history_script_events[] = {
	{ "paused", FACT_PAUSED },
	{ "resumed", FACT_RESUMED },
	{ "drained", FACT_WITHDRAWN },
	{ "undrained", FACT_RETURNED },
};

static bool
history_is_script(const char *event, enum fact_kind *ret)
{
	for (size_t i = 0; i < sizeof(history_script_events) /
	    sizeof(history_script_events[0]); i++) {
		if (strcmp(history_script_events[i].event, event) != 0)
			continue;
		*ret = history_script_events[i].kind;
		return true;
	}
	return false;
}

static int
history_script(struct history_line *l, enum fact_kind kind, uint64_t boot_us)
{
	struct fact f = { .kind = kind };
	uint64_t pid;

	if (!history_number(l, "DDBLOCK_PID", &pid))
		return history_fail(l, "it does not say whose");
	(void)history_add(l->history, boot_us, pid, &f);
	return 0;
}

/* Is it the next line of the life that this file is at? */
static int
history_follow(struct history_line *l, uint64_t boot_us, uint64_t pid)
{
	uint64_t serial;

	if (l->life == NULL || l->life->pid != pid)
		return history_fail(l, "it begins within a life, or is of two "
		    "daemons");
	if (!history_number(l, "DDBLOCK_SERIAL", &serial) ||
	    serial != l->serial + 1)
		return history_fail(l, "lines are missing after the %" PRIu64
		    ". of process %" PRIu64, l->serial, pid);
	if (boot_us < l->life->end_us)
		return history_fail(l, "time goes back");
	l->serial = serial;
	l->life->end_us = boot_us;
	return 0;
}

static int
history_event(struct history_line *l)
{
	const char *event = history_text(l, "DDBLOCK_EVENT");
	enum fact_kind by_script;
	uint64_t boot_us, pid;
	int r = 0;

	if (event == NULL)
		return 0;	/* not of the history */
	if (!history_number(l, "DDBLOCK_BOOT_US", &boot_us))
		return history_fail(l, "it does not say when");
	if (history_is_script(event, &by_script))
		return history_script(l, by_script, boot_us);
	if (!history_number(l, "_PID", &pid))
		return history_fail(l, "it does not say whose it is");
	if (strcmp(event, "started") == 0)
		r = history_started(l, boot_us, pid);
	if (r == 0)
		r = history_follow(l, boot_us, pid);
	if (r < 0)
		return r;
	if (strcmp(event, "namespace") == 0)
		return history_settings(l);
	if (strcmp(event, "renewed") == 0)
		return history_renewed(l);
	if (strcmp(event, "inherits") == 0)
		return history_inherits(l);
	if (strcmp(event, "inherited") == 0)
		return history_inherited(l);
	if (strcmp(event, "ended") == 0)
		history_ended(l);
	else
		return history_told(l, event);
	return 0;
}

int
history_read(struct history *h, FILE *from, const char *name, char *text,
    size_t text_size)
{
	struct history_line l = { .history = h, .name = name, .text = text,
		.text_size = text_size };
	size_t lives = h->n_lives, size = 0;
	char *line = NULL;
	int r = 0;

	while (r == 0 && getline(&line, &size, from) >= 0) {
		l.number++;
		if (line[0] != '{')
			continue;	/* such as of a library */
		l.json = json_tokener_parse(line);
		r = l.json == NULL ? history_fail(&l, "no JSON") :
		    history_event(&l);
		json_object_put(l.json);
	}
	free(line);
	history_died(&l);
	if (h->n_lives > lives)
		h->n_hosts++;
	return r;
}

/* ---- all together ----------------------------------------------------- */

static int
history_compare(const void *a, const void *b)
{
	const struct history_entry *x = a, *y = b;

	if (x->boot_us != y->boot_us)
		return x->boot_us < y->boot_us ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

/* The daemon of a process. It may have written its last line long before. */
static bool
history_find_host(const struct history *h, struct history_entry *e)
{
	const struct history_life *best = NULL;

	for (size_t i = 0; i < h->n_lives; i++) {
		const struct history_life *life = &h->lives[i];

		if (life->pid == e->pid && life->begin_us <= e->boot_us &&
		    (best == NULL || best->begin_us < life->begin_us))
			best = life;
	}
	if (best == NULL)
		return false;
	e->fact.host = best->host;
	return true;
}

int
history_finish(struct history *h, char *text, size_t text_size)
{
	for (size_t i = 0; i < h->n_entries; i++) {
		struct history_entry *e = &h->entries[i];

		if (e->pid == 0 || history_find_host(h, e))
			continue;
		(void)snprintf(text, text_size, "nothing is known of process "
		    "%" PRIu64 ", which was stopped, continued or drained",
		    e->pid);
		return -1;
	}
	if (h->n_namespaces == 0) {
		(void)snprintf(text, text_size, "there is no history; was it "
		    "written with history = yes?");
		return -1;
	}
	qsort(h->entries, h->n_entries, sizeof(*h->entries),
	    history_compare);
	for (size_t i = 0; i < h->n_entries; i++)
		h->entries[i].fact.key = h->entries[i].key;
	h->finished = true;
	return 0;
}

const struct judge_rules *
history_rules(const struct history *h)
{
	return &h->rules;
}

uint32_t
history_namespaces(const struct history *h)
{
	return h->n_namespaces;
}

size_t
history_lives(const struct history *h)
{
	return h->n_lives;
}

const struct fact *
history_fact(const struct history *h, size_t i)
{
	return h->finished && i < h->n_entries ? &h->entries[i].fact : NULL;
}

struct history *
history_new(void)
{
	return calloc(1, sizeof(struct history));
}

void
history_free(struct history *h)
{
	if (h == NULL)
		return;
	for (size_t i = 0; i < h->n_entries; i++)
		free(h->entries[i].key);
	free(h->entries);
	free(h->lives);
	free(h);
}
