/*
 * Does a greedy user harm the others? Under default limits a stranger does
 * what he can, in each way that attack_*.c has, while another user locks,
 * releases and pings, and root comes and goes.
 *
 * The daemon and its other users have one processor, the stranger the other
 * one: so what is measured is the daemon's time that he takes. (The endpoint
 * of a store has the stranger's, before him.) The same is measured before each
 * attack, when his processes have connected and spin without a request; what is
 * quiet is all that was measured so, up to then.
 */
#define _GNU_SOURCE 1

#include "bench.h"
#include "strangers.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define WARM_MS 1000
#define QUIET_MS 1500
#define ATTACK_MS 3000
#define PREPARE_MS 60000
#define DELAY_MS 20		/* of the endpoint's answers */
#define RATIO_MAX 5.0		/* of p99 to the quiet one */
#define WORST_MAX_US 100000.0
#define FILES 65536		/* more than connections_max */

struct strangers_options strangers_options;

static const struct attack *const attacks[] = {
	attacks_of_sockets, attacks_of_reads, attacks_of_locks,
};

/* What the neighbours met, in one phase. */
struct figures {
	double p50, p99, worst;		/* us */
};

struct outcome {
	const struct attack *attack;
	const char *store;
	struct figures ping, cycle, root;
	struct figures quiet_ping, quiet_cycle, quiet_root;
	double ping_ratio, cycle_ratio;
	struct stranger_counts counts;	/* of all strangers */
	bool died;			/* the daemon */
	char verdict[64];
};

/* ---- figures ---- */

/* All that was measured in quiet on this store: a p99 of a second and a half is
 * that of one or two stalls of the machine. */
static struct served quiet_so_far;

static void
times_append(struct times *all, const struct times *t)
{
	uint32_t n = t->count;

	if (n > TIMES_MAX - all->count)
		n = TIMES_MAX - all->count;
	memcpy(&all->us[all->count], t->us, n * sizeof(t->us[0]));
	all->count += n;
}

static int
us_compare(const void *a, const void *b)
{
	const float *x = a;
	const float *y = b;

	return (*x > *y) - (*x < *y);
}

static void
figures_read(struct figures *f, struct times *t)
{
	*f = (struct figures){ .p50 = 0 };
	if (t->count == 0)
		return;
	qsort(t->us, t->count, sizeof(t->us[0]), us_compare);
	f->p50 = (double)t->us[t->count / 2];
	f->p99 = (double)t->us[(size_t)t->count * 99 / 100];
	f->worst = (double)t->us[t->count - 1];
}

static void
outcome_count(struct outcome *o, const struct arena *a)
{
	for (size_t i = 0; i < STRANGERS; i++) {
		const struct stranger_counts *c = &a->strangers[i];

		o->counts.answers += c->answers;
		o->counts.refused += c->refused;
		o->counts.failed += c->failed;
		o->counts.cut += c->cut;
		o->counts.made += c->made;
		if (o->counts.failure[0] == '\0')
			memcpy(o->counts.failure, c->failure,
			    sizeof(c->failure));
	}
}

static void
outcome_blame(struct outcome *o, bool guilty, const char *word)
{
	size_t length = strlen(o->verdict);

	if (guilty)
		snprintf(o->verdict + length, sizeof(o->verdict) - length,
		    "%s%s", length > 0 ? " " : "", word);
}

static void
outcome_judge(struct outcome *o, struct arena *a)
{
	figures_read(&o->ping, &a->attacked.ping);
	figures_read(&o->cycle, &a->attacked.cycle);
	figures_read(&o->root, &a->attacked.root);
	times_append(&quiet_so_far.ping, &a->quiet.ping);
	times_append(&quiet_so_far.cycle, &a->quiet.cycle);
	figures_read(&o->quiet_ping, &quiet_so_far.ping);
	figures_read(&o->quiet_cycle, &quiet_so_far.cycle);
	figures_read(&o->quiet_root, &a->quiet.root);
	outcome_count(o, a);
	if (o->quiet_ping.p99 <= 0 || o->quiet_cycle.p99 <= 0)
		die("%s: nothing was measured in quiet", o->attack->name);
	o->ping_ratio = o->ping.p99 / o->quiet_ping.p99;
	o->cycle_ratio = o->cycle.p99 / o->quiet_cycle.p99;
	outcome_blame(o, o->died, "DIED");
	outcome_blame(o, a->lost > 0, "LOST");
	outcome_blame(o, a->root_failed > 0 || o->root.worst > WORST_MAX_US,
	    "ROOT");
	outcome_blame(o, o->ping_ratio > RATIO_MAX ||
	    o->cycle_ratio > RATIO_MAX, "P99");
	outcome_blame(o, o->ping.worst > WORST_MAX_US ||
	    o->cycle.worst > WORST_MAX_US, "WORST");
	/* Nothing measured is nothing served. */
	outcome_blame(o, a->attacked.ping.count == 0 ||
	    a->attacked.cycle.count == 0 || a->attacked.root.count == 0,
	    "NONE");
}

/* ---- the tables ---- */

static void
outcome_print(const struct outcome *o)
{
	printf("%-9s%-13s%8.2f%9.2f%9.1f%9.2f%9.1f%8.2f%8.2f%9.1f%8.1f%9.1f"
	    "%9llu  %s\n", o->store, o->attack->name,
	    o->ping.p50 / 1000, o->ping.p99 / 1000, o->ping.worst / 1000,
	    o->cycle.p99 / 1000, o->cycle.worst / 1000,
	    o->quiet_ping.p99 / 1000, o->quiet_cycle.p99 / 1000,
	    o->ping_ratio, o->cycle_ratio, o->root.worst / 1000,
	    (unsigned long long)o->counts.answers,
	    o->verdict[0] != '\0' ? o->verdict : "ok");
}

static void
outcome_print_markdown(const struct outcome *o)
{
	printf("| %s | %s | %.2f; %.2f; %.1f | %.2f; %.1f | "
	    "%.2f; %.2f | %.1f; %.1f | %.1f | %s |\n", o->attack->what,
	    o->store, o->ping.p50 / 1000, o->ping.p99 / 1000,
	    o->ping.worst / 1000, o->cycle.p99 / 1000,
	    o->cycle.worst / 1000, o->quiet_ping.p99 / 1000,
	    o->quiet_cycle.p99 / 1000, o->ping_ratio, o->cycle_ratio,
	    o->root.worst / 1000,
	    o->verdict[0] != '\0' ? o->verdict : "ok");
}

static void
figures_print_json(const char *name, const struct figures *f)
{
	printf("\"%s\":{\"p50_us\":%.0f,\"p99_us\":%.0f,\"worst_us\":%.0f},",
	    name, f->p50, f->p99, f->worst);
}

/* A text of the daemon's, between quotes. */
static void
text_print_json(const char *name, const char *text)
{
	printf("\"%s\":\"", name);
	for (; *text != '\0'; text++) {
		if (*text == '"' || *text == '\\')
			putchar('\\');
		if ((unsigned char)*text >= ' ')
			putchar(*text);
	}
	fputs("\",", stdout);
}

static void
outcome_print_json(const struct outcome *o, const struct arena *a)
{
	putchar('{');
	text_print_json("store", o->store);
	text_print_json("attack", o->attack->name);
	figures_print_json("ping", &o->ping);
	figures_print_json("cycle", &o->cycle);
	figures_print_json("root", &o->root);
	figures_print_json("quiet_ping", &o->quiet_ping);
	figures_print_json("quiet_cycle", &o->quiet_cycle);
	figures_print_json("quiet_root", &o->quiet_root);
	printf("\"ping_ratio\":%.2f,\"cycle_ratio\":%.2f,", o->ping_ratio,
	    o->cycle_ratio);
	printf("\"lost\":%u,\"root_failed\":%u,", a->lost, a->root_failed);
	text_print_json("loss", a->loss);
	text_print_json("root_failure", a->root_failure);
	printf("\"answers\":%llu,\"refused\":%llu,\"failed\":%llu,"
	    "\"cut\":%llu,\"holds\":%llu,",
	    (unsigned long long)o->counts.answers,
	    (unsigned long long)o->counts.refused,
	    (unsigned long long)o->counts.failed,
	    (unsigned long long)o->counts.cut,
	    (unsigned long long)o->counts.made);
	text_print_json("failure", o->counts.failure);
	text_print_json("verdict", o->verdict);
	printf("\"ok\":%s}\n", o->verdict[0] == '\0' ? "true" : "false");
}

static void
outcome_report(const struct outcome *o, const struct arena *a)
{
	if (strangers_options.json)
		outcome_print_json(o, a);
	else if (strangers_options.markdown)
		outcome_print_markdown(o);
	else
		outcome_print(o);
	fflush(stdout);
	if (a->lost > 0)
		fprintf(stderr, "%s: lost %u, first: %s\n", o->attack->name,
		    a->lost, a->loss);
	if (a->root_failed > 0)
		fprintf(stderr, "%s: root failed %u times, first: %s\n",
		    o->attack->name, a->root_failed, a->root_failure);
	if (o->verdict[0] != '\0')
		report_miss();
}

static void
outcome_head(void)
{
	if (strangers_options.json)
		return;
	if (strangers_options.markdown) {
		printf("| a stranger's | store | PING, ms: p50; p99; worst | "
		    "TRY + RELEASE, ms: p99; worst | quiet p99: PING; "
		    "TRY + RELEASE | ratio | root, worst | |\n"
		    "|---|---|---|---|---|---|---|---|\n");
		return;
	}
	printf("%-22s%26s%18s%16s%17s%9s%9s\n%-22s%8s%9s%9s%9s%9s%8s%8s%9s%8s"
	    "%9s%9s\n", "in ms", "PING", "TRY + RELEASE", "quiet p99",
	    "ratio of p99", "root", "stranger", "", "p50", "p99", "worst",
	    "p99", "worst", "PING", "TRY", "PING", "TRY", "worst", "answers");
}

/* ---- an attack ---- */

static pid_t
process_start(void)
{
	pid_t pid = fork();

	if (pid < 0)
		die("fork: %s", strerror(errno));
	return pid;
}

/* A process of the bench that ends while it is needed has said why. */
static void
arena_await(volatile bool *ready, pid_t pid)
{
	for (int ms = 0; !*ready; ms += 2) {
		if (waitpid(pid, NULL, WNOHANG) != 0 || ms > PREPARE_MS)
			die("a process of the bench is gone, or stands still");
		wait_ms(2);
	}
}

static void
process_kill(pid_t pid)
{
	kill(pid, SIGKILL);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		continue;
}

static void
arena_pass(struct arena *a, enum arena_phase phase, int ms)
{
	a->phase = phase;
	wait_ms(ms);
}

/* It runs as soon as it is woken. */
static void
run_first(pid_t pid)
{
	struct sched_param first = { .sched_priority = 1 };

	if (sched_setscheduler(pid, SCHED_RR, &first) != 0)
		die("sched_setscheduler: %s", strerror(errno));
}

/* The neighbours wait for their last answers while the attack goes on. What
 * they wait for is the daemon, and not their turn of the processor that they
 * share with it: that is some 4 ms when it is busy. */
static void
attack_measure(const struct attack *attack, struct arena *a,
    const char *socket_path)
{
	pid_t neighbours[2], strangers[STRANGERS];

	for (int i = 0; i < 2; i++) {
		neighbours[i] = process_start();
		if (neighbours[i] == 0)
			run_first(0);
		if (neighbours[i] == 0 && i == 0)
			neighbour_run(a, socket_path);
		if (neighbours[i] == 0)
			neighbour_run_root(a, socket_path);
	}
	arena_await(&a->neighbour_ready, neighbours[0]);
	for (size_t i = 0; i < STRANGERS; i++) {
		strangers[i] = process_start();
		if (strangers[i] > 0)
			continue;
		processors_take_last(0);
		stranger_run(a, attack, i, socket_path);
	}
	for (size_t i = 0; i < STRANGERS; i++)
		arena_await(&a->strangers[i].ready, strangers[i]);
	arena_pass(a, ARENA_WARM, WARM_MS);
	arena_pass(a, ARENA_QUIET, QUIET_MS);
	arena_pass(a, ARENA_ATTACK, ATTACK_MS);
	a->phase = ARENA_OVER;
	process_wait(neighbours[0], "a neighbour");
	process_wait(neighbours[1], "root");
	for (size_t i = 0; i < STRANGERS; i++)
		process_kill(strangers[i]);
}

static pid_t
store_start(const char *store, char *settings, size_t size)
{
	char url[64];
	pid_t pid;

	settings[0] = '\0';
	if (strcmp(store, "sqlite") == 0)
		return 0;
	pid = endpoint_start(DELAY_MS, NULL, url, sizeof(url));
	/* Before the strangers, whose processor it has. */
	processors_take_last(pid);
	run_first(pid);
	/* The rate would hold back most of what he does. */
	snprintf(settings, size, "store = dynamodb\nrequest_rate = 0\n"
	    "table = " ENDPOINT_TABLE "\nendpoint = %s\nregion = us-east-1\n"
	    "access_key_id = AKIDEXAMPLE\nsecret_access_key = secret\n", url);
	return pid;
}

static void
attack_run(const struct attack *attack, const char *store)
{
	struct outcome o = { .attack = attack, .store = store };
	struct arena *a = mmap(NULL, sizeof(*a), PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	char settings[512], name[64];
	struct daemon daemon;
	pid_t endpoint;

	if (a == MAP_FAILED)
		die("mmap: %s", strerror(errno));
	endpoint = store_start(store, settings, sizeof(settings));
	snprintf(name, sizeof(name), "%s-%s", store, attack->name);
	daemon_start_public(&daemon, name, settings);
	attack_measure(attack, a, daemon.socket);
	o.died = waitpid(daemon.pid, NULL, WNOHANG) != 0;
	outcome_judge(&o, a);
	outcome_report(&o, a);
	if (!o.died) {
		daemon_kill(&daemon);
		daemon_remove(&daemon);
	} else {
		fprintf(stderr, "%s: the daemon ended; its log is in %s\n",
		    attack->name, daemon.directory);
	}
	if (endpoint > 0)
		process_kill(endpoint);
	munmap(a, sizeof(*a));
}

static bool
is_wanted(const char *wanted, const char *name)
{
	return wanted == NULL || strcmp(wanted, name) == 0;
}

void
bench_strangers(void)
{
	static const char *const stores[] = { "sqlite", "dynamodb" };
	struct rlimit files = { FILES, FILES };
	bool any = false;

	if (geteuid() != 0)
		die("strangers: only root can become several users");
	/* If it may not be: the daemon allows fewer connections. */
	(void)setrlimit(RLIMIT_NOFILE, &files);
	if (!processors_take_first())
		die("strangers: there must be two processors");
	outcome_head();
	for (size_t i = 0; i < sizeof(stores) / sizeof(stores[0]); i++) {
		memset(&quiet_so_far, 0, sizeof(quiet_so_far));
		for (size_t j = 0; j < sizeof(attacks) / sizeof(attacks[0]);
		    j++) {
			for (const struct attack *a = attacks[j];
			    a->name != NULL; a++) {
				if (!is_wanted(strangers_options.attack,
				    a->name) || !is_wanted(
				    strangers_options.store, stores[i]))
					continue;
				any = true;
				attack_run(a, stores[i]);
			}
		}
	}
	if (!any)
		die("strangers: there is no such attack or store");
	processors_all();
}
