/*
 * Crowds: many connections, many locks held by them.
 */
#include "bench.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define BATCH 500	/* requests under way at once, of one connection */

void
crowd_open(struct crowd *c, const char *path, size_t connections)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	memcpy(address.sun_path, path, strlen(path) + 1);
	c->count = connections;
	c->fds = calloc(connections, sizeof(*c->fds));
	if (c->fds == NULL)
		die("out of memory");
	for (size_t i = 0; i < connections; i++) {
		c->fds[i] = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (c->fds[i] < 0 || connect(c->fds[i],
		    (struct sockaddr *)&address, sizeof(address)) != 0)
			die("connection %zu: %s", i, strerror(errno));
	}
}

/* Each connection takes @locks keys of 30 bytes; they differ. */
void
crowd_lock(struct crowd *c, size_t locks)
{
	struct line_client *line = calloc(1, sizeof(*line));

	if (line == NULL)
		die("out of memory");
	for (size_t i = 0; i < c->count; i++) {
		line->fd = c->fds[i];
		line->start = line->end = 0;
		for (size_t done = 0; done < locks; done += BATCH) {
			size_t end = done + BATCH < locks ? done + BATCH :
			    locks;

			for (size_t j = done; j < end; j++)
				line_send(line, "TRY bench/held/%08zu/"
				    "%010zu\n", i, j);
			for (size_t j = done; j < end; j++)
				line_read_ok(line);
		}
	}
	free(line);
}

void
crowd_ask(struct crowd *c, const char *request)
{
	struct line_client *line = calloc(1, sizeof(*line));

	if (line == NULL)
		die("out of memory");
	for (size_t i = 0; i < c->count; i++) {
		line->fd = c->fds[i];
		line->start = line->end = 0;
		line_send(line, "%s", request);
		line_read_ok(line);
	}
	free(line);
}

void
crowd_close(struct crowd *c)
{
	for (size_t i = 0; i < c->count; i++)
		close(c->fds[i]);
	free(c->fds);
}
