/*
 * The configuration in memory: setting values, where each came from, and the
 * errors.
 */
#include "daemon/config.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/utf8.h"
#include "ddblock.h"

/* Before others have their turn: a tenth of a millisecond. */
#define CONFIG_PER_STEP 16
#define CONFIG_REPORT_MAX (64 * 1024)

int
config_new(struct config **ret)
{
	struct config *c = calloc(1, sizeof(*c));

	if (c == NULL)
		return DDBLOCK_E_NOMEM;
	buffer_init(&c->errors, CONFIG_REPORT_MAX);
	buffer_init(&c->warnings, CONFIG_REPORT_MAX);
	*ret = c;
	return 0;
}

static void
config_clear(enum config_section section, void *values)
{
	size_t n;
	const struct config_setting *s = config_settings(section, &n);

	for (size_t i = 0; i < n; i++)
		config_value_clear(&s[i], (char *)values + s[i].offset);
}

void
config_free(struct config *c)
{
	if (c == NULL)
		return;
	config_clear(CONFIG_DAEMON, &c->daemon);
	for (size_t i = 0; i < c->n_namespaces; i++)
		config_clear(CONFIG_NAMESPACE, &c->namespaces[i]);
	free(c->namespaces);
	for (size_t i = 0; i < c->n_access; i++)
		config_clear(CONFIG_ACCESS, &c->access[i]);
	config_free_access(c);
	buffer_done(&c->errors);
	buffer_done(&c->warnings);
	free(c);
}

void
config_print_origin(struct config_origin origin, struct buffer *lines)
{
	if (origin.file != NULL && origin.line > 0)
		(void)buffer_printf(lines, "%s:%u: ", origin.file,
		    origin.line);
	else if (origin.file != NULL)
		(void)buffer_printf(lines, "%s: ", origin.file);
}

__attribute__((format(printf, 3, 0)))
static void
config_report(struct buffer *lines, struct config_origin origin,
    const char *format, va_list arguments)
{
	size_t start = lines->length;

	config_print_origin(origin, lines);
	(void)buffer_vprintf(lines, format, arguments);
	/* What it recites of a file goes to a terminal. */
	if (lines->data != NULL)
		utf8_make_shown(lines->data + start, lines->length - start);
	(void)buffer_append_text(lines, "\n");
}

void
config_complain(struct config *c, struct config_origin origin,
    const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	config_report(&c->errors, origin, format, arguments);
	va_end(arguments);
}

void
config_warn(struct config *c, struct config_origin origin,
    const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	config_report(&c->warnings, origin, format, arguments);
	va_end(arguments);
}

bool
config_is_name(const char *name)
{
	size_t length = strlen(name);

	return length >= 1 && length <= CONFIG_NAMESPACE_LENGTH_MAX &&
	    strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_-") == length;
}

/* How many letters to change, add or leave out to get from @a to @b. */
static size_t
config_distance(const char *a, const char *b)
{
	size_t row[65], n = strlen(b), last, above;

	if (n > 64 || strlen(a) > 64)
		return SIZE_MAX;
	for (size_t j = 0; j <= n; j++)
		row[j] = j;
	for (size_t i = 1; a[i - 1] != '\0'; i++) {
		last = row[0];
		row[0] = i;
		for (size_t j = 1; j <= n; j++) {
			above = row[j];
			row[j] = last + (a[i - 1] != b[j - 1]);
			if (above + 1 < row[j])
				row[j] = above + 1;
			if (row[j - 1] + 1 < row[j])
				row[j] = row[j - 1] + 1;
			last = above;
		}
	}
	return row[n];
}

static const char *
config_nearest(enum config_section section, const char *name)
{
	size_t n, best = SIZE_MAX;
	const struct config_setting *s = config_settings(section, &n);
	const char *found = NULL;

	for (size_t i = 0; i < n; i++) {
		size_t d = config_distance(name, s[i].name);

		if (d < best) {
			best = d;
			found = s[i].name;
		}
	}
	return best <= 3 && best < strlen(name) ? found : NULL;
}

static const struct config_setting *
config_find(enum config_section section, const char *name)
{
	size_t n;
	const struct config_setting *s = config_settings(section, &n);

	for (size_t i = 0; i < n; i++) {
		if (strcmp(s[i].name, name) == 0)
			return &s[i];
	}
	return NULL;
}

struct config_origin
config_origin_of(const struct config_origin *origins,
    enum config_section section, const char *name)
{
	size_t n;
	const struct config_setting *s = config_settings(section, &n);
	const struct config_setting *found = config_find(section, name);

	return found == NULL ? (struct config_origin){ 0 } :
	    origins[found - s];
}

bool
config_is_set(const struct config_namespace *n, const char *name)
{
	return config_origin_of(n->origins, CONFIG_NAMESPACE, name).file !=
	    NULL;
}

const struct store_kind *
config_kind(const struct config_namespace *n)
{
	return store_kinds[n->kind];
}

int
config_add_namespace(struct config *c, const char *name,
    struct config_origin origin, struct config_namespace **ret)
{
	struct config_namespace *grown;

	for (size_t i = 0; i < c->n_namespaces; i++) {
		if (strcmp(c->namespaces[i].name, name) == 0) {
			*ret = &c->namespaces[i];
			return 0;
		}
	}
	if (!config_is_name(name)) {
		config_complain(c, origin, "\"%s\" is not a name for a "
		    "namespace; use 1 to %d of a-z, 0-9, _ and -", name,
		    CONFIG_NAMESPACE_LENGTH_MAX);
		return DDBLOCK_E_BAD_REQUEST;
	}
	if (c->n_namespaces == CORE_NAMESPACES_MAX) {
		config_complain(c, origin, "there may be %d namespaces; "
		    "remove some", CORE_NAMESPACES_MAX);
		return DDBLOCK_E_BAD_REQUEST;
	}
	grown = reallocarray(c->namespaces, c->n_namespaces + 1,
	    sizeof(*grown));
	if (grown == NULL)
		return DDBLOCK_E_NOMEM;
	c->namespaces = grown;
	*ret = &grown[c->n_namespaces++];
	memset(*ret, 0, sizeof(**ret));
	(*ret)->origin = origin;
	memcpy((*ret)->name, name, strlen(name) + 1);
	return 0;
}

static int
config_unknown(struct config *c, enum config_section section,
    const char *name, struct config_origin origin)
{
	static const char *const heads[] = {
		[CONFIG_DAEMON] = "[daemon]",
		[CONFIG_NAMESPACE] = "[namespace NAME]",
		[CONFIG_ACCESS] = "[access NAME]",
	};
	const char *nearest = config_nearest(section, name);
	enum config_section other = CONFIG_DAEMON;

	while (other < CONFIG_SECTIONS && config_find(other, name) == NULL)
		other++;
	if (other < CONFIG_SECTIONS)
		config_complain(c, origin, "%s belongs in a section %s", name,
		    heads[other]);
	else if (nearest != NULL)
		config_complain(c, origin,
		    "there is no setting %s; did you mean %s?", name, nearest);
	else
		config_complain(c, origin, "there is no setting %s; "
		    "ddblockd --help lists them", name);
	return DDBLOCK_E_BAD_REQUEST;
}

/* The setting @s of a section with these values. */
static int
config_set_value(struct config *c, const struct config_setting *s, void *values,
    struct config_origin *seen, const char *value, struct config_origin origin)
{
	const char *name = s->name;
	char rule[256] = "";
	int r;

	if (seen->file != NULL && seen->line > 0 && origin.line > 0) {
		config_complain(c, origin, "%s is set twice (first in %s:%u); "
		    "remove one", name, seen->file, seen->line);
		return DDBLOCK_E_BAD_REQUEST;
	}
	r = config_value_parse(s, value, (char *)values + s->offset, rule,
	    sizeof(rule));
	if (r == DDBLOCK_E_BAD_REQUEST && s->kind == CONFIG_SECRET)
		config_complain(c, origin, "%s %s", name, rule);
	else if (r == DDBLOCK_E_BAD_REQUEST)
		config_complain(c, origin, "%s = %s: %s", name, value, rule);
	if (r == 0)
		*seen = origin;
	return r;
}

int
config_set(struct config *c, const char *namespace_name, const char *name,
    const char *value, struct config_origin origin)
{
	enum config_section section = namespace_name == NULL ?
	    CONFIG_DAEMON : CONFIG_NAMESPACE;
	const struct config_setting *s = config_find(section, name);
	struct config_namespace *n;
	size_t i, count;
	int r;

	if (s == NULL)
		return config_unknown(c, section, name, origin);
	i = (size_t)(s - config_settings(section, &count));
	if (section == CONFIG_DAEMON)
		return config_set_value(c, s, &c->daemon,
		    &c->daemon.origins[i], value, origin);
	r = config_add_namespace(c, namespace_name, origin, &n);
	return r < 0 ? r : config_set_value(c, s, n, &n->origins[i], value,
	    origin);
}

int
config_set_access(struct config *c, size_t access, const char *name,
    const char *value, struct config_origin origin)
{
	const struct config_setting *s = config_find(CONFIG_ACCESS, name);
	struct config_access *a = &c->access[access];
	size_t count;

	if (s == NULL)
		return config_unknown(c, CONFIG_ACCESS, name, origin);
	return config_set_value(c, s, a, &a->origins[s -
	    config_settings(CONFIG_ACCESS, &count)], value, origin);
}

/* @of: the namespace whose settings these are; NULL: the daemon's. */
static void
config_describe_section(enum config_section section, const void *values,
    const struct config_origin *origins, const struct config_namespace *of,
    struct buffer *buffer)
{
	size_t n;
	const struct config_setting *s = config_settings(section, &n);

	for (size_t i = 0; i < n; i++) {
		const void *value = (const char *)values + s[i].offset;

		if (of != NULL && !config_knows(of, s[i].name))
			continue;
		if ((s[i].kind == CONFIG_TEXT || s[i].kind == CONFIG_SECRET) &&
		    *(char *const *)value == NULL)
			continue;
		(void)buffer_printf(buffer, "%s = ", s[i].name);
		config_value_print(&s[i], value, buffer);
		if (origins[i].file == NULL)
			(void)buffer_append_text(buffer, "\t; default");
		(void)buffer_append_text(buffer, "\n");
	}
}

int
config_describe(const struct config *c, struct buffer *buffer)
{
	(void)buffer_append_text(buffer, "[daemon]\n");
	config_describe_section(CONFIG_DAEMON, &c->daemon, c->daemon.origins,
	    NULL, buffer);
	for (size_t i = 0; i < c->n_namespaces; i++) {
		const struct config_namespace *n = &c->namespaces[i];

		(void)buffer_printf(buffer, "\n[namespace %s]\n", n->name);
		config_describe_section(CONFIG_NAMESPACE, n, n->origins, n,
		    buffer);
	}
	config_describe_access(c, buffer);
	return buffer_failed(buffer);
}

/* What store and format do not know is nothing to the core, either. */
static uint64_t
config_if_known(const struct config_namespace *n, const char *setting,
    uint64_t value)
{
	return config_knows(n, setting) ? value : 0;
}

struct core_namespace
config_core_namespace(const struct config_namespace *n)
{
	const struct store_kind *kind = config_kind(n);
	struct core_namespace core = {
		.name = n->name,
		.lease_ms = n->lease_ms,
		.heartbeat_ms = n->heartbeat_ms,
		.danger_ms = n->danger_ms,
		.margin_ms = n->margin_ms,
		.drift_ppm = (uint32_t)n->drift_ppm,
		.poll_ms = n->poll_ms,
		.request_ms = n->request_ms,
		.try_ms = n->try_ms,
		.audit_ms = n->audit_ms,
		.handover_max = (uint32_t)n->handover_max,
		.line_max = (uint32_t)config_if_known(n, "line",
		    n->line_max),
		.sole_writer = kind->sole_writer,
		.no_foreign_waiters = kind->no_foreign_waiters,
		.keeps_idle = kind->keeps_idle,
		.idle_ms = config_if_known(n, "idle", n->idle_ms),
		.retention_ms = config_if_known(n, "retention",
		    n->store.retention_ms),
		.list_capacity = (uint32_t)config_if_known(n, "list_capacity",
		    n->list_capacity),
		.request_rate = (uint32_t)config_if_known(n, "request_rate",
		    n->request_rate),
		.bridge = (uint32_t)n->bridge_index,
		.removed = n->removed,
		.metrics_prefixes = n->metrics_prefixes,
	};

	if (kind->describe != NULL)
		kind->describe(&n->store, &core);
	return core;
}

struct core_limits
config_core_limits(const struct config_daemon *d)
{
	return (struct core_limits){
		.clients_max = (uint32_t)d->connections_max,
		.requests_per_client_max =
		    (uint32_t)d->requests_per_connection_max,
		.holds_per_client_max = (uint32_t)d->holds_per_connection_max,
		.per_step_max = CONFIG_PER_STEP,
		.watches_per_client_max =
		    (uint32_t)d->watches_per_connection_max,
		.watches_max = (uint32_t)d->watches_max,
		.locks_max = (uint32_t)d->locks_max,
		.memory_max = d->memory_max,
		.requests_max = (uint32_t)d->requests_max,
		.observations_max = 10000,
		.in_doubt_max = 32768,
	};
}
