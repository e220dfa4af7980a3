/*
 * Messages to the user, on standard error. A command that holds a lock must not
 * block because its messages are not read: the lock may be lost meanwhile. To
 * ask whether there is room is not enough, because other processes may write to
 * the same pipe; and O_NONBLOCK would affect every process that shares the open
 * file. So a pipe or a terminal is opened once more.
 */
#include <config.h>

#include "cli/base/say.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/base/cli.h"
#include "common/buffer.h"

#define SAY_SELF "/proc/self/fd/2"
#define SAY_PATIENCE_MS 1000
#define SAY_LENGTH_MAX (64 * 1024)

static struct {
	bool nonblocking;
	int own;		/* -1: not opened, or it cannot be */
	bool opened;		/* it was tried */
	size_t length;		/* of messages not yet written */
	char unsent[PIPE_BUF];	/* the most that one write takes whole */
} say = { .own = -1 };

void
say_nonblocking(void)
{
	say.nonblocking = true;
}

static int
say_fd(void)
{
	struct stat about;

	if (!say.opened && fstat(STDERR_FILENO, &about) == 0 &&
	    (S_ISFIFO(about.st_mode) || S_ISCHR(about.st_mode)))
		say.own = open(SAY_SELF, O_WRONLY | O_NONBLOCK | O_NOCTTY |
		    O_CLOEXEC);
	say.opened = true;
	return say.own >= 0 ? say.own : STDERR_FILENO;
}

/* How much of it was written; text that never can be counts as written. */
static size_t
say_write(const char *bytes, size_t length)
{
	struct pollfd one = { .fd = say_fd(), .events = POLLOUT };
	ssize_t n;

	if (poll(&one, 1, 0) != 1)
		return 0;
	n = send(one.fd, bytes, length, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (n < 0 && errno == ENOTSOCK)
		n = write(one.fd, bytes, length);
	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : length;
	return (size_t)n;
}

/* Earlier messages that are not written yet come first. */
static bool
say_unsent(void)
{
	size_t n = say.length == 0 ? 0 : say_write(say.unsent, say.length);

	say.length -= n;
	(void)memmove(say.unsent, say.unsent + n, say.length);
	return say.length == 0;
}

bool
say_now(const char *bytes, size_t length)
{
	if (!say.nonblocking) {
		(void)fwrite(bytes, 1, length, stderr);
		return true;
	}
	return say_unsent() && say_write(bytes, length) > 0;
}

void
say_flush(void)
{
	struct pollfd one = { .fd = -1, .events = POLLOUT };

	if (say_unsent())
		return;
	one.fd = say_fd();
	if (poll(&one, 1, SAY_PATIENCE_MS) == 1)
		(void)say_unsent();
}

void
say_done(void)
{
	if (say.own >= 0)
		(void)close(say.own);
	say.own = -1;
	say.opened = false;
	say.length = 0;
}

void
say_to_socket(int fd)
{
	say_done();
	say.nonblocking = true;
	say.own = fd;
	say.opened = true;
}

void
say_text(const char *bytes, size_t length)
{
	size_t n = say_unsent() ? say_write(bytes, length) : 0;

	if (length - n > sizeof(say.unsent) - say.length)
		return; /* rather no message than a part */
	(void)memcpy(say.unsent + say.length, bytes + n, length - n);
	say.length += length - n;
}

/* As one write takes it whole. */
static void
say_line(const struct buffer *text)
{
	char line[PIPE_BUF];
	size_t room = sizeof(line) - 1;
	size_t length = text->length < room ? text->length : room;

	(void)memcpy(line, text->data, length);
	line[length++] = '\n';
	say_text(line, length);
}

void
cli_vsay(const char *format, va_list arguments)
{
	struct buffer words, clean;

	buffer_init(&words, SAY_LENGTH_MAX);
	buffer_init(&clean, 4 * SAY_LENGTH_MAX + 16);
	(void)buffer_append_text(&clean, "ddblock: ");
	if (buffer_vprintf(&words, format, arguments) < 0)
		(void)buffer_append_text(&words, "too long, or out of memory");
	(void)cli_clean(&clean, words.data == NULL ? "" : words.data,
	    words.length);
	if (clean.data == NULL)
		(void)fputs("ddblock: out of memory\n", stderr);
	else if (say.nonblocking)
		say_line(&clean);
	else
		(void)fprintf(stderr, "%s\n", clean.data);
	buffer_done(&words);
	buffer_done(&clean);
}

void
cli_say(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	cli_vsay(format, arguments);
	va_end(arguments);
}
