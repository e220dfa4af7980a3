/*
 * What is shown of the audit trail. Times are those of the user's time zone, as
 * journalctl(1) has them; in JSON they are milliseconds since 1970.
 */
#include <config.h>

#include "cli/history/show.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cli/base/cli.h"
#include "cli/base/rows.h"
#include "cli/base/user.h"
#include "common/finding.h"
#include "common/json_quote.h"
#include "common/time_text.h"

#define SHOW_LINE_MAX 65536
#define SHOW_INDENT 4
#define SHOW_DATE_MAX 64

static void
show_clean(struct buffer *b, const char *text)
{
	(void)cli_clean(b, text, strlen(text));
}

/* @short_us: the moment whose date need not be said; or 0. */
static void
show_time(struct buffer *b, uint64_t wall_us, uint64_t short_us)
{
	const time_t when = (time_t)(wall_us / 1000000);
	const time_t other = (time_t)(short_us / 1000000);
	char text[SHOW_DATE_MAX];
	struct tm tm, today;
	bool same;

	if (localtime_r(&when, &tm) == NULL ||
	    localtime_r(&other, &today) == NULL)
		return;
	same = tm.tm_year == today.tm_year && tm.tm_yday == today.tm_yday;
	if (strftime(text, sizeof(text), same ? "%H:%M:%S" :
	    "%Y-%m-%d %H:%M:%S", &tm) > 0)
		(void)buffer_append_text(b, text);
}

/* ---- lines ------------------------------------------------------------ */

void
show_event(struct buffer *b, const struct event *e, uint64_t now_us, bool wrap)
{
	struct buffer line;

	buffer_init(&line, SHOW_LINE_MAX);
	show_time(&line, e->wall_us, now_us);
	(void)buffer_append_text(&line, " ");
	show_clean(&line, e->text);
	if (line.data != NULL && buffer_failed(&line) == 0) {
		if (wrap)
			finding_wrap(b, line.data, 0, SHOW_INDENT);
		else
			(void)buffer_printf(b, "%s\n", line.data);
	}
	buffer_done(&line);
}

static void
show_member(struct buffer *b, const char *name, const char *value)
{
	if (value[0] == '\0')
		return;
	(void)buffer_printf(b, ",\"%s\":", name);
	json_quote(b, value, strlen(value));
}

/* Tokens above 2^53 are texts, because JSON has no room for them. */
static void
show_token(struct buffer *b, const char *token)
{
	if (token[0] == '\0')
		return;
	(void)buffer_append_text(b, ",");
	rows_member(b, "token", token, strlen(token));
}

static void
show_client_json(struct buffer *b, bool has_client, uint64_t uid,
    uint64_t pid, const char *name)
{
	if (has_client) {
		(void)buffer_printf(b, ",\"uid\":%" PRIu64 ",\"pid\":%" PRIu64,
		    uid, pid);
		show_member(b, "user", user_name(uid));
	}
	show_member(b, "name", name);
}

void
show_event_json(struct buffer *b, const struct event *e)
{
	(void)buffer_printf(b, "{\"time_ms\":%" PRIu64, e->wall_us / 1000);
	show_member(b, "trail", trail_kind_word(e->kind));
	show_member(b, "host", e->host);
	show_member(b, "ns", e->ns);
	show_member(b, "key", e->key);
	show_member(b, "sort", e->sort);
	show_token(b, e->token);
	if (e->hold > 0)
		(void)buffer_printf(b, ",\"hold\":%" PRIu64, e->hold);
	show_client_json(b, e->has_client, e->uid, e->pid, e->name);
	show_member(b, "owner", e->owner);
	show_member(b, "broken_by", e->broken_by);
	show_member(b, "code", e->code);
	show_member(b, "reason", e->reason);
	show_member(b, "text", e->text);
	(void)buffer_append_text(b, "}");
}

/* ---- intervals -------------------------------------------------------- */

static void
show_held(struct buffer *b, uint64_t held_us)
{
	char text[TIME_TEXT_MAX];

	(void)buffer_append_text(b, time_text(held_us / 1000, 60000, text));
}

/* "2026-11-28 02:00:03 to 02:12:08 (12m05s)" */
static void
show_times(struct buffer *b, const struct interval *i, uint64_t now_us)
{
	if (i->began)
		show_time(b, i->from_us, 0);
	else
		(void)buffer_append_text(b, "(beginning not in the journal)");
	if (i->until_us == 0) {
		(void)buffer_append_text(b, " on");
		if (i->began && now_us > i->from_us) {
			(void)buffer_append_text(b, " (for ");
			show_held(b, now_us - i->from_us);
			(void)buffer_append_text(b, ")");
		}
		return;
	}
	(void)buffer_append_text(b, i->is_bound ? " until some time before " :
	    " to ");
	show_time(b, i->until_us, i->began ? i->from_us : 0);
	if (i->began && !i->is_bound) {
		(void)buffer_append_text(b, " (");
		show_held(b, i->held_us);
		(void)buffer_append_text(b, i->clock_set ?
		    "; the clock was set)" : ")");
	}
}

static void
show_who(struct buffer *b, const struct interval *i)
{
	if (i->has_client) {
		show_clean(b, i->name[0] == '\0' ? "a client" : i->name);
		(void)buffer_printf(b, " (pid %" PRIu64 ", ", i->pid);
		show_clean(b, user_name(i->uid));
		(void)buffer_append_text(b, ")");
	} else if (i->owner[0] != '\0') {
		show_clean(b, i->owner);
	} else {
		(void)buffer_append_text(b, "a client that is not named");
	}
	if (i->host[0] != '\0') {
		(void)buffer_append_text(b, " on ");
		show_clean(b, i->host);
	}
}

static void
show_end(struct buffer *b, const struct interval *i)
{
	(void)buffer_append_text(b, interval_end_text(i->end));
	if (i->broken_by[0] != '\0') {
		(void)buffer_append_text(b, i->until_us == 0 ?
		    "; broken by " : ": broken by ");
		show_clean(b, i->broken_by);
	} else if (i->reason[0] != '\0' && i->end != INTERVAL_KEPT) {
		(void)buffer_append_text(b, ": ");
		show_clean(b, i->reason);
	}
	if (i->resumes > 0)
		(void)buffer_printf(b, "; resumed %u time%s", i->resumes,
		    i->resumes == 1 ? "" : "s");
	if (i->dangers > 0)
		(void)buffer_printf(b, "; in danger %u time%s", i->dangers,
		    i->dangers == 1 ? "" : "s");
}

void
show_interval(struct buffer *b, const struct interval *i, uint64_t now_us)
{
	struct buffer line;

	buffer_init(&line, SHOW_LINE_MAX);
	show_times(&line, i, now_us);
	(void)buffer_append_text(&line, "  ");
	show_clean(&line, i->key);
	if (i->sort[0] != '\0') {
		(void)buffer_append_text(&line, " ");
		show_clean(&line, i->sort);
	}
	if (line.data != NULL && buffer_failed(&line) == 0)
		finding_wrap(b, line.data, 0, SHOW_INDENT);
	buffer_clear(&line);
	show_who(&line, i);
	(void)buffer_append_text(&line, i->shared ? ", shared, " : ", ");
	if (i->token[0] != '\0' && strcmp(i->token, "0") != 0) {
		(void)buffer_append_text(&line, "token ");
		show_clean(&line, i->token);
		(void)buffer_append_text(&line, ", ");
	}
	(void)buffer_append_text(&line, "namespace ");
	show_clean(&line, i->ns);
	(void)buffer_append_text(&line, "; ");
	show_end(&line, i);
	if (line.data != NULL && buffer_failed(&line) == 0) {
		(void)buffer_printf(b, "%*s", SHOW_INDENT, "");
		finding_wrap(b, line.data, SHOW_INDENT, SHOW_INDENT);
	}
	buffer_done(&line);
}

void
show_interval_json(struct buffer *b, const struct interval *i)
{
	(void)buffer_append_text(b, "{\"key\":");
	json_quote(b, i->key, strlen(i->key));
	show_member(b, "sort", i->sort);
	show_member(b, "ns", i->ns);
	show_token(b, i->token);
	if (i->began)
		(void)buffer_printf(b, ",\"from_ms\":%" PRIu64,
		    i->from_us / 1000);
	if (i->until_us > 0)
		(void)buffer_printf(b, ",\"%s\":%" PRIu64, i->is_bound ?
		    "until_by_ms" : "until_ms", i->until_us / 1000);
	if (i->began && i->until_us > 0 && !i->is_bound)
		(void)buffer_printf(b, ",\"held_ms\":%" PRIu64,
		    i->held_us / 1000);
	if (i->clock_set)
		(void)buffer_append_text(b, ",\"clock_set\":true");
	show_member(b, "mode", i->shared ? "shared" : "exclusive");
	show_member(b, "host", i->host);
	show_client_json(b, i->has_client, i->uid, i->pid, i->name);
	show_member(b, "owner", i->owner);
	show_member(b, "end", interval_end_word(i->end));
	show_member(b, "reason", i->reason);
	show_member(b, "broken_by", i->broken_by);
	if (i->resumes > 0)
		(void)buffer_printf(b, ",\"resumes\":%u", i->resumes);
	if (i->dangers > 0)
		(void)buffer_printf(b, ",\"dangers\":%u", i->dangers);
	(void)buffer_append_text(b, "}");
}
