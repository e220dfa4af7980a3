/*
 * Shared by the libraries of older clients: the clocks of their hosts, random
 * numbers, and reading and writing messages.
 */
#include "peer.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

enum { PEER_STREAM = 700 };

const struct plan *
peer_plan(const struct peer_lock *l)
{
	return l->peer->host->world->plan;
}

const struct plan_namespace *
peer_namespace(const struct peer_lock *l)
{
	return &peer_plan(l)->namespaces[l->step->namespace_index];
}

const struct dialect_table *
peer_table(const struct peer_lock *l)
{
	return &l->peer->host->world->tables[l->step->namespace_index];
}

uint64_t
peer_boot_ms(const struct peer_lock *l)
{
	return host_boot_ms(l->peer->host);
}

uint64_t
peer_wall_ms(const struct peer_lock *l)
{
	return host_wall_ms(l->peer->host);
}

uint64_t
peer_random(struct peer *p)
{
	return world_chance(p->host->world, PEER_STREAM + p->host->index,
	    p->n_random++, UINT64_MAX);
}

void
peer_uuid(struct peer *p, char *ret)
{
	uint64_t a = peer_random(p), b = peer_random(p);

	(void)snprintf(ret, 37, "%08" PRIx32 "-%04x-4%03x-%04x-%012" PRIx64,
	    (uint32_t)(a >> 32), (unsigned)(a >> 16 & 0xffff),
	    (unsigned)(a & 0xfff), (unsigned)(0x8000 | (b >> 48 & 0x3fff)),
	    b & UINT64_C(0xffffffffffff));
}

bool
peer_saw(struct peer_lock *l, const char *version, const char *owner,
    uint64_t token)
{
	bool other = !l->seen || strcmp(l->seen_version, version) != 0;

	if (other)
		l->seen_ms = peer_boot_ms(l);
	l->seen = true;
	l->seen_token = token;
	(void)snprintf(l->seen_version, sizeof(l->seen_version), "%s",
	    version);
	(void)snprintf(l->seen_owner, sizeof(l->seen_owner), "%s", owner);
	return other;
}

const char *
peer_text(struct json_object *item, const char *name, const char *type)
{
	struct json_object *attribute, *value;

	if (!json_object_object_get_ex(item, name, &attribute) ||
	    !json_object_object_get_ex(attribute, type, &value))
		return "";
	return json_object_get_string(value);
}

uint64_t
peer_number(struct json_object *item, const char *name)
{
	return strtoull(peer_text(item, name, "N"), NULL, 10);
}

void
peer_write(struct peer_call *c, const char *format, ...)
{
	size_t from = c->body.length;
	va_list arguments;

	va_start(arguments, format);
	if (buffer_vprintf(&c->body, format, arguments) < 0)
		exit(1);
	va_end(arguments);
	for (; from < c->body.length; from++)
		if (c->body.data[from] == '\'')
			c->body.data[from] = '"';
}

bool
peer_waited(const struct peer_lock *l, uint64_t lease_ms)
{
	return peer_boot_ms(l) - l->seen_ms > lease_ms;
}

static void
peer_write_key_parts(struct peer_call *c)
{
	const struct dialect_table *t = peer_table(c->lock);

	peer_write(c, "'%s':{'S':'%s'}", t->key_attribute, c->lock->step->key);
	if (t->sort_attribute != NULL)
		peer_write(c, ",'%s':{'S':'-'}", t->sort_attribute);
}

void
peer_write_key(struct peer_call *c)
{
	peer_write(c, "{'TableName':'%s','Key':{", peer_table(c->lock)->table);
	peer_write_key_parts(c);
	peer_write(c, "}");
}

void
peer_write_item(struct peer_call *c)
{
	peer_write(c, "{'TableName':'%s','Item':{",
	    peer_table(c->lock)->table);
	peer_write_key_parts(c);
}

const char *
peer_look(struct peer_call *c)
{
	peer_write_key(c);
	peer_write(c, ",'ConsistentRead':true}");
	return "GetItem";
}
