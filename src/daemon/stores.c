/*
 * The stores of the namespaces, and what those of one kind share.
 */
#include <config.h>	/* the build's */

#include "daemon/stores.h"

#include <stdio.h>
#include <stdlib.h>

#include "common/clock.h"
#include "common/error.h"
#include "common/log.h"
#include "daemon/host_clock.h"
#include "ddblock.h"

#define STORES_TEXT_MAX 512

struct stores {
	struct event_base *base;
	void *shared[STORE_KINDS_MAX];	/* NULL: not yet, or nothing */
};

const char *
stores_advice(int code)
{
	switch (code) {
	case DDBLOCK_E_UNREACHABLE:
		return "ddblock check says how far requests come";
	case DDBLOCK_E_ACCESS_DENIED:
		return "ddblock check says which permission is missing";
	case DDBLOCK_E_NO_CREDENTIALS:
		return "see ddblock check and ddblockd-aws(7) for where they "
		    "are looked for";
	case DDBLOCK_E_THROTTLED:
		return "see what the table's capacity is, or let it be paid "
		    "by request";
	case DDBLOCK_E_NO_TABLE:
		return "create it with \"ddblock init-table\", and the "
		    "options that ddblockd has (--store, --table, ...)";
	case DDBLOCK_E_WRONG_TABLE:
		return "name another table, or the key_attribute, "
		    "sort_attribute and format that it has";
	default:
		return NULL;
	}
}

int
stores_new(struct event_base *base, struct stores **ret)
{
	struct stores *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return DDBLOCK_E_NOMEM;
	s->base = base;
	*ret = s;
	return 0;
}

void
stores_free(struct stores *s)
{
	if (s == NULL)
		return;
	for (size_t i = 0; i < STORE_KINDS_MAX; i++) {
		if (s->shared[i] != NULL)
			store_kinds[i]->unshare(s->shared[i]);
	}
	free(s);
}

static void
stores_on_news(void *arg, int priority, const char *topic,
    const char *namespace_name, int code, const char *text)
{
	const struct log_field fields[] = {
		{ "DDBLOCK_NAMESPACE", namespace_name },
		{ "DDBLOCK_CODE", code == 0 ? NULL : error_word(code) },
	};

	(void)arg;
	log_write_fields(priority, topic, fields, 2, "namespace %s: %s",
	    namespace_name, text);
}

static int
stores_share(struct stores *s, const struct config_namespace *n)
{
	const struct store_kind *kind = config_kind(n);

	if (kind->share == NULL || s->shared[n->kind] != NULL)
		return 0;
	return kind->share(s->base, stores_on_news, NULL, &s->shared[n->kind]);
}

int
stores_open(struct stores *s, const struct config_namespace *n,
    const char *host, bool look_only, store_outcome_fn outcome, void *arg,
    struct store **ret, char *text, size_t size)
{
	char unsynchronised[HOST_CLOCK_TEXT_MAX];
	struct store_opening opening = {
		.base = s->base,
		.namespace_name = n->name,
		.settings = &n->store,
		.host = host,
		.version = PACKAGE_VERSION,
		.look_only = look_only,
		.outcome = outcome,
		.outcome_arg = arg,
	};
	int r = stores_share(s, n);

	if (r < 0)
		return r;
	opening.shared = s->shared[n->kind];
	if (host_clock_counts(n, 0, unsynchronised, sizeof(unsynchronised))) {
		opening.synchronised = clock_is_synchronised;
		opening.unsynchronised_text = unsynchronised;
	}
	return config_kind(n)->open(&opening, ret, text, size);
}

void
stores_configure(struct stores *s, const struct config_namespace *n,
    struct store *store)
{
	const struct store_opening opening = {
		.base = s->base,
		.namespace_name = n->name,
		.settings = &n->store,
		.shared = s->shared[n->kind],
	};
	char text[STORES_TEXT_MAX];

	if (config_kind(n)->configure != NULL &&
	    config_kind(n)->configure(store, &opening, text,
	    sizeof(text)) < 0)
		log_write(LOG_ERR, NULL, "namespace %s: its store goes on as "
		    "before: %s", n->name, text);
}

void
stores_no_outcome(void *arg, struct operation *operation,
    const struct outcome *outcome)
{
	(void)arg;
	(void)operation;
	(void)outcome;
}
