/* The lines of a history. See history_line.h. */
#include <config.h>	/* the build's */

#include "daemon/history_line.h"

#include "ipc/codec.h"

void
history_text(struct history_line *l, const char *name, const char *value)
{
	log_line_text(&l->line, name, value);
}

void
history_number(struct history_line *l, const char *name, uint64_t value)
{
	log_line_number(&l->line, name, value);
}

void
history_begin(struct history *h, struct history_line *l, const char *event)
{
	l->line.n_fields = 0;
	buffer_init(&l->keys, 4 * MULTI_MAX * KEY_BYTES_MAX);
	history_text(l, "DDBLOCK_EVENT", event);
	history_number(l, "DDBLOCK_SERIAL", ++h->serial);
}

void
history_write(struct history_line *l)
{
	log_write_always(l->line.fields, l->line.n_fields, "history %s: %s",
	    l->line.fields[1].value, l->line.fields[0].value);
	buffer_done(&l->keys);
}

void
history_namespace(const struct history *h, struct history_line *l,
    uint32_t index)
{
	if (index < h->config->n_namespaces)
		history_text(l, "DDBLOCK_NAMESPACE",
		    h->config->namespaces[index].name);
}

void
history_keys(struct history_line *l, const struct key *keys, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		codec_value(&l->keys, NULL, keys[i].bytes, keys[i].length);
	history_text(l, "DDBLOCK_KEY",
	    buffer_failed(&l->keys) == 0 ? l->keys.data + 1 : NULL);
}

void
history_cut_off(struct history *h, uint64_t client)
{
	struct history_line l;

	history_begin(h, &l, "left");
	history_number(&l, "DDBLOCK_CLIENT", client);
	history_text(&l, "DDBLOCK_REASON", core_loss_name(CORE_LOSS_CUT_OFF));
	history_write(&l);
}
