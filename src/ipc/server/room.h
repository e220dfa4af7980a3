/*
 * The functions that the files of src/ipc/server/ share.
 */
#ifndef DDBLOCKD_IPC_SERVER_ROOM_H
#define DDBLOCKD_IPC_SERVER_ROOM_H

#include "ipc/connection/connection.h"

/* listener.c */
int listener_open(struct server *, const struct server_config *, char *text,
    size_t text_size);
int listener_start(struct server *);
void listener_close(struct server *);
/* There are too many connections. */
void listener_tell_full(int fd);

/* round.c: the work that was scheduled. */
void round_on_work(evutil_socket_t, short, void *server);

/* inherit.c: what server_go_on() did not need. */
void inherit_done(struct server *);

/* socket.c */
/* What it was in the process before this one. */
struct connection_before {
	uint64_t client;
	const char *name;	/* of its process */
	size_t name_length;
};
/* @before: or NULL. */
int connection_new(struct server *, int fd,
    const struct connection_before *before, struct connection **ret);
void connection_free(struct connection *);
/* What is not done when it is accepted: the first work of a fresh one. */
void connection_begin(struct connection *);
/* Wait for exactly the events that let us go on. */
void connection_watch(struct connection *);
void connection_unwatch(struct connection *);

/*
 * input.c: read once and run the lines that came; or run lines left from
 * before.
 */
void input_run(struct connection *);
/* Run this line, without its LF. */
void input_run_line(struct connection *, char *line, size_t length);

/* judge.c: what goes on is judged by rules that are new. */
void judge_all(struct server *, bool limits);

#endif
