/*
 * libddblock and threads: connections need no care of each other, and one of
 * them may be used by several threads that take turns. Worth most in a build
 * with ThreadSanitizer.
 */
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/clock.h"
#include "ddblock.h"
#include "test.h"

#define THREADS 8
#define ROUNDS 200

/*
 * The other side: a thread for each connection, which grants every request,
 * each time with an event of danger.
 */
struct peer {
	char folder[64];
	char path[96];
	int listener;
	pthread_t threads[THREADS];
	size_t n_threads;
};

static atomic_uint peer_id = 1;

static void
peer_answer(FILE *out, const char *tag, const char *verb)
{
	unsigned id;

	if (strcmp(verb, "ACQUIRE") != 0) {
		(void)fprintf(out, "%s OK proto=1 namespaces=default\n", tag);
		return;
	}
	id = atomic_fetch_add(&peer_id, 1);
	(void)fprintf(out, "%s OK id=%u token=%u mode=exclusive remaining=60s "
	    "until_boot_ms=%" PRIu64 " margin=1s\n"
	    "!LOCK_IN_DANGER id=%u remaining=9s\n", tag, id, id,
	    clock_boot_ms() + 60000, id);
}

static void *
peer_serve(void *arg)
{
	FILE *in = fdopen(*(int *)arg, "r+");
	FILE *out = fdopen(dup(*(int *)arg), "w");
	char line[512];

	free(arg);
	while (fgets(line, sizeof(line), in) != NULL) {
		char *rest = NULL;
		const char *tag = strtok_r(line, " \n", &rest);
		const char *verb = strtok_r(NULL, " \n", &rest);

		peer_answer(out, tag, verb == NULL ? "" : verb);
		(void)fflush(out);
	}
	(void)fclose(in);
	(void)fclose(out);
	return NULL;
}

static void
peer_init(struct peer *p)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	*p = (struct peer){ .listener = -1 };
	(void)snprintf(p->folder, sizeof(p->folder), "/tmp/peerXXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(p->folder));
	(void)snprintf(p->path, sizeof(p->path), "%s/socket", p->folder);
	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s",
	    p->path);
	p->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ck_assert_int_ge(p->listener, 0);
	ck_assert_int_eq(bind(p->listener, (struct sockaddr *)&address,
	    sizeof(address)), 0);
	ck_assert_int_eq(listen(p->listener, THREADS), 0);
}

/* Serve so many connections, which have been made. */
static void
peer_start(struct peer *p, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		int *fd = malloc(sizeof(*fd));

		ck_assert_ptr_nonnull(fd);
		*fd = accept(p->listener, NULL, NULL);
		ck_assert_int_ge(*fd, 0);
		ck_assert_int_eq(pthread_create(&p->threads[p->n_threads++],
		    NULL, peer_serve, fd), 0);
	}
}

static void
peer_done(struct peer *p)
{
	for (size_t i = 0; i < p->n_threads; i++)
		(void)pthread_join(p->threads[i], NULL);
	(void)close(p->listener);
	(void)unlink(p->path);
	(void)rmdir(p->folder);
}

/* A thread that uses a connection: its own, or in turns with others. */
struct user {
	pthread_t thread;
	struct ddblock *connection;
	pthread_mutex_t *turn;		/* NULL: its own */
	unsigned n_granted;
	unsigned n_failed;
};

static void
user_on_event(void *arg, struct ddblock *d, const struct ddblock_event *event)
{
	unsigned *n_dangers = arg;

	(void)d;
	*n_dangers += event->kind == DDBLOCK_EVENT_IN_DANGER;
}

static void
user_round(struct user *u, unsigned round)
{
	char key[32];
	uint64_t id;

	(void)snprintf(key, sizeof(key), "key/%u", round);
	if (ddblock_acquire(u->connection, key, NULL, &id) != 0 ||
	    ddblock_token(u->connection, id) != id ||
	    ddblock_remaining_ms(u->connection, id) == 0 ||
	    ddblock_renew(u->connection, 0) != DDBLOCK_E_LOCK_NOT_OWNED ||
	    ddblock_last_text(u->connection)[0] == '\0' ||
	    ddblock_release(u->connection, id) != 0)
		u->n_failed++;
	else
		u->n_granted++;
}

static void *
user_run(void *arg)
{
	struct user *u = arg;

	for (unsigned round = 0; round < ROUNDS; round++) {
		if (u->turn != NULL)
			(void)pthread_mutex_lock(u->turn);
		user_round(u, round);
		if (u->turn != NULL)
			(void)pthread_mutex_unlock(u->turn);
	}
	return NULL;
}

static void
users_run(struct user *users, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		users[i].n_granted = 0;
		ck_assert_int_eq(pthread_create(&users[i].thread, NULL,
		    user_run, &users[i]), 0);
	}
	for (size_t i = 0; i < n; i++) {
		(void)pthread_join(users[i].thread, NULL);
		ck_assert_uint_eq(users[i].n_failed, 0);
		ck_assert_uint_eq(users[i].n_granted, ROUNDS);
	}
}

TEST(test_connections_of_their_own)
{
	struct user users[THREADS] = { { .n_granted = 0 } };
	unsigned n_dangers[THREADS] = { 0 };
	struct peer peer;

	peer_init(&peer);
	for (size_t i = 0; i < THREADS; i++) {
		ck_assert_int_eq(ddblock_open(peer.path, "test",
		    &users[i].connection), 0);
		ddblock_on_event(users[i].connection, user_on_event,
		    &n_dangers[i]);
	}
	peer_start(&peer, THREADS);
	users_run(users, THREADS);
	for (size_t i = 0; i < THREADS; i++) {
		ck_assert_uint_eq(n_dangers[i], ROUNDS);
		ddblock_close(users[i].connection);
	}
	peer_done(&peer);
}

/* One that waits for the descriptor does so without having its turn. */
struct listener {
	struct ddblock *connection;
	pthread_mutex_t *turn;
	int fd;
	atomic_bool ended;
	atomic_uint n_woken;
};

static void *
listener_run(void *arg)
{
	struct listener *l = arg;

	while (!atomic_load(&l->ended)) {
		struct pollfd readable = { .fd = l->fd, .events = POLLIN };

		if (poll(&readable, 1, 10) <= 0)
			continue;
		(void)pthread_mutex_lock(l->turn);
		(void)ddblock_dispatch(l->connection);
		(void)pthread_mutex_unlock(l->turn);
		(void)atomic_fetch_add(&l->n_woken, 1);
	}
	return NULL;
}

TEST(test_one_connection_in_turns)
{
	pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
	struct user users[THREADS] = { { .n_granted = 0 } };
	struct listener listener = { .turn = &turn };
	unsigned n_dangers = 0;
	unsigned n_runs;
	struct peer peer;
	struct ddblock *d;
	pthread_t thread;

	peer_init(&peer);
	ck_assert_int_eq(ddblock_open(peer.path, "test", &d), 0);
	ddblock_on_event(d, user_on_event, &n_dangers);
	peer_start(&peer, 1);
	for (size_t i = 0; i < THREADS; i++) {
		users[i].connection = d;
		users[i].turn = &turn;
	}
	listener.connection = d;
	listener.fd = ddblock_fd(d);
	ck_assert_int_ge(listener.fd, 0);
	ck_assert_int_eq(pthread_create(&thread, NULL, listener_run,
	    &listener), 0);
	/* It is up to the machine when the listener has its turn. */
	for (n_runs = 0; n_runs == 0 || atomic_load(&listener.n_woken) == 0;
	    n_runs++)
		users_run(users, THREADS);
	atomic_store(&listener.ended, true);
	(void)pthread_join(thread, NULL);
	ck_assert_uint_eq(n_dangers, n_runs * THREADS * ROUNDS);
	ddblock_close(d);
	peer_done(&peer);
}
