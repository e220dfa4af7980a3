/*
 * ddblock-sim: histories of whole fleets, from seeds or from plans.
 */
#include <dirent.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/operation.h"
#include "fleet.h"
#include "minimise.h"
#include "runner.h"

#define SIM_SCENARIOS_MAX 4096
#define SIM_MINIMISE_RUNS 2000
#define SIM_FOUND 3		/* exit status: there is a violation */

static const char sim_usage[] =
"Usage: ddblock-sim [OPTION]...\n"
"Run simulated histories of a fleet and judge them.\n"
"\n"
"  --seed N            one history, that of this seed\n"
"  --seeds FIRST-LAST  many of them, up to the first violation\n"
"  --foreign           seeds: all of them with older clients, not one in 8\n"
"  --alone             seeds: one daemon that has the store for itself\n"
"  --scenario NAME     one history, that of tests/sim/scenarios/NAME.plan,\n"
"                      or THEME/NAME;\n"
"                      a plan ends where its golden trace begins\n"
"  --plan FILE         or of any plan\n"
"  --scenarios DIR     all plans there, before the seeds\n"
"  --trace[=KINDS]     print what happens; KINDS: ask, told, beat, store,\n"
"                      fault, script, table; default all (but beat)\n"
"  --print-plan        print the plan instead of running it\n"
"  --jobs N            processes; default the number of processors\n"
"  --coverage          print what the histories met\n"
"  --check-coverage    and fail if it is not enough\n"
"  --progress          say how far it is\n"
"  --until-violation   of a violation, only say which; do not cut it down\n"
"  --mutant NAME       switch a seeded defect on (test build only)\n"
"\n"
"  --fleet N           N hosts for a day, and what they ask of the table;\n"
"                      with --seed N, and\n"
"  --day NAME          which; below\n"
"  --minutes M         that it has\n"
"  --json              its figures as a line of JSON\n"
"  --poll MS, --lease MS   of all hosts\n"
"  --line N            that wait in order, at most; 0: there is no line\n"
"  --partitions P      of the table; default 4\n"
"  --burst S           seconds of unused capacity that are kept; default 300\n"
"\n"
"Exit status: 0 nothing found, 3 a violation, 1 anything else.\n";

struct sim {
	struct runner_job scenarios[SIM_SCENARIOS_MAX];
	size_t n_scenarios;
	uint64_t first, last;
	const char *directory;	/* of --scenario */
	bool one;
	bool trace;
	const char *trace_kinds;	/* NULL: the plan's, or a default */
	bool print_plan;
	bool coverage, check_coverage;
	bool brief;
	struct fleet_options fleet;
	struct runner_options runner;
};

static void
sim_fail(const char *what, const char *text)
{
	(void)fprintf(stderr, "ddblock-sim: %s: %s\n", what, text);
	exit(1);
}

static char *
sim_copy(const char *text)
{
	char *p = strdup(text);

	if (p == NULL)
		sim_fail(text, "out of memory");
	return p;
}

/* ---- scenarios -------------------------------------------------------- */

/* Its name is its path within the folder of scenarios, without an ending. */
static void
sim_add_plan(struct sim *s, const char *path, const char *name)
{
	struct runner_job *j;
	char *copy;

	if (s->n_scenarios == SIM_SCENARIOS_MAX)
		sim_fail(path, "too many scenarios");
	j = &s->scenarios[s->n_scenarios++];
	j->path = sim_copy(path);
	j->name = copy = sim_copy(name);
	copy[strcspn(copy, ".")] = '\0';
}

static int
sim_compare(const void *a, const void *b)
{
	return strcmp(((const struct runner_job *)a)->name,
	    ((const struct runner_job *)b)->name);
}

/* All plans there, and in the folders there, which are themes. */
static void
sim_add_folder(struct sim *s, const char *folder, const char *theme)
{
	char path[1024], name[512];
	struct dirent *e;
	DIR *d;

	(void)snprintf(path, sizeof(path), "%s/%s", folder, theme);
	d = opendir(path);
	if (d == NULL)
		sim_fail(path, strerror(errno));
	while ((e = readdir(d)) != NULL) {
		size_t n = strlen(e->d_name);

		(void)snprintf(name, sizeof(name), "%s%s", theme, e->d_name);
		(void)snprintf(path, sizeof(path), "%s/%s", folder, name);
		if (n > 5 && strcmp(e->d_name + n - 5, ".plan") == 0)
			sim_add_plan(s, path, name);
		else if (theme[0] == '\0' && e->d_name[0] != '.' &&
		    e->d_type == DT_DIR) {
			(void)snprintf(name, sizeof(name), "%s/", e->d_name);
			sim_add_folder(s, folder, name);
		}
	}
	(void)closedir(d);
}

static void
sim_add_scenario(struct sim *s, const char *name)
{
	char path[1024];

	(void)snprintf(path, sizeof(path), "%s/%s.plan", s->directory, name);
	sim_add_plan(s, path, name);
}

/* ---- one history ------------------------------------------------------ */

static void
sim_print_finding(const struct runner_job *j, const struct judge_finding *f)
{
	char seed[24] = "-";

	if (j->path == NULL)
		(void)snprintf(seed, sizeof(seed), "%" PRIu64, j->seed);
	(void)printf("violation invariant=%s seed=%s scenario=%s time=%" PRIu64
	    " %s\n", f->invariant, seed, j->name != NULL ? j->name : "-",
	    f->at_ms, f->text);
}

static bool
sim_same(void *arg, const struct plan *p)
{
	const struct judge_finding *f = arg;
	struct world_result result;

	runner_try(p, &result);
	return result.guilty &&
	    strcmp(result.finding.invariant, f->invariant) == 0;
}

/* The few steps that the violation needs. */
static void
sim_cut_down(const struct runner_job *j, const struct judge_finding *f)
{
	struct judge_finding same = *f;
	struct plan plan, small;

	if (!runner_plan(j, &plan))
		return;
	(void)fflush(stdout);
	minimise(&plan, sim_same, &same, SIM_MINIMISE_RUNS, &small);
	(void)printf("# The least plan found that breaks %s; "
	    "ddblock-sim --plan FILE --trace\n", f->invariant);
	plan_write(&small, stdout);
	plan_done(&small);
	plan_done(&plan);
}

static int
sim_one(struct sim *s)
{
	struct runner_job job = s->n_scenarios > 0 ? s->scenarios[0] :
	    (struct runner_job){ .seed = s->first,
		.foreign = s->runner.foreign, .alone = s->runner.alone };
	struct coverage coverage = { .histories = 0 };
	struct world_options options = { .trace = stdout };
	struct world_result result;
	struct plan plan;
	const char *kinds = s->trace_kinds;

	if (!runner_plan(&job, &plan))
		return 1;
	if (s->print_plan) {
		plan_write(&plan, stdout);
		plan_done(&plan);
		return 0;
	}
	if (kinds == NULL)
		kinds = plan.trace != NULL ? plan.trace :
		    "ask,told,store,fault,script,table";
	options.trace_kinds = world_trace_kinds(kinds);
	if (options.trace_kinds == 0)
		sim_fail(kinds, "not kinds of traces");
	if (s->coverage)
		options.coverage = &coverage;
	world_run(&plan, &options, &result);
	plan_done(&plan);
	if (s->coverage)
		coverage_print(&coverage, stdout);
	if (!result.guilty)
		return 0;
	sim_print_finding(&job, &result.finding);
	return SIM_FOUND;
}

static int
sim_many(struct sim *s)
{
	struct runner_report *r = calloc(1, sizeof(*r));
	int status = 0;

	if (r == NULL)
		sim_fail("seeds", "out of memory");
	s->runner.coverage = s->coverage;
	runner_run(s->scenarios, s->n_scenarios, s->first, s->last, &s->runner,
	    r);
	if (s->coverage)
		coverage_print(&r->coverage, stdout);
	if (r->guilty) {
		sim_print_finding(&r->job, &r->finding);
		if (!s->brief)
			sim_cut_down(&r->job, &r->finding);
		status = SIM_FOUND;
	} else {
		(void)printf("%" PRIu64 " histories, no violation\n",
		    r->histories);
		if (s->check_coverage &&
		    !coverage_check(&r->coverage, stdout))
			status = 1;
	}
	free(r);
	return status;
}

/* ---- the command line ------------------------------------------------- */

enum { SIM_SEED = 1, SIM_SEEDS, SIM_FOREIGN, SIM_ALONE, SIM_SCENARIO, SIM_PLAN,
	SIM_SCENARIOS, SIM_TRACE, SIM_PRINT_PLAN, SIM_JOBS, SIM_COVERAGE,
	SIM_CHECK_COVERAGE, SIM_PROGRESS, SIM_UNTIL_VIOLATION, SIM_MUTANT,
	SIM_FLEET, SIM_DAY, SIM_MINUTES, SIM_JSON, SIM_POLL, SIM_LINE,
	SIM_LEASE,
	SIM_PARTITIONS, SIM_BURST, SIM_HELP };

static const struct option sim_options[] = {
	{ "seed", required_argument, NULL, SIM_SEED },
	{ "seeds", required_argument, NULL, SIM_SEEDS },
	{ "foreign", no_argument, NULL, SIM_FOREIGN },
	{ "alone", no_argument, NULL, SIM_ALONE },
	{ "scenario", required_argument, NULL, SIM_SCENARIO },
	{ "plan", required_argument, NULL, SIM_PLAN },
	{ "scenarios", required_argument, NULL, SIM_SCENARIOS },
	{ "trace", optional_argument, NULL, SIM_TRACE },
	{ "print-plan", no_argument, NULL, SIM_PRINT_PLAN },
	{ "jobs", required_argument, NULL, SIM_JOBS },
	{ "coverage", no_argument, NULL, SIM_COVERAGE },
	{ "check-coverage", no_argument, NULL, SIM_CHECK_COVERAGE },
	{ "progress", no_argument, NULL, SIM_PROGRESS },
	{ "until-violation", no_argument, NULL, SIM_UNTIL_VIOLATION },
	{ "mutant", required_argument, NULL, SIM_MUTANT },
	{ "fleet", required_argument, NULL, SIM_FLEET },
	{ "day", required_argument, NULL, SIM_DAY },
	{ "minutes", required_argument, NULL, SIM_MINUTES },
	{ "json", no_argument, NULL, SIM_JSON },
	{ "poll", required_argument, NULL, SIM_POLL },
	{ "line", required_argument, NULL, SIM_LINE },
	{ "lease", required_argument, NULL, SIM_LEASE },
	{ "partitions", required_argument, NULL, SIM_PARTITIONS },
	{ "burst", required_argument, NULL, SIM_BURST },
	{ "help", no_argument, NULL, SIM_HELP },
	{ NULL, 0, NULL, 0 },
};

static uint64_t
sim_number(const char *text, const char **ret_end)
{
	char *end;
	uint64_t n;

	errno = 0;
	n = strtoull(text, &end, 10);
	if (end == text || errno != 0 || text[0] == '-')
		sim_fail(text, "not a number");
	*ret_end = end;
	return n;
}

static void
sim_seeds(struct sim *s, const char *text, bool one)
{
	const char *end;

	s->first = s->last = sim_number(text, &end);
	s->one = one;
	if (!one && *end == '-')
		s->last = sim_number(end + 1, &end);
	if (*end != '\0' || s->last < s->first)
		sim_fail(text, "not a seed, or FIRST-LAST");
}

static void
sim_usage_to(FILE *to)
{
	(void)fputs(sim_usage, to);
	(void)fputs("\nDays:\n", to);
	fleet_list_days(to);
}

/* A number from @least to @most. */
static uint64_t
sim_bounded(const char *text, uint64_t least, uint64_t most)
{
	char bounds[64];
	const char *end;
	uint64_t n = sim_number(text, &end);

	(void)snprintf(bounds, sizeof(bounds), "from %" PRIu64 " to %" PRIu64,
	    least, most);
	if (*end != '\0' || n < least || n > most)
		sim_fail(text, bounds);
	return n;
}

/* False: it is not about a fleet. */
static bool
sim_fleet_option(struct fleet_options *f, int option)
{
	switch (option) {
	case SIM_FLEET:
		f->n_hosts = (unsigned)sim_bounded(optarg, FLEET_HOSTS_MIN,
		    FLEET_HOSTS_MAX);
		return true;
	case SIM_DAY:
		f->day = optarg;
		return true;
	case SIM_MINUTES:
		f->minutes = (uint32_t)sim_bounded(optarg, 1,
		    FLEET_MINUTES_MAX);
		return true;
	case SIM_JSON:
		f->json = true;
		return true;
	case SIM_POLL:
		f->poll_ms = sim_bounded(optarg, 10, 3600000);
		return true;
	case SIM_LINE:
		f->line_max = (uint32_t)sim_bounded(optarg, 0,
		    LINE_PLACES_MAX);
		return true;
	case SIM_LEASE:
		f->lease_ms = sim_bounded(optarg, 1000, 3600000);
		return true;
	case SIM_PARTITIONS:
		f->partitions = (uint32_t)sim_bounded(optarg, 1,
		    FLEET_PARTITIONS_MAX);
		return true;
	case SIM_BURST:
		f->burst_s = (uint32_t)sim_bounded(optarg, 0, 300);
		return true;
	default:
		return false;
	}
}

static int
sim_fleet(struct sim *s)
{
	if (s->fleet.day == NULL || !fleet_has_day(s->fleet.day)) {
		sim_usage_to(stderr);
		return 1;
	}
	if (s->one)
		s->fleet.seed = s->first;
	return fleet_run(&s->fleet, stdout) ? 0 : SIM_FOUND;
}

static void
sim_option(struct sim *s, int option)
{
	const char *slash = optarg == NULL ? NULL : strrchr(optarg, '/');
	const char *end;

	switch (option) {
	case SIM_SEED:
	case SIM_SEEDS:
		sim_seeds(s, optarg, option == SIM_SEED);
		break;
	case SIM_FOREIGN:
		s->runner.foreign = true;
		break;
	case SIM_ALONE:
		s->runner.alone = true;
		break;
	case SIM_SCENARIO:
	case SIM_PLAN:
		s->one = true;
		if (option == SIM_PLAN)
			sim_add_plan(s, optarg, slash != NULL ? slash + 1 :
			    optarg);
		else
			sim_add_scenario(s, optarg);
		break;
	case SIM_SCENARIOS:
		sim_add_folder(s, optarg, "");
		qsort(s->scenarios, s->n_scenarios, sizeof(s->scenarios[0]),
		    sim_compare);
		break;
	case SIM_TRACE:
		s->trace = true;
		s->trace_kinds = optarg;
		break;
	case SIM_PRINT_PLAN:
		s->print_plan = true;
		break;
	case SIM_JOBS:
		s->runner.processes = (unsigned)sim_number(optarg, &end);
		if (s->runner.processes < 1 || s->runner.processes > 64)
			sim_fail(optarg, "1 to 64 processes");
		break;
	case SIM_CHECK_COVERAGE:
		s->check_coverage = true;
		/* fall through */
	case SIM_COVERAGE:
		s->coverage = true;
		break;
	case SIM_PROGRESS:
		s->runner.progress = true;
		break;
	case SIM_UNTIL_VIOLATION:
		s->brief = true;
		break;
	case SIM_MUTANT:
		if (!runner_mutant(optarg))
			sim_fail(optarg, "no such mutant in this build");
		break;
	case SIM_HELP:
		sim_usage_to(stdout);
		exit(0);
	default:
		if (sim_fleet_option(&s->fleet, option))
			break;
		sim_usage_to(stderr);
		exit(1);
	}
}

int
main(int argc, char **argv)
{
	struct sim s = { .first = 1, .last = 0,
		.directory = getenv("DDBLOCK_SIM_SCENARIOS"),
		.runner = { .processes = (unsigned)sysconf(
		    _SC_NPROCESSORS_ONLN) } };
	int option, status;

	fleet_options_init(&s.fleet);
	if (s.directory == NULL)
		s.directory = SIM_SCENARIOS_DIR;
	while ((option = getopt_long(argc, argv, "", sim_options, NULL)) != -1)
		sim_option(&s, option);
	if (optind < argc)
		sim_fail(argv[optind], "no arguments are expected");
	if (s.fleet.n_hosts > 0)
		return sim_fleet(&s);
	if (s.n_scenarios == 0 && s.last < s.first) {
		sim_usage_to(stderr);
		return 1;
	}
	if (s.one && (s.trace || s.print_plan))
		status = sim_one(&s);
	else
		status = sim_many(&s);
	for (size_t i = 0; i < s.n_scenarios; i++) {
		free((void *)(uintptr_t)s.scenarios[i].path);
		free((void *)(uintptr_t)s.scenarios[i].name);
	}
	return status;
}
