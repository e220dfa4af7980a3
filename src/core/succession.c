/*
 * What a core leaves in its journal, and how the next one takes it over
 * (saved.h). Each room writes and reads entries of its own.
 *
 *  1. After a step all that it changed is one change of the journal, committed
 *     before any action of the step is performed.
 *  2. Taking over is all or nothing. What is taken over is as it was, and
 *     waits: it is proven by a beat that follows none but ours
 *     (lease/session_saved.c), and fail-closed holds by a look at their record.
 *  3. Limits are for what is new.
 */
#include "core/succession.h"

#include <stdlib.h>
#include <string.h>

#include "core/client/client.h"
#include "core/configure.h"
#include "ddblock.h"

/* ---- leaving ---------------------------------------------------------- */

static bool
succession_put(struct core *core, const struct saved_due *due)
{
	struct journal *journal = core->saving.journal;

	switch (due->kind) {
	case SAVED_SESSION:
		return session_save(journal, due->saved);
	case SAVED_GRANT:
		return grant_save(journal, due->saved);
	case SAVED_IN_DOUBT:
		return in_doubt_save(core, journal, due->saved);
	case SAVED_LOCK:
		return lock_save(journal, due->saved);
	case SAVED_CLIENT:
		return client_save(journal, due->saved);
	case SAVED_HOLD:
		return hold_save(journal, due->saved);
	case SAVED_SERIALS:
		return serials_save(journal, due->saved);
	case SAVED_RECORD_LEASE:
		return record_lease_save(journal, due->saved);
	}
	return true;
}

/* Everything that there is, for a journal that has nothing of it. */
static int
succession_touch_all(struct core *core)
{
	core->saving.all = false;
	for (uint32_t i = 0; i < core->n_namespaces; i++) {
		session_save_all(core, &core->namespaces[i]);
		lock_save_all(core, &core->namespaces[i]);
	}
	client_save_all(core);
	return core->saving.all ? DDBLOCK_E_NOMEM : 0;
}

static void
succession_forget_due(struct saving *s)
{
	for (uint32_t i = 0; i < s->n_due; i++) {
		if (s->due[i].saved != NULL)
			s->due[i].saved->due = 0;
	}
	s->n_due = 0;
}

int
core_save(struct core *core, struct journal *journal)
{
	struct saving *s = &core->saving;
	uint32_t left = 0;

	if (journal != s->journal || s->all) {
		succession_forget_due(s);
		s->fresh = journal != s->journal;
		s->journal = journal;
		if (journal == NULL)
			return 0;
		if (succession_touch_all(core) < 0)
			return DDBLOCK_E_NOMEM;
		s->fresh = false;
	}
	if (journal == NULL)
		return 0;
	for (uint32_t i = 0; i < s->n_due; i++) {
		struct saved_due *due = &s->due[i];

		if (due->saved == NULL)
			continue;
		due->saved->due = 0;
		if (left > 0 || !succession_put(core, due)) {
			s->due[left++] = *due;
			due->saved->due = left;
		}
	}
	s->n_due = left;
	if (left > 0)
		return DDBLOCK_E_LIMIT;
	journal_commit(journal);
	return 0;
}

void
core_sending(struct core *core, const struct operation *o, uint64_t beat)
{
	if (o->kind == OPERATION_SESSION_BEAT &&
	    o->namespace_index < core->n_namespaces)
		session_sending(core, o, beat);
}

void
core_refused(struct core *core, const struct operation *o, uint64_t beat)
{
	if (o->kind == OPERATION_SESSION_BEAT &&
	    o->namespace_index < core->n_namespaces)
		session_refused(core, o, beat);
}

/* ---- taking over ------------------------------------------------------ */

/* What is read of a journal, one kind after the other. */
struct succession {
	struct core *core;
	const struct core_legacy *legacy;
	struct journal_entry *holds;
	size_t n_holds;
	struct inherited_grants grants;
	struct core_inherited *ret;
};

/* Of a grant that was taken over. */
static int
succession_take_lease(struct succession *s, const struct journal_entry *entry)
{
	struct saved_record_lease saved;
	struct inherited_grant *g;

	if (entry->length != sizeof(saved))
		return DDBLOCK_E_BAD_RECORD;
	memcpy(&saved, entry->data, sizeof(saved));
	g = inherited_grants_find(&s->grants, saved.id.low);
	if (g == NULL || g->grant == NULL || g->grant->lease == NULL ||
	    !lease_is_of_record(g->grant->lease))
		return 0;
	if (saved.sent_ms > s->core->now_ms || g->has_lease)
		return DDBLOCK_E_BAD_RECORD;
	g->has_lease = true;
	record_lease_inherit(s->core, g->grant->lease, &saved);
	return 0;
}

/* Sessions come before what is granted under them, and grants before what is
 * found by their numbers. Marks are last, for want of room. */
static unsigned
succession_pass(uint16_t kind)
{
	switch (kind) {
	case SAVED_GRANT:
	case SAVED_IN_DOUBT:
	case SAVED_HOLD:
		return 1;
	case SAVED_LOCK:
	case SAVED_RECORD_LEASE:
		return 2;
	default:
		return 0;
	}
}

static int
succession_take(struct succession *s, const struct journal_entry *entry)
{
	struct inherited_grant none;

	switch (entry->kind) {
	case SAVED_SESSION:
		s->ret->n_sessions++;
		return session_inherit(s->core, s->legacy, entry);
	case SAVED_CLIENT:
	case SAVED_SERIALS:
		return client_inherit(s->core, s->legacy, entry);
	case SAVED_GRANT:
		return lock_inherit(s->core, s->legacy, entry,
		    &s->grants.list[s->grants.n++]);
	case SAVED_IN_DOUBT:
	case SAVED_LOCK:
		return lock_inherit(s->core, s->legacy, entry, &none);
	case SAVED_RECORD_LEASE:
		return succession_take_lease(s, entry);
	case SAVED_HOLD:
		s->holds[s->n_holds++] = *entry;
		return 0;
	default:
		return entry->kind < CORE_ENTRY_KINDS ?
		    DDBLOCK_E_BAD_RECORD : 0;
	}
}

static int
succession_take_all(struct succession *s, unsigned pass)
{
	struct journal_entry entry = { .place = 0 };
	int code = 0;

	while (code == 0 && journal_read(s->legacy->memory, s->legacy->size,
	    &entry)) {
		if (succession_pass(entry.kind) == pass)
			code = succession_take(s, &entry);
	}
	return code;
}

/* How many there are: room for all of them is made once. */
struct succession_sizes {
	size_t n_holds;
	size_t n_grants;
	size_t n_last;		/* of the last pass */
};

/* The first pass. */
static int
succession_begin(struct succession *s, struct succession_sizes *ret)
{
	struct journal_entry entry = { .place = 0 };
	int code = 0;

	*ret = (struct succession_sizes){ .n_holds = 0 };
	while (code == 0 && journal_read(s->legacy->memory, s->legacy->size,
	    &entry)) {
		ret->n_holds += entry.kind == SAVED_HOLD;
		ret->n_grants += entry.kind == SAVED_GRANT;
		ret->n_last += succession_pass(entry.kind) == 2;
		if (succession_pass(entry.kind) == 0)
			code = succession_take(s, &entry);
	}
	return code;
}

static int
succession_make_room(struct succession *s, const struct succession_sizes *size)
{
	struct core *core = s->core;

	for (uint32_t i = 0; i < core->n_namespaces; i++)
		lock_reserve(&core->namespaces[i],
		    size->n_grants / core->n_namespaces);
	s->holds = calloc(size->n_holds + 1, sizeof(*s->holds));
	return inherited_grants_init(&s->grants, size->n_grants) &&
	    s->holds != NULL ? 0 : DDBLOCK_E_NOMEM;
}

/* Each has its lease. */
static int
succession_check_grants(const struct succession *s)
{
	for (size_t i = 0; i < s->grants.n; i++) {
		const struct inherited_grant *g = &s->grants.list[i];

		if (g->grant != NULL && g->grant->lease != NULL &&
		    lease_is_of_record(g->grant->lease) && !g->has_lease)
			return DDBLOCK_E_BAD_RECORD;
	}
	return 0;
}

static int
succession_run(struct succession *s)
{
	struct succession_sizes size;
	int code = succession_begin(s, &size);

	if (code == 0)
		code = succession_make_room(s, &size);
	if (code == 0)
		code = succession_take_all(s, 1);
	if (code == 0)
		code = inherited_grants_index(&s->grants);
	if (code == 0 && size.n_last > 0)
		code = succession_take_all(s, 2);
	if (code == 0)
		code = succession_check_grants(s);
	if (code < 0)
		return code;
	code = hold_inherit_all(s->core, s->legacy, s->holds, s->n_holds,
	    &s->grants, s->ret);
	if (code == 0)
		inherited_grants_advance(s->core, &s->grants);
	return code;
}

int
core_inherit(struct core *core, const struct core_legacy *legacy,
    struct core_inherited *ret)
{
	const struct core_limits limits = core->limits;
	struct succession s = { .core = core, .legacy = legacy, .ret = ret };
	int code;

	*ret = (struct core_inherited){ .n_sessions = 0 };
	core->limits.locks_max = core->limits.clients_max = UINT32_MAX;
	code = succession_run(&s);
	core->limits = limits;
	configure_settle_bounds(core);
	free(s.holds);
	inherited_grants_done(&s.grants);
	return code;
}
