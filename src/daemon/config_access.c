/*
 * The sections [access NAME]: rules of access as they are written, and what
 * they become (ipc/access.h). Users and groups are looked up here, once. What
 * cannot be a rule is an error: without it others would be let in, or kept out.
 */
#include "daemon/config.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ddblock.h"
#include "ipc/codec.h"

#define A(field) offsetof(struct config_access, field)
#define ACCESS_LOOKUP_BYTES_MAX (1024 * 1024)

static const struct config_setting config_access_table[] = {
	{ "user", true, CONFIG_TEXT, A(user), NULL, 0, 0, NULL, "USERS",
	    "the users that it is for (*)" },
	{ "group", true, CONFIG_TEXT, A(group), NULL, 0, 0, NULL, "GROUPS",
	    "the groups that it is for (*)" },
	{ "unit", true, CONFIG_TEXT, A(unit), NULL, 0, 0, NULL, "UNITS",
	    "the units that it is for (*)" },
	{ "namespace", true, CONFIG_TEXT, A(namespaces), NULL, 0, 0, NULL,
	    "NAMESPACES", "the namespaces that it is for (*)" },
	{ "prefix", true, CONFIG_TEXT, A(prefix), NULL, 0, 0, NULL, "PREFIXES",
	    "what the keys begin with that it is for (*)" },
	{ "allow", true, CONFIG_TEXT, A(allow), NULL, 0, 0, NULL, "RIGHTS",
	    "what may be done" },
#define ACCESS_LIMIT(name, setting, kind, least, most, argument, help)         \
	{ setting, true, CONFIG_##kind, A(limits[ACCESS_LIMIT_##name]), NULL,  \
	    least, most, NULL, argument, help },
#include "ipc/access.def"
};

const struct config_setting *
config_access_settings(size_t *ret_count)
{
	*ret_count = sizeof(config_access_table) /
	    sizeof(config_access_table[0]);
	return config_access_table;
}

int
config_add_access(struct config *c, const char *name,
    struct config_origin origin, size_t *ret)
{
	struct config_access *grown;

	if (!config_is_name(name)) {
		config_complain(c, origin, "\"%s\" is not a name for a rule of "
		    "access; use 1 to %d of a-z, 0-9, _ and -", name,
		    CONFIG_NAMESPACE_LENGTH_MAX);
		return DDBLOCK_E_BAD_REQUEST;
	}
	for (size_t i = 0; i < c->n_access; i++) {
		if (strcmp(c->access[i].name, name) != 0)
			continue;
		config_complain(c, origin, "there is an [access %s] already "
		    "(%s:%u); the first rule that fits decides, so give this "
		    "one another name", name, c->access[i].origin.file,
		    c->access[i].origin.line);
		return DDBLOCK_E_BAD_REQUEST;
	}
	if (c->n_access == ACCESS_RULES_MAX) {
		config_complain(c, origin, "there may be %d rules of access; "
		    "put some together", ACCESS_RULES_MAX);
		return DDBLOCK_E_BAD_REQUEST;
	}
	grown = reallocarray(c->access, c->n_access + 1, sizeof(*grown));
	if (grown == NULL)
		return DDBLOCK_E_NOMEM;
	c->access = grown;
	*ret = c->n_access++;
	memset(&grown[*ret], 0, sizeof(*grown));
	grown[*ret].origin = origin;
	memcpy(grown[*ret].name, name, strlen(name) + 1);
	return 0;
}

/* ---- lists -------------------------------------------------------------- */

/* A list while it is read: its words, separated by spaces or commas; a word
 * with one of these is in quotation marks. */
struct config_list {
	struct config *config;
	const struct config_access *of;
	struct config_origin origin;
	const char *setting;
	char *next;
	size_t n_words;
	bool any;	/* `*` was one of them */
};

/* As many words as fit, whatever they are. */
static size_t
list_room(const char *text)
{
	return strlen(text) / 2 + 1;
}

static void __attribute__((format(printf, 3, 4)))
list_complain(const struct config_list *l, const char *word,
    const char *format, ...)
{
	char text[256];
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	config_complain(l->config, l->origin, "access %s: %s = %s: %s",
	    l->of->name, l->setting, word, text);
}

/* The next word, cut out of the text; NULL: there is none. */
static char *
list_next(struct config_list *l)
{
	char *word = l->next + strspn(l->next, " \t,"), *end;

	if (*word == '\0')
		return NULL;
	if (*word == '"') {
		end = strchr(++word, '"');
		if (end == NULL)
			list_complain(l, word, "a quotation mark is missing");
	} else {
		end = word + strcspn(word, " \t,");
	}
	l->next = end == NULL || *end == '\0' ? word + strlen(word) : end + 1;
	if (end != NULL)
		*end = '\0';
	if (strcmp(word, "*") == 0)
		l->any = true;
	l->n_words++;
	return word;
}

/* A copy of the value, in @copy, to be read by list_next(). */
static int
list_begin(struct config_list *l, const char *setting, const char *value,
    char **copy)
{
	l->setting = setting;
	l->origin = config_origin_of(l->of->origins, CONFIG_ACCESS, setting);
	l->n_words = 0;
	l->any = value == NULL;
	*copy = strdup(value == NULL ? "" : value);
	if (*copy == NULL)
		return DDBLOCK_E_NOMEM;
	l->next = *copy;
	return 0;
}

/* A value of commas only would be for nobody, or for all. */
static void
list_end(const struct config_list *l)
{
	if (l->n_words == 0 && !l->any)
		list_complain(l, "", "names nothing; write * for all, or "
		    "remove it");
}

/* ---- its clients -------------------------------------------------------- */

/* Of what getpwnam_r() and getgrnam_r() say; @found: the entry or NULL. */
static bool
access_was_found(const struct config_list *l, const char *word, int error,
    const void *found)
{
	if (found == NULL && (error == 0 || error == ENOENT ||
	    error == ESRCH))
		list_complain(l, word, "there is no such %s; create it, or "
		    "write its number", l->setting);
	else if (found == NULL)
		list_complain(l, word, "this %s cannot be looked up: %s",
		    l->setting, strerror(error));
	return found != NULL;
}

/* False: complained. */
static bool
access_find(const struct config_list *l, const char *word, uint32_t *ret)
{
	const bool is_user = strcmp(l->setting, "user") == 0;
	struct passwd user, *u = NULL;
	struct group group, *g = NULL;
	char *room = NULL, *grown;
	uint64_t number;
	size_t size = 1024;
	int error;
	bool found;

	if (codec_parse_number(word, strlen(word), &number)) {
		*ret = (uint32_t)number;
		if (number < UINT32_MAX)
			return true;
		list_complain(l, word, "there is no such number");
		return false;
	}
	do {
		size *= 2;
		grown = realloc(room, size);
		if (grown == NULL) {
			error = ENOMEM;
			break;
		}
		room = grown;
		error = is_user ?
		    getpwnam_r(word, &user, room, size, &u) :
		    getgrnam_r(word, &group, room, size, &g);
	} while (error == ERANGE && size < ACCESS_LOOKUP_BYTES_MAX);
	found = access_was_found(l, word, error, is_user ? (void *)u :
	    (void *)g);
	if (found)
		*ret = is_user ? u->pw_uid : g->gr_gid;
	free(room);
	return found;
}

static int
access_read_numbers(struct config_list *l, const char *setting,
    const char *value, uint32_t **ret, size_t *ret_n)
{
	char *copy, *word;
	int r = list_begin(l, setting, value, &copy);

	if (r < 0 || value == NULL) {
		free(copy);
		return r;
	}
	*ret = calloc(list_room(value), sizeof(**ret));
	while (*ret != NULL && (word = list_next(l)) != NULL) {
		if (strcmp(word, "*") != 0 &&
		    access_find(l, word, &(*ret)[*ret_n]))
			++*ret_n;
	}
	list_end(l);
	if (l->any)
		*ret_n = 0;
	free(copy);
	return *ret == NULL ? DDBLOCK_E_NOMEM : 0;
}

static void
access_check_unit(const struct config_list *l, const char *word)
{
	static const char *const ends[] = { "service", "scope", "slice",
		"socket", "mount", "swap" };
	const char *dot = strrchr(word, '.');
	bool good = false;

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		good = good || (dot != NULL && strcmp(dot + 1, ends[i]) == 0);
	if (!good || strchr(word, '/') != NULL)
		list_complain(l, word, "no process is in a unit of that name; "
		    "write it whole, such as %.100s.service", word);
}

/* Units or prefixes: they point into @copy, which is the rule's. */
static int
access_read_texts(struct config_list *l, const char *setting,
    const char *value, char **copy, const char ***ret, size_t *ret_n)
{
	int r = list_begin(l, setting, value, copy);
	char *word;

	if (r < 0 || value == NULL)
		return r;
	*ret = calloc(list_room(value), sizeof(**ret));
	while (*ret != NULL && (word = list_next(l)) != NULL) {
		if (strcmp(word, "*") == 0)
			continue;
		if (strcmp(setting, "unit") == 0)
			access_check_unit(l, word);
		(*ret)[(*ret_n)++] = word;
	}
	list_end(l);
	if (l->any)
		*ret_n = 0;
	return *ret == NULL ? DDBLOCK_E_NOMEM : 0;
}

/* ---- for which locks, and what ----------------------------------------- */

static int
access_read_namespaces(struct config_list *l, const char *value,
    uint64_t *ret)
{
	const struct config *c = l->config;
	char *copy, *word;
	int r = list_begin(l, "namespace", value, &copy);

	if (r < 0)
		return r;
	while ((word = list_next(l)) != NULL) {
		size_t i = 0;

		while (i < c->n_namespaces &&
		    strcmp(c->namespaces[i].name, word) != 0)
			i++;
		if (i < c->n_namespaces)
			*ret |= UINT64_C(1) << i;
		else if (strcmp(word, "*") != 0)
			list_complain(l, word, "there is no such namespace; "
			    "add a section [namespace %.64s], or correct the "
			    "name", word);
	}
	list_end(l);
	if (l->any)
		*ret = UINT64_MAX;
	free(copy);
	return 0;
}

static void
access_check_rights(const struct config_list *l, bool none, unsigned named,
    const struct access_rule *r)
{
	const struct config_access *of = l->of;

	if (none && l->n_words > 1)
		list_complain(l, of->allow, "none goes with nothing else");
	if ((named & ACCESS_ADMIN) != 0 && named != ACCESS_ALL &&
	    r->n_prefixes > 0)
		list_complain(l, of->allow, "admin is for whole namespaces; "
		    "remove prefix, or make another rule");
	if ((r->rights & (ACCESS_BREAK | ACCESS_ADMIN)) != 0 &&
	    r->n_users + r->n_groups + r->n_units == 0)
		config_warn(l->config, l->origin, "access %s: allow = %s: it "
		    "is for everybody, and lets everybody break locks or "
		    "drain the daemon; leave break and admin out, or name "
		    "users, groups or units", of->name, of->allow);
}

static int
access_read_rights(struct config_list *l, const char *value,
    struct access_rule *ret)
{
	char *copy, *word;
	bool none = false;
	int r;

	if (value == NULL) {
		config_complain(l->config, l->of->origin, "access %s: allow is "
		    "missing; say what may be done, or allow = none",
		    l->of->name);
		return 0;
	}
	r = list_begin(l, "allow", value, &copy);
	if (r < 0)
		return r;
	while ((word = list_next(l)) != NULL) {
		unsigned right = access_right(word, strlen(word));

		if (strcmp(word, "none") == 0)
			none = true;
		else if (right == ACCESS_NONE)
			list_complain(l, word, "must be some of see, share, "
			    "take, fail-closed, break, list, admin; or all; or "
			    "none");
		ret->rights |= right;
	}
	l->any = true;	/* there is at least a word, or a comma */
	if (l->n_words == 0)
		list_complain(l, value, "says nothing; write none");
	access_check_rights(l, none, ret->rights, ret);
	free(copy);
	return 0;
}

/* ---- all ---------------------------------------------------------------- */

static int
config_compile_access(struct config *c, struct config_access *a,
    struct access_rule *r)
{
	struct config_list l = { .config = c, .of = a };
	char title[ACCESS_TITLE_MAX];
	int error;

	*r = (struct access_rule){
		.name = a->name, .file = a->origin.file,
		.line = a->origin.line,
	};
	memcpy(r->limits, a->limits, sizeof(r->limits));
	access_title(r, title);
	r->title = a->title = strdup(title);
	if (a->title == NULL)
		return DDBLOCK_E_NOMEM;
	error = access_read_numbers(&l, "user", a->user, &r->users,
	    &r->n_users);
	if (error == 0)
		error = access_read_numbers(&l, "group", a->group, &r->groups,
		    &r->n_groups);
	if (error == 0)
		error = access_read_texts(&l, "unit", a->unit, &a->unit_words,
		    &r->units, &r->n_units);
	if (error == 0)
		error = access_read_namespaces(&l, a->namespaces,
		    &r->namespaces);
	if (error == 0)
		error = access_read_texts(&l, "prefix", a->prefix,
		    &a->prefix_words, &r->prefixes, &r->n_prefixes);
	return error < 0 ? error : access_read_rights(&l, a->allow, r);
}

int
config_check_access(struct config *c)
{
	int r = 0;

	if (c->n_access == 0)
		return 0;
	c->rules.rules = calloc(c->n_access, sizeof(struct access_rule));
	if (c->rules.rules == NULL)
		return DDBLOCK_E_NOMEM;
	for (size_t i = 0; i < c->n_access && r == 0; i++) {
		c->rules.n_rules++;
		r = config_compile_access(c, &c->access[i],
		    &c->rules.rules[i]);
	}
	return r;
}

void
config_free_access(struct config *c)
{
	for (size_t i = 0; i < c->rules.n_rules; i++) {
		struct access_rule *r = &c->rules.rules[i];

		free(r->users);
		free(r->groups);
		free((void *)r->units);
		free((void *)r->prefixes);
	}
	free(c->rules.rules);
	for (size_t i = 0; i < c->n_access; i++) {
		free(c->access[i].unit_words);
		free(c->access[i].prefix_words);
		free(c->access[i].title);
	}
	free(c->access);
}

void
config_describe_access(const struct config *c, struct buffer *buffer)
{
	size_t n;
	const struct config_setting *s = config_access_settings(&n);

	for (size_t i = 0; i < c->n_access; i++) {
		const struct config_access *a = &c->access[i];

		(void)buffer_printf(buffer, "\n[access %s]\n", a->name);
		for (size_t k = 0; k < n; k++) {
			if (a->origins[k].file == NULL)
				continue;
			(void)buffer_printf(buffer, "%s = ", s[k].name);
			config_value_print(&s[k],
			    (const char *)a + s[k].offset, buffer);
			(void)buffer_append_text(buffer, "\n");
		}
	}
}
