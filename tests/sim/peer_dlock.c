/*
 * scailio-oss/dlock: absolute times of wall clocks that may differ by a skew.
 * With fencing, a token that doubles where it should rise by one; and begins
 * again, if an acquire that saw no record lands on one that was given back.
 */
#include "peer.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base64.h"

#define DLOCK_RELEASED_MS 1000
#define DLOCK_TOKEN_BYTES 8
#define DLOCK_TOKEN_MAX (UINT64_C(1) << 62)	/* that may still double */

static uint64_t
dlock_now_less_skew_ms(const struct peer_lock *l)
{
	return peer_wall_ms(l) - peer_namespace(l)->skew_ms;
}

static void
dlock_version(struct peer_call *c)
{
	(void)snprintf(c->version, sizeof(c->version), "%" PRIu64,
	    peer_wall_ms(c->lock) + peer_plan(c->lock)->ns.lease_ms);
}

/* "If it is still mine"; with the values of an update. */
static void
dlock_write_own(struct peer_call *c, const char *until)
{
	const char *owner = c->lock->peer->owner;

	peer_write(c, ",'ConditionExpression':'(attribute_exists (#0)) AND "
	    "((#1 = :0) AND (#2 = :1))','ExpressionAttributeNames':"
	    "{'#0':'key','#1':'owner','#2':'until'},"
	    "'ExpressionAttributeValues':{':0':{'S':'%s'},':1':{'N':'%s'}",
	    owner, c->lock->version);
	if (until != NULL)
		peer_write(c, ",':2':{'S':'%s'},':3':{'N':'%s'}", owner,
		    until);
	peer_write(c, "}}");
}

static bool
dlock_is_over(const struct peer_lock *l)
{
	return peer_wall_ms(l) >= strtoull(l->version, NULL, 10);
}

/* ---- without fencing -------------------------------------------------- */

static const char *
dlock_take(struct peer_call *c)
{
	dlock_version(c);
	peer_write_item(c);
	peer_write(c, ",'owner':{'S':'%s'},'until':{'N':'%s'}},"
	    "'ConditionExpression':'(attribute_not_exists (#0)) OR "
	    "((attribute_exists (#0)) AND (#1 <= :0))',"
	    "'ExpressionAttributeNames':{'#0':'key','#1':'until'},"
	    "'ExpressionAttributeValues':{':0':{'N':'%" PRIu64 "'}},"
	    "'ReturnValues':'ALL_OLD'}", c->lock->peer->owner, c->version,
	    dlock_now_less_skew_ms(c->lock));
	return "PutItem";
}

static const char *
dlock_renew(struct peer_call *c)
{
	dlock_version(c);
	peer_write_item(c);
	peer_write(c, ",'owner':{'S':'%s'},'until':{'N':'%s'}}",
	    c->lock->peer->owner, c->version);
	dlock_write_own(c, NULL);
	return "PutItem";
}

static const char *
dlock_release(struct peer_call *c)
{
	peer_write_key(c);
	dlock_write_own(c, NULL);
	return "DeleteItem";
}

const struct peer_library peer_dlock = {
	.take = dlock_take,
	.renew = dlock_renew,
	.release = dlock_release,
	.is_over = dlock_is_over,
	.waits = true,
};

/* ---- with fencing ----------------------------------------------------- */

/* Big-endian, without leading zeros, in base64. */
static void
dlock_token_text(uint64_t token, char *ret)
{
	unsigned char bytes[DLOCK_TOKEN_BYTES];
	size_t from = DLOCK_TOKEN_BYTES;
	struct buffer text;

	for (; token > 0; token >>= 8)
		bytes[--from] = (unsigned char)token;
	buffer_init(&text, PEER_TEXT_MAX);
	base64_append(&text, bytes + from, DLOCK_TOKEN_BYTES - from);
	if (buffer_failed(&text) < 0)
		exit(1);
	(void)snprintf(ret, PEER_TEXT_MAX, "%s", text.data);
	buffer_done(&text);
}

static uint64_t
dlock_token(const char *text)
{
	unsigned char bytes[PEER_TEXT_MAX];
	uint64_t token = 0;
	size_t n;

	if (strlen(text) >= PEER_TEXT_MAX ||
	    !base64_read(text, strlen(text), bytes, &n))
		return 0;
	for (size_t i = 0; i < n; i++)
		token = token << 8 | bytes[i];
	return token;
}

static uint64_t
dlock_read(struct peer_lock *l, struct json_object *item)
{
	const char *until = "";

	if (item == NULL)
		return 0;
	until = peer_text(item, "until", "N");
	(void)peer_saw(l, until, peer_text(item, "owner", "S"),
	    dlock_token(peer_text(item, "fencingToken", "B")));
	return strtoull(until, NULL, 10) <= dlock_now_less_skew_ms(l) ?
	    0 : PEER_LATER;
}

static const char *
dlock_fencing_take(struct peer_call *c)
{
	const struct peer_lock *l = c->lock;
	char token[PEER_TEXT_MAX], seen[PEER_TEXT_MAX];

	/* Beyond the numbers of this model it counts. */
	c->token = !l->seen ? 1 : l->seen_token < DLOCK_TOKEN_MAX ?
	    2 * l->seen_token : l->seen_token + 1;
	dlock_token_text(c->token, token);
	dlock_token_text(l->seen_token, seen);
	dlock_version(c);
	peer_write_item(c);
	peer_write(c, ",'owner':{'S':'%s'},'until':{'N':'%s'},"
	    "'fencingToken':{'B':'%s'}},'ReturnValues':'ALL_OLD'",
	    l->peer->owner, c->version, token);
	if (!l->seen)
		peer_write(c, ",'ConditionExpression':"
		    "'(attribute_not_exists (#0)) OR ((attribute_exists (#0)) "
		    "AND (#1 <= :0))','ExpressionAttributeNames':"
		    "{'#0':'key','#1':'until'},'ExpressionAttributeValues':"
		    "{':0':{'N':'%" PRIu64 "'}}}",
		    dlock_now_less_skew_ms(l));
	else
		peer_write(c, ",'ConditionExpression':"
		    "'(attribute_not_exists (#0)) OR ((((attribute_exists "
		    "(#0)) AND (#1 = :0)) AND (#2 = :1)) AND (#3 = :2))',"
		    "'ExpressionAttributeNames':{'#0':'key','#1':'until',"
		    "'#2':'owner','#3':'fencingToken'},"
		    "'ExpressionAttributeValues':{':0':{'N':'%s'},"
		    "':1':{'S':'%s'},':2':{'B':'%s'}}}", l->seen_version,
		    l->seen_owner, seen);
	return "PutItem";
}

static const char *
dlock_fencing_update(struct peer_call *c, const char *until)
{
	peer_write_key(c);
	peer_write(c, ",'UpdateExpression':'SET #1 = :2, #2 = :3\\n'");
	dlock_write_own(c, until);
	return "UpdateItem";
}

static const char *
dlock_fencing_renew(struct peer_call *c)
{
	dlock_version(c);
	return dlock_fencing_update(c, c->version);
}

static const char *
dlock_fencing_release(struct peer_call *c)
{
	char until[24];

	(void)snprintf(until, sizeof(until), "%d", DLOCK_RELEASED_MS);
	return dlock_fencing_update(c, until);
}

const struct peer_library peer_dlock_fencing = {
	.look = peer_look,
	.take = dlock_fencing_take,
	.renew = dlock_fencing_renew,
	.release = dlock_fencing_release,
	.read = dlock_read,
	.is_over = dlock_is_over,
	.waits = true,
};
