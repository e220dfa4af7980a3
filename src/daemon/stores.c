/*
 * Which store serves a namespace. The only place that knows both of them.
 */
#include "daemon/stores.h"

#include <stdio.h>

#include "ddblock.h"
#include "store/store_sqlite.h"

const char *
stores_advice(int code)
{
	switch (code) {
	case DDBLOCK_E_UNREACHABLE:
		return "check the endpoint, its name and the network";
	case DDBLOCK_E_ACCESS_DENIED:
		return "check what the credentials may do";
	case DDBLOCK_E_NO_CREDENTIALS:
		return "check access_key_id and secret_access_key";
	case DDBLOCK_E_NO_TABLE:
		return "create it with ddblockd --init-table";
	case DDBLOCK_E_WRONG_TABLE:
		return "ddblockd --check-table says more";
	case DDBLOCK_E_STORE_FULL:
		return "make room";
	default:
		return NULL;
	}
}

static int
stores_open_sqlite(struct event_base *base, const struct config_namespace *n,
    const char *host, bool check, store_outcome_fn outcome, void *arg,
    struct store **ret, char *text, size_t size)
{
	const struct store_sqlite_config config = {
		.namespace_name = n->name,
		.path = n->file,
		.host = host,
		.retention_s = n->retention_ms / 1000,
		.must_exist = check,
	};

	return store_sqlite_new(base, &config, outcome, arg, ret, text, size);
}

static int
stores_open_dynamodb(struct event_base *base,
    const struct config_namespace *n, const char *host,
    store_outcome_fn outcome, void *arg, struct store **ret, char *text,
    size_t size)
{
	(void)base;
	(void)host;
	(void)outcome;
	(void)arg;
	(void)ret;
	(void)snprintf(text, size, "namespace %s: this build has no store = "
	    "dynamodb", n->name);
	return DDBLOCK_E_UNSUPPORTED;
}

int
stores_open(struct event_base *base, const struct config_namespace *n,
    const char *host, bool check, store_outcome_fn outcome, void *arg,
    struct store **ret, char *text, size_t size)
{
	if (n->store == CONFIG_STORE_DYNAMODB)
		return stores_open_dynamodb(base, n, host, outcome, arg, ret,
		    text, size);
	return stores_open_sqlite(base, n, host, check, outcome, arg, ret,
	    text, size);
}
