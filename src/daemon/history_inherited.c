/* The history of a daemon: what the daemon before left. */
#include <config.h>	/* the build's */

#include "daemon/history_line.h"

/* Those that a client has as one are one entry. */
static void
history_kept(struct history *h, const struct core *core,
    const struct core_hold_view *first, uint64_t now_ms)
{
	struct key keys[MULTI_MAX] = { first->key };
	struct core_hold_view v = *first;
	struct history_line l;
	uint32_t n = 1;

	while (n < MULTI_MAX && core_next_hold(core, v.hold, now_ms, &v) &&
	    v.id == first->id)
		keys[n++] = v.key;
	history_begin(h, &l, "kept");
	history_number(&l, "DDBLOCK_CLIENT", first->client);
	history_number(&l, "DDBLOCK_HOLD", first->hold);
	history_namespace(h, &l, first->namespace_index);
	history_keys(&l, keys, n);
	if (first->token != 0)
		history_number(&l, "DDBLOCK_TOKEN", first->token);
	if (first->lost)
		history_text(&l, "DDBLOCK_REASON",
		    core_loss_name(first->loss));
	else if (first->until_ms != 0)
		history_number(&l, "DDBLOCK_UNTIL_BOOT_MS", first->until_ms);
	history_write(&l);
}

/* Those whose connection is not there. The core cuts them off. */
static void
history_missing(struct history *h, const struct core *core,
    const struct core_event *came_back, uint64_t now_ms)
{
	struct core_hold_view v = { 0 };
	uint64_t last = 0;

	while (core_next_hold(core, v.hold, now_ms, &v)) {
		if (v.client != last && !came_back->came_back.is_here(
		    came_back->came_back.arg, v.client))
			history_cut_off(h, v.client);
		last = v.client;
	}
}

void
history_inherited(struct history *h, const struct core *core,
    const struct history_place *from, bool all,
    const struct core_event *came_back, uint64_t now_ms)
{
	struct core_hold_view v = { 0 };
	struct history_line l;

	if (h->config == NULL)
		return;
	history_begin(h, &l, "inherits");
	history_number(&l, "DDBLOCK_FROM_PID", from->pid);
	history_number(&l, "DDBLOCK_FROM_SERIAL", from->serial);
	history_write(&l);
	while (core_next_hold(core, v.hold, now_ms, &v)) {
		if (v.id == v.hold)
			history_kept(h, core, &v, now_ms);
	}
	history_begin(h, &l, "inherited");
	history_text(&l, "DDBLOCK_COMPLETE", all ? "yes" : "no");
	history_write(&l);
	history_missing(h, core, came_back, now_ms);
}
