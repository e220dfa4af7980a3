/*
 * A line from the daemon: counted, and shown as it came, or as JSON.
 */
#include <config.h>

#include <stdio.h>
#include <string.h>

#include "cli/base/cli.h"
#include "cli/base/rows.h"
#include "cli/shell/shell.h"
#include "common/error.h"
#include "common/json_quote.h"
#include "ipc/codec.h"

static void
shell_member(struct buffer *b, const char *name,
    const struct codec_text *value)
{
	if (value->length == 0)
		return;
	(void)buffer_printf(b, ",\"%s\":", name);
	json_quote(b, value->bytes, value->length);
}

/* {"kind":"error","tag":"a","code":"LOCK_BUSY","fields":{...},"text":"..."} */
static void
shell_json(struct buffer *b, const struct codec_line *line)
{
	static const char *const kinds[] = {
		[CODEC_OK] = "ok", [CODEC_ERR] = "error", [CODEC_ROW] = "row",
		[CODEC_EVENT] = "event",
	};

	(void)buffer_printf(b, "{\"kind\":\"%s\"", kinds[line->kind]);
	shell_member(b, "tag", &line->tag);
	if (line->kind == CODEC_ERR)
		shell_member(b, "code", &line->word);
	if (line->kind == CODEC_EVENT)
		shell_member(b, "event", &line->word);
	(void)buffer_append_text(b, ",\"fields\":{");
	for (size_t i = 0; i < line->n_arguments; i++) {
		const struct codec_argument *a = &line->arguments[i];

		if (i > 0)
			(void)buffer_append_text(b, ",");
		rows_member(b, a->name.bytes == NULL ? "" : a->name.bytes,
		    a->value.bytes, a->value.length);
	}
	(void)buffer_append_text(b, "}");
	shell_member(b, "text", &line->text);
	(void)buffer_append_text(b, "}");
}

static void
shell_show(struct shell *s)
{
	if (buffer_failed(&s->text) < 0) {
		cli_say("a line of the daemon is not shown: %s",
		    error_text(buffer_failed(&s->text)));
		return;
	}
	if (s->editor != NULL && !s->hidden) {
		editor_hide(s->editor);
		s->hidden = true;
	}
	(void)fwrite(s->text.data == NULL ? "" : s->text.data, 1,
	    s->text.length, stdout);
	(void)putchar('\n');
}

static void
shell_fail(struct shell *s, int code)
{
	/* The user at the terminal has seen it. */
	if (s->editor == NULL && s->status == 0)
		s->status = error_exit_status(code);
}

static void
shell_count(struct shell *s, const struct codec_line *line)
{
	int code;

	if (line->kind == CODEC_OK || line->kind == CODEC_ERR)
		s->n_answers++;
	if (line->kind != CODEC_ERR)
		return;
	code = error_from_word(line->word.bytes, line->word.length);
	/* A code that is unknown here, of a newer daemon, is a failure too. */
	shell_fail(s, code == 0 ? DDBLOCK_E_INTERNAL : code);
}

void
shell_line(struct shell *s, char *line, size_t length)
{
	struct codec_line parts;
	const char *reason;
	int r;

	buffer_clear(&s->text);
	if (s->clean)
		(void)cli_clean(&s->text, line, length);
	else
		(void)buffer_append(&s->text, line, length);
	r = codec_parse(line, length, false, &parts, &reason);
	if (r == 0 && strcmp(parts.tag.length == 0 ? "" : parts.tag.bytes,
	    SHELL_TAG) == 0) {
		if (parts.kind == CODEC_ROW)
			words_learn(&s->words, &parts);
		return;
	}
	if (r == 0)
		shell_count(s, &parts);
	else
		shell_fail(s, DDBLOCK_E_PROTOCOL);
	if (r == 0 && s->json) {
		buffer_clear(&s->text);
		shell_json(&s->text, &parts);
	}
	shell_show(s);
}
