/*
 * ddblock drain and undrain: a daemon that grants no new locks, and the wait
 * until nothing is held. To stop waiting does not end the drain.
 */
#include <config.h>

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "cli/base/rows.h"
#include "cli/command/command.h"
#include "common/buffer.h"
#include "common/clock.h"

#define DRAIN_LOOK_MS 500
#define DRAIN_HOLDERS_MAX 8	/* that are named */
#define DRAIN_NAME_MAX 160
#define DRAIN_STATUS_HELD 1	/* something is held when the time is over */

struct drain_holder {
	char name[DRAIN_NAME_MAX];
	uint64_t held;
};

/* What is held, and the holders. */
struct draining {
	uint64_t held;
	uint64_t others;	/* of which by those that are not named */
	struct drain_holder holders[DRAIN_HOLDERS_MAX];
	size_t n_holders;
};

static void
drain_name(const struct ddblock_row *row, char name[DRAIN_NAME_MAX])
{
	struct buffer b;

	buffer_init(&b, DRAIN_NAME_MAX);
	rows_field(&b, row, "name", "", "");
	rows_field(&b, row, "pid", " (pid ", ")");
	(void)snprintf(name, DRAIN_NAME_MAX, "%s",
	    b.length == 0 ? "clients that have left" : b.data);
	buffer_done(&b);
}

static void
drain_on_hold(void *arg, const struct ddblock_row *row, bool final)
{
	struct draining *k = arg;
	char name[DRAIN_NAME_MAX];
	size_t i = 0;

	if (final)
		return;
	k->held++;
	drain_name(row, name);
	while (i < k->n_holders && strcmp(k->holders[i].name, name) != 0)
		i++;
	if (i < k->n_holders) {
		k->holders[i].held++;
	} else if (i < DRAIN_HOLDERS_MAX) {
		(void)snprintf(k->holders[i].name, DRAIN_NAME_MAX, "%s", name);
		k->holders[i].held = 1;
		k->n_holders++;
	} else {
		k->others++;
	}
}

static void
drain_say(const struct draining *k)
{
	struct buffer b;

	buffer_init(&b, 64 * 1024);
	(void)buffer_printf(&b, "%" PRIu64 " %s held", k->held,
	    k->held == 1 ? "lock is" : "locks are");
	for (size_t i = 0; i < k->n_holders; i++)
		(void)buffer_printf(&b, "%s %" PRIu64 " by %s",
		    i == 0 ? ":" : ",", k->holders[i].held,
		    k->holders[i].name);
	if (k->others > 0)
		(void)buffer_printf(&b, ", %" PRIu64 " by others", k->others);
	cli_say("%s", b.data == NULL ? "" : b.data);
	buffer_done(&b);
}

static int
drain_look(struct cli *cli, struct ddblock *d, struct draining *ret)
{
	struct ddblock_query_options query = DDBLOCK_QUERY_OPTIONS_INIT;

	*ret = (struct draining){ .held = 0 };
	query.ns = cli->ns;
	query.state = "held,danger";
	return ddblock_query(d, DDBLOCK_QUERY_HELD, &query, drain_on_hold,
	    ret);
}

/* Until nothing is held, or the time is over. */
static int
drain_wait(struct cli *cli, struct ddblock *d, int64_t wait_ms,
    struct draining *ret)
{
	uint64_t began_ms = clock_boot_ms();
	uint64_t said = 0;

	for (;;) {
		int r = drain_look(cli, d, ret);

		if (r < 0 || ret->held == 0)
			return r;
		if (ret->held != said)
			drain_say(ret);
		said = ret->held;
		if (clock_boot_ms() - began_ms >= (uint64_t)wait_ms)
			return 0;
		(void)poll(NULL, 0, DRAIN_LOOK_MS);
	}
}

static int
drain_finish(const struct cli *cli, const struct draining *k, bool waited)
{
	if (cli->json)
		(void)printf("{\"draining\":true,\"held\":%" PRIu64 "}\n",
		    k->held);
	else if (k->held == 0)
		(void)printf("nothing is held, and nothing will be\n");
	else if (!waited)
		drain_say(k);
	return cli_flush(waited && k->held > 0 ? DRAIN_STATUS_HELD : 0);
}

static int
drain_order(struct cli *cli, enum ddblock_query_kind kind,
    struct ddblock **ret)
{
	struct ddblock_query_options query = DDBLOCK_QUERY_OPTIONS_INIT;
	int status = cli_open(cli, NULL, ret);
	int r;

	if (status != 0)
		return status;
	query.ns = cli->ns;
	r = ddblock_query(*ret, kind, &query, NULL, NULL);
	if (r == 0)
		return 0;
	status = cli_failed(*ret, kind == DDBLOCK_QUERY_DRAIN ?
	    "cannot drain" : "cannot undrain", r);
	ddblock_close(*ret);
	return status;
}

static int
drain(struct cli *cli, bool waits, int64_t wait_ms)
{
	struct draining k;
	struct ddblock *d;
	int status = drain_order(cli, DDBLOCK_QUERY_DRAIN, &d);
	int r;

	if (status != 0)
		return status;
	r = waits ? drain_wait(cli, d, wait_ms, &k) : drain_look(cli, d, &k);
	status = r < 0 ? cli_failed(d, "cannot see what is held", r) :
	    drain_finish(cli, &k, waits);
	ddblock_close(d);
	return status;
}

struct drain_words {
	bool no_wait, has_wait;	/* -n, -w */
	int64_t wait_ms;
};

static bool
drain_option(void *arg, enum cli_option option)
{
	struct drain_words *words = arg;

	if (option == CLI_OPTION_NO_WAIT)
		return words->no_wait = true;
	words->has_wait = true;
	return cli_parse_wait(optarg, &words->wait_ms);
}

int
command_drain(struct cli *cli, int argc, char **argv)
{
	struct drain_words words = { .wait_ms = DDBLOCK_WAIT_FOREVER };
	int status = cli_options(cli, argc, argv, drain_option, &words);

	if (status != 0)
		return status;
	if (optind != argc)
		return cli_misused(cli, "%s: it takes no operand",
		    argv[optind]);
	if (words.no_wait && words.has_wait)
		return cli_misused(cli, "-n does not wait, and -w does: name "
		    "one of them");
	return drain(cli, !words.no_wait, words.wait_ms);
}

int
command_undrain(struct cli *cli, int argc, char **argv)
{
	struct ddblock *d;
	int status;

	if (cli_operands(cli, argc, argv, 0, 0) < 0)
		return CLI_USAGE;
	status = drain_order(cli, DDBLOCK_QUERY_UNDRAIN, &d);
	if (status != 0)
		return status;
	ddblock_close(d);
	return 0;
}
