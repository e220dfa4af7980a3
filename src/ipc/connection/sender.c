/*
 * Who writes on a connection. A child inherits the connection of its parent, so
 * that the lock lasts as long as the child works; and it may have given up the
 * rights that the parent has. So a connection speaks for the user that opened
 * it only by processes of that user, and for an administrator only by the
 * process that opened it. The kernel names the process of each write
 * (SO_PASSCRED), and gives no two processes' writes in one read.
 *
 * It names the real user, and of the process that connected (SO_PEERCRED) the
 * effective one. They differ in a program that is set-user-ID: then what that
 * process wrote first says by which it is known.
 */
#include <syslog.h>

#include "ipc/connection/connection.h"
#include "ipc/connection/keep.h"

#define SENDER_NO_USER 65534	/* for the kernel, who is not known */

/*
 * It was written, or begun, before names were asked for, just after the client
 * had connected. A child has a number here if its parent has one, for pid
 * namespaces nest. Of clients without one (this daemon has a namespace of its
 * own, and they are outside) what SENDER_NO_USER writes cannot be told from it.
 */
static bool
sender_is_nameless(const struct connection *c, const struct sender *sender)
{
	return sender->pid == 0 &&
	    (c->peer.pid != 0 || sender->uid == SENDER_NO_USER);
}

/* Is this user the client? */
static bool
sender_is_user(struct connection *c, const struct sender *sender)
{
	struct peer *p = &c->peer;
	const bool same = sender->pid == p->pid;

	if (p->heard)
		return sender->uid == p->uid ||
		    (same && sender->uid == p->real_uid);
	if (sender->uid != p->uid && !same)
		return false;
	p->heard = true;
	p->real_uid = sender->uid;
	if (p->real_uid != p->uid)
		keep_connection(c);
	return true;
}

/* Another process of the user speaks: not as an administrator. What there is to
 * run has been read until it is empty. */
static void
sender_note(struct connection *c, const struct sender *sender)
{
	const bool heir = sender->pid != c->peer.pid ||
	    (c->peer.by_heir && c->in.length > 0);

	if (heir == c->peer.by_heir)
		return;
	c->peer.by_heir = heir;
	keep_connection(c);
}

bool
sender_is_client(struct connection *c, const struct sender *sender)
{
	if (sender_is_nameless(c, sender))
		return true;
	if (sender_is_user(c, sender)) {
		sender_note(c, sender);
		return true;
	}
	if (!c->peer.warned)
		server_log(c->server, LOG_WARNING, (int64_t)sender->uid,
		    "process %ld of uid %ld writes on the connection of client "
		    "%s (pid %ld, uid %ld), which it inherited: that is not "
		    "read", (long)sender->pid, (long)sender->uid, c->peer.name,
		    (long)c->peer.pid, (long)c->peer.uid);
	c->peer.warned = true;
	return false;
}
