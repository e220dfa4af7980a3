/*
 * Progress while waiting. The questions go over the connection that waits;
 * their answers overtake the grant.
 */
#include <config.h>

#include "cli/acquire/progress.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/age.h"
#include "cli/base/row_value.h"
#include "cli/base/say.h"
#include "common/clock.h"

#define PROGRESS_FIRST_MS 1000
#define PROGRESS_TERMINAL_MS 1000
#define PROGRESS_LOG_MS 10000	/* to a file, seldom */
#define PROGRESS_LINE_MAX 8192
#define PROGRESS_WIPE "\r\033[K"

void
progress_init(struct progress *p, const struct cli *cli, const char *key,
    uint64_t from_ms, uint64_t wait_ms, bool quiet)
{
	*p = (struct progress){ .key = key, .ns = cli->ns,
		.sort = cli->sort, .from_ms = from_ms, .wait_ms = wait_ms };
	buffer_init(&p->line, PROGRESS_LINE_MAX);
	buffer_init(&p->next, PROGRESS_LINE_MAX);
	if (quiet)
		return;
	p->terminal = isatty(STDERR_FILENO) == 1;
	p->enabled = p->terminal || cli->verbose;
	p->next_ms = clock_boot_ms() + PROGRESS_FIRST_MS;
}

static void
progress_wipe(struct progress *p)
{
	if (p->shown)
		(void)say_now(PROGRESS_WIPE, strlen(PROGRESS_WIPE));
	p->shown = false;
}

void
progress_done(struct progress *p)
{
	progress_wipe(p);
	buffer_done(&p->line);
	buffer_done(&p->next);
	p->enabled = false;
}

int
progress_timeout(const struct progress *p)
{
	uint64_t now_ms;

	if (!p->enabled || p->asking)
		return -1;
	now_ms = clock_boot_ms();
	if (p->next_ms <= now_ms)
		return 0;
	return p->next_ms - now_ms > INT_MAX ? INT_MAX :
	    (int)(p->next_ms - now_ms);
}

static void
progress_field(struct progress *p, const struct ddblock_row *row,
    const char *before, const char *name)
{
	size_t length;
	const char *value = ddblock_row_find(row, name, &length);

	if (value == NULL || length == 0)
		return;
	(void)buffer_append_text(&p->line, before);
	(void)cli_clean(&p->line, value, length);
}

/* Of several sharers one is named. */
static void
progress_others(struct progress *p, const struct ddblock_row *row)
{
	uint64_t holders;

	if (row_number(row, "holders", &holders) && holders > 1)
		(void)buffer_printf(&p->line, " and %llu more",
		    (unsigned long long)(holders - 1));
}

/* A job in the background would write over what the user is typing. */
static bool
progress_is_in_background(const struct progress *p)
{
	pid_t group = p->terminal ? tcgetpgrp(STDERR_FILENO) : -1;

	return group >= 0 && group != getpgrp();
}

/* For how long, of how long. */
static void
progress_time(struct progress *p)
{
	(void)buffer_append_text(&p->line, "; ");
	age_write(&p->line, clock_boot_ms() - p->from_ms);
	if (p->wait_ms == DDBLOCK_NEVER_MS)
		return;
	(void)buffer_append_text(&p->line, " of ");
	age_write(&p->line, p->wait_ms);
}

static void
progress_show(struct progress *p)
{
	if (progress_is_in_background(p)) {
		p->shown = false;	/* others have written since */
		return;
	}
	progress_wipe(p);
	if (p->line.data == NULL || buffer_failed(&p->line) != 0)
		return;
	if (p->terminal) {
		p->shown = say_now(p->line.data, p->line.length);
	} else {
		cli_say("%s", p->line.data);
	}
}

/* The lock that is waited for: of many locks, one after the other. */
static void
progress_name(struct progress *p)
{
	const char *name = p->key != NULL ? p->key : p->next.data;

	(void)cli_clean(&p->line, name, strlen(name));
	if (p->key == NULL)
		(void)buffer_printf(&p->line, " (has %llu of %llu)",
		    (unsigned long long)p->had, (unsigned long long)p->keys);
}

/* The answer to GET, which comes last. */
static void
progress_on_holder(void *arg, struct ddblock *d,
    const struct ddblock_reply *reply)
{
	struct progress *p = arg;

	(void)d;
	p->asking = false;
	if (!p->enabled)
		return;
	buffer_clear(&p->line);
	(void)buffer_append_text(&p->line, "waiting for ");
	progress_name(p);
	if (reply->code < 0) {
		(void)buffer_printf(&p->line, ": %s",
		    ddblock_error_text(reply->code));
	} else {
		const char *owner = ddblock_row_find(reply->row, "owner", NULL);

		if (owner != NULL && owner[0] != '\0')
			progress_field(p, reply->row, ": held by ", "owner");
		else
			progress_field(p, reply->row, ": ", "state");
		age_of_holder(&p->line, " for ", reply->row);
		progress_others(p, reply->row);
		progress_field(p, reply->row, ", unchanged for ", "unchanged");
	}
	if (p->ahead_known && p->ahead > 0)
		(void)buffer_printf(&p->line, ", %llu ahead",
		    (unsigned long long)p->ahead);
	if (p->place > 1)
		(void)buffer_printf(&p->line, ", %llu hosts ahead",
		    (unsigned long long)p->place - 1);
	progress_time(p);
	progress_show(p);
}

/* A row of WAITING: is it our own request? */
static void
progress_on_waiter(void *arg, const struct ddblock_row *row, bool final)
{
	struct progress *p = arg;
	const char *key = ddblock_row_find(row, "key", NULL);
	uint64_t pid;

	if (final || !p->enabled || key == NULL ||
	    !row_number(row, "pid", &pid) || pid != (uint64_t)getpid())
		return;
	p->ahead_known = row_number(row, "ahead", &p->ahead);
	if (!row_number(row, "place", &p->place))
		p->place = 0;
	if (p->key == NULL && row_number(row, "keys", &p->keys) &&
	    row_number(row, "had", &p->had))
		(void)buffer_append_text(&p->next, key);
}

static void
progress_ask(struct progress *p, struct ddblock *d,
    enum ddblock_query_kind kind, const char *key,
    ddblock_reply_function *on_reply)
{
	struct ddblock_query_options query = DDBLOCK_QUERY_OPTIONS_INIT;

	query.key = key;
	query.ns = p->ns;
	query.sort = p->sort;
	p->asking = ddblock_query_start(d, kind, &query, progress_on_waiter,
	    on_reply, p, NULL) == 0;
}

/* The answer to WAITING: which lock is waited for. */
static void
progress_on_waiting(void *arg, struct ddblock *d,
    const struct ddblock_reply *reply)
{
	struct progress *p = arg;
	const char *key = p->key;

	(void)reply;
	p->asking = false;
	if (!p->enabled)
		return;
	if (key == NULL && buffer_failed(&p->next) == 0 && p->next.length > 0)
		key = p->next.data;
	if (key != NULL)
		progress_ask(p, d, DDBLOCK_QUERY_GET, key, progress_on_holder);
}

void
progress_tick(struct progress *p, struct ddblock *d)
{
	uint64_t now_ms;

	if (!p->enabled || p->asking)
		return;
	now_ms = clock_boot_ms();
	if (now_ms < p->next_ms)
		return;
	p->next_ms = now_ms +
	    (p->terminal ? PROGRESS_TERMINAL_MS : PROGRESS_LOG_MS);
	p->ahead_known = false;
	buffer_clear(&p->next);
	progress_ask(p, d, DDBLOCK_QUERY_WAITING, p->key, progress_on_waiting);
}
