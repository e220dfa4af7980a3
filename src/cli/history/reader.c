/*
 * The audit trail in the journal. See reader.h.
 */
#include <config.h>

#include "cli/history/reader.h"

#include <errno.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-id128.h>
#include <systemd/sd-journal.h>
#include <unistd.h>

#include "common/utf8.h"

#define READER_MATCH_MAX (EVENT_KEY_MAX + 64)
#define READER_USER "ddblockd"

struct reader {
	sd_journal *journal;
	const struct reader_wish *wish;
	uid_t user;		/* the daemon's; -1: there is none */
	size_t n_forged;
	struct event event;
};

/* ---- may it be read? -------------------------------------------------- */

/* An open journal of which no file can be read looks like an empty one. */
static enum reader_state
reader_look(void)
{
	static const char *const places[] = { "/var/log/journal",
		"/run/log/journal" };
	enum reader_state state = READER_NONE;
	char path[128], machine[SD_ID128_STRING_MAX];
	sd_id128_t id;

	if (sd_id128_get_machine(&id) < 0)
		return READER_NONE;
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		(void)snprintf(path, sizeof(path), "%s/%s/system.journal",
		    places[i], sd_id128_to_string(id, machine));
		if (access(path, R_OK) == 0)
			return READER_OK;
		if (errno != ENOENT && errno != ENOTDIR)
			state = READER_DENIED;
	}
	return state;
}

/* ---- which lines ------------------------------------------------------ */

static int
reader_match(struct reader *r, const char *name, const char *value)
{
	char match[READER_MATCH_MAX];
	const int n = snprintf(match, sizeof(match), "%s=%s", name, value);

	if (n < 0 || (size_t)n >= sizeof(match))
		return -E2BIG;
	/* As the daemon shows what is not fit for a line. */
	utf8_make_shown(match, (size_t)n);
	return sd_journal_add_match(r->journal, match, (size_t)n);
}

static bool
reader_is_of_daemon(enum trail_kind kind)
{
	return kind == TRAIL_START || kind == TRAIL_STOP;
}

/* Matches of one name are alternatives, those of others conditions. */
static int
reader_match_kinds(struct reader *r, bool of_daemons)
{
	int status = 0;

	for (int i = TRAIL_NONE + 1; i < TRAIL_KINDS && status >= 0; i++) {
		if (reader_is_of_daemon((enum trail_kind)i) == of_daemons)
			status = reader_match(r, "DDBLOCK_TRAIL",
			    trail_kind_word((enum trail_kind)i));
	}
	return status;
}

static int
reader_match_all(struct reader *r)
{
	const struct reader_wish *w = r->wish;
	int status = reader_match_kinds(r, false);

	if (status >= 0 && w->key != NULL)
		status = reader_match(r, "DDBLOCK_KEY", w->key);
	if (status >= 0 && w->ns != NULL)
		status = reader_match(r, "DDBLOCK_NAMESPACE", w->ns);
	if (status < 0 || !w->with_daemons)
		return status;
	status = sd_journal_add_disjunction(r->journal);
	return status < 0 ? status : reader_match_kinds(r, true);
}

enum reader_state
reader_new(const struct reader_wish *wish, struct reader **ret)
{
	const struct passwd *user = getpwnam(READER_USER);
	enum reader_state state = wish->directory == NULL ? reader_look() :
	    READER_OK;
	struct reader *r;
	int status;

	if (state != READER_OK)
		return state;
	r = calloc(1, sizeof(*r));
	if (r == NULL)
		return READER_FAILED;
	r->wish = wish;
	r->user = user == NULL ? (uid_t)-1 : user->pw_uid;
	status = wish->directory == NULL ?
	    sd_journal_open(&r->journal, SD_JOURNAL_LOCAL_ONLY) :
	    sd_journal_open_directory(&r->journal, wish->directory, 0);
	if (status >= 0)
		status = reader_match_all(r);
	if (status < 0) {
		reader_free(r);
		errno = -status;
		return READER_FAILED;
	}
	*ret = r;
	return READER_OK;
}

void
reader_free(struct reader *r)
{
	if (r == NULL)
		return;
	sd_journal_close(r->journal);	/* accepts NULL */
	free(r);
}

int
reader_seek(struct reader *r, uint64_t since_us)
{
	return since_us == 0 ? sd_journal_seek_head(r->journal) :
	    sd_journal_seek_realtime_usec(r->journal, since_us);
}

int
reader_seek_end(struct reader *r)
{
	return sd_journal_seek_tail(r->journal);
}

int
reader_wait(struct reader *r)
{
	const int status = sd_journal_wait(r->journal, (uint64_t)-1);

	return status < 0 ? status : 0;
}

size_t
reader_forged(const struct reader *r)
{
	return r->n_forged;
}

/* ---- a line ----------------------------------------------------------- */

/* A field, cut to its room. False: the line has none. */
static bool
reader_field(struct reader *r, const char *name, char *to, size_t size)
{
	const size_t before = strlen(name) + 1;
	const void *data;
	size_t length;

	to[0] = '\0';
	if (sd_journal_get_data(r->journal, name, &data, &length) < 0 ||
	    length < before)
		return false;
	length -= before;
	if (length >= size)
		length = size - 1;
	memcpy(to, (const char *)data + before, length);
	to[length] = '\0';
	return true;
}

static uint64_t
reader_number(struct reader *r, const char *name, uint64_t none)
{
	char text[EVENT_WORD_MAX];
	uint64_t number;
	int n = 0;

	return reader_field(r, name, text, sizeof(text)) &&
	    sscanf(text, "%" SCNu64 "%n", &number, &n) == 1 &&
	    text[n] == '\0' ? number : none;
}

/* Any program may write such a line. The daemon's own user, root and the user
 * who asks are believed, and the daemon's unit under any user. */
static bool
reader_believes(struct reader *r)
{
	const uint64_t uid = reader_number(r, "_UID", UINT64_MAX);
	const char *unit = r->event.unit;

	return uid == 0 || uid == getuid() ||
	    (r->user != (uid_t)-1 && uid == r->user) ||
	    strcmp(unit, READER_USER ".service") == 0 ||
	    strncmp(unit, READER_USER "@", strlen(READER_USER "@")) == 0;
}

static void
reader_lock(struct reader *r, struct event *e)
{
	char mode[EVENT_WORD_MAX];

	(void)reader_field(r, "DDBLOCK_NAMESPACE", e->ns, sizeof(e->ns));
	(void)reader_field(r, "DDBLOCK_KEY", e->key, sizeof(e->key));
	(void)reader_field(r, "DDBLOCK_SORT", e->sort, sizeof(e->sort));
	(void)reader_field(r, "DDBLOCK_TOKEN", e->token, sizeof(e->token));
	e->hold = reader_number(r, "DDBLOCK_HOLD", 0);
	e->shared = reader_field(r, "DDBLOCK_MODE", mode, sizeof(mode)) &&
	    strcmp(mode, "shared") == 0;
}

static void
reader_client(struct reader *r, struct event *e)
{
	e->uid = reader_number(r, "DDBLOCK_USER", UINT64_MAX);
	e->pid = reader_number(r, "DDBLOCK_PID", 0);
	e->has_client = e->uid != UINT64_MAX;
	(void)reader_field(r, "DDBLOCK_NAME", e->name, sizeof(e->name));
}

static void
reader_daemon(struct reader *r, struct event *e)
{
	char inherited[EVENT_WORD_MAX];

	(void)reader_field(r, "_BOOT_ID", e->boot, sizeof(e->boot));
	(void)reader_field(r, "_MACHINE_ID", e->machine, sizeof(e->machine));
	(void)reader_field(r, "_HOSTNAME", e->host, sizeof(e->host));
	(void)reader_field(r, "_SYSTEMD_UNIT", e->unit, sizeof(e->unit));
	e->daemon = reader_number(r, "_PID", 0);
	e->inherited = reader_field(r, "DDBLOCK_INHERITED", inherited,
	    sizeof(inherited)) && strcmp(inherited, "yes") == 0;
}

/* False: it is not meant, or not to be believed. */
static bool
reader_take(struct reader *r)
{
	const char *sort = r->wish->sort;
	struct event *e = &r->event;
	char word[EVENT_WORD_MAX];

	memset(e, 0, sizeof(*e));
	(void)reader_field(r, "DDBLOCK_TRAIL", word, sizeof(word));
	e->kind = trail_kind_find(word, strlen(word));
	if (e->kind == TRAIL_NONE ||
	    sd_journal_get_realtime_usec(r->journal, &e->wall_us) < 0)
		return false;
	reader_daemon(r, e);
	if (!reader_believes(r)) {
		r->n_forged++;
		return false;
	}
	e->boot_us = reader_number(r, "DDBLOCK_BOOT_US", 0);
	reader_lock(r, e);
	reader_client(r, e);
	(void)reader_field(r, "DDBLOCK_OWNER", e->owner, sizeof(e->owner));
	(void)reader_field(r, "DDBLOCK_BROKEN_BY", e->broken_by,
	    sizeof(e->broken_by));
	(void)reader_field(r, "DDBLOCK_REASON", e->reason, sizeof(e->reason));
	(void)reader_field(r, "DDBLOCK_CODE", e->code, sizeof(e->code));
	(void)reader_field(r, "MESSAGE", e->text, sizeof(e->text));
	return sort == NULL || reader_is_of_daemon(e->kind) ||
	    strcmp(e->sort, strcmp(sort, "-") == 0 ? "" : sort) == 0;
}

static int
reader_step(struct reader *r, int (*step)(sd_journal *),
    const struct event **ret)
{
	int status;

	do {
		status = step(r->journal);
	} while (status > 0 && !reader_take(r));
	*ret = &r->event;
	return status;
}

int
reader_next(struct reader *r, const struct event **ret)
{
	return reader_step(r, sd_journal_next, ret);
}

int
reader_previous(struct reader *r, const struct event **ret)
{
	return reader_step(r, sd_journal_previous, ret);
}
