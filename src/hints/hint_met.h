/*
 * The hosts whose sessions were read last, and how they are reached: a session
 * of ours that is opened later meets them without another read. Where there are
 * too many the oldest gives way.
 */
#ifndef DDBLOCKD_HINTS_HINT_MET_H
#define DDBLOCKD_HINTS_HINT_MET_H

#include "hints/hint_contact.h"
#include "hints/hint_format.h"

#define HINT_MET_MAX 256

struct hint_met_host {
	struct hint_id session;
	uint32_t namespace_index;
	char contact[HINT_CONTACT_MAX];	/* "": there is none here */
};

struct hint_met {
	struct hint_met_host hosts[HINT_MET_MAX];
	uint32_t next;
};

/* @contact NULL, or none that could be one: it is forgotten. */
void hint_met_remember(struct hint_met *, uint32_t namespace_index,
    const struct hint_id *session, const char *contact);

/* The one at *@at or after it, which goes on; NULL: there is no more. */
const struct hint_met_host *hint_met_next(const struct hint_met *,
    uint32_t namespace_index, uint32_t *at);

#endif
