/*
 * Many histories. Each process takes every n-th; a page of shared memory has
 * the position of each, so that the seed of a process that died is known.
 */
#include "runner.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define RUNNER_PROCESSES_MAX 64
#define RUNNER_NONE UINT64_MAX

struct runner_worker {
	pid_t pid;
	uint64_t current;	/* the number of its job */
	uint64_t histories;
	bool guilty;
	struct judge_finding finding;
	struct coverage coverage;
};

struct runner_shared {
	uint64_t stop_after;	/* the lowest number that was found guilty */
	struct runner_worker workers[RUNNER_PROCESSES_MAX];
};

bool
runner_plan(const struct runner_job *j, struct plan *ret)
{
	char text[256];
	FILE *from;
	int r;

	plan_init(ret);
	if (j->path == NULL) {
		plan_random(ret, j->seed, j->foreign);
		if (j->alone)
			plan_alone(ret);
		return true;
	}
	from = fopen(j->path, "re");
	if (from == NULL) {
		(void)fprintf(stderr, "ddblock-sim: %s: %s\n", j->path,
		    strerror(errno));
		return false;
	}
	r = plan_read(ret, from, text, sizeof(text));
	(void)fclose(from);
	if (r < 0)
		(void)fprintf(stderr, "ddblock-sim: %s: %s\n", j->path, text);
	return r == 0;
}

static void *
runner_share(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED) {
		perror("ddblock-sim: mmap");
		exit(1);
	}
	return p;
}

static pid_t
runner_fork(void)
{
	pid_t pid;

	(void)fflush(NULL);
	pid = fork();
	if (pid < 0) {
		perror("ddblock-sim: fork");
		exit(1);
	}
	return pid;
}

/* How a process ended that did not end well. */
static struct judge_finding
runner_died(int status)
{
	struct judge_finding f = { .invariant = "assert" };

	if (WIFSIGNALED(status))
		(void)snprintf(f.text, sizeof(f.text), "the process died: %s",
		    strsignal(WTERMSIG(status)));
	else
		(void)snprintf(f.text, sizeof(f.text),
		    "the process ended with %d", WEXITSTATUS(status));
	return f;
}

void
runner_try(const struct plan *p, struct world_result *ret)
{
	struct world_result *shared = runner_share(sizeof(*shared));
	struct world_options options = { .trace = NULL };
	int status = 0;
	pid_t pid = runner_fork();

	if (pid == 0) {
		world_run(p, &options, shared);
		_exit(0);
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		continue;
	*ret = *shared;
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
		ret->guilty = true;
		ret->finding = runner_died(status);
	}
	(void)munmap(shared, sizeof(*shared));
}

/* ---- workers ---------------------------------------------------------- */

struct runner {
	const struct runner_job *scenarios;
	size_t n_scenarios;
	uint64_t first, n;	/* jobs in all: scenarios, then seeds */
	const struct runner_options *options;
	struct runner_shared *shared;
};

static struct runner_job
runner_job(const struct runner *r, uint64_t number)
{
	if (number < r->n_scenarios)
		return r->scenarios[number];
	return (struct runner_job){ .seed = r->first + number -
		r->n_scenarios, .foreign = r->options->foreign,
		.alone = r->options->alone };
}

static void
runner_work(const struct runner *r, unsigned number)
{
	struct runner_worker *me = &r->shared->workers[number];
	struct world_options options = { .trace = NULL };
	uint64_t i;

	for (i = number; i < r->n; i += r->options->processes) {
		struct runner_job job = runner_job(r, i);
		struct world_result result;
		struct plan plan;

		if (__atomic_load_n(&r->shared->stop_after,
		    __ATOMIC_RELAXED) < i)
			break;
		me->current = i;
		/*
		 * Seeds must reach the situations; scenarios are as short as
		 * possible.
		 */
		options.coverage = r->options->coverage && job.path == NULL ?
		    &me->coverage : NULL;
		if (!runner_plan(&job, &plan))
			_exit(1);
		world_run(&plan, &options, &result);
		plan_done(&plan);
		me->histories++;
		if (result.guilty) {
			me->guilty = true;
			me->finding = result.finding;
			break;
		}
	}
	_exit(0);
}

static void
runner_found(struct runner *r, unsigned number, struct runner_report *ret)
{
	struct runner_worker *w = &r->shared->workers[number];

	if (w->current >= r->shared->stop_after)
		return;
	__atomic_store_n(&r->shared->stop_after, w->current,
	    __ATOMIC_RELAXED);
	ret->guilty = true;
	ret->job = runner_job(r, w->current);
	ret->finding = w->finding;
}

static void
runner_progress(const struct runner *r, bool end)
{
	uint64_t done = 0;

	if (!r->options->progress)
		return;
	for (unsigned i = 0; i < r->options->processes; i++)
		done += r->shared->workers[i].histories;
	(void)fprintf(stderr, "\r%" PRIu64 " of %" PRIu64 " histories%s", done,
	    r->n, end ? "\n" : "");
}

/* Wait for all of them, and say now and then how far they are. */
static void
runner_wait(struct runner *r, struct runner_report *ret)
{
	unsigned left = r->options->processes;

	while (left > 0) {
		int status;
		pid_t pid = waitpid(-1, &status,
		    r->options->progress ? WNOHANG : 0);

		if (pid <= 0) {
			(void)poll(NULL, 0, 200);
			runner_progress(r, false);
			continue;
		}
		for (unsigned i = 0; i < r->options->processes; i++) {
			struct runner_worker *w = &r->shared->workers[i];

			if (w->pid != pid)
				continue;
			left--;
			if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
				w->guilty = true;
				w->finding = runner_died(status);
			}
			if (w->guilty)
				runner_found(r, i, ret);
		}
	}
	runner_progress(r, true);
}

void
runner_run(const struct runner_job *scenarios, size_t n_scenarios,
    uint64_t first, uint64_t last, const struct runner_options *options,
    struct runner_report *ret)
{
	struct runner r = { .scenarios = scenarios, .first = first,
		.n_scenarios = n_scenarios, .options = options,
		.n = n_scenarios + (last >= first ? last - first + 1 : 0),
		.shared = runner_share(sizeof(struct runner_shared)) };

	memset(ret, 0, sizeof(*ret));
	r.shared->stop_after = RUNNER_NONE;
	for (unsigned i = 0; i < options->processes; i++) {
		pid_t pid = runner_fork();

		if (pid == 0)
			runner_work(&r, i);
		r.shared->workers[i].pid = pid;
	}
	runner_wait(&r, ret);
	for (unsigned i = 0; i < options->processes; i++) {
		ret->histories += r.shared->workers[i].histories;
		coverage_add(&ret->coverage, &r.shared->workers[i].coverage);
	}
	(void)munmap(r.shared, sizeof(*r.shared));
}
