/*
 * The locks of a fleet: what clients know of each, and three invariants of
 * doc/safety.md that cost nothing however many hosts there are: while a hold is
 * valid no other is (1, 3), and tokens rise (2). The judge of plans has all of
 * them, for nine hosts.
 */
#include "fleet_state.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#define FLEET_LOCK_PREFIX "lock:"

struct fleet_lock *
fleet_lock_get(struct fleet *f, const char *key)
{
	struct fleet_lock *l;

	HASH_FIND_STR(f->locks, key, l);
	if (l != NULL)
		return l;
	l = world_alloc(sizeof(*l));
	(void)snprintf(l->key, sizeof(l->key), "%s", key);
	l->last_host = UINT32_MAX;
	l->released_ms = l->died_ms = WORLD_NEVER;
	HASH_ADD_STR(f->locks, key, l);
	return l;
}

void
fleet_lock_done(struct fleet *f)
{
	struct fleet_lock *l, *next;

	HASH_ITER(hh, f->locks, l, next)
	{
		HASH_DEL(f->locks, l);
		free(l);
	}
}

/* ---- what clients know ------------------------------------------------ */

/* The deadline that it was last told: of its hold, or of all of its host. */
static uint64_t
fleet_lock_until(const struct fleet *f, const struct fleet_client *c)
{
	uint64_t renewed = f->renewed[c->host];

	return c->until > renewed ? c->until : renewed;
}

static void
fleet_lock_judge(struct fleet *f, const struct fleet_client *c,
    uint64_t token)
{
	const struct fleet_lock *l = c->lock;
	const struct fleet_client *other = l->holder;

	if (other != NULL && other != c &&
	    fleet_lock_until(f, other) > f->world->now)
		world_find(f->world, "1", "%s was granted to a client of host %"
		    PRIu32 ", while one of host %" PRIu32 " holds it", l->key,
		    c->host, other->host);
	if (token <= l->token)
		world_find(f->world, "2", "%s was granted with a token that "
		    "is not above an earlier one", l->key);
}

/* From one host to another, whose client waited for it. */
static void
fleet_lock_measure(struct fleet *f, const struct fleet_client *c)
{
	const struct fleet_lock *l = c->lock;
	uint64_t now = f->world->now;

	if (!f->counts || l->last_host == c->host)
		return;
	if (l->died_ms != WORLD_NEVER)
		fleet_times_add(&f->figures.takeovers, now - l->died_ms);
	else if (l->released_ms != WORLD_NEVER &&
	    c->asked_ms <= l->released_ms)
		fleet_times_add(&f->figures.handovers, now - l->released_ms);
}

void
fleet_lock_granted(struct fleet *f, struct fleet_client *c, uint64_t token)
{
	struct fleet_lock *l = c->lock;

	fleet_lock_judge(f, c, token);
	fleet_lock_measure(f, c);
	l->holder = c;
	l->token = token;
	l->last_host = c->host;
	l->released_ms = l->died_ms = WORLD_NEVER;
}

void
fleet_lock_left(struct fleet_client *c)
{
	if (c->lock->holder == c)
		c->lock->holder = NULL;
}

void
fleet_lock_died(struct fleet *f, struct fleet_client *c)
{
	if (c->lock->holder == c)
		c->lock->died_ms = f->world->now;
}

/* ---- what lands at the table ------------------------------------------ */

static bool
fleet_lock_is_held(struct json_object *item)
{
	return item != NULL && json_object_object_get_ex(item, "holders",
	    NULL);
}

static void
fleet_lock_count_marks(struct fleet *f, struct json_object *item)
{
	struct json_object *marks, *set;
	size_t n;

	if (item == NULL ||
	    !json_object_object_get_ex(item, "xwait", &marks) ||
	    !json_object_object_get_ex(marks, "SS", &set))
		return;
	n = json_object_array_length(set);
	if (n > f->figures.most_marks)
		f->figures.most_marks = n;
}

/* A release lands: from here on a waiter waits for nothing but its turn. */
void
fleet_lock_watch(void *arg, const char *table, struct json_object *before,
    struct json_object *after, bool expired)
{
	struct fleet *f = arg;
	struct json_object *key, *text;
	struct fleet_lock *l;

	(void)table;
	(void)expired;
	fleet_lock_count_marks(f, after);
	if (!fleet_lock_is_held(before) || fleet_lock_is_held(after) ||
	    !json_object_object_get_ex(before, "key", &key) ||
	    !json_object_object_get_ex(key, "S", &text) ||
	    strncmp(json_object_get_string(text), FLEET_LOCK_PREFIX,
	    strlen(FLEET_LOCK_PREFIX)) != 0)
		return;
	l = fleet_lock_get(f, json_object_get_string(text) +
	    strlen(FLEET_LOCK_PREFIX));
	l->released_ms = f->world->now;
}
