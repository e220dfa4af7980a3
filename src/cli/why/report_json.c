/*
 * The answer for programs: one object, with the daemon's rows as they came.
 */
#include <config.h>

#include <inttypes.h>
#include <string.h>

#include "cli/why/report.h"
#include "common/json_quote.h"
#include "ddblock.h"

static void
report_json_text(struct buffer *b, const char *before, const char *text)
{
	(void)buffer_append_text(b, before);
	json_quote(b, text, strlen(text));
}

/* What /proc says of a client's process, if it is that. */
static void
report_json_process(struct buffer *b, const struct why_process *p, size_t *n)
{
	if (!p->seen)
		return;
	(void)buffer_printf(b, "%s\n{\"pid\":%ld,\"stopped\":%s",
	    (*n)++ == 0 ? "" : ",", (long)p->pid,
	    p->stopped ? "true" : "false");
	if (p->stopped_child > 0)
		(void)buffer_printf(b, ",\"stopped_child\":%ld",
		    (long)p->stopped_child);
	report_json_text(b, ",\"command\":", p->command);
	(void)buffer_append_text(b, "}");
}

static void
report_json_rows(struct buffer *b, const char *name, const struct buffer *rows)
{
	(void)buffer_printf(b, ",\n\"%s\":[%s]", name,
	    rows->data == NULL ? "" : rows->data);
}

static void
report_json_row(struct buffer *b, const char *name, const struct buffer *row)
{
	(void)buffer_printf(b, ",\n\"%s\":%s", name,
	    row->data == NULL ? "null" : row->data);
}

static void
report_json_advices(struct buffer *b, const struct why_advices *all)
{
	(void)buffer_append_text(b, ",\n\"advice\":[");
	for (size_t i = 0; i < all->n; i++) {
		const struct why_advice *a = &all->all[i];

		report_json_text(b, i == 0 ? "\n{\"text\":" : ",\n{\"text\":",
		    a->text.data == NULL ? "" : a->text.data);
		if (a->command.length > 0)
			report_json_text(b, ",\"command\":", a->command.data);
		(void)buffer_append_text(b, "}");
	}
	(void)buffer_append_text(b, "]");
}

void
why_report_json(struct buffer *b, const struct why_facts *f,
    enum why_state state, const struct why_advices *advices,
    const char *lately)
{
	size_t n = 0;

	report_json_text(b, "{\"key\":", f->key);
	report_json_text(b, ",\"state\":", why_state_word(state));
	if (f->code != 0) {
		report_json_text(b, ",\"code\":", ddblock_error_name(f->code));
		report_json_text(b, ",\"text\":", f->text);
	}
	report_json_row(b, "lock", &f->json_lock);
	report_json_rows(b, "held", &f->json_holds);
	report_json_rows(b, "waiting", &f->json_waiters);
	report_json_row(b, "namespace", &f->json_namespace);
	report_json_row(b, "daemon", &f->json_daemon);
	(void)buffer_append_text(b, ",\n\"processes\":[");
	for (size_t i = 0; i < f->n_holds; i++) {
		report_json_process(b, &f->holds[i].client.process, &n);
		report_json_process(b, &f->holds[i].of, &n);
	}
	(void)buffer_append_text(b, "]");
	report_json_advices(b, advices);
	(void)buffer_printf(b, ",\n\"lately\":%s}\n",
	    lately[0] == '\0' ? "null" : lately);
}
