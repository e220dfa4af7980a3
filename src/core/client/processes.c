/*
 * The processes that something is held for, or asked for, by their numbers: a
 * client may have very many, and they end one by one.
 */
#include "core/client/room.h"

static struct terms *
process_terms(const struct hash_link *link)
{
	return CONTAINER_OF((uintptr_t)link, struct terms, process_link);
}

static struct request *
process_request(const struct hash_link *link)
{
	return CONTAINER_OF((uintptr_t)link, struct request, process_link);
}

/* Numbers follow each other, so they spread by themselves. */
static uint32_t
process_hash_hold(const struct hash_link *link)
{
	return (uint32_t)process_terms(link)->process;
}

static uint32_t
process_hash_request(const struct hash_link *link)
{
	return (uint32_t)process_request(link)->terms.process;
}

int
process_init(struct core *core)
{
	int code = hash_init(&core->process_holds, process_hash_hold);

	return code < 0 ? code :
	    hash_init(&core->process_requests, process_hash_request);
}

void
process_done(struct core *core)
{
	hash_done(&core->process_holds);
	hash_done(&core->process_requests);
}

/* From the making of the hold, before it is granted, to its end. */
void
process_note(struct core *core, struct terms *t)
{
	if (t->process != 0)
		hash_add(&core->process_holds, &t->process_link,
		    (uint32_t)t->process);
}

void
process_forget(struct core *core, struct terms *t)
{
	if (t->process != 0)
		hash_remove(&core->process_holds, &t->process_link,
		    (uint32_t)t->process);
}

/* A request that has one has it from its admission on. */
void
process_note_request(struct core *core, struct request *r)
{
	hash_add(&core->process_requests, &r->process_link,
	    (uint32_t)r->terms.process);
}

void
process_forget_request(struct core *core, struct request *r)
{
	hash_remove(&core->process_requests, &r->process_link,
	    (uint32_t)r->terms.process);
}

/* Is it granted, and not forgotten yet? */
static bool
process_is_held(const struct hold *h)
{
	return h->use.lock != NULL && !multi_is_kept(h);
}

/* What this client, which may have left, holds for it; NULL: nothing. */
struct hold *
process_find_hold(const struct core *core, uint64_t client, uint64_t process)
{
	const struct hash_link *link =
	    hash_chain(&core->process_holds, (uint32_t)process);

	for (; link != NULL; link = link->next) {
		const struct terms *t = process_terms(link);

		if (t->process == process && process_is_held(t->hold) &&
		    t->hold->client->id == client)
			return multi_speaker(t->hold);
	}
	return NULL;
}

/* Its request for one; NULL: none waits. */
struct request *
process_find_request(const struct core *core, uint64_t client,
    uint64_t process)
{
	const struct hash_link *link =
	    hash_chain(&core->process_requests, (uint32_t)process);

	for (; link != NULL; link = link->next) {
		struct request *r = process_request(link);

		if (r->terms.process == process && r->client->id == client)
			return r;
	}
	return NULL;
}
