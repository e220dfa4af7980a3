/*
 * What is read and sent goes by memory that outlives this process, so that the
 * one after it knows to the byte what was read and what was sent (wire.c).
 */
#ifndef DDBLOCKD_IPC_CONNECTION_WIRE_H
#define DDBLOCKD_IPC_CONNECTION_WIRE_H

#include <sys/socket.h>

#include "ipc/connection/connection.h"

/* The last read, or the last write, of a dead process. */
struct wire_transfer {
	uint64_t client;	/* 0: there was none */
	uint64_t from;		/* bytes before that */
	size_t length;		/* how many it read or sent */
	const char *data;	/* READ: these, */
	struct sender sender;	/* and who wrote them */
};

/* What comes beside the bytes of a read: so many descriptors, and who wrote. */
#define WIRE_DESCRIPTORS_MAX 2		/* so that one too many is noticed */
#define WIRE_CONTROL \
	(CMSG_SPACE(WIRE_DESCRIPTORS_MAX * sizeof(int)) + \
	    CMSG_SPACE(sizeof(struct ucred)))

struct sender wire_sender(struct msghdr *);

/*
 * Begin to use such memory: new, or @fd of the process before this one, which
 * is taken, and what it says is copied: @ret_text has room for
 * SERVER_CHUNK_SIZE bytes. Without such memory no connection is kept. False: it
 * says nothing of a process before this one.
 */
bool wire_start(struct server *, int fd, struct wire_transfer *ret_read,
    struct wire_transfer *ret_sent, char *ret_text);
void wire_stop(struct server *);

/* A key that is nowhere else; NULL: there is none. And another one, where what
 * was sealed by it is gone. */
#define WIRE_KEY 32
const uint8_t *wire_key(const struct server *);
void wire_change_key(struct server *);

/* Receive this message, which has room for WIRE_CONTROL, or send what is
 * queued. As recvmsg(), send(). */
ssize_t wire_receive(struct connection *, struct msghdr *);
ssize_t wire_send(struct connection *);

/* What was read last is not needed any more, and had a secret. */
void wire_wipe(struct server *);

#endif
