/*
 * The log. One process-wide log, because a message must find its way from
 * anywhere in the daemon; the limit per kind is there because an outage makes
 * thousands of holds say the same thing at once.
 */
#include "common/log.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/buffer.h"
#include "common/clock.h"
#include "common/log_json.h"
#include "common/log_sink.h"
#include "common/utf8.h"
#include "ddblock.h"

#define LOG_TEXT_MAX 2048
#define LOG_ENTRY_MAX (16 * 1024)
#define LOG_LINE_MAX 4095	/* written to a pipe at once, or not at all */
#define LOG_JSON_CUT 60		/* bytes of a value, in a line too long */
#define LOG_KINDS_MAX 32
#define LOG_USERS_MAX 256	/* at a time; the others share their kinds */
#define LOG_WHILE_MS 10000	/* of a burst */

struct log_kind {
	const char *name;
	int64_t user;		/* LOG_NO_USER */
	uint64_t since_ms;
	unsigned written;
	unsigned dropped;
};

static struct {
	bool journal;
	bool json;
	int level;
	struct log_kind kinds[LOG_KINDS_MAX];
	size_t n_kinds;
	struct log_kind users[LOG_USERS_MAX];	/* kinds of each user's own */
	size_t n_users;
	unsigned unwritten;	/* there was no room for them */
} log_state = { .level = LOG_INFO };

/* $JOURNAL_STREAM names the device and inode of a stderr that systemd tied to
 * the journal; a daemon started by hand from such a service differs. */
static bool
log_stderr_is_journal(void)
{
	const char *stream = getenv("JOURNAL_STREAM");
	uintmax_t device, inode;
	struct stat st;

	if (stream == NULL ||
	    sscanf(stream, "%" SCNuMAX ":%" SCNuMAX, &device, &inode) != 2)
		return false;
	return fstat(STDERR_FILENO, &st) == 0 && st.st_dev == device &&
	    st.st_ino == inode;
}

void
log_init(enum log_target target, int level)
{
	log_state.level = level;
	log_state.json = target == LOG_TARGET_JSON;
	log_state.journal = target == LOG_TARGET_JOURNAL ||
	    (target == LOG_TARGET_AUTO && log_stderr_is_journal());
}

static const char *
log_level_name(int level)
{
	switch (level) {
	case LOG_ERR:
		return "error";
	case LOG_WARNING:
		return "warning";
	case LOG_DEBUG:
		return "debug";
	default:
		return "info";
	}
}

static bool
log_to_stderr(int level, const char *text)
{
	char line[LOG_TEXT_MAX + 64];
	uint64_t now_ms = clock_wall_ms();
	time_t seconds = (time_t)(now_ms / 1000);
	struct tm tm;
	size_t length;
	int n;

	if (gmtime_r(&seconds, &tm) == NULL)
		return true;
	length = strftime(line, sizeof(line), "%Y-%m-%dT%H:%M:%S", &tm);
	n = snprintf(line + length, sizeof(line) - length, ".%03uZ %s: %s\n",
	    (unsigned)(now_ms % 1000), log_level_name(level), text);
	if (n < 0)
		return true;
	length += (size_t)n;
	if (length >= sizeof(line)) {
		length = sizeof(line) - 1;
		line[length - 1] = '\n';
	}
	/* One write, so that lines of several processes do not mix. */
	return log_sink_stderr(line, length);
}

/* A line end would begin another field. */
static void
log_append_field(struct buffer *b, const char *name, const char *value)
{
	size_t start = b->length;

	if (buffer_printf(b, "%s=%s", name, value) < 0)
		return;
	utf8_make_shown(b->data + start, b->length - start);
	(void)buffer_append_text(b, "\n");
}

/* What an entry in the journal has, and the clock that leases run by. */
struct log_stamp {
	char priority[4];
	char boot_us[24];
	char wall_us[24];
	char pid[12];
};

static void
log_stamp(struct log_stamp *s, int level)
{
	(void)snprintf(s->priority, sizeof(s->priority), "%d", level & 7);
	(void)snprintf(s->boot_us, sizeof(s->boot_us), "%" PRIu64,
	    clock_boot_us());
	(void)snprintf(s->wall_us, sizeof(s->wall_us), "%" PRIu64,
	    clock_wall_ms() * 1000);
	(void)snprintf(s->pid, sizeof(s->pid), "%ld", (long)getpid());
}

/* At most @cut bytes of it. */
static void
log_json_cut(struct buffer *b, const char *name, const char *value, size_t cut)
{
	char text[LOG_JSON_CUT + 1];

	if (strlen(value) <= cut) {
		log_json_field(b, name, value);
		return;
	}
	(void)snprintf(text, sizeof(text), "%.*s", (int)cut, value);
	log_json_field(b, name, text);
}

static void
log_json_entry(struct buffer *b, const struct log_stamp *stamp,
    const char *kind, const struct log_field *fields, size_t n_fields,
    const char *text, size_t cut)
{
	log_json_begin(b);
	log_json_field(b, "__REALTIME_TIMESTAMP", stamp->wall_us);
	log_json_field(b, "DDBLOCK_BOOT_US", stamp->boot_us);
	log_json_field(b, "_PID", stamp->pid);
	log_json_field(b, "PRIORITY", stamp->priority);
	log_json_field(b, "SYSLOG_IDENTIFIER", "ddblockd");
	if (kind != NULL)
		log_json_field(b, "DDBLOCK_KIND", kind);
	for (size_t i = 0; i < n_fields && i < LOG_FIELDS_MAX; i++) {
		if (fields[i].value != NULL)
			log_json_cut(b, fields[i].name, fields[i].value, cut);
	}
	if (cut == LOG_JSON_CUT)
		log_json_field(b, "DDBLOCK_CUT", "yes");
	log_json_cut(b, "MESSAGE", text, cut);
	log_json_end(b);
}

static bool
log_to_json(int level, const char *kind, const struct log_field *fields,
    size_t n_fields, const char *text)
{
	struct log_stamp stamp;
	struct buffer b;
	bool done;

	log_stamp(&stamp, level);
	buffer_init(&b, LOG_LINE_MAX);
	log_json_entry(&b, &stamp, kind, fields, n_fields, text, SIZE_MAX);
	if (buffer_failed(&b) == DDBLOCK_E_LIMIT) {
		/* No long name keeps back what is said of it. */
		buffer_clear(&b);
		log_json_entry(&b, &stamp, kind, fields, n_fields, text,
		    LOG_JSON_CUT);
	}
	/* What does not fit is counted, as what there is no room for. */
	done = buffer_failed(&b) == 0 && log_sink_stderr(b.data, b.length);
	buffer_done(&b);
	return done;
}

static bool
log_to_journal(int level, const char *kind, const struct log_field *fields,
    size_t n_fields, const char *text)
{
	struct log_stamp stamp;
	struct buffer b;
	int r = DDBLOCK_E_SYSTEM;

	log_stamp(&stamp, level);
	buffer_init(&b, LOG_ENTRY_MAX);
	log_append_field(&b, "MESSAGE", text);
	log_append_field(&b, "PRIORITY", stamp.priority);
	log_append_field(&b, "SYSLOG_IDENTIFIER", "ddblockd");
	log_append_field(&b, "DDBLOCK_BOOT_US", stamp.boot_us);
	if (kind != NULL)
		log_append_field(&b, "DDBLOCK_KIND", kind);
	for (size_t i = 0; i < n_fields && i < LOG_FIELDS_MAX; i++) {
		if (fields[i].value != NULL)
			log_append_field(&b, fields[i].name, fields[i].value);
	}
	if (buffer_failed(&b) == 0)
		r = log_sink_journal(b.data, b.length);
	buffer_done(&b);
	if (r == DDBLOCK_E_SYSTEM)
		return log_to_stderr(level, text);
	return r == 0;
}

/* False: there is no room for it now. */
static bool
log_put(int level, const char *kind, const struct log_field *fields,
    size_t n_fields, const char *text)
{
	if (log_state.journal)
		return log_to_journal(level, kind, fields, n_fields, text);
	if (log_state.json)
		return log_to_json(level, kind, fields, n_fields, text);
	return log_to_stderr(level, text);
}

static void
log_emit(int level, const char *kind, const struct log_field *fields,
    size_t n_fields, char *text)
{
	char lost[64];

	/* Keys and names are the clients': they may hold control characters,
	 * and bytes that a terminal takes for some. */
	utf8_make_shown(text, strlen(text));
	if (log_state.unwritten > 0) {
		(void)snprintf(lost, sizeof(lost),
		    "%u messages could not be written", log_state.unwritten);
		if (log_put(LOG_WARNING, NULL, NULL, 0, lost))
			log_state.unwritten = 0;
	}
	if (log_state.unwritten > 0 ||
	    !log_put(level, kind, fields, n_fields, text))
		log_state.unwritten++;
}

static void
log_say_dropped(const struct log_kind *k)
{
	char text[128];
	char user[32] = "";

	if (k->user != LOG_NO_USER)
		(void)snprintf(user, sizeof(user), " of user %" PRId64,
		    k->user);
	(void)snprintf(text, sizeof(text),
	    "%u more messages about \"%s\"%s were not shown", k->dropped,
	    k->name, user);
	log_emit(LOG_WARNING, k->name, NULL, 0, text);
}

/* Say what was dropped of the kinds whose while has passed (or of @all). */
static void
log_sweep_some(struct log_kind *kinds, size_t n, uint64_t now_ms, bool all)
{
	for (struct log_kind *k = kinds; k < kinds + n; k++) {
		if (!all && now_ms - k->since_ms < LOG_WHILE_MS)
			continue;
		if (k->dropped > 0)
			log_say_dropped(k);
		k->since_ms = now_ms;
		k->written = 0;
		k->dropped = 0;
	}
}

static void
log_sweep(uint64_t now_ms, bool all)
{
	log_sweep_some(log_state.kinds, log_state.n_kinds, now_ms, all);
	log_sweep_some(log_state.users, log_state.n_users, now_ms, all);
}

/* Its entry in @kinds, perhaps a new one, or that of one which wrote nothing in
 * its while. NULL: there is no room. */
static struct log_kind *
log_find(struct log_kind *kinds, size_t *n, size_t max, const char *name,
    int64_t user, uint64_t now_ms)
{
	struct log_kind *idle = NULL;

	for (struct log_kind *k = kinds; k < kinds + *n; k++) {
		if (k->user == user && strcmp(k->name, name) == 0)
			return k;
		if (k->written == 0)
			idle = k;
	}
	if (*n < max)
		idle = &kinds[(*n)++];
	if (idle != NULL)
		*idle = (struct log_kind){ .name = name, .user = user,
			.since_ms = now_ms };
	return idle;
}

static bool
log_admit(const char *name, int64_t user, unsigned burst)
{
	uint64_t now_ms = clock_boot_ms();
	struct log_kind *k = NULL;

	log_sweep(now_ms, false);
	if (user != LOG_NO_USER)
		k = log_find(log_state.users, &log_state.n_users,
		    LOG_USERS_MAX, name, user, now_ms);
	if (k == NULL)
		k = log_find(log_state.kinds, &log_state.n_kinds,
		    LOG_KINDS_MAX, name, LOG_NO_USER, now_ms);
	if (k == NULL)
		return true;
	if (k->written >= burst) {
		k->dropped++;
		return false;
	}
	k->written++;
	return true;
}

__attribute__((format(printf, 5, 0)))
static void
log_format(int level, const char *kind, const struct log_field *fields,
    size_t n_fields, const char *format, va_list arguments)
{
	char text[LOG_TEXT_MAX];

	(void)vsnprintf(text, sizeof(text), format, arguments);
	log_emit(level, kind, fields, n_fields, text);
}

__attribute__((format(printf, 6, 0)))
static void
log_vwrite(int level, const char *kind, int64_t user,
    const struct log_field *fields, size_t n_fields, const char *format,
    va_list arguments)
{
	int error = errno;

	if (level <= log_state.level &&
	    (kind == NULL || log_admit(kind, user, LOG_BURST))) {
		errno = error;	/* for %m */
		log_format(level, kind, fields, n_fields, format, arguments);
	}
	errno = error;
}

void
log_write(int level, const char *kind, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	log_vwrite(level, kind, LOG_NO_USER, NULL, 0, format, arguments);
	va_end(arguments);
}

void
log_write_user(int level, const char *kind, int64_t user, const char *format,
    ...)
{
	va_list arguments;

	va_start(arguments, format);
	log_vwrite(level, kind, user, NULL, 0, format, arguments);
	va_end(arguments);
}

void
log_write_fields(int level, const char *kind, const struct log_field *fields,
    size_t n_fields, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	log_vwrite(level, kind, LOG_NO_USER, fields, n_fields, format,
	    arguments);
	va_end(arguments);
}

bool
log_admits(int level, const char *kind, int64_t user, unsigned burst)
{
	int error = errno;
	bool admitted = level <= log_state.level &&
	    log_admit(kind, user, burst);

	errno = error;
	return admitted;
}

void
log_write_admitted(int level, const char *kind, const struct log_field *fields,
    size_t n_fields, const char *format, ...)
{
	va_list arguments;
	int error = errno;

	va_start(arguments, format);
	log_format(level, kind, fields, n_fields, format, arguments);
	va_end(arguments);
	errno = error;
}

void
log_write_always(const struct log_field *fields, size_t n_fields,
    const char *format, ...)
{
	va_list arguments;
	int error = errno;

	va_start(arguments, format);
	log_format(LOG_INFO, NULL, fields, n_fields, format, arguments);
	va_end(arguments);
	errno = error;
}

void
log_tick(void)
{
	log_sweep(clock_boot_ms(), false);
}

void
log_flush(void)
{
	log_sweep(clock_boot_ms(), true);
}
