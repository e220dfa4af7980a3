/*
 * The form of the files of profiles.
 *
 * The file is copied once, and taken apart where it stands: a value never
 * becomes longer by being joined of its lines, so it ends where it was at the
 * latest, and there is one piece of memory to wipe. Whether anything is there
 * twice is seen after sorting.
 */
#include "identity/profile_ini.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/utf8.h"
#include "identity/profile_text.h"

#define INI_FIRST 16	/* elements of an array at first */

struct reader {
	struct profile_ini *ini;
	size_t sections_size;
	size_t settings_size;
	uint32_t line;
	bool begun;		/* a section has */
	uint32_t section;
	size_t indent;		/* of what a line may go on with */
	bool open;		/* the last setting's value may go on */
	char *end;		/* of that value */
	size_t blank_lines;	/* after it */
	const char *fault;
	uint32_t fault_line;
};

static int
reader_fail(struct reader *r, uint32_t line, const char *fault)
{
	r->fault = fault;
	r->fault_line = line;
	return DDBLOCK_E_BAD_REQUEST;
}

/* Make room for one more of @size bytes; the array, or NULL. */
static void *
reader_room(void *array, size_t n, size_t *array_size, size_t size)
{
	size_t wanted = *array_size > 0 ? 2 * *array_size : INI_FIRST;

	if (n < *array_size)
		return array;
	array = reallocarray(array, wanted, size);
	if (array != NULL)
		*array_size = wanted;
	return array;
}

static int
reader_add_section(struct reader *r, const char *name)
{
	struct profile_ini *ini = r->ini;
	struct profile_ini_section *s = reader_room(ini->sections,
	    ini->n_sections, &r->sections_size, sizeof(*s));

	if (s == NULL)
		return DDBLOCK_E_NOMEM;
	ini->sections = s;
	r->section = (uint32_t)ini->n_sections;
	ini->sections[ini->n_sections++] = (struct profile_ini_section){
		.name = name, .line = r->line,
	};
	return 0;
}

static int
reader_add_setting(struct reader *r, struct profile_ini_setting setting)
{
	struct profile_ini *ini = r->ini;
	struct profile_ini_setting *s = reader_room(ini->settings,
	    ini->n_settings, &r->settings_size, sizeof(*s));

	if (s == NULL)
		return DDBLOCK_E_NOMEM;
	ini->settings = s;
	ini->settings[ini->n_settings++] = setting;
	return 0;
}

/* ---- line by line ---- */

/* The last value has ended. */
static void
reader_close(struct reader *r)
{
	if (r->open)
		*r->end = '\0';
	r->open = false;
}

static void
reader_go_on(struct reader *r, struct profile_span value)
{
	/* Each of these line ends was passed on the way here. */
	memset(r->end, '\n', r->blank_lines + 1);
	r->end += r->blank_lines + 1;
	memmove(r->end, value.at, value.length);
	r->end += value.length;
	r->blank_lines = 0;
}

/* "[name]", and whatever may stand behind the last bracket. */
static bool
reader_is_section(struct profile_span *value)
{
	size_t length = value->length;

	while (length > 2 && value->at[length - 1] != ']')
		length--;
	if (value->at[0] != '[' || length <= 2)
		return false;
	value->length = length - 2;
	value->at++;
	return true;
}

static int
reader_section(struct reader *r, struct profile_span name)
{
	name.at[name.length] = '\0';
	r->begun = true;
	if (strcmp(name.at, "DEFAULT") == 0) {
		r->section = 0;
		return 0;
	}
	return reader_add_section(r, name.at);
}

static int
reader_setting(struct reader *r, struct profile_span line)
{
	struct profile_span key = line, value;
	size_t length = 0;

	while (length < line.length && line.at[length] != '=' &&
	    line.at[length] != ':')
		length++;
	if (length == line.length)
		return reader_fail(r, r->line, "a setting has the form "
		    "name = value");
	key.length = length;
	key = profile_strip(key, NULL);
	if (key.length == 0)
		return reader_fail(r, r->line, "there is no name before the "
		    "value");
	value.at = line.at + length + 1;
	value.length = line.length - length - 1;
	value = profile_strip(value, NULL);

	key.at[key.length] = '\0';
	for (char *c = key.at; *c != '\0'; c++)
		if (*c >= 'A' && *c <= 'Z')
			*c = (char)(*c - 'A' + 'a');
	r->open = true;
	r->end = value.at + value.length;
	r->blank_lines = 0;
	return reader_add_setting(r, (struct profile_ini_setting){
		.section = r->section, .line = r->line, .key = key.at,
		.value = value.at,
	});
}

static int
reader_line(struct reader *r, struct profile_span line)
{
	size_t indent;
	struct profile_span value = profile_strip(line, &indent);

	if (value.length == 0) {
		r->blank_lines++;
		return 0;
	}
	if (value.at[0] == '#' || value.at[0] == ';')
		return 0;
	if (r->open && indent > r->indent) {
		reader_go_on(r, value);
		return 0;
	}
	reader_close(r);
	r->indent = indent;
	if (reader_is_section(&value))
		return reader_section(r, value);
	if (!r->begun)
		return reader_fail(r, r->line, "it belongs to no section: "
		    "[NAME] comes first");
	return reader_setting(r, value);
}

/* ---- groups ---- */

/* The settings of the value of the setting of that number, which begins with
 * the next line. */
static int
reader_group(struct reader *r, size_t number)
{
	struct profile_ini_setting head = r->ini->settings[number];
	char *value = r->ini->text + (head.value - r->ini->text);
	struct profile_span rest = { value, strlen(value) }, line;

	r->ini->settings[number].value = NULL;
	while (profile_line(&rest, true, &line)) {
		struct profile_span key = profile_strip(line, NULL), behind;
		char *equals = memchr(key.at, '=', key.length);
		int code;

		if (key.length == 0)
			continue;
		if (equals == NULL)
			return reader_fail(r, head.line,
			    "what is indented below has the form "
			    "name = value");
		behind.at = equals + 1;
		behind.length = key.length - (size_t)(equals + 1 - key.at);
		behind = profile_strip(behind, NULL);
		key.length = (size_t)(equals - key.at);
		key = profile_strip(key, NULL);
		key.at[key.length] = '\0';
		behind.at[behind.length] = '\0';
		code = reader_add_setting(r, (struct profile_ini_setting){
			.section = head.section, .line = head.line,
			.group = head.key, .key = key.at, .value = behind.at,
		});
		if (code < 0)
			return code;
	}
	return 0;
}

static int
reader_groups(struct reader *r)
{
	size_t n = r->ini->n_settings;
	int code = 0;

	for (size_t i = 0; i < n && code == 0; i++)
		if (r->ini->settings[i].value[0] == '\n')
			code = reader_group(r, i);
	return code;
}

/* ---- order ---- */

/* Those outside of groups come first. */
static int
ini_compare(const struct profile_ini_setting *a,
    const struct profile_ini_setting *b)
{
	int order;

	if (a->section != b->section)
		return a->section < b->section ? -1 : 1;
	order = strcmp(a->group != NULL ? a->group : "",
	    b->group != NULL ? b->group : "");
	return order != 0 ? order : strcmp(a->key, b->key);
}

/* What stands further behind comes later. */
static int
ini_compare_settings(const void *x, const void *y)
{
	const struct profile_ini_setting *a = x, *b = y;
	int order = ini_compare(a, b);

	if (order == 0)
		order = a->key < b->key ? -1 : a->key > b->key;
	return order;
}

static int
ini_compare_names(const void *x, const void *y)
{
	const struct profile_ini_section *const *a = x, *const *b = y;
	int order = strcmp((*a)->name, (*b)->name);

	return order != 0 ? order : ((*a)->line > (*b)->line ? 1 : -1);
}

/* In a group the last counts; elsewhere there is only one. */
static int
reader_sort_settings(struct reader *r)
{
	struct profile_ini *ini = r->ini;
	struct profile_ini_setting *s = ini->settings;
	size_t n = 0;

	if (ini->n_settings == 0)
		return 0;
	qsort(s, ini->n_settings, sizeof(*s), ini_compare_settings);
	for (size_t i = 0; i < ini->n_settings; i++) {
		bool again = i + 1 < ini->n_settings &&
		    ini_compare(&s[i], &s[i + 1]) == 0;

		if (again && s[i].group == NULL)
			return reader_fail(r, s[i + 1].line,
			    "this setting is there before, in the same "
			    "section");
		if (!again)
			s[n++] = s[i];
	}
	ini->n_settings = n;
	return 0;
}

static int
reader_check_sections(struct reader *r)
{
	struct profile_ini *ini = r->ini;
	const struct profile_ini_section **sorted =
	    calloc(ini->n_sections, sizeof(*sorted));
	int code = 0;

	if (sorted == NULL)
		return DDBLOCK_E_NOMEM;
	for (size_t i = 0; i < ini->n_sections; i++)
		sorted[i] = &ini->sections[i];
	qsort(sorted, ini->n_sections, sizeof(*sorted), ini_compare_names);
	for (size_t i = 1; i < ini->n_sections && code == 0; i++)
		if (strcmp(sorted[i - 1]->name, sorted[i]->name) == 0)
			code = reader_fail(r, sorted[i]->line,
			    "this section is there before");
	free(sorted);
	return code;
}

/* ---- all of it ---- */

/* What no value can have. */
static int
reader_check_bytes(struct reader *r, const char *text, size_t length)
{
	uint32_t line = 1;

	for (size_t i = 0, size; i < length; i += size) {
		size = utf8_character(text + i, length - i);
		if (size == 0)
			return reader_fail(r, line, "it is not UTF-8");
		if (text[i] == '\0')
			return reader_fail(r, line, "there is a NUL byte");
		/* As lines are counted elsewhere. */
		line += text[i] == '\n' || (text[i] == '\r' &&
		    (i + 1 == length || text[i + 1] != '\n'));
	}
	return 0;
}

static int
reader_read(struct reader *r)
{
	struct profile_span rest = { r->ini->text, r->ini->text_size - 1 };
	struct profile_span line;
	int code = reader_add_section(r, "DEFAULT");

	while (code == 0 && profile_line(&rest, false, &line)) {
		r->line++;
		code = reader_line(r, line);
	}
	reader_close(r);
	if (code == 0)
		code = reader_check_sections(r);
	if (code == 0)
		code = reader_groups(r);
	if (code == 0)
		code = reader_sort_settings(r);
	return code;
}

int
profile_ini_read(struct profile_ini *ret, const char *name, const char *text,
    size_t text_length, char *error, size_t error_size)
{
	struct profile_ini ini = { .text_size = text_length + 1 };
	struct reader r = { .ini = &ini };
	int code = reader_check_bytes(&r, text, text_length);

	if (code == 0) {
		ini.text = malloc(ini.text_size);
		code = ini.text != NULL ? 0 : DDBLOCK_E_NOMEM;
	}
	if (code == 0) {
		memcpy(ini.text, text, text_length);
		ini.text[text_length] = '\0';
		code = reader_read(&r);
	}
	if (code == 0) {
		*ret = ini;
		return 0;
	}
	profile_ini_done(&ini);
	if (code == DDBLOCK_E_BAD_REQUEST)
		(void)snprintf(error, error_size, "%.200s, line %u: %s", name,
		    r.fault_line, r.fault);
	else
		(void)snprintf(error, error_size, "%s", error_text(code));
	return code;
}

void
profile_ini_done(struct profile_ini *ini)
{
	if (ini->text != NULL)
		explicit_bzero(ini->text, ini->text_size);
	free(ini->text);
	free(ini->sections);
	free(ini->settings);
	*ini = (struct profile_ini){ .text = NULL };
}

static int
ini_compare_to(const void *x, const void *y)
{
	return ini_compare(x, y);
}

static const struct profile_ini_setting *
ini_search(const struct profile_ini *ini, uint32_t section, const char *group,
    const char *key)
{
	struct profile_ini_setting wanted = {
		.section = section, .group = group, .key = key,
	};

	if (ini->n_settings == 0)
		return NULL;
	return bsearch(&wanted, ini->settings, ini->n_settings,
	    sizeof(wanted), ini_compare_to);
}

bool
profile_ini_is_empty(const struct profile_ini *ini, uint32_t section)
{
	for (size_t i = 0; i < ini->n_settings; i++)
		if (ini->settings[i].section == section ||
		    ini->settings[i].section == 0)
			return false;
	return true;
}

const struct profile_ini_setting *
profile_ini_find(const struct profile_ini *ini, uint32_t section,
    const char *key)
{
	const struct profile_ini_setting *found = ini_search(ini, section,
	    NULL, key);

	return found != NULL || section == 0 ? found :
	    ini_search(ini, 0, NULL, key);
}

const struct profile_ini_setting *
profile_ini_find_in(const struct profile_ini *ini,
    const struct profile_ini_setting *head, const char *key)
{
	return ini_search(ini, head->section, head->key, key);
}
