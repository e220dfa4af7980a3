/*
 * dynamodb-lock-client 0.7.3 of npm. Fail-open: it waits for a lease after one
 * look and then takes the lock that it saw, stops renewing with the first
 * trouble, and a renewal may overtake its release. Fail-closed: only its
 * release frees it. All tries of one acquisition write one guid, also over its
 * own record whose answer was lost.
 */
#include "peer.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base64.h"

#define JS_GUID_BYTES 64

static void
js_guid(struct peer_call *c, char *ret)
{
	uint64_t words[JS_GUID_BYTES / sizeof(uint64_t)];
	struct buffer text;

	for (size_t i = 0; i < JS_GUID_BYTES / sizeof(uint64_t); i++)
		words[i] = peer_random(c->lock->peer);
	buffer_init(&text, PEER_TEXT_MAX);
	base64_append(&text, words, sizeof(words));
	if (buffer_failed(&text) < 0)
		exit(1);
	(void)snprintf(ret, PEER_TEXT_MAX, "%s", text.data);
	buffer_done(&text);
}

/* All tries of one acquisition have the same guid. */
static void
js_guid_of_acquisition(struct peer_call *c)
{
	struct peer_lock *l = c->lock;

	if (l->version[0] == '\0')
		js_guid(c, l->version);
	memcpy(c->version, l->version, sizeof(c->version));
}

/* "If it is still mine." */
static void
js_write_own(struct peer_call *c)
{
	peer_write(c, ",'ConditionExpression':'attribute_exists(#partitionKey)"
	    " and guid = :guid','ExpressionAttributeNames':{'#partitionKey':"
	    "'id'},'ExpressionAttributeValues':{':guid':{'B':'%s'}}}",
	    c->lock->version);
}

/* ---- fail-open -------------------------------------------------------- */

static uint64_t
js_open_read(struct peer_lock *l, struct json_object *item)
{
	uint64_t lease_ms, since_ms, now_ms = peer_wall_ms(l);

	if (item == NULL)
		return 0;
	(void)peer_saw(l, peer_text(item, "guid", "B"),
	    peer_text(item, "owner", "S"), peer_number(item, "fencingToken"));
	lease_ms = peer_number(item, "leaseDurationMs");
	since_ms = peer_number(item, "lockAcquiredTimeUnixMs");
	if (!peer_namespace(l)->local_time || since_ms == 0)
		return lease_ms;
	return since_ms + lease_ms > now_ms ? since_ms + lease_ms - now_ms : 0;
}

static void
js_open_write(struct peer_call *c, uint64_t lease_ms, const char *guid)
{
	peer_write_item(c);
	peer_write(c, ",'fencingToken':{'N':'%" PRIu64 "'},'leaseDurationMs':"
	    "{'N':'%" PRIu64 "'},'owner':{'S':'%s'},'guid':{'B':'%s'}",
	    c->token, lease_ms, c->lock->peer->owner, guid);
	if (peer_namespace(c->lock)->local_time)
		peer_write(c, ",'lockAcquiredTimeUnixMs':{'N':'%" PRIu64
		    "'}", peer_wall_ms(c->lock));
	peer_write(c, "}");
}

static const char *
js_open_take(struct peer_call *c)
{
	const struct peer_lock *l = c->lock;

	js_guid_of_acquisition(c);
	c->token = l->seen ? l->seen_token + 1 : 1;
	js_open_write(c, peer_plan(l)->ns.lease_ms, c->version);
	if (!l->seen)
		peer_write(c, ",'ConditionExpression':'attribute_not_exists("
		    "#partitionKey)','ExpressionAttributeNames':{"
		    "'#partitionKey':'id'}}");
	else
		peer_write(c, ",'ConditionExpression':'attribute_not_exists("
		    "#partitionKey) or (guid = :guid and fencingToken = "
		    ":fencingToken)','ExpressionAttributeNames':{"
		    "'#partitionKey':'id'},'ExpressionAttributeValues':"
		    "{':guid':{'B':'%s'},':fencingToken':{'N':'%" PRIu64
		    "'}}}", l->seen_version, l->seen_token);
	return "PutItem";
}

static const char *
js_open_renew(struct peer_call *c)
{
	js_guid(c, c->version);
	c->token = c->lock->token;
	js_open_write(c, peer_plan(c->lock)->ns.lease_ms, c->version);
	js_write_own(c);
	return "PutItem";
}

static const char *
js_open_release(struct peer_call *c)
{
	c->token = c->lock->token;
	js_open_write(c, 1, c->lock->version);
	js_write_own(c);
	return "PutItem";
}

const struct peer_library peer_js_open = {
	.look = peer_look,
	.take = js_open_take,
	.renew = js_open_renew,
	.release = js_open_release,
	.read = js_open_read,
	.blind = true,
	.stops = true,
};

/* ---- fail-closed ------------------------------------------------------ */

static const char *
js_closed_take(struct peer_call *c)
{
	js_guid_of_acquisition(c);
	peer_write_item(c);
	peer_write(c, ",'owner':{'S':'%s'},'guid':{'B':'%s'}},"
	    "'ConditionExpression':'attribute_not_exists(#partitionKey)',"
	    "'ExpressionAttributeNames':{'#partitionKey':'id'}}",
	    c->lock->peer->owner, c->version);
	return "PutItem";
}

static const char *
js_closed_release(struct peer_call *c)
{
	peer_write_key(c);
	js_write_own(c);
	return "DeleteItem";
}

const struct peer_library peer_js_closed = {
	.take = js_closed_take,
	.release = js_closed_release,
};
