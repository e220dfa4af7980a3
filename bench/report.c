/*
 * The table that `make bench` prints, line by line as it is measured.
 */
#include "bench.h"

#include <stdio.h>

static bool report_headed;
static bool report_any_missed;

static void
report_head(void)
{
	if (!report_headed)
		printf("%-44s %13s %13s %9s %9s\n", "", "ddblockd", "against",
		    "is", "target");
	report_headed = true;
}

void
report_row(const char *what, const char *ours, const char *theirs,
    double value, enum target target, double limit)
{
	bool met = target == AT_MOST ? value <= limit : value >= limit;

	report_head();
	printf("%-44s %13s %13s %9.2f %2s %6.4g %s\n", what, ours, theirs,
	    value, target == AT_MOST ? "<=" : ">=", limit,
	    met ? "" : " MISSED");
	fflush(stdout);
	if (!met)
		report_any_missed = true;
}

/* For AT_LEAST the value is a ratio of rates, so theirs to ours in time. */
void
report_us(const char *what, const struct pairs *p, enum target target,
    double limit)
{
	char ours[32];
	char theirs[32];
	double ratio = pairs_median_ratio(p);

	snprintf(ours, sizeof(ours), "%.1f us", median(p->ours, p->count));
	snprintf(theirs, sizeof(theirs), "%.1f us",
	    median(p->theirs, p->count));
	report_row(what, ours, theirs, target == AT_MOST ? ratio : 1 / ratio,
	    target, limit);
}

void
report_note(const char *what, const char *ours, const char *theirs,
    double value)
{
	report_head();
	printf("%-44s %13s %13s %9.2f\n", what, ours, theirs, value);
	fflush(stdout);
}

void
report_note_us(const char *what, const struct pairs *p)
{
	char ours[32];
	char theirs[32];

	snprintf(ours, sizeof(ours), "%.1f us", median(p->ours, p->count));
	snprintf(theirs, sizeof(theirs), "%.1f us",
	    median(p->theirs, p->count));
	report_note(what, ours, theirs, pairs_median_ratio(p));
}

void
report_missed(const char *what, const char *why)
{
	report_head();
	printf("%-44s not measured: %s  MISSED\n", what, why);
	fflush(stdout);
	report_any_missed = true;
}

void
report_miss(void)
{
	report_any_missed = true;
}

bool
report_all_met(void)
{
	return !report_any_missed;
}
