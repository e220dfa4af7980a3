/*
 * A holder's name for people: HOST/NAME:PID USER.
 */
#ifndef DDBLOCKD_IPC_CONNECTION_OWNER_H
#define DDBLOCKD_IPC_CONNECTION_OWNER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/operation.h"

#define OWNER_USER_MAX 32	/* of a user's name, as useradd(8) has it */
#define OWNER_USERS 64		/* that are remembered; a power of two */

struct connection;
struct server;

/* The names of users, as they were read. */
struct owner_users {
	struct owner_user {
		bool read;
		uid_t uid;
		char name[OWNER_USER_MAX + 1];	/* "": it has none */
	} users[OWNER_USERS];
};

/*
 * The user's name, from /etc/passwd alone: the other sources of getpwuid() may
 * wait for a network, and all clients would wait with it. "": there is none.
 */
const char *owner_user(struct owner_users *, uid_t);

/* Names may have changed. */
void owner_forget_users(struct owner_users *);

/* What the connection's holds are called, unless they say it. */
void owner_of_client(const struct connection *,
    char ret[OWNER_LENGTH_MAX + 1]);

/*
 * The owner, unless it was named, of a hold that is for this process, if it is
 * for one (0: none), or else of this client: as the namespace is configured, or
 * their name. False: they are gone.
 */
bool owner_of_hold(struct server *, uint32_t namespace_index, uint64_t client,
    uint64_t process, char ret[OWNER_LENGTH_MAX + 1]);

#endif
