/*
 * A blocking client that speaks lines: as little as possible between the
 * clock and the socket.
 */
#include "bench.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

void
line_open(struct line_client *c, const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	if (strlen(path) >= sizeof(address.sun_path))
		die("the path of the socket is too long: %s", path);
	memcpy(address.sun_path, path, strlen(path) + 1);
	c->start = c->end = 0;
	c->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (c->fd < 0)
		die("socket: %s", strerror(errno));
	if (connect(c->fd, (struct sockaddr *)&address, sizeof(address)) != 0)
		die("%s: %s", path, strerror(errno));
}

void
line_close(struct line_client *c)
{
	close(c->fd);
	c->fd = -1;
}

void
line_send_bytes(struct line_client *c, const char *bytes, size_t length)
{
	while (length > 0) {
		ssize_t n = write(c->fd, bytes, length);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			die("write: %s", strerror(errno));
		bytes += n;
		length -= (size_t)n;
	}
}

void
line_send(struct line_client *c, const char *format, ...)
{
	char line[BENCH_LINE_MAX];
	va_list arguments;
	int n;

	va_start(arguments, format);
	n = vsnprintf(line, sizeof(line), format, arguments);
	va_end(arguments);
	if (n < 0 || (size_t)n >= sizeof(line))
		die("a line is too long");
	line_send_bytes(c, line, (size_t)n);
}

/* Returns false at the end of the connection. */
static bool
line_fill(struct line_client *c)
{
	ssize_t n;

	if (c->start > 0) {
		memmove(c->buffer, c->buffer + c->start, c->end - c->start);
		c->end -= c->start;
		c->start = 0;
	}
	do {
		n = read(c->fd, c->buffer + c->end,
		    sizeof(c->buffer) - c->end);
	} while (n < 0 && errno == EINTR);
	if (n <= 0)
		return false;
	c->end += (size_t)n;
	return true;
}

const char *
line_read_or_end(struct line_client *c)
{
	for (;;) {
		char *line = c->buffer + c->start;
		char *end = memchr(line, '\n', c->end - c->start);

		if (end != NULL) {
			*end = '\0';
			c->start = (size_t)(end + 1 - c->buffer);
			return line;
		}
		if (!line_fill(c))
			return NULL;
	}
}

const char *
line_read(struct line_client *c)
{
	const char *line = line_read_or_end(c);

	if (line == NULL)
		die("the other side closed the connection");
	return line;
}

uint64_t
line_read_ok(struct line_client *c)
{
	const char *line = line_read(c);
	const char *word;
	const char *id;

	while (line[0] == '!')
		line = line_read(c);
	word = line;
	if (line[0] == '#' && strchr(line, ' ') != NULL)
		word = strchr(line, ' ') + 1;
	if (strncmp(word, "OK", 2) != 0)
		die("the answer is: %s", line);
	id = strstr(line, " id=");
	return id != NULL ? strtoull(id + 4, NULL, 10) : 0;
}

uint64_t
line_read_grant(struct line_client *c)
{
	for (;;) {
		uint64_t id = line_read_ok(c);

		if (id != 0)
			return id;
	}
}

void
line_cycle(struct line_client *c, const char *key)
{
	line_send(c, "TRY %s\n", key);
	line_send(c, "RELEASE id=%llu\n",
	    (unsigned long long)line_read_ok(c));
	line_read_ok(c);
}
