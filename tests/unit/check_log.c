/*
 * The log without a reader: it never waits, and says later what is missing.
 */
#include "config.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/log_sink.h"
#include "test.h"

static int reader;	/* where the log arrives */
static char directory[] = "/tmp/ddblockd-log.XXXXXX";
static char path[64];

/* The lines that have arrived by now, as one text. */
static const char *
test_read(void)
{
	static char text[1 << 20];
	size_t length = 0;
	ssize_t n;

	do {
		n = read(reader, text + length, sizeof(text) - 1 - length);
		if (n > 0)
			length += (size_t)n;
	} while (n > 0);
	text[length] = '\0';
	return text;
}

static void
test_pipe(void)
{
	int fds[2];

	ck_assert_int_eq(pipe2(fds, O_CLOEXEC), 0);
	reader = fds[0];
	ck_assert_int_eq(fcntl(reader, F_SETFL, O_NONBLOCK), 0);
	ck_assert_int_eq(dup2(fds[1], STDERR_FILENO), STDERR_FILENO);
	ck_assert_int_eq(close(fds[1]), 0);
	log_init(LOG_TARGET_STDERR, LOG_INFO);
}

static void
test_socket(void)
{
	int fds[2];

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0,
	    fds), 0);
	reader = fds[0];
	ck_assert_int_eq(fcntl(reader, F_SETFL, O_NONBLOCK), 0);
	ck_assert_int_eq(dup2(fds[1], STDERR_FILENO), STDERR_FILENO);
	ck_assert_int_eq(close(fds[1]), 0);
	log_init(LOG_TARGET_STDERR, LOG_INFO);
}

static void
test_journal(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	ck_assert_ptr_nonnull(mkdtemp(directory));
	(void)snprintf(path, sizeof(path), "%s/socket", directory);
	memcpy(address.sun_path, path, strlen(path));
	reader = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
	    0);
	ck_assert_int_ge(reader, 0);
	ck_assert_int_eq(bind(reader, (const struct sockaddr *)&address,
	    sizeof(address)), 0);
	log_sink_set_journal(path);
	log_init(LOG_TARGET_JOURNAL, LOG_INFO);
}

static void
test_write_many(int n)
{
	for (int i = 0; i < n; i++)
		log_write(LOG_INFO, NULL, "message %d %0100d", i, 0);
}

/* More than there can be room for, and then there is room again. */
static void
test_overflow(void)
{
	const char *text;
	unsigned unwritten = 0;
	const char *said;

	test_write_many(10000);
	text = test_read();
	ck_assert_ptr_nonnull(strstr(text, "message 0 "));
	ck_assert_ptr_null(strstr(text, "message 9999 "));
	log_write(LOG_INFO, NULL, "again");
	text = test_read();
	said = strstr(text, " messages could not be written\n");
	ck_assert_ptr_nonnull(said);
	while (said > text && said[-1] >= '0' && said[-1] <= '9')
		said--;
	ck_assert_int_eq(sscanf(said, "%u", &unwritten), 1);
	ck_assert_uint_gt(unwritten, 1000);
	ck_assert_ptr_nonnull(strstr(said, "again\n"));
	log_write(LOG_INFO, NULL, "once");
	ck_assert_ptr_null(strstr(test_read(), "could not be written"));
}

TEST(test_pipe_overflow)
{
	test_pipe();
	test_overflow();
}

TEST(test_socket_overflow)
{
	test_socket();
	test_overflow();
}

TEST(test_journal_overflow)
{
	test_journal();
	test_overflow();
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(rmdir(directory), 0);
}

/* Its reader is gone for ever: the log cannot mend that. */
TEST(test_reader_is_gone)
{
	test_socket();
	ck_assert_int_eq(close(reader), 0);
	test_write_many(3);
}

TEST(test_journal_fields)
{
	const struct log_field fields[] = {
		{ "DDBLOCK_KEY", "a\nPRIORITY=0\nb\xc2\x9b\xc3" },
		{ "DDBLOCK_CODE", NULL },
	};

	const char *text;
	uint64_t boot_us = 0;
	int begin = 0, end = 0;

	test_journal();
	log_write_fields(LOG_WARNING, "lost", fields, 2,
	    "a lock\nis \x9blost \xc2\x85\xc3\xa9");
	text = test_read();
	(void)sscanf(text, "MESSAGE=a lock?is ?lost ??\xc3\xa9\nPRIORITY=4\n"
	    "SYSLOG_IDENTIFIER=ddblockd\n%nDDBLOCK_BOOT_US=%" SCNu64 "\n%n",
	    &begin, &boot_us, &end);
	ck_assert_int_gt(begin, 0);
	ck_assert_int_gt(end, begin);
	ck_assert_uint_le(boot_us, clock_boot_us());
	ck_assert_str_eq(text + end - 1,
	    "\nDDBLOCK_KIND=lost\nDDBLOCK_KEY=a?PRIORITY=0?b???\n");
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(rmdir(directory), 0);
}

/* The stamps of a JSON line, in order; what follows them. */
static const char *
test_json_stamps(const char *line)
{
	uint64_t wall_us, boot_us;
	long pid;
	int end = 0;

	ck_assert_int_eq(sscanf(line, "{\"__REALTIME_TIMESTAMP\":\"%" SCNu64
	    "\",\"DDBLOCK_BOOT_US\":\"%" SCNu64 "\",\"_PID\":\"%ld\",%n",
	    &wall_us, &boot_us, &pid, &end), 3);
	ck_assert_int_gt(end, 0);
	ck_assert_uint_le(boot_us, clock_boot_us());
	ck_assert_uint_le(wall_us, (clock_wall_ms() + 1) * 1000);
	ck_assert_int_eq(pid, getpid());
	return line + end;
}

TEST(test_json)
{
	const struct log_field fields[] = {
		{ "DDBLOCK_KEY", "a\"\\\n\xc3\xa9\xc3(\xed\xa0\x80z" },
		{ "DDBLOCK_CODE", NULL },
	};

	test_pipe();
	log_init(LOG_TARGET_JSON, LOG_WARNING);
	log_write_fields(LOG_WARNING, "lost", fields, 2, "a \"lock\"\n");
	ck_assert_str_eq(test_json_stamps(test_read()),
	    "\"PRIORITY\":\"4\",\"SYSLOG_IDENTIFIER\":\"ddblockd\","
	    "\"DDBLOCK_KIND\":\"lost\","
	    "\"DDBLOCK_KEY\":\"a\\\"\\\\\\u000a\xc3\xa9\\ufffd("
	    "\\ufffd\\ufffd\\ufffdz\","
	    "\"MESSAGE\":\"a \\\"lock\\\"?\"}\n");
}

/* A name that is too long for a line does not keep the line back. */
TEST(test_json_long)
{
	static char key[2049];
	const struct log_field fields[] = {
		{ "DDBLOCK_KEY", key }, { "DDBLOCK_USER", "1000" },
	};
	const char *text;

	memset(key, '\1', sizeof(key) - 1);
	test_pipe();
	log_init(LOG_TARGET_JSON, LOG_WARNING);
	log_write_fields(LOG_WARNING, "lost", fields, 2, "lock %s", key);
	text = test_json_stamps(test_read());
	ck_assert_ptr_nonnull(strstr(text, "\"DDBLOCK_USER\":\"1000\","
	    "\"DDBLOCK_CUT\":\"yes\",\"MESSAGE\":\"lock ?"));
	ck_assert_ptr_null(strstr(text, "not be written"));
}

/* Lines that a switch of their own asks for come at any level, all of them. */
TEST(test_always)
{
	const struct log_field field = { "DDBLOCK_EVENT", "asked" };
	const char *text;
	size_t n = 0;

	test_pipe();
	log_init(LOG_TARGET_JSON, LOG_ERR);
	log_write(LOG_INFO, NULL, "not this");
	for (int i = 0; i < 100; i++)
		log_write_always(&field, 1, "history %d", i);
	for (text = test_read(); *text != '\0'; text = strchr(text, '\n') + 1)
		n += strstr(test_json_stamps(text), "\"asked\"") != NULL;
	ck_assert_uint_eq(n, 100);
}

static unsigned
test_count(const char *text, const char *what)
{
	unsigned n = 0;

	while ((text = strstr(text, what)) != NULL) {
		text++;
		n++;
	}
	return n;
}

/* No user silences another, and each silence is told once. */
TEST(test_users)
{
	const char *text;

	test_pipe();
	for (int i = 0; i < 100; i++)
		log_write_user(LOG_INFO, "client", 1000, "of 1000");
	log_write_user(LOG_INFO, "client", 1001, "of 1001");
	log_write_user(LOG_INFO, "client", LOG_NO_USER, "of none");
	log_write_user(LOG_INFO, "other", 1000, "other kind");
	log_flush();
	log_flush();
	text = test_read();
	ck_assert_uint_eq(test_count(text, "of 1000"), 30);
	ck_assert_uint_eq(test_count(text, "of 1001"), 1);
	ck_assert_uint_eq(test_count(text, "of none"), 1);
	ck_assert_uint_eq(test_count(text, "other kind"), 1);
	ck_assert_uint_eq(test_count(text, "70 more messages about \"client\" "
	    "of user 1000 were not shown"), 1);
	ck_assert_uint_eq(test_count(text, "were not shown"), 1);
}

/* A line that is asked about first has its own limit, and is told as others
 * are; nothing is counted at a level that is not logged. */
TEST(test_admitted)
{
	const char *text;
	unsigned n = 0;

	test_pipe();
	for (int i = 0; i < 100; i++) {
		if (!log_admits(LOG_INFO, "grant", 1000, 50))
			continue;
		n++;
		log_write_admitted(LOG_INFO, "grant", NULL, 0, "a grant");
	}
	ck_assert_uint_eq(n, 50);
	ck_assert(log_admits(LOG_INFO, "grant", 1001, 50));
	ck_assert(!log_admits(LOG_DEBUG, "release", 1000, 50));
	log_tick();
	ck_assert_uint_eq(test_count(test_read(), "were not shown"), 0);
	log_flush();
	text = test_read();
	ck_assert_uint_eq(test_count(text, "were not shown"), 1);
	ck_assert_uint_eq(test_count(text, "50 more messages about \"grant\" "
	    "of user 1000 were not shown"), 1);
}

/* More than there is room for share a limit: there is no end of user ids. When
 * others are idle there is room again. */
TEST(test_many_users)
{
	const char *text;

	test_pipe();
	for (int i = 0; i < 600; i++)
		log_write_user(LOG_INFO, "client", 1000 + i, "a line");
	log_flush();
	text = test_read();
	ck_assert_uint_eq(test_count(text, "a line"), 256 + 30);
	ck_assert_uint_eq(test_count(text, "314 more messages about \"client\" "
	    "were not shown"), 1);
	for (int i = 0; i < 40; i++)
		log_write_user(LOG_INFO, "client", 2000 + i, "a line");
	ck_assert_uint_eq(test_count(test_read(), "a line"), 40);
}

/* The journal is not there: better on stderr than nowhere. */
TEST(test_no_journal)
{
	test_pipe();
	log_sink_set_journal("/nonexistent/socket");
	log_init(LOG_TARGET_JOURNAL, LOG_INFO);
	log_write(LOG_ERR, NULL, "help");
	ck_assert_ptr_nonnull(strstr(test_read(), " error: help\n"));
}
