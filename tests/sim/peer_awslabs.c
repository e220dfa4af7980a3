/*
 * The Java client of awslabs (dynamodb-lock-client 1.3.0), and dynamolock, its
 * translation to Go.
 */
#include "peer.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static bool
awslabs_is_go(const struct peer_call *c)
{
	return c->lock->peer->plan->kind == PEER_DYNAMOLOCK;
}

static void
awslabs_version(struct peer_call *c)
{
	struct peer *p = c->lock->peer;

	if (!awslabs_is_go(c)) {
		peer_uuid(p, c->version);
		return;
	}
	(void)snprintf(c->version, sizeof(c->version), "%" PRIu64
	    "000000:%016" PRIX64 "%016" PRIX64 "%016" PRIX64,
	    peer_wall_ms(c->lock), peer_random(p), peer_random(p),
	    peer_random(p));
}

/* As Java, or as Go writes a lease: "20000", "1m20s". */
static void
awslabs_write_lease(struct peer_call *c)
{
	uint64_t ms = peer_plan(c->lock)->ns.lease_ms;

	if (!awslabs_is_go(c))
		peer_write(c, "{'S':'%" PRIu64 "'}", ms);
	else if (ms < 60000)
		peer_write(c, "{'S':'%" PRIu64 "s'}", ms / 1000);
	else
		peer_write(c, "{'S':'%" PRIu64 "m%" PRIu64 "s'}", ms / 60000,
		    ms / 1000 % 60);
}

/* Either of them. */
static uint64_t
awslabs_lease_ms(const char *text)
{
	uint64_t ms = 0;

	while (isdigit((unsigned char)*text)) {
		char *unit;
		uint64_t n = strtoull(text, &unit, 10);
		size_t length = strcspn(unit, "0123456789");

		if (*unit == 'h')
			n *= 3600000;
		else if (*unit == 'm' && length == 1)
			n *= 60000;
		else if (*unit == 's')
			n *= 1000;
		ms += n;
		text = unit + length;
	}
	return ms;
}

static uint64_t
awslabs_read(struct peer_lock *l, struct json_object *item)
{
	bool other;

	if (item == NULL)
		return 0;
	l->seen_released =
	    strcmp(peer_text(item, "isReleased", "S"), "1") == 0;
	other = peer_saw(l, peer_text(item, "recordVersionNumber", "S"),
	    peer_text(item, "ownerName", "S"), 0);
	if (l->seen_released)
		return 0;
	return !other && peer_waited(l, awslabs_lease_ms(
	    peer_text(item, "leaseDuration", "S"))) ? 0 : PEER_LATER;
}

/* "If it is as I think": absent, released, or as it was for a lease. */
static void
awslabs_write_condition(struct peer_call *c)
{
	const struct peer_lock *l = c->lock;
	bool free = !l->seen || l->seen_released;

	if (free && awslabs_is_go(c))
		peer_write(c, ",'ConditionExpression':'(attribute_not_exists "
		    "(#pk)) OR ((attribute_exists (#pk)) AND (#ir = :ir))',"
		    "'ExpressionAttributeNames':{'#pk':'key',"
		    "'#ir':'isReleased'},'ExpressionAttributeValues':"
		    "{':ir':{'S':'1'}}}");
	else if (!l->seen)
		peer_write(c, ",'ConditionExpression':"
		    "'attribute_not_exists(#pk)','ExpressionAttributeNames':"
		    "{'#pk':'key'}}");
	else if (l->seen_released)
		peer_write(c, ",'ConditionExpression':'attribute_exists(#pk) "
		    "AND #ir = :ir','ExpressionAttributeNames':{'#pk':'key',"
		    "'#ir':'isReleased'},'ExpressionAttributeValues':"
		    "{':ir':{'S':'1'}}}");
	else
		peer_write(c, ",'ConditionExpression':'attribute_exists(#pk) "
		    "AND #rvn = :rvn','ExpressionAttributeNames':{'#pk':"
		    "'key','#rvn':'recordVersionNumber'},"
		    "'ExpressionAttributeValues':{':rvn':{'S':'%s'}}}",
		    l->seen_version);
}

static const char *
awslabs_take(struct peer_call *c)
{
	awslabs_version(c);
	peer_write_item(c);
	peer_write(c, ",'ownerName':{'S':'%s'},'recordVersionNumber':"
	    "{'S':'%s'},'leaseDuration':", c->lock->peer->owner, c->version);
	awslabs_write_lease(c);
	peer_write(c, "}");
	awslabs_write_condition(c);
	return "PutItem";
}

/* "If it is still mine"; more values follow. */
static void
awslabs_write_own(struct peer_call *c, const char *more_names)
{
	peer_write(c, ",'ConditionExpression':'attribute_exists(#pk) AND "
	    "#rvn = :rvn AND #on = :on','ExpressionAttributeNames':"
	    "{'#pk':'key','#rvn':'recordVersionNumber','#on':'ownerName'%s},"
	    "'ExpressionAttributeValues':{':rvn':{'S':'%s'},':on':{'S':'%s'}",
	    more_names, c->lock->version, c->lock->peer->owner);
}

static const char *
awslabs_renew(struct peer_call *c)
{
	awslabs_version(c);
	peer_write_key(c);
	peer_write(c, ",'UpdateExpression':'SET #ld = :ld, #rvn = :new'");
	awslabs_write_own(c, ",'#ld':'leaseDuration'");
	peer_write(c, ",':new':{'S':'%s'},':ld':", c->version);
	awslabs_write_lease(c);
	peer_write(c, "}}");
	return "UpdateItem";
}

static const char *
awslabs_release(struct peer_call *c)
{
	peer_write_key(c);
	if (!c->lock->peer->plan->keep) {
		awslabs_write_own(c, "");
		peer_write(c, "}}");
		return "DeleteItem";
	}
	peer_write(c, ",'UpdateExpression':'SET #ir = :ir'");
	awslabs_write_own(c, ",'#ir':'isReleased'");
	peer_write(c, ",':ir':{'S':'1'}}}");
	return "UpdateItem";
}

/* Its own clock tells it, when it would renew it. */
static bool
awslabs_is_over(const struct peer_lock *l)
{
	return peer_boot_ms(l) - l->renewed_ms > peer_plan(l)->ns.lease_ms;
}

const struct peer_library peer_awslabs = {
	.look = peer_look,
	.take = awslabs_take,
	.renew = awslabs_renew,
	.release = awslabs_release,
	.read = awslabs_read,
	.is_over = awslabs_is_over,
	.waits = true,
};
