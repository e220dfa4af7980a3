/*
 * Times, what a process costs, and medians.
 */
#include "bench.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"

void
die(const char *format, ...)
{
	va_list arguments;

	fputs("bench: ", stderr);
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fputc('\n', stderr);
	exit(2);
}

double
now_us(void)
{
	return (double)clock_boot_us();
}

static void
numbers_read(const char *path, uint64_t *ret_first)
{
	FILE *f = fopen(path, "re");

	*ret_first = 0;
	if (f == NULL)
		return; /* a thread that has just ended */
	if (fscanf(f, "%" SCNu64, ret_first) != 1)
		*ret_first = 0;
	fclose(f);
}

double
process_cpu_us(pid_t pid)
{
	char path[BENCH_PATH_MAX];
	double ns = 0;
	const struct dirent *entry;
	DIR *tasks;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	tasks = opendir(path);
	if (tasks == NULL)
		die("process %d is gone", (int)pid);
	while ((entry = readdir(tasks)) != NULL) {
		uint64_t task_ns;

		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "/proc/%d/task/%.20s/schedstat",
		    (int)pid, entry->d_name);
		numbers_read(path, &task_ns);
		ns += (double)task_ns;
	}
	closedir(tasks);
	return ns / 1000;
}

/* A line of its status, such as "VmRSS:". */
static double
process_status_mb(pid_t pid, const char *name)
{
	size_t length = strlen(name);
	char path[64];
	char line[256];
	unsigned long kb = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	f = fopen(path, "re");
	if (f == NULL)
		die("process %d is gone", (int)pid);
	while (fgets(line, sizeof(line), f) != NULL) {
		if (strncmp(line, name, length) != 0)
			continue;
		kb = strtoul(line + length, NULL, 10);
		break;
	}
	fclose(f);
	return (double)kb / 1024;
}

double
process_resident_mb(pid_t pid)
{
	return process_status_mb(pid, "VmRSS:");
}

double
process_peak_mb(pid_t pid)
{
	return process_status_mb(pid, "VmHWM:");
}

void
process_forget_peak(pid_t pid)
{
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/clear_refs", (int)pid);
	f = fopen(path, "we");
	if (f == NULL || fputs("5", f) < 0 || fclose(f) != 0)
		die("%s: the peak cannot be forgotten", path);
}

static int
value_compare(const void *a, const void *b)
{
	const double *x = a;
	const double *y = b;

	return (*x > *y) - (*x < *y);
}

double
percentile(const double *values, size_t count, unsigned percent)
{
	double *sorted = malloc((count + 1) * sizeof(*sorted));
	double value;

	if (sorted == NULL || count == 0)
		die("nothing was measured");
	memcpy(sorted, values, count * sizeof(*sorted));
	qsort(sorted, count, sizeof(*sorted), value_compare);
	value = sorted[count * percent / 100];
	free(sorted);
	return value;
}

double
median(const double *values, size_t count)
{
	return percentile(values, count, 50);
}

void
pairs_init(struct pairs *p, size_t count_max)
{
	p->ours = calloc(count_max, sizeof(*p->ours));
	p->theirs = calloc(count_max, sizeof(*p->theirs));
	p->count = 0;
	p->count_max = count_max;
	if (p->ours == NULL || p->theirs == NULL)
		die("out of memory");
}

void
pairs_add(struct pairs *p, double ours, double theirs)
{
	if (p->count == p->count_max)
		die("more repetitions than expected");
	p->ours[p->count] = ours;
	p->theirs[p->count] = theirs;
	p->count++;
}

void
pairs_done(struct pairs *p)
{
	free(p->ours);
	free(p->theirs);
}

double
pairs_median_ratio(const struct pairs *p)
{
	double *ratios = malloc((p->count + 1) * sizeof(*ratios));
	double middle;

	if (ratios == NULL)
		die("out of memory");
	for (size_t i = 0; i < p->count; i++)
		ratios[i] = p->ours[i] / p->theirs[i];
	middle = median(ratios, p->count);
	free(ratios);
	return middle;
}
