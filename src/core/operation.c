/*
 * What can be said of an operation by itself, and the words for operations,
 * outcomes and losses.
 */
#include "core/operation.h"

#include <string.h>

#include "core/core.h"
#include "ddblock.h"

static const char *const operation_names[] = {
	[OPERATION_READ] = "read",
	[OPERATION_READ_MANY] = "read many",
	[OPERATION_ACQUIRE] = "acquire",
	[OPERATION_MULTI] = "together",
	[OPERATION_RELEASE] = "release",
	[OPERATION_REFRESH] = "refresh",
	[OPERATION_EXTEND] = "extend",
	[OPERATION_UPDATE] = "update",
	[OPERATION_ADD_WAITER] = "want",
	[OPERATION_REMOVE_WAITER] = "unwant",
	[OPERATION_MARK] = "mark",
	[OPERATION_BREAK] = "break",
	[OPERATION_RAISE] = "raise",
	[OPERATION_SCAN] = "scan",
	[OPERATION_SESSION_OPEN] = "session open",
	[OPERATION_SESSION_BEAT] = "session beat",
	[OPERATION_SESSION_READ] = "session read",
	[OPERATION_SESSION_KILL] = "session kill",
	[OPERATION_SESSION_BURY] = "session bury",
	[OPERATION_SESSION_CLOSE] = "session close",
};

static const char *const outcome_names[] = {
	[OUTCOME_DONE] = "done",
	[OUTCOME_CONFLICT] = "conflict",
	[OUTCOME_UNKNOWN] = "unknown",
	[OUTCOME_REFUSED] = "refused",
};

#define LENGTH_OF(array) (sizeof(array) / sizeof((array)[0]))

/* Is this part one more acquire like those before it? */
static bool
operation_part_is_sound(const struct operation *o, size_t i)
{
	const struct operation *part = o->parts[i];
	struct key key = o->keys[i];

	if (part->kind != OPERATION_ACQUIRE || part->n_dead > 0 ||
	    !operation_is_sound(part) || part->key.length != key.length ||
	    memcmp(part->key.bytes, key.bytes, key.length) != 0 ||
	    !ident_equal(part->me.session, o->parts[0]->me.session))
		return false;
	for (size_t j = 0; j < i; j++) {
		if (o->keys[j].length == key.length &&
		    memcmp(o->keys[j].bytes, key.bytes, key.length) == 0)
			return false;
	}
	return true;
}

static bool
operation_is_multi(const struct operation *o)
{
	if (o->n_keys == 0 || o->n_keys > MULTI_MAX)
		return false;
	for (size_t i = 0; i < o->n_keys; i++) {
		if (!operation_part_is_sound(o, i))
			return false;
	}
	return true;
}

bool
operation_is_sound(const struct operation *o)
{
	bool shared = o->mode == LOCK_MODE_SHARED;

	switch (o->kind) {
	case OPERATION_ACQUIRE:
		if (o->place > LINE_PLACES_MAX)
			return false;
		if (o->every_s > 0 ? shared : o->marks)
			return false;
		if (shared)
			return o->tokens == 1 && o->limit <= HOLDERS_MAX;
		return o->mode == LOCK_MODE_EXCLUSIVE && o->limit == 0;
	case OPERATION_MULTI:
		return operation_is_multi(o);
	case OPERATION_RELEASE:
		return o->n_holders > 0 && o->n_holders <= RELEASE_MAX;
	case OPERATION_UPDATE:
		return o->revision.sequence > 0 &&
		    o->revision.random % 2 == 1 &&
		    contents_refuse(&o->contents) == NULL;
	case OPERATION_ADD_WAITER:
	case OPERATION_REMOVE_WAITER:
		if (o->mode == LOCK_MODE_EXCLUSIVE)
			return o->place <= LINE_PLACES_MAX &&
			    o->line_max <= LINE_PLACES_MAX;
		return shared && o->place == 0 && o->line_max == 0;
	case OPERATION_RAISE:
		return o->tokens <= TOKEN_MAX && o->tokens % TOKENS_RAISED == 0;
	case OPERATION_MARK:
		return o->version != NULL && !ident_is_none(o->mark) &&
		    o->mark_form != MARK_NONE;
	default:
		return true;
	}
}

const char *
operation_kind_name(enum operation_kind kind)
{
	if ((size_t)kind >= LENGTH_OF(operation_names) ||
	    operation_names[kind] == NULL)
		return "none";
	return operation_names[kind];
}

const char *
outcome_kind_name(enum outcome_kind kind)
{
	if ((size_t)kind >= LENGTH_OF(outcome_names) ||
	    outcome_names[kind] == NULL)
		return "none";
	return outcome_names[kind];
}

int
outcome_code(const struct outcome *o)
{
	return o->code != 0 ? o->code : DDBLOCK_E_UNREACHABLE;
}

const char *
core_loss_name(enum core_loss loss)
{
	switch (loss) {
	case CORE_LOSS_STOLEN:
		return "stolen";
	case CORE_LOSS_BROKEN:
		return "broken";
	case CORE_LOSS_SHUTDOWN:
		return "shutdown";
	case CORE_LOSS_MAX_HOLD:
		return "max_hold";
	case CORE_LOSS_KEEPALIVE:
		return "keepalive";
	case CORE_LOSS_CUT_OFF:
		return "cut_off";
	case CORE_LOSS_RELEASED:
		return "released";
	case CORE_LOSS_EXPIRED:
		break;
	}
	return "expired";
}
