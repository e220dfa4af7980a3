/*
 * ddblock why: what stands in the way of a client that wants the lock, and what
 * to do about it.
 */
#include <config.h>

#include <stdio.h>
#include <stdlib.h>

#include "cli/command/command.h"
#include "cli/why/gather.h"
#include "cli/why/lately.h"
#include "cli/why/report.h"

#define WHY_REPORT_MAX (16 * 1024 * 1024)
#define WHY_LATELY_MAX 65536

static int
why_print(const struct cli *cli, const struct why_facts *f)
{
	const enum why_state state = why_judge(f);
	struct why_advices advices;
	struct buffer lately, report;
	int r;

	buffer_init(&lately, WHY_LATELY_MAX);
	buffer_init(&report, WHY_REPORT_MAX);
	why_advise(f, state, &advices);
	why_lately(cli, f->key, f->daemon.ns, &lately);
	(cli->json ? why_report_json : why_report)(&report, f, state, &advices,
	    lately.data == NULL ? "" : lately.data);
	r = buffer_failed(&report);
	if (r == 0 && report.data != NULL)
		(void)fputs(report.data, stdout);
	buffer_done(&report);
	buffer_done(&lately);
	why_advices_done(&advices);
	if (r < 0)
		return cli_failed(NULL, f->key, r);
	return f->code == 0 ? 0 : ddblock_exit_status(f->code);
}

int
command_why(struct cli *cli, int argc, char **argv)
{
	const int first = cli_operands(cli, argc, argv, 1, 1);
	struct why_facts *f;
	struct ddblock *d;
	int status;

	if (first < 0)
		return CLI_USAGE;
	f = malloc(sizeof(*f));
	if (f == NULL)
		return cli_failed(NULL, argv[first], DDBLOCK_E_NOMEM);
	status = cli_open(cli, NULL, &d);
	if (status == 0) {
		status = why_gather(cli, d, argv[first], f);
		ddblock_close(d);
		if (status == 0)
			status = why_print(cli, f);
		why_facts_done(f);
	}
	free(f);
	return cli_flush(status);
}
