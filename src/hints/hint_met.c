/*
 * A ring.
 */
#include "hints/hint_met.h"

#include <string.h>

static struct hint_met_host *
hint_met_find(struct hint_met *m, const struct hint_id *session)
{
	for (uint32_t i = 0; i < HINT_MET_MAX; i++) {
		if (m->hosts[i].contact[0] != '\0' &&
		    hint_id_equal(&m->hosts[i].session, session))
			return &m->hosts[i];
	}
	return NULL;
}

void
hint_met_remember(struct hint_met *m, uint32_t namespace_index,
    const struct hint_id *session, const char *contact)
{
	struct hint_met_host *host = hint_met_find(m, session);
	size_t length = contact == NULL ? 0 : strlen(contact);

	if (length == 0 || length >= sizeof(host->contact)) {
		if (host != NULL)
			host->contact[0] = '\0';
		return;
	}
	if (host == NULL) {
		host = &m->hosts[m->next];
		m->next = (m->next + 1) % HINT_MET_MAX;
	}
	host->session = *session;
	host->namespace_index = namespace_index;
	memcpy(host->contact, contact, length + 1);
}

const struct hint_met_host *
hint_met_next(const struct hint_met *m, uint32_t namespace_index,
    uint32_t *at)
{
	while (*at < HINT_MET_MAX) {
		const struct hint_met_host *host = &m->hosts[(*at)++];

		if (host->contact[0] != '\0' &&
		    host->namespace_index == namespace_index)
			return host;
	}
	return NULL;
}
