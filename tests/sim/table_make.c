/*
 * The making of the tables: what each record format calls what they have, and
 * what the core and the dialects are told of each.
 */
#include "world_state.h"

static const char *const table_names[] = { "locks", "more-locks" };
static const char *const namespace_names[] = { "default", "more" };

/* How each format calls what its tables have. */
static const struct {
	const char *key, *sort, *ttl;
	enum lock_life life;
	unsigned lacks;
} table_formats[FORMATS] = {
	[FORMAT_NATIVE] = { "key", NULL, "ttl", LOCK_LIFE_SESSION, 0 },
	[FORMAT_AWSLABS] = { "key", NULL, "ttl", LOCK_LIFE_RECORD,
	    CORE_LACKS_SHARED | CORE_LACKS_FAIL_CLOSED | CORE_LACKS_TOKENS },
	[FORMAT_PYTHON] = { "lock_key", "sort_key", "expiry_time",
	    LOCK_LIFE_RECORD, CORE_LACKS_SHARED | CORE_LACKS_FAIL_CLOSED |
	    CORE_LACKS_TOKENS | CORE_LACKS_DATA },
	[FORMAT_JS_OPEN] = { "id", NULL, "ttl", LOCK_LIFE_RECORD,
	    CORE_LACKS_SHARED | CORE_LACKS_FAIL_CLOSED | CORE_LACKS_DATA |
	    CORE_LACKS_ATTRIBUTES },
	[FORMAT_JS_CLOSED] = { "id", NULL, "ttl", LOCK_LIFE_NEVER,
	    CORE_LACKS_SHARED | CORE_LACKS_FAIL_OPEN | CORE_LACKS_DATA |
	    CORE_LACKS_ATTRIBUTES | CORE_LACKS_TOKENS },
	[FORMAT_DLOCK] = { "key", NULL, "ttl", LOCK_LIFE_DEADLINE,
	    CORE_LACKS_SHARED | CORE_LACKS_FAIL_CLOSED | CORE_LACKS_DATA |
	    CORE_LACKS_ATTRIBUTES },
};

/* Of another format than ours. */
static void
table_init_format(struct world *w, uint32_t i)
{
	const struct plan_namespace *n = &w->plan->namespaces[i];
	struct core_namespace *ns = &w->namespaces[i];
	struct dialect_table *t = &w->tables[i];

	t->key_attribute = table_formats[n->format].key;
	t->sort_attribute = table_formats[n->format].sort;
	t->go_lease = n->go_lease;
	t->keep_released = n->keep_released;
	t->keep_attributes = n->keep_attributes;
	t->local_time = n->local_time;
	t->fencing = n->fencing;
	t->skew_ms = n->skew_ms;
	t->expiry_s = 3600;
	w->dialects[i] = dialect_find(plan_format_name(n->format));
	if (n->format == FORMAT_NATIVE)
		return;
	ns->format = plan_format_name(n->format);
	ns->life = table_formats[n->format].life;
	ns->lacks = table_formats[n->format].lacks;
	if (n->format == FORMAT_DLOCK && !n->fencing)
		ns->lacks |= CORE_LACKS_TOKENS;
}

static void
table_create(struct world *w, uint32_t i)
{
	const struct dialect_table *t = &w->tables[i];
	const char *sort = t->sort_attribute;
	char attribute[96] = "", schema[96] = "";

	if (sort != NULL) {
		(void)snprintf(attribute, sizeof(attribute), ",{"
		    "\"AttributeName\":\"%s\",\"AttributeType\":\"S\"}",
		    sort);
		(void)snprintf(schema, sizeof(schema), ",{\"AttributeName\":"
		    "\"%s\",\"KeyType\":\"RANGE\"}", sort);
	}
	table_do(w, "CreateTable", "{\"TableName\":\"%s\","
	    "\"AttributeDefinitions\":[{\"AttributeName\":\"%s\","
	    "\"AttributeType\":\"S\"}%s],\"KeySchema\":[{"
	    "\"AttributeName\":\"%s\",\"KeyType\":\"HASH\"}%s],"
	    "\"BillingMode\":\"PAY_PER_REQUEST\"}", t->table,
	    t->key_attribute, attribute, t->key_attribute, schema);
	table_do(w, "UpdateTimeToLive", "{\"TableName\":\"%s\","
	    "\"TimeToLiveSpecification\":{\"AttributeName\":\"%s\","
	    "\"Enabled\":true}}", t->table,
	    table_formats[w->plan->namespaces[i].format].ttl);
}

void
table_make(struct world *w, uint32_t i)
{
	const struct plan *p = w->plan;

	plan_namespace(p, i, &w->namespaces[i]);
	w->namespaces[i].name = namespace_names[i];
	w->tables[i] = (struct dialect_table){
		.table = table_names[i],
		.retention_s = p->retention_s, .host = "host",
		.pid = "1", .version = "0",
	};
	table_init_format(w, i);
	table_create(w, i);
}
