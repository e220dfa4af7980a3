/*
 * What a namespace says about its record format, judged by what that format
 * has. A setting that its format does not know is a mistake: somebody relies
 * on it.
 */
#include "daemon/config_format.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ddblock.h"

#define CONFIG_PREFIX_MAX 255		/* bytes */
#define CONFIG_FEW_RENEWALS 100		/* in one heartbeat */

struct config_format_row {
	const char *name;
	const char *key_attribute;	/* NULL: must be named */
	const char *sort_attribute;	/* NULL: none, unless named */
	const char *ttl_attribute;	/* NULL: none, unless named */
	uint64_t lease_ms;		/* 0: as everywhere */
	const char *attributes[CONFIG_RENAMES_MAX];
};

static const struct config_format_row config_formats[CONFIG_FORMATS] = {
	[CONFIG_FORMAT_NATIVE] = { "native", "key", NULL, "ttl", 0,
	    { NULL } },
	[CONFIG_FORMAT_AWSLABS] = { "awslabs", "key", NULL, NULL, 0,
	    { "ownerName", "leaseDuration", "recordVersionNumber",
	    "isReleased", "data" } },
	[CONFIG_FORMAT_PYTHON] = { "python", "lock_key", "sort_key",
	    "expiry_time", 0,
	    { "owner_name", "lease_duration", "record_version_number",
	    "expiry_time" } },
	[CONFIG_FORMAT_JS_FAIL_OPEN] = { "js-fail-open", NULL, NULL, NULL, 0,
	    { "owner", "guid", "fencingToken", "leaseDurationMs",
	    "lockAcquiredTimeUnixMs" } },
	[CONFIG_FORMAT_JS_FAIL_CLOSED] = { "js-fail-closed", NULL, NULL, NULL,
	    0, { "owner", "guid" } },
	[CONFIG_FORMAT_DLOCK] = { "dlock", "key", NULL, NULL, 60000,
	    { "owner", "until", "fencingToken" } },
};

const char *
config_format_name(uint64_t format)
{
	return config_formats[format].name;
}

const char *const *
config_format_attributes(uint64_t format)
{
	return config_formats[format].attributes;
}

/* ---- defaults ---- */

static int
config_format_text(struct config_namespace *n, const char *setting,
    char **target, const char *value)
{
	if (config_is_set(n, setting) || *target == value ||
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
config_format_default(struct config_namespace *n)
{
	const struct config_format_row *f = &config_formats[n->format];
	int r;

	if (n->store != CONFIG_STORE_DYNAMODB)
		return 0;
	if (f->lease_ms != 0 && !config_is_set(n, "lease"))
		n->lease_ms = f->lease_ms;
	r = config_format_text(n, "key_attribute", &n->key_attribute,
	    f->key_attribute);
	if (r == 0)
		r = config_format_text(n, "sort_attribute",
		    &n->sort_attribute, f->sort_attribute);
	if (r == 0)
		r = config_format_text(n, "ttl_attribute", &n->ttl_attribute,
		    f->ttl_attribute);
	return r;
}

/* ---- names ---- */

static bool
config_format_has(uint64_t format, const char *name)
{
	const char *const *own = config_formats[format].attributes;

	while (*own != NULL && strcmp(*own, name) != 0)
		own++;
	return *own != NULL;
}

static bool
config_same(const char *a, const char *b)
{
	return a != NULL && b != NULL && strcmp(a, b) == 0;
}

/* Which setting has the name already? NULL: none. */
static const char *
config_format_taken(const struct config_namespace *n, const char *name)
{
	return config_same(n->key_attribute, name) ? "key_attribute" :
	    config_same(n->sort_attribute, name) ? "sort_attribute" :
	    config_same(n->ttl_attribute, name) ? "ttl_attribute" : NULL;
}

static const char *
config_format_list(uint64_t format, char *text, size_t size)
{
	const char *const *own = config_formats[format].attributes;
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
config_format_rename_ok(const struct config_namespace *n,
    const struct config_renames *r, const struct dialect_name *name,
    char *rule, size_t size)
{
	const char *taken = config_format_taken(n, name->here);
	char names[128];

	if (n->format == CONFIG_FORMAT_PYTHON &&
	    strcmp(name->own, "expiry_time") == 0)
		(void)snprintf(rule, size, "ttl_attribute is what names "
		    "expiry_time; set that");
	else if (!config_format_has(n->format, name->own))
		(void)snprintf(rule, size, "format = %s has no attribute "
		    "\"%.100s\"; it has %s", config_format_name(n->format),
		    name->own,
		    config_format_list(n->format, names, sizeof(names)));
	else if (*name->here == '\0' || strlen(name->here) > 255)
		(void)snprintf(rule, size, "the new name of %s must have 1 to "
		    "255 bytes", name->own);
	else if (taken != NULL)
		(void)snprintf(rule, size, "\"%s\" cannot be the name of %s: "
		    "it is that of %s", name->here, name->own, taken);
	else if (strcmp(name->own, name->here) != 0 &&
	    config_format_has(n->format, name->here))
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
config_format_word(char **text, const char *end)
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
config_format_renames(const struct config_namespace *n,
    struct config_renames *ret, char *rule, size_t size)
{
	char *rest = ret->text;

	ret->n_names = 0;
	if (n->format == CONFIG_FORMAT_PYTHON)
		ret->names[ret->n_names++] = (struct dialect_name){
			"expiry_time", n->ttl_attribute };
	if (n->rename == NULL)
		return 0;
	if (strlen(n->rename) >= sizeof(ret->text)) {
		(void)snprintf(rule, size, "must have less than %zu bytes",
		    sizeof(ret->text));
		return DDBLOCK_E_BAD_REQUEST;
	}
	memcpy(ret->text, n->rename, strlen(n->rename) + 1);
	while (*rest != '\0') {
		char *pair = config_format_word(&rest, ",");
		struct dialect_name name = {
			.own = config_format_word(&pair, ":"),
			.here = config_format_word(&pair, ""),
		};

		/* No more than there are attributes: each is there once. */
		if (!config_format_rename_ok(n, ret, &name, rule, size))
			return DDBLOCK_E_BAD_REQUEST;
		ret->names[ret->n_names++] = name;
	}
	return 0;
}

/* ---- judging ---- */

__attribute__((format(printf, 4, 5)))
static void
config_format_complain(struct config *c, const struct config_namespace *n,
    const char *setting, const char *format, ...)
{
	struct config_origin origin = config_origin_of(n->origins,
	    CONFIG_NAMESPACE, setting);
	char text[1024];
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	config_complain(c, origin.file != NULL ? origin : n->origin,
	    "namespace %s: %s", n->name, text);
}

/* "dlock", or "awslabs|python", or that it is for the other store */
static void
config_format_knowing(unsigned known, char *text, size_t size)
{
	size_t used = 0;

	text[0] = '\0';
	for (unsigned f = 0; f < CONFIG_FORMATS && used < size; f++) {
		int n;

		if ((known & CONFIG_KNOWN(f)) == 0)
			continue;
		n = snprintf(text + used, size - used, "%s%s",
		    used > 0 ? "|" : "", config_formats[f].name);
		used += n > 0 ? (size_t)n : size;
	}
}

/* A setting of another store or format is a mistake, not a remark. */
static void
config_format_check_known(struct config *c, const struct config_namespace *n)
{
	size_t count;
	const struct config_setting *s = config_settings(CONFIG_NAMESPACE,
	    &count);
	char formats[128];

	for (size_t i = 0; i < count; i++) {
		struct buffer value;

		if (n->origins[i].file == NULL ||
		    (s[i].known & config_known_to(n)) != 0)
			continue;
		if (n->store == CONFIG_STORE_SQLITE ||
		    s[i].known == CONFIG_KNOWN_SQLITE) {
			config_complain(c, n->origins[i], "namespace %s: %s "
			    "is for store = %s; remove it or change store",
			    n->name, s[i].name,
			    n->store == CONFIG_STORE_SQLITE ? "dynamodb" :
			    "sqlite");
			continue;
		}
		buffer_init(&value, CONFIG_VALUE_LENGTH_MAX);
		config_value_print(&s[i], (const char *)n + s[i].offset,
		    &value);
		config_format_knowing(s[i].known, formats, sizeof(formats));
		config_complain(c, n->origins[i], "namespace %s: %s = %s is "
		    "for format = %s, and this is %s; remove it or change "
		    "format", n->name, s[i].name,
		    buffer_failed(&value) == 0 ? value.data : "...", formats,
		    config_format_name(n->format));
		buffer_done(&value);
	}
}

static void
config_format_check_key(struct config *c, const struct config_namespace *n,
    const char *setting, const char *name)
{
	if (name != NULL && config_format_has(n->format, name))
		config_format_complain(c, n, setting, "%s = %s: format = %s "
		    "has an attribute of that name; choose another", setting,
		    name, config_format_name(n->format));
}

static void
config_format_check_names(struct config *c, const struct config_namespace *n)
{
	struct config_renames renames;
	char rule[512];

	if (n->key_attribute == NULL)
		config_format_complain(c, n, "format", "format = %s does not "
		    "say what the partition key of its table is called; set "
		    "key_attribute = NAME", config_format_name(n->format));
	config_format_check_key(c, n, "key_attribute", n->key_attribute);
	config_format_check_key(c, n, "sort_attribute", n->sort_attribute);
	if (n->format != CONFIG_FORMAT_PYTHON ||
	    !config_same(n->ttl_attribute, "expiry_time"))
		config_format_check_key(c, n, "ttl_attribute",
		    n->ttl_attribute);
	if (config_same(n->key_attribute, n->sort_attribute))
		config_format_complain(c, n, "sort_attribute",
		    "sort_attribute = %s: that is key_attribute already",
		    n->sort_attribute);
	if (config_same(n->key_attribute, n->ttl_attribute) ||
	    config_same(n->sort_attribute, n->ttl_attribute))
		config_format_complain(c, n, "ttl_attribute",
		    "ttl_attribute = %s: that is a key already",
		    n->ttl_attribute);
	if (n->sort_attribute == NULL && config_is_set(n, "sort_type"))
		config_format_complain(c, n, "sort_type", "sort_type needs "
		    "sort_attribute beside it");
	if (config_format_renames(n, &renames, rule, sizeof(rule)) < 0)
		config_format_complain(c, n, "rename", "rename = %s: %s",
		    n->rename, rule);
}

static void
config_format_check_times(struct config *c, const struct config_namespace *n)
{
	const struct config_origin origin = config_origin_of(n->origins,
	    CONFIG_NAMESPACE, "heartbeat_rate");
	uint64_t renewals = n->heartbeat_rate * n->heartbeat_ms / 1000;

	if (n->format == CONFIG_FORMAT_PYTHON &&
	    n->expiry_ms / 2 < n->lease_ms)
		config_format_complain(c, n, config_is_set(n, "expiry") ?
		    "expiry" : "lease", "expiry (%" PRIu64 " ms) must be at "
		    "least lease (%" PRIu64 " ms) x 2, or records are deleted "
		    "under their holders", n->expiry_ms, n->lease_ms);
	if (n->heartbeat_rate > 0 && renewals < CONFIG_FEW_RENEWALS)
		config_warn(c, origin, "namespace %s: heartbeat_rate = %"
		    PRIu64 ": in one heartbeat (%" PRIu64 " ms) that renews %"
		    PRIu64 " locks, and with more of them renewals come late; "
		    "raise it if more can be held", n->name,
		    n->heartbeat_rate, n->heartbeat_ms, renewals);
}

void
config_format_check(struct config *c, const struct config_namespace *n)
{
	config_format_check_known(c, n);
	if (n->store != CONFIG_STORE_DYNAMODB ||
	    n->format == CONFIG_FORMAT_NATIVE)
		return;
	config_format_check_names(c, n);
	config_format_check_times(c, n);
	if (n->prefix != NULL && strlen(n->prefix) > CONFIG_PREFIX_MAX)
		config_format_complain(c, n, "prefix", "prefix must have at "
		    "most %d bytes", CONFIG_PREFIX_MAX);
	if (n->prefix != NULL && n->key_type == DIALECT_KEY_NUMBER)
		config_format_complain(c, n, "prefix", "prefix = %s: keys are "
		    "numbers here (key_type = N); remove it", n->prefix);
}

/* ---- the core's view ---- */

static unsigned
config_format_lacks(const struct config_namespace *n, unsigned features)
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
	};
	unsigned lacks = 0;

	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		if ((features & pairs[i].feature) == 0)
			lacks |= pairs[i].lack;
	}
	if (n->format == CONFIG_FORMAT_DLOCK && !n->fencing)
		lacks |= CORE_LACKS_TOKENS;
	return lacks;
}

void
config_format_describe(const struct config_namespace *n,
    struct core_namespace *core)
{
	const struct dialect *d;

	if (n->store != CONFIG_STORE_DYNAMODB ||
	    n->format == CONFIG_FORMAT_NATIVE)
		return;
	core->format = config_format_name(n->format);
	core->refresh_rate = (uint32_t)n->heartbeat_rate;
	d = dialect_find(core->format);
	if (d == NULL)
		return;	/* the store will not open */
	core->life = d->life;
	core->lacks = config_format_lacks(n, d->features);
}
