/*
 * Rules of access: which are for a client, and what the first that fits says.
 */
#include "ipc/access.h"

#include <stdio.h>
#include <string.h>

#include "common/utf8.h"

#define ACCESS_KEY_SHOWN 60	/* bytes of a key in a refusal */

static const struct {
	unsigned right;
	const char *word, *verb, *after;
} access_words[] = {
#define ACCESS(name, bit, word, verb, after, ...)                              \
	{ ACCESS_##name, word, verb, after },
#include "ipc/access.def"
};

static const char *const access_limit_words[ACCESS_LIMITS] = {
#define ACCESS_LIMIT(name, setting, ...) [ACCESS_LIMIT_##name] = setting,
#include "ipc/access.def"
};

#define ACCESS_WORDS (sizeof(access_words) / sizeof(access_words[0]))

bool
access_asks_groups(const struct access *a)
{
	bool asks = false;

	for (size_t i = 0; i < a->n_rules; i++)
		asks = asks || a->rules[i].n_groups > 0;
	return asks;
}

bool
access_asks_units(const struct access *a)
{
	bool asks = false;

	for (size_t i = 0; i < a->n_rules; i++)
		asks = asks || a->rules[i].n_units > 0;
	return asks;
}

/* ---- its clients ------------------------------------------------------- */

static bool
access_is_user(const struct access_rule *r, uid_t uid)
{
	bool found = r->n_users == 0;

	for (size_t i = 0; i < r->n_users; i++)
		found = found || r->users[i] == uid;
	return found;
}

static bool
access_has_group(const struct access_client *c, gid_t group)
{
	bool found = c->gid == group;

	for (size_t i = 0; i < c->n_groups; i++)
		found = found || c->groups[i] == group;
	return found;
}

static bool
access_is_member(const struct access_rule *r, const struct access_client *c)
{
	bool found = r->n_groups == 0;

	for (size_t i = 0; i < r->n_groups; i++)
		found = found || access_has_group(c, r->groups[i]);
	return found;
}

static bool
access_is_of_units(const struct access_rule *r, const char *unit)
{
	bool found = r->n_units == 0;

	for (size_t i = 0; i < r->n_units; i++)
		found = found || access_is_unit(unit, r->units[i]);
	return found;
}

void
access_match(const struct access *a, const struct access_client *c,
    struct access_match *ret)
{
	*ret = (struct access_match){ .standing = c->standing };
	for (size_t i = 0; i < a->n_rules; i++) {
		const struct access_rule *r = &a->rules[i];
		bool names = r->n_users + r->n_groups + r->n_units > 0;
		uint64_t bit = UINT64_C(1) << i % 64;

		if ((c->standing != 0 && !names) ||
		    !access_is_user(r, c->uid) || !access_is_member(r, c))
			continue;
		if (r->n_units > 0 && c->unit == NULL)
			ret->perhaps[i / 64] |= bit;
		else if (access_is_of_units(r, c->unit))
			ret->sure[i / 64] |= bit;
	}
}

/* ---- what it decides --------------------------------------------------- */

/* The next rule from @i on that is for the client and the namespace. */
static const struct access_rule *
access_next(const struct access *a, const struct access_match *m,
    uint32_t namespace_index, size_t *i, bool *ret_sure)
{
	while (*i < a->n_rules) {
		const struct access_rule *r = &a->rules[*i];
		const size_t word = *i / 64, bit = *i % 64;

		++*i;
		*ret_sure = (m->sure[word] >> bit & 1) != 0;
		if ((*ret_sure || (m->perhaps[word] >> bit & 1) != 0) &&
		    (r->namespaces >> namespace_index & 1) != 0)
			return r;
	}
	return NULL;
}

static bool
access_has_name(const struct access_rule *r, const struct key *name)
{
	bool found = r->n_prefixes == 0;

	for (size_t i = 0; i < r->n_prefixes && name != NULL; i++)
		found = found || key_begins_with(*name,
		    key_text(r->prefixes[i]));
	return found;
}

bool
access_allows(const struct access *a, const struct access_match *m,
    uint32_t namespace_index, const struct key *name, unsigned rights,
    const struct access_rule **ret_rule)
{
	const struct access_rule *r;
	size_t i = 0;
	bool sure;

	while ((r = access_next(a, m, namespace_index, &i, &sure)) != NULL) {
		bool allows = (r->rights & rights) == rights;

		if (!access_has_name(r, name) || (!sure && allows))
			continue;
		*ret_rule = r;
		return allows;
	}
	*ret_rule = NULL;
	return (m->standing & rights) == rights;
}

/* Is it for all keys that begin so, or for some of them? */
static bool
access_has_all(const struct access_rule *r, struct key prefix)
{
	return access_has_name(r, &prefix);
}

static bool
access_has_some(const struct access_rule *r, struct key prefix)
{
	bool found = access_has_all(r, prefix);

	for (size_t i = 0; i < r->n_prefixes; i++)
		found = found || key_begins_with(key_text(r->prefixes[i]),
		    prefix);
	return found;
}

bool
access_allows_some(const struct access *a, const struct access_match *m,
    uint32_t namespace_index, struct key prefix, unsigned rights,
    const struct access_rule **ret_rule)
{
	const struct access_rule *r;
	size_t i = 0;
	bool sure;

	while ((r = access_next(a, m, namespace_index, &i, &sure)) != NULL) {
		bool allows = (r->rights & rights) == rights;

		*ret_rule = r;
		if (allows && sure && access_has_some(r, prefix))
			return true;
		if (!allows && access_has_all(r, prefix))
			return false;
	}
	*ret_rule = NULL;
	return (m->standing & rights) == rights;
}

bool
access_allows_each(const struct access *a, const struct access_match *m,
    uint32_t namespace_index, unsigned rights)
{
	const struct access_rule *r;
	size_t i = 0;
	bool sure;

	while ((r = access_next(a, m, namespace_index, &i, &sure)) != NULL) {
		if ((r->rights & rights) != rights)
			return false;
		if (sure && r->n_prefixes == 0)
			return true;
	}
	return (m->standing & rights) == rights;
}

uint64_t
access_limit(const struct access *a, const struct access_match *m,
    enum access_limit which, const struct access_rule **ret_rule)
{
	uint64_t least = 0;

	*ret_rule = NULL;
	for (size_t i = 0; i < a->n_rules; i++) {
		uint64_t most = a->rules[i].limits[which];
		bool sure = (m->sure[i / 64] >> i % 64 & 1) != 0;

		if (most == 0 || (!sure &&
		    (m->perhaps[i / 64] >> i % 64 & 1) == 0))
			continue;
		if (least == 0 || most < least) {
			least = most;
			*ret_rule = &a->rules[i];
		}
		if (sure)
			break;
	}
	return least;
}

bool
access_has_limit(const struct access *a, enum access_limit which)
{
	bool has = false;

	for (size_t i = 0; i < a->n_rules; i++)
		has = has || a->rules[i].limits[which] > 0;
	return has;
}

/* ---- words ------------------------------------------------------------- */

unsigned
access_right(const char *word, size_t length)
{
	if (length == 3 && memcmp(word, "all", 3) == 0)
		return ACCESS_ALL;
	for (size_t i = 0; i < ACCESS_WORDS; i++) {
		if (strlen(access_words[i].word) == length &&
		    memcmp(access_words[i].word, word, length) == 0)
			return access_words[i].right;
	}
	return ACCESS_NONE;
}

const char *
access_word(unsigned right)
{
	for (size_t i = 0; i < ACCESS_WORDS; i++) {
		if (access_words[i].right == right)
			return access_words[i].word;
	}
	return "?";
}

const char *
access_limit_word(enum access_limit which)
{
	return access_limit_words[which];
}

void
access_title(const struct access_rule *r, char ret[ACCESS_TITLE_MAX])
{
	if (r->file != NULL && r->line > 0)
		(void)snprintf(ret, ACCESS_TITLE_MAX, "rule \"%s\" (line "
		    "%u of %.60s)", r->name, r->line, r->file);
	else
		(void)snprintf(ret, ACCESS_TITLE_MAX, "rule \"%s\"",
		    r->name);
}

void
access_where(const struct access_rule *r, char ret[ACCESS_TEXT_MAX])
{
	if (r->file != NULL)
		(void)snprintf(ret, ACCESS_TEXT_MAX, "%s:%u", r->file, r->line);
	else
		ret[0] = '\0';
}

/* A key as people see it, cut to fit. */
static void
access_show(const struct key *name, char text[ACCESS_KEY_SHOWN + 8])
{
	const struct key key = key_split(*name).key;
	size_t to = 1, i = 0, n;

	text[0] = '"';
	for (; i < key.length && to < ACCESS_KEY_SHOWN; i += n) {
		size_t shown = utf8_shown(key.bytes + i, key.length - i);

		n = shown == 0 ? 1 : shown;
		if (shown == 0)
			text[to] = '?';
		else
			memcpy(text + to, key.bytes + i, n);
		to += n;
	}
	(void)snprintf(text + to, 2, "\"");
}

void
access_refusal(const struct access_rule *r, uid_t uid, unsigned right,
    const char *namespace_name, const struct key *name,
    char ret[ACCESS_TEXT_MAX])
{
	char who[ACCESS_TITLE_MAX] = "no rule", key[ACCESS_KEY_SHOWN + 8] = "";
	size_t i = 0;

	while (i < ACCESS_WORDS - 1 && (access_words[i].right & right) == 0)
		i++;
	if (r != NULL)
		access_title(r, who);
	if (name != NULL)
		access_show(name, key);
	(void)snprintf(ret, ACCESS_TEXT_MAX, "%s %s uid %ld %s %s%s%s%s"
	    "namespace \"%.32s\"", who, r == NULL ? "lets" : "does not let",
	    (long)uid, access_words[i].verb, key, access_words[i].after,
	    name == NULL ? "" : " ", name == NULL ? "" : "in ",
	    namespace_name);
}
