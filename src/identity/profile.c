/*
 * The profiles of the shared config and credentials files: the owner of each
 * section, and the file that decides. The form of the files is profile_ini.h's.
 */
#include "identity/profile.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "identity/profile_ini.h"
#include "identity/profile_words.h"

/* A section that a profile uses. */
struct profile_name {
	enum profile_section kind;
	const char *name;	/* in the file's text */
	uint32_t section;
};

struct profile_table {
	struct profile_ini ini;
	struct profile_name *names;	/* sorted, each once */
	size_t n_names;
};

struct profiles {
	struct profile_table files[PROFILE_FILES];
};

static void
table_done(struct profile_table *t)
{
	profile_ini_done(&t->ini);
	free(t->names);
	*t = (struct profile_table){ .names = NULL };
}

/* The last of the same name counts: it sorts behind the others. */
static int
names_compare(const void *x, const void *y)
{
	const struct profile_name *a = x, *b = y;
	int order;

	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	order = strcmp(a->name, b->name);
	if (order == 0)
		order = a->section < b->section ? -1 : a->section > b->section;
	return order;
}

/* In the config file, the section says what it is: "profile NAME". */
static bool
table_classify(struct profile_table *t, uint32_t section,
    struct profile_name *ret)
{
	static const struct {
		const char *word;
		enum profile_section kind;
	} kinds[] = {
		{ "profile", PROFILE_SECTION_PROFILE },
		{ "sso-session", PROFILE_SECTION_SSO_SESSION },
		{ "services", PROFILE_SECTION_SERVICES },
	};
	const char *name = t->ini.sections[section].name;
	char *words[2];

	ret->section = section;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (strncmp(name, kinds[i].word, strlen(kinds[i].word)) != 0)
			continue;
		if (profile_words(t->ini.text + (name - t->ini.text), words,
		    2) != 2)
			return false;
		ret->kind = kinds[i].kind;
		ret->name = words[1];
		return true;
	}
	ret->kind = PROFILE_SECTION_PROFILE;
	ret->name = name;
	return strcmp(name, "default") == 0;
}

/* In the credentials file, every section is a profile. */
static void
table_name(struct profile_table *t, enum profile_file file)
{
	struct profile_name *names = t->names;
	size_t n = 0;

	for (uint32_t i = 1; i < t->ini.n_sections; i++) {
		names[n] = (struct profile_name){
			.kind = PROFILE_SECTION_PROFILE,
			.name = t->ini.sections[i].name, .section = i,
		};
		if (file == PROFILE_CREDENTIALS ||
		    table_classify(t, i, &names[n]))
			n++;
	}
	if (n > 0)
		qsort(names, n, sizeof(*names), names_compare);
	for (size_t i = 0; i < n; i++)
		if (i + 1 == n || names[i].kind != names[i + 1].kind ||
		    strcmp(names[i].name, names[i + 1].name) != 0)
			names[t->n_names++] = names[i];
}

int
profiles_new(struct profiles **ret)
{
	struct profiles *p = calloc(1, sizeof(*p));

	if (p == NULL)
		return DDBLOCK_E_NOMEM;
	*ret = p;
	return 0;
}

void
profiles_free(struct profiles *p)
{
	if (p == NULL)
		return;
	for (size_t i = 0; i < PROFILE_FILES; i++)
		table_done(&p->files[i]);
	free(p);
}

int
profiles_read(struct profiles *p, enum profile_file file, const char *name,
    const char *text, size_t text_length, char *error, size_t error_size)
{
	struct profile_table t = { .names = NULL };
	int r;

	if (text_length > PROFILE_TEXT_MAX) {
		(void)snprintf(error, error_size, "%.200s: longer than %d "
		    "bytes", name, PROFILE_TEXT_MAX);
		return DDBLOCK_E_BAD_REQUEST;
	}
	r = profile_ini_read(&t.ini, name, text, text_length, error,
	    error_size);
	if (r < 0)
		return r;
	t.names = calloc(t.ini.n_sections, sizeof(*t.names));
	if (t.names == NULL) {
		table_done(&t);
		(void)snprintf(error, error_size, "%s",
		    error_text(DDBLOCK_E_NOMEM));
		return DDBLOCK_E_NOMEM;
	}
	table_name(&t, file);
	table_done(&p->files[file]);
	p->files[file] = t;
	return 0;
}

static int
names_compare_to(const void *x, const void *y)
{
	const struct profile_name *a = x, *b = y;

	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	return strcmp(a->name, b->name);
}

static const struct profile_name *
table_find(const struct profile_table *t, enum profile_section kind,
    const char *name)
{
	struct profile_name wanted = { .kind = kind, .name = name };

	if (t->n_names == 0)
		return NULL;
	return bsearch(&wanted, t->names, t->n_names, sizeof(wanted),
	    names_compare_to);
}

static const struct profile_ini_setting *
table_setting(const struct profile_table *t, enum profile_section kind,
    const char *name, const char *key)
{
	const struct profile_name *found = table_find(t, kind, name);

	return found == NULL ? NULL :
	    profile_ini_find(&t->ini, found->section, key);
}

bool
profiles_has(const struct profiles *p, enum profile_section kind,
    const char *name)
{
	return table_find(&p->files[PROFILE_CREDENTIALS], kind, name) != NULL ||
	    table_find(&p->files[PROFILE_CONFIG], kind, name) != NULL;
}

bool
profiles_is_empty(const struct profiles *p, enum profile_section kind,
    const char *name)
{
	const struct profile_table *t = &p->files[PROFILE_CONFIG];
	const struct profile_name *found = table_find(t, kind, name);

	return found == NULL || profile_ini_is_empty(&t->ini, found->section);
}

/* In the file that has the say; NULL: in none. */
static const struct profile_ini_setting *
profiles_setting(const struct profiles *p, enum profile_section kind,
    const char *name, const char *key, const struct profile_table **ret)
{
	static const enum profile_file order[] = {
		PROFILE_CREDENTIALS, PROFILE_CONFIG,
	};

	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
		const struct profile_ini_setting *s;

		*ret = &p->files[order[i]];
		s = table_setting(*ret, kind, name, key);
		if (s != NULL)
			return s;
	}
	return NULL;
}

const char *
profiles_get(const struct profiles *p, enum profile_section kind,
    const char *name, const char *key)
{
	const struct profile_table *t;
	const struct profile_ini_setting *s = profiles_setting(p, kind, name,
	    key, &t);

	return s != NULL ? s->value : NULL;
}

const char *
profiles_get_from(const struct profiles *p, enum profile_file file,
    enum profile_section kind, const char *name, const char *key)
{
	const struct profile_ini_setting *s = table_setting(&p->files[file],
	    kind, name, key);

	return s != NULL ? s->value : NULL;
}

const char *
profiles_get_nested(const struct profiles *p, enum profile_section kind,
    const char *name, const char *group, const char *key)
{
	const struct profile_table *t;
	const struct profile_ini_setting *s = profiles_setting(p, kind, name,
	    group, &t);

	if (s != NULL && s->value == NULL)
		s = profile_ini_find_in(&t->ini, s, key);
	else
		s = NULL;
	return s != NULL ? s->value : NULL;
}
