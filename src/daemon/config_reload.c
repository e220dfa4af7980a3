/*
 * Reading the configuration again. It is read twice: once as the next start
 * would have it, which must be valid in itself; and once to be merged with what
 * does not change, before the defaults are filled in, because these follow from
 * other settings.
 */
#include "daemon/config_reload.h"

#include <stdlib.h>
#include <string.h>

#include "ddblock.h"

#define RELOAD_VALUE_MAX (2 * CONFIG_VALUE_LENGTH_MAX)

/* A section of a configuration: the daemon's, or that of a namespace. */
struct reload_section {
	enum config_section kind;
	void *values;
	struct config_origin *origins;
};

static struct reload_section
reload_daemon(const struct config *c)
{
	struct config_daemon *d = (struct config_daemon *)(uintptr_t)&c->daemon;

	return (struct reload_section){ CONFIG_DAEMON, d, d->origins };
}

static struct reload_section
reload_namespace(struct config_namespace *n)
{
	return (struct reload_section){ CONFIG_NAMESPACE, n, n->origins };
}

static struct config_namespace *
reload_find(const struct config *c, const char *name)
{
	for (size_t i = 0; i < c->n_namespaces; i++) {
		if (strcmp(c->namespaces[i].name, name) == 0)
			return &c->namespaces[i];
	}
	return NULL;
}

/* ---- what is another -------------------------------------------------- */

static bool
reload_is_text(const struct config_setting *s)
{
	return s->kind == CONFIG_TEXT || s->kind == CONFIG_SECRET;
}

static bool
reload_is_same(const struct config_setting *s,
    const struct reload_section *a, const struct reload_section *b)
{
	const void *one = (const char *)a->values + s->offset;
	const void *other = (const char *)b->values + s->offset;
	const char *text = *(char *const *)one;
	const char *also = *(char *const *)other;

	if (!reload_is_text(s))
		return *(const uint64_t *)one == *(const uint64_t *)other;
	return text == NULL || also == NULL ? text == also :
	    strcmp(text, also) == 0;
}

/* "ddblockd.conf:12: lease of namespace jobs stays 20s: ..." */
static void
reload_say(const struct config_setting *s, const struct reload_section *was,
    struct config_origin origin, const struct config_namespace *of,
    struct buffer *report)
{
	const void *value = (const char *)was->values + s->offset;

	config_print_origin(origin, report);
	(void)buffer_append_text(report, s->name);
	if (of != NULL)
		(void)buffer_printf(report, " of namespace %s", of->name);
	if (s->kind == CONFIG_SECRET || (s->kind == CONFIG_TEXT &&
	    *(char *const *)value == NULL)) {
		(void)buffer_append_text(report, " stays as it is");
	} else {
		(void)buffer_append_text(report, " stays ");
		config_value_print(s, value, report);
	}
	(void)buffer_append_text(report,
	    ": it changes with the next start\n");
}

/* What the files say now that only the next start will heed. What nobody set
 * follows from something else. */
static void
reload_tell(const struct reload_section *was, const struct reload_section *is,
    const struct config_namespace *of, const char *file, struct buffer *report)
{
	size_t n;
	const struct config_setting *s = config_settings(is->kind, &n);

	for (size_t i = 0; i < n; i++) {
		struct config_origin origin = is->origins[i];

		if (s[i].live || reload_is_same(&s[i], was, is) ||
		    (origin.file == NULL && was->origins[i].file == NULL))
			continue;
		if (origin.file == NULL)
			origin.file = file;
		reload_say(&s[i], was, origin, of, report);
	}
}

static void
reload_tell_all(const struct config *old, const struct config *next,
    const char *file, struct buffer *report)
{
	struct reload_section was = reload_daemon(old);
	struct reload_section is = reload_daemon(next);

	reload_tell(&was, &is, NULL, file, report);
	for (size_t i = 0; i < old->n_namespaces; i++) {
		struct config_namespace *n = &old->namespaces[i];
		struct config_namespace *now = reload_find(next, n->name);

		if (now == NULL && !n->removed)
			(void)buffer_printf(report, "%s%snamespace %s is gone: "
			    "it grants no new locks from now on, and ends with "
			    "the next start\n", file == NULL ? "" : file,
			    file == NULL ? "" : ": ", n->name);
		if (now == NULL)
			continue;
		was = reload_namespace(n);
		is = reload_namespace(now);
		reload_tell(&was, &is, n, file, report);
	}
}

/* ---- what stays ------------------------------------------------------- */

static int
reload_keep_one(const struct config_setting *s,
    const struct reload_section *from, size_t i, struct reload_section *to)
{
	const char *value = (const char *)from->values + s->offset;
	char *target = (char *)to->values + s->offset;
	bool set = from->origins[i].file != NULL;

	config_value_clear(s, target);
	to->origins[i] = from->origins[i];
	if (!set)
		return 0;	/* the default, once more */
	if (!reload_is_text(s)) {
		memcpy(target, value, sizeof(uint64_t));
		return 0;
	}
	*(char **)(void *)target = strdup(*(char *const *)(const void *)value);
	return *(char **)(void *)target == NULL ? DDBLOCK_E_NOMEM : 0;
}

/* @all: nothing of it changes. */
static int
reload_keep(const struct reload_section *from, struct reload_section *to,
    bool all)
{
	size_t n;
	const struct config_setting *s = config_settings(from->kind, &n);

	for (size_t i = 0; i < n; i++) {
		int r = s[i].live && !all ? 0 :
		    reload_keep_one(&s[i], from, i, to);

		if (r < 0)
			return r;
	}
	return 0;
}

/* Number @i of @c becomes what the old one of that number is. */
static int
reload_place(const struct config *old, size_t i, struct config *c)
{
	struct config_namespace *was = &old->namespaces[i], *n, swap;
	struct reload_section from = reload_namespace(was), to;
	bool removed = reload_find(c, was->name) == NULL;
	int r = config_add_namespace(c, was->name, was->origin, &n);

	if (r < 0)
		return r;
	n->removed = removed;
	swap = *n;
	*n = c->namespaces[i];
	c->namespaces[i] = swap;
	explicit_bzero(&swap, sizeof(swap));
	to = reload_namespace(&c->namespaces[i]);
	return reload_keep(&from, &to, removed);
}

static int
reload_merge(const struct config *old, struct config *c)
{
	struct reload_section from = reload_daemon(old);
	struct reload_section to = reload_daemon(c);
	int r = reload_keep(&from, &to, false);

	for (size_t i = 0; r == 0 && i < old->n_namespaces; i++)
		r = reload_place(old, i, c);
	return r == 0 ? config_finish(c) : r;
}

/* ---- all -------------------------------------------------------------- */

static int
reload_read_once(const struct config *old, const struct reload_source *source,
    struct buffer *report, struct config **ret)
{
	struct config *c;
	int r = config_new(&c);

	if (r < 0)
		return r;
	r = source->read(source->arg, c);
	if (r == 0)
		r = old != NULL ? reload_merge(old, c) : config_finish(c);
	if (old == NULL && c->warnings.length > 0)
		(void)buffer_append_text(report, c->warnings.data);
	if (c->errors.length > 0)
		(void)buffer_append_text(report, c->errors.data);
	if (r < 0) {
		config_free(c);
		return r;
	}
	*ret = c;
	return 0;
}

int
reload_read(const struct config *old, const struct reload_source *source,
    struct buffer *report, struct config **ret)
{
	struct config *next;
	int r = reload_read_once(NULL, source, report, &next);

	if (r < 0)
		return r;
	r = reload_read_once(old, source, report, ret);
	if (r == 0)
		reload_tell_all(old, next, source->name, report);
	config_free(next);
	return r;
}
