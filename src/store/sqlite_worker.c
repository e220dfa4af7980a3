/*
 * The thread that may wait for the disk.
 *
 * It takes whatever is queued, of users in turn, carries it out in one
 * transaction, and posts all outcomes at once: under load the disk's latency
 * is shared by as many as wait for it. Its lock is never held across anything
 * that can block, so the loop cannot be made to wait. Checkpoints and cleaning
 * come after the outcomes, not before them.
 */
#include "store/sqlite_worker.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/clock.h"
#include "ddblock.h"
#include "store/sqlite_batch.h"
#include "store/sqlite_check.h"
#include "store/sqlite_file.h"
#include "store/sqlite_sessions.h"
#include "store/sqlite_records.h"

/* Of this thread. Where the loop has no processor of its own it goes first: all
 * users wait for it, and its clients for this one only if they ask the disk. */
#define WORKER_NICE 5

/* The log's length, in pages, at which it is copied into the database: all wait
 * for that, some milliseconds. */
#define CHECKPOINT_PAGES 1000
#define SWEEP_EVERY_MS 30000

#define SHARED_MS 1000	/* so long after another user asked, several do */

struct sqlite_worker {
	pthread_mutex_t lock;
	pthread_cond_t wake;
	struct sqlite_queue urgent;	/* under the lock */
	struct fair_queue queued;
	uint32_t user;			/* whose the last one taken was, of
					 * those that are some user's */
	uint64_t shared_ms;		/* when it was another user's; or 0 */
	struct sqlite_queue done;
	bool waiting;			/* for wake */
	bool stop;
	bool stopped;
	bool orphaned;			/* no more collects it */

	int done_fd;
	pthread_t thread;
	struct sqlite_sessions sessions;	/* has a lock of its own */

	/* The thread's own. */
	struct sqlite_file file;
	struct sqlite_records records;
	struct sqlite_job *batch[SQLITE_BATCH_MAX];
	size_t n_batch;
	int wal_pages;
	uint64_t swept_ms;
};

static void
sqlite_worker_free_jobs(struct sqlite_queue *q)
{
	struct sqlite_job *j;

	while ((j = sqlite_queue_take(q)) != NULL)
		sqlite_job_free(NULL, j);
}

/* Free all of it. The thread has ended, or is the caller. */
static void
sqlite_worker_destroy(struct sqlite_worker *w)
{
	struct sqlite_job *j;

	while ((j = sqlite_turns_take(&w->queued)) != NULL)
		sqlite_job_free(NULL, j);
	sqlite_worker_free_jobs(&w->urgent);
	sqlite_worker_free_jobs(&w->done);
	sqlite_records_done(&w->records);
	sqlite_file_close(&w->file);
	if (w->done_fd >= 0)
		(void)close(w->done_fd);
	sqlite_sessions_done(&w->sessions);
	(void)pthread_cond_destroy(&w->wake);
	(void)pthread_mutex_destroy(&w->lock);
	free(w);
}

static void
sqlite_worker_lock(struct sqlite_worker *w)
{
	int r = pthread_mutex_lock(&w->lock);

	assert(r == 0);
}

static void
sqlite_worker_unlock(struct sqlite_worker *w)
{
	int r = pthread_mutex_unlock(&w->lock);

	assert(r == 0);
}

/* The one whose turn it is. Under the lock. */
static struct sqlite_job *
sqlite_worker_take_turn(struct sqlite_worker *w, uint64_t now_ms)
{
	struct sqlite_job *j = sqlite_turns_take(&w->queued);

	if (j == NULL || j->ask.user == USER_NONE || j->ask.user == w->user)
		return j;
	if (w->user != USER_NONE)
		w->shared_ms = now_ms;
	w->user = j->ask.user;
	return j;
}

static size_t
sqlite_worker_batch_max(const struct sqlite_worker *w, uint64_t now_ms)
{
	return w->shared_ms != 0 && now_ms - w->shared_ms < SHARED_MS ?
	    SQLITE_BATCH_SHARED_MAX : SQLITE_BATCH_MAX;
}

/* Take until the batch is full. Under the lock. */
static void
sqlite_worker_fill(struct sqlite_worker *w)
{
	uint64_t now_ms = clock_boot_ms();
	size_t weight = 0;
	struct sqlite_job *j;

	w->n_batch = 0;
	while (w->n_batch < SQLITE_BATCH_MAX &&
	    weight < sqlite_worker_batch_max(w, now_ms)) {
		j = sqlite_queue_take(&w->urgent);
		if (j == NULL)
			j = sqlite_worker_take_turn(w, now_ms);
		if (j == NULL)
			break;
		j->state = SQLITE_JOB_TAKEN;
		weight += sqlite_job_weight(j);
		w->batch[w->n_batch++] = j;
	}
}

/* Is there anything queued? Under the lock. */
static bool
sqlite_worker_has_work(const struct sqlite_worker *w)
{
	return w->urgent.first != NULL || !fair_queue_is_empty(&w->queued);
}

/* Wait for work. False: there is none and there will be none. */
static bool
sqlite_worker_take(struct sqlite_worker *w)
{
	sqlite_worker_lock(w);
	while (!sqlite_worker_has_work(w) && !w->stop) {
		w->waiting = true;
		(void)pthread_cond_wait(&w->wake, &w->lock);
		w->waiting = false;
	}
	sqlite_worker_fill(w);
	sqlite_worker_unlock(w);
	return w->n_batch > 0;
}

static void
sqlite_worker_tell(struct sqlite_worker *w)
{
	uint64_t one = 1;
	ssize_t n;

	do {
		n = write(w->done_fd, &one, sizeof(one));
	} while (n < 0 && errno == EINTR);
	/* EAGAIN would mean 2^64 - 2 unread events: it is readable then. */
}

static void
sqlite_worker_post(struct sqlite_worker *w)
{
	bool tell;

	sqlite_worker_lock(w);
	tell = w->done.first == NULL;
	for (size_t i = 0; i < w->n_batch; i++) {
		w->batch[i]->state = SQLITE_JOB_DONE;
		sqlite_queue_add(&w->done, w->batch[i]);
	}
	sqlite_worker_unlock(w);
	if (tell)
		sqlite_worker_tell(w);
}

static void
sqlite_worker_run_batch(struct sqlite_worker *w)
{
	struct sqlite_job *operations[SQLITE_BATCH_MAX];
	size_t n = 0;

	for (size_t i = 0; i < w->n_batch; i++) {
		if (!sqlite_job_checks(w->batch[i]))
			operations[n++] = w->batch[i];
	}
	if (n > 0) {
		sqlite_batch_run(&w->records, w->file.path, operations, n);
		sqlite_sessions_settle(&w->sessions, operations, n);
	}
	for (size_t i = 0; i < w->n_batch; i++) {
		if (w->batch[i]->facts != NULL)
			sqlite_check_look(w->file.path,
			    w->batch[i]->facts);
		if (sqlite_job_checks(w->batch[i]))
			sqlite_batch_check(&w->records, w->file.path,
			    w->batch[i]);
	}
}

/* What fails here is tried again later; operations that need the disk meet the
 * same trouble and report it. */
static void
sqlite_worker_maintain(struct sqlite_worker *w)
{
	uint64_t now_ms = clock_boot_ms();

	if (w->wal_pages >= CHECKPOINT_PAGES) {
		w->wal_pages = 0;
		(void)sqlite3_wal_checkpoint_v2(w->file.db, NULL,
		    SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
	}
	if (now_ms - w->swept_ms >= SWEEP_EVERY_MS) {
		w->swept_ms = now_ms;
		(void)sqlite_records_sweep(&w->records,
		    clock_wall_ms() / 1000);
	}
}

static void *
sqlite_worker_main(void *arg)
{
	struct sqlite_worker *w = arg;
	bool orphaned;

	(void)setpriority(PRIO_PROCESS, 0, WORKER_NICE);
	while (sqlite_worker_take(w)) {
		sqlite_worker_run_batch(w);
		sqlite_worker_post(w);
		sqlite_worker_maintain(w);
	}
	/* Closing copies the log into the database: it may hang as well. */
	sqlite_records_done(&w->records);
	sqlite_file_close(&w->file);
	sqlite_worker_lock(w);
	w->stopped = true;
	orphaned = w->orphaned;
	if (!orphaned)
		sqlite_worker_tell(w);
	sqlite_worker_unlock(w);
	if (orphaned)
		sqlite_worker_destroy(w);
	return NULL;
}

static int
sqlite_worker_count_pages(void *arg, sqlite3 *db, const char *name, int pages)
{
	struct sqlite_worker *w = arg;

	(void)db;
	(void)name;
	w->wal_pages = pages;
	return SQLITE_OK;
}

static int
sqlite_worker_open(struct sqlite_worker *w,
    const struct store_sqlite_config *config, char *text, size_t text_size)
{
	uint64_t retention_s = config->retention_s != 0 ?
	    config->retention_s : STORE_SQLITE_RETENTION_S;
	int rc;
	int r;

	r = sqlite_file_open(config->path, config->must_exist,
	    clock_wall_ms() / 1000, &w->file, text, text_size);
	if (r < 0)
		return r;
	rc = sqlite_records_init(&w->records, w->file.db, config->host,
	    retention_s, w->file.token_floor);
	if (rc != SQLITE_OK)
		return sqlite_file_explain(w->file.db, rc, config->path, text,
		    text_size);
	w->records.sessions = &w->sessions;
	(void)sqlite3_wal_hook(w->file.db, sqlite_worker_count_pages, w);
	return 0;
}

/* Signals are the loop's business. */
static int
sqlite_worker_start(struct sqlite_worker *w)
{
	sigset_t all;
	sigset_t old;
	int error;

	(void)sigfillset(&all);
	error = pthread_sigmask(SIG_SETMASK, &all, &old);
	if (error != 0)
		return error;
	error = pthread_create(&w->thread, NULL, sqlite_worker_main, w);
	(void)pthread_sigmask(SIG_SETMASK, &old, NULL);
	return error;
}

int
sqlite_worker_new(const struct store_sqlite_config *config,
    struct sqlite_worker **ret, char *text, size_t text_size)
{
	struct sqlite_worker *w = calloc(1, sizeof(*w));
	int error = 0;
	int r;

	(void)snprintf(text, text_size, "out of memory");
	if (w == NULL)
		return DDBLOCK_E_NOMEM;
	w->file.lock_fd = -1;
	w->user = USER_NONE;
	w->swept_ms = clock_boot_ms();
	(void)pthread_mutex_init(&w->lock, NULL);
	(void)pthread_cond_init(&w->wake, NULL);
	fair_queue_init(&w->queued, SQLITE_JOB_TURN);
	sqlite_sessions_init(&w->sessions);
	w->done_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (w->done_fd < 0)
		error = errno;
	r = error == 0 ? sqlite_worker_open(w, config, text, text_size) : 0;
	if (r == 0 && error == 0)
		error = sqlite_worker_start(w);
	if (error != 0) {
		(void)snprintf(text, text_size, "%s: cannot start the thread "
		    "that serves it: %s", config->path, strerror(error));
		r = DDBLOCK_E_SYSTEM;
	}
	if (r < 0) {
		sqlite_worker_destroy(w);
		return r;
	}
	*ret = w;
	return 0;
}

/* Wait for the end of the thread, not for ever. */
static void
sqlite_worker_wait(struct sqlite_worker *w, uint64_t wait_ms)
{
	struct pollfd p = { .fd = w->done_fd, .events = POLLIN };
	uint64_t end_ms = clock_boot_ms() + wait_ms;
	uint64_t now_ms = clock_boot_ms();
	uint64_t count;
	bool stopped = false;

	while (!stopped && now_ms < end_ms) {
		(void)poll(&p, 1, (int)(end_ms - now_ms));
		if (read(w->done_fd, &count, sizeof(count)) < 0 &&
		    errno != EAGAIN && errno != EINTR)
			break;
		sqlite_worker_lock(w);
		stopped = w->stopped;
		sqlite_worker_unlock(w);
		now_ms = clock_boot_ms();
	}
}

void
sqlite_worker_free(struct sqlite_worker *w, uint64_t wait_ms)
{
	bool stopped;

	if (w == NULL)
		return;
	sqlite_worker_lock(w);
	w->stop = true;
	(void)pthread_cond_signal(&w->wake);
	sqlite_worker_unlock(w);
	sqlite_worker_wait(w, wait_ms);

	sqlite_worker_lock(w);
	stopped = w->stopped;
	if (!stopped) {
		w->orphaned = true;
		(void)pthread_detach(w->thread);
	}
	sqlite_worker_unlock(w);
	if (!stopped)
		return; /* it frees itself */
	(void)pthread_join(w->thread, NULL);
	sqlite_worker_destroy(w);
}

struct sqlite_sessions *
sqlite_worker_sessions(struct sqlite_worker *w)
{
	return &w->sessions;
}

int
sqlite_worker_fd(const struct sqlite_worker *w)
{
	return w->done_fd;
}

void
sqlite_worker_submit(struct sqlite_worker *w, struct sqlite_job *j)
{
	bool wake;

	sqlite_worker_lock(w);
	if (sqlite_job_urgent(j))
		sqlite_queue_add(&w->urgent, j);
	else
		sqlite_turns_add(&w->queued, j);
	wake = w->waiting;
	sqlite_worker_unlock(w);
	if (wake)
		(void)pthread_cond_signal(&w->wake);
}

enum sqlite_job_state
sqlite_worker_withdraw(struct sqlite_worker *w, struct sqlite_job *j)
{
	enum sqlite_job_state state;

	sqlite_worker_lock(w);
	state = j->state;
	if (state == SQLITE_JOB_QUEUED && sqlite_job_urgent(j))
		sqlite_queue_remove(&w->urgent, j);
	else if (state == SQLITE_JOB_QUEUED)
		fair_queue_remove(&w->queued, &j->turn);
	sqlite_worker_unlock(w);
	return state;
}

struct sqlite_job *
sqlite_worker_collect(struct sqlite_worker *w)
{
	struct sqlite_job *first;
	uint64_t count;

	/* First the event, then the jobs: one posted in between leaves its
	 * event and an empty collection, never the reverse. */
	(void)!read(w->done_fd, &count, sizeof(count));
	sqlite_worker_lock(w);
	first = w->done.first;
	w->done = (struct sqlite_queue){ 0 };
	sqlite_worker_unlock(w);
	return first;
}
