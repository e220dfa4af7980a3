/*
 * Which settings a namespace may have: those that its store knows, in the
 * format of its records. Another one is a mistake, not a remark: a user relies
 * on it.
 */
#include "daemon/config.h"

#define CONFIG_NAMES_MAX 128

static bool
config_format_knows(const struct config_namespace *n, const char *setting)
{
	uint64_t format = config_kind(n)->has_formats ? n->store.format :
	    STORE_FORMAT_NATIVE;

	return store_format_knows(format, setting);
}

bool
config_knows(const struct config_namespace *n, const char *setting)
{
	return store_kind_knows(config_kind(n), setting) &&
	    config_format_knows(n, setting);
}

static void
config_complain_of_store(struct config *c, const struct config_namespace *n,
    const struct config_setting *s, struct config_origin origin)
{
	char names[CONFIG_NAMES_MAX];

	store_kinds_knowing(s->name, names, sizeof(names));
	config_complain(c, origin, "namespace %s: %s is for store = %s; "
	    "remove it or change store", n->name, s->name, names);
}

static void
config_complain_of_format(struct config *c, const struct config_namespace *n,
    const struct config_setting *s, struct config_origin origin)
{
	char names[CONFIG_NAMES_MAX];
	struct buffer value;

	buffer_init(&value, CONFIG_VALUE_LENGTH_MAX);
	config_value_print(s, (const char *)n + s->offset, &value);
	store_formats_knowing(s->name, names, sizeof(names));
	config_complain(c, origin, "namespace %s: %s = %s is for format = %s, "
	    "and this is %s; remove it or change format", n->name, s->name,
	    buffer_failed(&value) == 0 ? value.data : "...", names,
	    store_format_name(n->store.format));
	buffer_done(&value);
}

void
config_check_known(struct config *c, const struct config_namespace *n)
{
	size_t count;
	const struct config_setting *s = config_settings(CONFIG_NAMESPACE,
	    &count);

	for (size_t i = 0; i < count; i++) {
		if (n->origins[i].file == NULL)
			continue;
		if (!store_kind_knows(config_kind(n), s[i].name))
			config_complain_of_store(c, n, &s[i], n->origins[i]);
		else if (!config_format_knows(n, s[i].name))
			config_complain_of_format(c, n, &s[i], n->origins[i]);
	}
}
