/*
 * The native record format: the sessions in a table, in pages of a Scan. Who
 * asks for them wants to know which hosts there are; no lock depends on it.
 */
#ifndef DDBLOCKD_DIALECT_NATIVE_SESSIONS_H
#define DDBLOCKD_DIALECT_NATIVE_SESSIONS_H

#include "dialect/native/native.h"

#define NATIVE_SESSIONS_PAGE 250	/* items that a page examines */

/* One that is not dead. Texts are those of the item. */
struct native_session {
	struct ident id;
	const char *contact;	/* NULL: its host hears no hints */
	const char *host;	/* NULL: absent */
	uint64_t lease_ms;
	uint64_t quiet_ms;	/* since its last renewal, by its time to live:
				 * whole seconds of the endpoint's clock */
};

/*
 * The body of a Scan for those that are not dead, and whose time to live is not
 * over at @wall_ms. @from: the LastEvaluatedKey of the page before; NULL: the
 * first one.
 */
void native_write_sessions(const struct dialect_table *,
    struct json_object *from, uint64_t wall_ms, struct buffer *);

/* What an item of a page shows. False: it is no session of this format. */
bool native_read_listed(const struct dialect_table *, struct json_object *item,
    uint64_t wall_ms, struct native_session *ret);

#endif
