/*
 * The settings of the record format, checked against the features of that
 * format.
 */
#include "store/dynamodb_format.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ddblock.h"
#include "store/kind.h"

#define FORMAT_PREFIX_MAX 255		/* bytes */
#define FORMAT_FEW_RENEWALS 100		/* in one heartbeat */

/* ---- defaults ---- */

static int
format_text(const struct store_judge *judge, const char *setting,
    char **target, const char *value)
{
	if (judge->is_set(judge->arg, setting) || *target == value ||
	    (*target != NULL && value != NULL && strcmp(*target, value) == 0))
		return 0;
	free(*target);
	*target = NULL;
	if (value == NULL)
		return 0;
	*target = strdup(value);
	return *target == NULL ? DDBLOCK_E_NOMEM : 0;
}

int
dynamodb_format_complete(struct store_settings *s,
    const struct store_judge *judge, struct store_times *times)
{
	const struct store_format_row *f = store_format_row(s->format);
	int r;

	if (f->lease_ms != 0 && !judge->is_set(judge->arg, "lease"))
		times->lease_ms = f->lease_ms;
	if (!judge->is_set(judge->arg, "idle") &&
	    !(times->hints && s->format == STORE_FORMAT_NATIVE))
		times->idle_ms = FORMAT_IDLE_MS;
	r = format_text(judge, "key_attribute", &s->key_attribute,
	    f->key_attribute);
	if (r == 0)
		r = format_text(judge, "sort_attribute", &s->sort_attribute,
		    f->sort_attribute);
	if (r == 0)
		r = format_text(judge, "ttl_attribute", &s->ttl_attribute,
		    f->ttl_attribute);
	return r;
}

/* ---- names ---- */

static bool
format_has(uint64_t format, const char *name)
{
	const char *const *own = store_format_row(format)->attributes;

	while (*own != NULL && strcmp(*own, name) != 0)
		own++;
	return *own != NULL;
}

static bool
format_same(const char *a, const char *b)
{
	return a != NULL && b != NULL && strcmp(a, b) == 0;
}

/* One of its attributes is the table's time to live. NULL: none. */
static const char *
format_own_ttl(uint64_t format)
{
	const char *ttl = store_format_row(format)->ttl_attribute;

	return ttl != NULL && format_has(format, ttl) ? ttl : NULL;
}

/* Which setting has the name already? NULL: none. */
static const char *
format_taken(const struct store_settings *s, const char *name)
{
	return format_same(s->key_attribute, name) ? "key_attribute" :
	    format_same(s->sort_attribute, name) ? "sort_attribute" :
	    format_same(s->ttl_attribute, name) ? "ttl_attribute" : NULL;
}

static const char *
format_list(uint64_t format, char *text, size_t size)
{
	const char *const *own = store_format_row(format)->attributes;
	size_t used = 0;

	for (text[0] = '\0'; *own != NULL && used < size; own++) {
		int n = snprintf(text + used, size - used, "%s%s",
		    used > 0 ? ", " : "", *own);

		used += n > 0 ? (size_t)n : size;
	}
	return text;
}

/* One of them, against those before it. False: @rule says why not. */
static bool
format_rename_ok(const struct store_settings *s,
    const struct dynamodb_renames *r, const struct dialect_name *name,
    char *rule, size_t size)
{
	const char *taken = format_taken(s, name->here);
	char names[128];

	if (format_same(name->own, format_own_ttl(s->format)))
		(void)snprintf(rule, size, "ttl_attribute is what names "
		    "%s; set that", name->own);
	else if (!format_has(s->format, name->own))
		(void)snprintf(rule, size, "format = %s has no attribute "
		    "\"%.100s\"; it has %s", store_format_name(s->format),
		    name->own,
		    format_list(s->format, names, sizeof(names)));
	else if (*name->here == '\0' || strlen(name->here) > 255)
		(void)snprintf(rule, size, "the new name of %s must have 1 to "
		    "255 bytes", name->own);
	else if (taken != NULL)
		(void)snprintf(rule, size, "\"%s\" cannot be the name of %s: "
		    "it is that of %s", name->here, name->own, taken);
	else if (strcmp(name->own, name->here) != 0 &&
	    format_has(s->format, name->here))
		(void)snprintf(rule, size, "\"%s\" cannot be the name of %s: "
		    "it is an attribute of the format itself", name->here,
		    name->own);
	else
		rule[0] = '\0';
	for (size_t i = 0; i < r->n_names && rule[0] == '\0'; i++) {
		if (strcmp(r->names[i].own, name->own) == 0)
			(void)snprintf(rule, size, "%s is there twice; remove "
			    "one", name->own);
		else if (strcmp(r->names[i].here, name->here) == 0)
			(void)snprintf(rule, size, "\"%s\" cannot be the name "
			    "of both %s and %s", name->here, r->names[i].own,
			    name->own);
	}
	return rule[0] == '\0';
}

/* The next of @text, which it is cut out of; without the spaces around it. */
static char *
format_word(char **text, const char *end)
{
	char *word = *text + strspn(*text, " \t");
	size_t length = strcspn(word, end);

	*text = word + length;
	if (**text != '\0')
		*(*text)++ = '\0';
	while (length > 0 && strchr(" \t", word[length - 1]) != NULL)
		word[--length] = '\0';
	return word;
}

int
dynamodb_format_renames(const struct store_settings *s,
    struct dynamodb_renames *ret, char *rule, size_t size)
{
	char *rest = ret->text;

	ret->n_names = 0;
	if (format_own_ttl(s->format) != NULL)
		ret->names[ret->n_names++] = (struct dialect_name){
			format_own_ttl(s->format), s->ttl_attribute };
	if (s->rename == NULL)
		return 0;
	if (strlen(s->rename) >= sizeof(ret->text)) {
		(void)snprintf(rule, size, "must have less than %zu bytes",
		    sizeof(ret->text));
		return DDBLOCK_E_BAD_REQUEST;
	}
	memcpy(ret->text, s->rename, strlen(s->rename) + 1);
	while (*rest != '\0') {
		char *pair = format_word(&rest, ",");
		struct dialect_name name = {
			.own = format_word(&pair, ":"),
			.here = format_word(&pair, ""),
		};

		/* No more than there are attributes: each is there once. */
		if (!format_rename_ok(s, ret, &name, rule, size))
			return DDBLOCK_E_BAD_REQUEST;
		ret->names[ret->n_names++] = name;
	}
	return 0;
}

/* ---- judging ---- */

static void
format_judge_key(const struct store_settings *s,
    const struct store_judge *judge, const char *setting, const char *name)
{
	if (name != NULL && format_has(s->format, name))
		store_complain(judge, setting, "%s = %s: format = %s has an "
		    "attribute of that name; choose another", setting, name,
		    store_format_name(s->format));
}

static void
format_judge_names(const struct store_settings *s,
    const struct store_judge *judge)
{
	struct dynamodb_renames renames;
	char rule[512];

	if (s->key_attribute == NULL)
		store_complain(judge, "format", "format = %s does not say "
		    "what the partition key of its table is called; set "
		    "key_attribute = NAME", store_format_name(s->format));
	format_judge_key(s, judge, "key_attribute", s->key_attribute);
	format_judge_key(s, judge, "sort_attribute", s->sort_attribute);
	if (!format_same(s->ttl_attribute, format_own_ttl(s->format)))
		format_judge_key(s, judge, "ttl_attribute", s->ttl_attribute);
	if (format_same(s->key_attribute, s->sort_attribute))
		store_complain(judge, "sort_attribute", "sort_attribute = %s: "
		    "that is key_attribute already", s->sort_attribute);
	if (format_same(s->key_attribute, s->ttl_attribute) ||
	    format_same(s->sort_attribute, s->ttl_attribute))
		store_complain(judge, "ttl_attribute", "ttl_attribute = %s: "
		    "that is a key already", s->ttl_attribute);
	if (s->sort_attribute == NULL &&
	    judge->is_set(judge->arg, "sort_type"))
		store_complain(judge, "sort_type", "sort_type needs "
		    "sort_attribute");
	if (dynamodb_format_renames(s, &renames, rule, sizeof(rule)) < 0)
		store_complain(judge, "rename", "rename = %s: %s", s->rename,
		    rule);
}

static void
format_judge_times(const struct store_settings *s,
    const struct store_judge *judge)
{
	uint64_t renewals = s->heartbeat_rate * judge->heartbeat_ms / 1000;

	if (store_format_knows(s->format, "expiry") &&
	    s->expiry_ms / 2 < judge->lease_ms)
		store_complain(judge, judge->is_set(judge->arg, "expiry") ?
		    "expiry" : "lease", "expiry (%" PRIu64 " ms) must be at "
		    "least lease (%" PRIu64 " ms) x 2, or records are deleted "
		    "under their holders", s->expiry_ms, judge->lease_ms);
	if (s->heartbeat_rate > 0 && renewals < FORMAT_FEW_RENEWALS)
		store_warn(judge, "heartbeat_rate", "heartbeat_rate = %"
		    PRIu64 ": in one heartbeat (%" PRIu64 " ms) that renews %"
		    PRIu64 " locks, and with more of them renewals come late; "
		    "raise it if more can be held", s->heartbeat_rate,
		    judge->heartbeat_ms, renewals);
}

void
dynamodb_format_judge(const struct store_settings *s,
    const struct store_judge *judge)
{
	if (s->format == STORE_FORMAT_NATIVE)
		return;
	format_judge_names(s, judge);
	format_judge_times(s, judge);
	if (s->prefix != NULL && strlen(s->prefix) > FORMAT_PREFIX_MAX)
		store_complain(judge, "prefix", "prefix must have at most %d "
		    "bytes", FORMAT_PREFIX_MAX);
	if (s->prefix != NULL && s->key_type == DIALECT_KEY_NUMBER)
		store_complain(judge, "prefix", "prefix = %s: keys are "
		    "numbers here (key_type = N); remove it", s->prefix);
}

/* ---- the core's view ---- */

static unsigned
format_lacks(const struct store_settings *s, unsigned features)
{
	static const struct {
		enum dialect_feature feature;
		enum core_lack lack;
	} pairs[] = {
		{ DIALECT_SHARED, CORE_LACKS_SHARED },
		{ DIALECT_FAIL_CLOSED, CORE_LACKS_FAIL_CLOSED },
		{ DIALECT_FAIL_OPEN, CORE_LACKS_FAIL_OPEN },
		{ DIALECT_DATA, CORE_LACKS_DATA },
		{ DIALECT_ATTRIBUTES, CORE_LACKS_ATTRIBUTES },
		{ DIALECT_TOKENS, CORE_LACKS_TOKENS },
		{ DIALECT_EVERY, CORE_LACKS_EVERY },
	};
	unsigned lacks = 0;

	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		if ((features & pairs[i].feature) == 0)
			lacks |= pairs[i].lack;
	}
	if (s->format == STORE_FORMAT_DLOCK && !s->fencing)
		lacks |= CORE_LACKS_TOKENS;
	return lacks;
}

void
dynamodb_format_describe(const struct store_settings *s,
    struct core_namespace *core)
{
	const struct dialect *d;

	if (s->format == STORE_FORMAT_NATIVE)
		return;
	core->format = store_format_name(s->format);
	core->refresh_rate = (uint32_t)s->heartbeat_rate;
	d = store_format_row(s->format)->dialect;
	core->life = d->life;
	core->lacks = format_lacks(s, d->features);
}

/* ---- names of attributes ---- */

/* The format that the attributes belong to; the time to live may be among them.
 */
static bool
format_ttl_ok(const struct dialect *d, const struct dialect_table *t)
{
	const char *ttl = t->ttl_attribute;
	const char *sort = t->sort_attribute;

	if (ttl == NULL)
		return true;
	if (strcmp(ttl, t->key_attribute) == 0 ||
	    (sort != NULL && strcmp(ttl, sort) == 0))
		return false;
	return d != &dialect_native || strcmp(ttl, "ttl") == 0 ||
	    dialect_native.key_attribute_ok(ttl);
}

int
dynamodb_format_check_names(const struct dialect *d,
    const struct dialect_table *t, const char *namespace_name, char *text,
    size_t size)
{
	const char *key = t->key_attribute;
	const char *sort = t->sort_attribute;
	const char *bad = NULL;

	if (!d->key_attribute_ok(key))
		bad = key;
	else if (sort != NULL && !d->key_attribute_ok(sort))
		bad = sort;
	if (bad != NULL)
		(void)snprintf(text, size, "namespace %s: \"%s\" cannot be a "
		    "key attribute: the record format uses that name",
		    namespace_name, bad);
	else if (!format_ttl_ok(d, t))
		(void)snprintf(text, size, "namespace %s: \"%s\" cannot be "
		    "the attribute of the time to live: it is another one "
		    "already", namespace_name, t->ttl_attribute);
	else if (sort != NULL && strcmp(key, sort) == 0)
		(void)snprintf(text, size, "namespace %s: \"%s\" cannot be "
		    "both the key attribute and the sort attribute",
		    namespace_name, sort);
	else
		return 0;
	return DDBLOCK_E_BAD_REQUEST;
}
