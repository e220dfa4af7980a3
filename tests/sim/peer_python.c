/*
 * python-dynamodb-lock 0.9.1. All tries of one acquisition write one version,
 * also over its own record whose answer was lost: for all other clients that
 * version does not change. A lock without a renewal for two thirds of a lease
 * is reported in danger, and never renewed again.
 */
#include "peer.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define PYTHON_EXPIRY_S 3600

static uint64_t
python_read(struct peer_lock *l, struct json_object *item)
{
	bool other;

	if (item == NULL)
		return 0;
	other = peer_saw(l, peer_text(item, "record_version_number", "S"),
	    peer_text(item, "owner_name", "S"), 0);
	return !other && peer_waited(l, (uint64_t)(strtod(
	    peer_text(item, "lease_duration", "N"), NULL) * 1000)) ?
	    0 : PEER_LATER;
}

static uint64_t
python_expiry_s(const struct peer_call *c)
{
	return peer_wall_ms(c->lock) / 1000 + PYTHON_EXPIRY_S;
}

#define PYTHON_NAMES "'#pk':'lock_key','#sk':'sort_key'"
#define PYTHON_THERE "attribute_exists(#pk) AND attribute_exists(#sk)"

static const char *
python_take(struct peer_call *c)
{
	struct peer_lock *l = c->lock;

	if (l->version[0] == '\0')
		peer_uuid(l->peer, l->version);
	memcpy(c->version, l->version, sizeof(c->version));
	peer_write_item(c);
	peer_write(c, ",'owner_name':{'S':'%s'},'lease_duration':{'N':'%g'},"
	    "'record_version_number':{'S':'%s'},'expiry_time':{'N':'%" PRIu64
	    "'}}", l->peer->owner, (double)peer_plan(l)->ns.lease_ms / 1000,
	    c->version, python_expiry_s(c));
	if (!l->seen)
		peer_write(c, ",'ConditionExpression':'NOT(" PYTHON_THERE
		    ")','ExpressionAttributeNames':{" PYTHON_NAMES "}}");
	else
		peer_write(c, ",'ConditionExpression':'" PYTHON_THERE
		    " AND #rvn = :old','ExpressionAttributeNames':{"
		    PYTHON_NAMES ",'#rvn':'record_version_number'},"
		    "'ExpressionAttributeValues':{':old':{'S':'%s'}}}",
		    l->seen_version);
	return "PutItem";
}

static const char *
python_renew(struct peer_call *c)
{
	peer_uuid(c->lock->peer, c->version);
	peer_write_key(c);
	peer_write(c, ",'UpdateExpression':'SET #rvn = :new, #et = :et',"
	    "'ConditionExpression':'" PYTHON_THERE " AND #rvn = :old',"
	    "'ExpressionAttributeNames':{" PYTHON_NAMES ",'#rvn':"
	    "'record_version_number','#et':'expiry_time'},"
	    "'ExpressionAttributeValues':{':old':{'S':'%s'},':new':{'S':'%s'},"
	    "':et':{'N':'%" PRIu64 "'}}}", c->lock->version, c->version,
	    python_expiry_s(c));
	return "UpdateItem";
}

static const char *
python_release(struct peer_call *c)
{
	peer_write_key(c);
	peer_write(c, ",'ConditionExpression':'" PYTHON_THERE
	    " AND #rvn = :rvn','ExpressionAttributeNames':{" PYTHON_NAMES
	    ",'#rvn':'record_version_number'},'ExpressionAttributeValues':"
	    "{':rvn':{'S':'%s'}}}", c->lock->version);
	return "DeleteItem";
}

const struct peer_library peer_python = {
	.look = peer_look,
	.take = python_take,
	.renew = python_renew,
	.release = python_release,
	.read = python_read,
	.safe_percent = 66,
	.waits = true,
};
