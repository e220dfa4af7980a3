/*
 * A holder's name for people: HOST/NAME:PID USER.
 */
#include <config.h>

#include "ipc/connection/owner.h"

#include <pwd.h>
#include <stdio.h>
#include <string.h>

#include "common/text.h"
#include "ipc/connection/connection.h"
#include "ipc/connection/process.h"

#define OWNER_PASSWD "/etc/passwd"
#define OWNER_LINE_MAX 4096
#define OWNER_HOST_MAX 100	/* so that all of the rest fits */

_Static_assert(OWNER_HOST_MAX + CONNECTION_NAME_MAX + OWNER_USER_MAX +
    sizeof("/:2147483647 ") <= OWNER_LENGTH_MAX + 1, "the owner's name fits");

/* A line that is too long ends it: nothing behind it is found. */
static void
owner_read_user(struct owner_user *u)
{
	char room[OWNER_LINE_MAX];
	struct passwd entry;
	struct passwd *found = NULL;
	FILE *file = fopen(OWNER_PASSWD, "re");

	if (file == NULL)
		return;
	while (fgetpwent_r(file, &entry, room, sizeof(room), &found) == 0) {
		if (entry.pw_uid != u->uid)
			continue;
		text_copy(u->name, sizeof(u->name), entry.pw_name);
		break;
	}
	(void)fclose(file);
}

const char *
owner_user(struct owner_users *users, uid_t uid)
{
	struct owner_user *u = &users->users[uid % OWNER_USERS];

	if (!u->read || u->uid != uid) {
		*u = (struct owner_user){ .read = true, .uid = uid };
		owner_read_user(u);
	}
	return u->name;
}

void
owner_forget_users(struct owner_users *users)
{
	*users = (struct owner_users){ 0 };
}

static void
owner_write(struct server *s, const char *name, pid_t pid, uid_t uid,
    char ret[OWNER_LENGTH_MAX + 1])
{
	const char *user = owner_user(&s->owner_users, uid);
	int n = snprintf(ret, OWNER_LENGTH_MAX + 1, "%.*s/%s:%ld ",
	    OWNER_HOST_MAX, s->host, name, (long)pid);
	size_t left = OWNER_LENGTH_MAX + 1 - (size_t)n;

	if (user[0] != '\0')
		(void)snprintf(ret + n, left, "%s", user);
	else
		(void)snprintf(ret + n, left, "uid %lu", (unsigned long)uid);
}

void
owner_of_client(const struct connection *c, char ret[OWNER_LENGTH_MAX + 1])
{
	owner_write(c->server, c->peer.name, c->peer.pid, c->peer.uid, ret);
}

bool
owner_of_hold(struct server *s, uint32_t namespace_index, uint64_t client,
    uint64_t process, char ret[OWNER_LENGTH_MAX + 1])
{
	const char *own = s->calls.defaults(s->arg, namespace_index).owner;
	const struct process *p = process == 0 ? NULL :
	    process_find(s, process);
	const struct connection *c = server_find(s, client);

	if (own != NULL)
		text_copy(ret, OWNER_LENGTH_MAX + 1, own);
	else if (p != NULL)
		owner_write(s, p->command, p->pid, p->user->uid, ret);
	else if (c != NULL)
		owner_of_client(c, ret);
	return own != NULL || p != NULL || c != NULL;
}
