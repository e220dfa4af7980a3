/*
 * A process that is killed between a read and its next instruction has taken
 * bytes out of a socket, and nobody knows them; one that is killed after a
 * write leaves its successor in doubt whether to write again, and where in a
 * line the client is. So neither ends in this process: recvmmsg() and
 * sendmmsg() write into memory how many bytes they read or sent, before they
 * return, and a signal ends the process only when they do. That memory is a
 * file without a name (memfd_create(2)), which the daemon keeps beside the
 * connections.
 *
 * It has the last read and the last write only. Before the next one, what
 * became of those is committed to the journal (keep.c).
 *
 * And it has the key of what is sealed there (secret.c), in the place where the
 * version before had the last bytes of a read.
 */
#include "config.h"

#include "ipc/connection/wire.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ipc/connection/keep.h"

#define WIRE_MAGIC UINT64_C(0x3365726977626464)	/* ddbwire3 */
#define WIRE_MAGIC_BEFORE UINT64_C(0x3165726977626464)	/* it has no key, and
							 * no control */
#define WIRE_CONTROL_ROOM 64
#define WIRE_CHUNK (SERVER_CHUNK_SIZE - WIRE_KEY - WIRE_CONTROL_ROOM)

_Static_assert(WIRE_CONTROL <= WIRE_CONTROL_ROOM, "it has room");

struct wire_side {
	uint64_t client;	/* 0: not begun */
	uint64_t from;
	struct mmsghdr message;	/* msg_len is the kernel's */
	struct iovec part;
};

struct wire {
	uint64_t magic;
	struct wire_side read, sent;
	char chunk[WIRE_CHUNK];
	_Alignas(struct cmsghdr) char control[WIRE_CONTROL_ROOM];
	uint8_t key[WIRE_KEY];
};

static void
wire_begin(struct wire_side *side, const struct connection *c, uint64_t from)
{
	side->client = 0;
	atomic_signal_fence(memory_order_seq_cst);
	side->message.msg_len = 0;
	side->from = from;
	atomic_signal_fence(memory_order_seq_cst);
	side->client = c->client;
	atomic_signal_fence(memory_order_seq_cst);
}

struct sender
wire_sender(struct msghdr *message)
{
	struct ucred sender = { .pid = 0 };
	struct cmsghdr *m;

	for (m = CMSG_FIRSTHDR(message); m != NULL;
	    m = CMSG_NXTHDR(message, m)) {
		if (m->cmsg_level == SOL_SOCKET &&
		    m->cmsg_type == SCM_CREDENTIALS &&
		    m->cmsg_len == CMSG_LEN(sizeof(sender)))
			memcpy(&sender, CMSG_DATA(m), sizeof(sender));
	}
	return (struct sender){ sender.pid, sender.uid };
}

ssize_t
wire_receive(struct connection *c, struct msghdr *message)
{
	struct wire *w = c->server->wire;
	struct iovec own = message->msg_iov[0];
	struct msghdr *m;
	size_t n;

	if (w == NULL || !c->kept.on)
		return recvmsg(c->fd, message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	keep_commit(c->server);
	wire_begin(&w->read, c, c->kept.in.from + c->in.length);
	w->read.part = (struct iovec){ w->chunk, sizeof(w->chunk) };
	m = &w->read.message.msg_hdr;
	*m = *message;
	m->msg_iov = &w->read.part;
	m->msg_control = w->control;
	if (recvmmsg(c->fd, &w->read.message, 1,
	    MSG_DONTWAIT | MSG_CMSG_CLOEXEC, NULL) < 0)
		return -1;
	n = w->read.message.msg_len;
	memcpy(own.iov_base, w->chunk, n < own.iov_len ? n : own.iov_len);
	memcpy(message->msg_control, w->control, m->msg_controllen);
	message->msg_controllen = m->msg_controllen;
	message->msg_flags = m->msg_flags;
	return (ssize_t)n;
}

ssize_t
wire_send(struct connection *c)
{
	struct wire *w = c->server->wire;

	if (w == NULL || !c->kept.on)
		return send(c->fd, c->out.data, c->out.length,
		    MSG_NOSIGNAL | MSG_DONTWAIT);
	keep_commit(c->server);
	wire_begin(&w->sent, c, c->kept.out.from);
	w->sent.part = (struct iovec){ c->out.data, c->out.length };
	w->sent.message.msg_hdr = (struct msghdr){
		.msg_iov = &w->sent.part, .msg_iovlen = 1,
	};
	if (sendmmsg(c->fd, &w->sent.message, 1,
	    MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		return -1;
	return (ssize_t)w->sent.message.msg_len;
}

void
wire_wipe(struct server *s)
{
	if (s->wire == NULL)
		return;
	keep_commit(s);
	s->wire->read.client = 0;
	explicit_bzero(s->wire->chunk, sizeof(s->wire->chunk));
}

/* ---- its memory --------------------------------------------------------- */

static int
wire_make(void)
{
	int fd = memfd_create("ddblock", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd >= 0 && (ftruncate(fd, sizeof(struct wire)) < 0 ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) < 0)) {
		(void)close(fd);
		fd = -1;
	}
	return fd;
}

/* NULL: it is not such memory. */
static struct wire *
wire_map(int fd)
{
	const int seals = fcntl(fd, F_GET_SEALS);
	struct stat st;
	void *memory;

	if (seals < 0 || (seals & F_SEAL_SHRINK) == 0 || fstat(fd, &st) < 0 ||
	    st.st_size != sizeof(struct wire))
		return NULL;
	memory = mmap(NULL, sizeof(struct wire), PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_POPULATE, fd, 0);
	return memory == MAP_FAILED ? NULL : memory;
}

const uint8_t *
wire_key(const struct server *s)
{
	return JOURNAL_VERSION < 2 || s == NULL || s->wire == NULL ||
	    s->wire->magic != WIRE_MAGIC ? NULL : s->wire->key;
}

void
wire_change_key(struct server *s)
{
	struct ident bits[WIRE_KEY / sizeof(struct ident)];
	bool got = true;

	if (s->wire == NULL)
		return;
	for (size_t i = 0; i < WIRE_KEY / sizeof(bits[0]); i++)
		got = got && s->calls.secret(s->arg, &bits[i]) == 0;
	s->wire->magic = WIRE_MAGIC_BEFORE;
	atomic_signal_fence(memory_order_seq_cst);
	if (got)
		memcpy(s->wire->key, bits, WIRE_KEY);
	explicit_bzero(bits, sizeof(bits));
	atomic_signal_fence(memory_order_seq_cst);
	if (got && JOURNAL_VERSION >= 2)
		s->wire->magic = WIRE_MAGIC;
}

/* What it says is overwritten by the first transfer only: by then the journal
 * has it. Until then a long read may be where a key would be. */
static void
wire_begin_key(struct server *s, const struct wire *before)
{
	if (before == NULL || (before->magic != WIRE_MAGIC &&
	    before->read.message.msg_len <= WIRE_CHUNK))
		wire_change_key(s);
}

static struct wire_transfer
wire_last(const struct wire_side *side)
{
	return (struct wire_transfer){
		.client = side->client, .from = side->from,
		.length = side->message.msg_len,
	};
}

/* Who wrote what was read last. */
static struct sender
wire_last_sender(struct wire *w)
{
	struct msghdr m = {
		.msg_control = w->control,
		.msg_controllen = w->read.message.msg_hdr.msg_controllen,
	};

	if (w->magic != WIRE_MAGIC || m.msg_controllen > WIRE_CONTROL)
		m.msg_controllen = 0;
	return wire_sender(&m);
}

bool
wire_start(struct server *s, int fd, struct wire_transfer *ret_read,
    struct wire_transfer *ret_sent, char *ret_text)
{
	struct wire *w = fd >= 0 ? wire_map(fd) : NULL;
	const bool is_old = w != NULL && (w->magic == WIRE_MAGIC ||
	    w->magic == WIRE_MAGIC_BEFORE);

	*ret_read = *ret_sent = (struct wire_transfer){ 0 };
	if (is_old) {
		*ret_read = wire_last(&w->read);
		ret_read->sender = wire_last_sender(w);
		*ret_sent = wire_last(&w->sent);
		if (ret_read->length > SERVER_CHUNK_SIZE)
			ret_read->length = 0;
		memcpy(ret_text, (const char *)w + offsetof(struct wire, chunk),
		    ret_read->length);
		ret_read->data = ret_text;
	}
	if (w == NULL) {
		if (fd >= 0)
			(void)close(fd);
		fd = wire_make();
		w = fd >= 0 ? wire_map(fd) : NULL;
		s->wire_number = w == NULL ? 0 :
		    s->calls.keep(s->arg, fd, true);
	}
	if (w == NULL && fd >= 0)
		(void)close(fd);
	if (w == NULL)
		return false;
	s->wire = w;
	s->wire_fd = fd;
	wire_begin_key(s, is_old ? w : NULL);
	return is_old;
}

void
wire_stop(struct server *s)
{
	if (s->wire == NULL)
		return;
	(void)munmap(s->wire, sizeof(*s->wire));
	(void)close(s->wire_fd);
	s->wire = NULL;
}
