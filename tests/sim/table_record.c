/*
 * Records of the formats of older clients, read for the judge and for people
 * by what doc/records.md says of them, and not by the reader in the product.
 */
#include "sim_contents.h"
#include "world_state.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "common/base64.h"

#define RECORD_RELEASED_UNTIL_MS 1000	/* dlock */
#define RECORD_BYTES_MAX 128
#define RECORD_MARKS "ddblockd_marks"

static const char *
record_text(struct json_object *item, const char *name, const char *type)
{
	struct json_object *attribute, *value;

	if (!json_object_object_get_ex(item, name, &attribute) ||
	    !json_object_object_get_ex(attribute, type, &value))
		return "";
	return json_object_get_string(value);
}

static uint64_t
record_number(struct json_object *item, const char *name)
{
	return strtoull(record_text(item, name, "N"), NULL, 10);
}

/* The name in a version: its first three words; the last is the renewal's. */
static void
record_hold_of_uuid(const char *uuid, char *ret)
{
	size_t n = 0;

	for (; *uuid != '\0' && n < 24; uuid++)
		if (isxdigit((unsigned char)*uuid))
			ret[n++] = *uuid;
	memcpy(ret + n, "00000000", 9);
}

static size_t
record_bytes(const char *text, unsigned char *ret)
{
	size_t n;

	if (base64_room(strlen(text)) > RECORD_BYTES_MAX ||
	    !base64_read(text, strlen(text), ret, &n))
		return 0;
	return n;
}

static void
record_version(const char *text, struct fact_record *ret)
{
	(void)snprintf(ret->version, sizeof(ret->version), "%s", text);
}

static void
record_read_awslabs(struct json_object *item, struct fact_record *ret)
{
	ret->free = strcmp(record_text(item, "isReleased", "S"), "1") == 0;
	record_version(record_text(item, "recordVersionNumber", "S"), ret);
	record_hold_of_uuid(ret->version, ret->hold);
}

static void
record_read_python(struct json_object *item, struct fact_record *ret)
{
	record_version(record_text(item, "record_version_number", "S"), ret);
	record_hold_of_uuid(ret->version, ret->hold);
}

static void
record_read_js(struct json_object *item, struct fact_record *ret)
{
	unsigned char bytes[RECORD_BYTES_MAX];
	size_t n = record_bytes(record_text(item, "guid", "B"), bytes);

	for (size_t i = 0; i < 16 && i < n; i++)
		(void)snprintf(ret->hold + 2 * i, 3, "%02x",
		    (unsigned)bytes[i]);
	record_version(record_text(item, "guid", "B"), ret);
	ret->token = record_number(item, "fencingToken");
	ret->free = *record_text(item, "leaseDurationMs", "N") != '\0' &&
	    record_number(item, "leaseDurationMs") <= 1;
}

/* Its end is read off a clock of the writer's host. */
static void
record_read_dlock(const struct world *w, struct json_object *item,
    struct fact *f)
{
	const char *owner = record_text(item, "owner", "S");
	uint64_t until_ms = record_number(item, "until");
	struct fact_record *ret = &f->record;
	unsigned char bytes[RECORD_BYTES_MAX];
	size_t length = strlen(owner);
	size_t n = record_bytes(record_text(item, "fencingToken", "B"), bytes);

	(void)snprintf(ret->hold, sizeof(ret->hold), "%s",
	    length > 32 ? owner + length - 32 : owner);
	for (size_t i = 0; i < n; i++)
		ret->token = ret->token << 8 | bytes[i];
	ret->free = until_ms <= RECORD_RELEASED_UNTIL_MS;
	if (!ret->free && f->host != FACT_BY_HAND)
		ret->until_ms = (uint64_t)((int64_t)(until_ms -
		    WORLD_WALL_MS) - w->hosts[f->host].wall_ms);
}

/* What is not the format's own is its users'. */
static void
judge_record_read_contents(struct json_object *item, uint64_t ret[FACT_SLOTS])
{
	const char *note = record_text(item, "note", "S");
	unsigned char bytes[RECORD_BYTES_MAX];
	size_t n = record_bytes(record_text(item, "data", "B"), bytes);

	ret[FACT_DATA] = sim_contents_number(bytes, n);
	ret[FACT_NOTE] = sim_contents_number(note, strlen(note));
}

void
table_record_read(const struct world *w, uint32_t namespace_index,
    struct json_object *item, struct fact *ret)
{
	struct fact_record *r = &ret->record;

	*r = (struct fact_record){ .until_ms = FACT_NEVER };
	if (item == NULL)
		return;
	r->exists = true;
	r->lease_ms = w->plan->ns.lease_ms;
	switch (w->plan->namespaces[namespace_index].format) {
	case FORMAT_AWSLABS:
		record_read_awslabs(item, r);
		break;
	case FORMAT_PYTHON:
		record_read_python(item, r);
		break;
	case FORMAT_JS_CLOSED:
		r->lease_ms = 0;
		/* fall through */
	case FORMAT_JS_OPEN:
		record_read_js(item, r);
		break;
	case FORMAT_DLOCK:
		record_read_dlock(w, item, ret);
		break;
	default:
		break;
	}
	judge_record_read_contents(item, r->contents);
	if (ret->host >= FACT_PEER_FIRST)
		r->hold[0] = '\0';
}

static bool
record_reads_same(const struct fact_record *a, const struct fact_record *b)
{
	return a->free == b->free && strcmp(a->hold, b->hold) == 0 &&
	    strcmp(a->version, b->version) == 0 && a->version[0] != '\0' &&
	    a->lease_ms == b->lease_ms && a->until_ms == b->until_ms &&
	    a->token == b->token &&
	    memcmp(a->contents, b->contents, sizeof(a->contents)) == 0;
}

static bool
record_set_has(struct json_object *set, const char *text)
{
	for (size_t i = 0; set != NULL && i < json_object_array_length(set);
	    i++)
		if (strcmp(json_object_get_string(
		    json_object_array_get_idx(set, i)), text) == 0)
			return true;
	return false;
}

static struct json_object *
record_marks(struct json_object *item)
{
	struct json_object *attribute, *set;

	if (!json_object_object_get_ex(item, RECORD_MARKS, &attribute) ||
	    !json_object_object_get_ex(attribute, "SS", &set))
		return NULL;
	return set;
}

/* Beside the marks there is the version that they are for. */
bool
table_record_is_marked(const struct world *w, struct fact *f,
    struct json_object *before, struct json_object *after)
{
	struct fact was = *f, is = *f;
	struct json_object *set;

	if (f->host >= FACT_HOSTS_MAX || before == NULL || after == NULL)
		return false;
	table_record_read(w, f->namespace_index, before, &was);
	table_record_read(w, f->namespace_index, after, &is);
	set = record_marks(after);
	if (set == NULL || !record_reads_same(&was.record, &is.record))
		return false;
	f->n_holders = json_object_array_length(set) - 1;
	for (size_t i = 0; i < json_object_array_length(set); i++) {
		const char *text = json_object_get_string(
		    json_object_array_get_idx(set, i));

		if (strcmp(text, is.record.version) != 0 &&
		    !record_set_has(record_marks(before), text))
			f->version = text;
	}
	return true;
}

/* Who wrote it, as it says; the same for as long as it is renewed. */
static const char *
record_owner(struct json_object *item)
{
	static const char *const names[] = { "ownerName", "owner_name",
		"owner" };
	const char *text = "";

	for (size_t i = 0; item != NULL && *text == '\0' && i < 3; i++)
		text = record_text(item, names[i], "S");
	return text;
}

static bool
record_is_free(const struct world *w, const struct fact *f,
    struct json_object *item)
{
	struct fact other = *f;

	table_record_read(w, f->namespace_index, item, &other);
	return !other.record.exists || other.record.free;
}

void
table_record_trace(struct world *w, const char *host, const struct fact *f,
    struct json_object *before, struct json_object *after)
{
	const struct fact_record *r = &f->record;
	bool renewed = !record_is_free(w, f, before) &&
	    !record_is_free(w, f, after) &&
	    strcmp(record_owner(before), record_owner(after)) == 0;
	char token[32] = "", kept[64] = "";

	if (w->options->trace == NULL)
		return;

	if (r->token > 0)
		(void)snprintf(token, sizeof(token), " token %" PRIu64,
		    r->token);
	if (r->contents[FACT_DATA] > 0 || r->contents[FACT_NOTE] > 0)
		(void)snprintf(kept, sizeof(kept), " data %" PRIu64 " note %"
		    PRIu64, r->contents[FACT_DATA], r->contents[FACT_NOTE]);
	world_trace(w, renewed ? WORLD_TRACE_BEAT : WORLD_TRACE_TABLE, host,
	    "= %s: %s%s%s", f->key,
	    !r->exists ? "gone" : r->free ? "free" : host, token, kept);
}
