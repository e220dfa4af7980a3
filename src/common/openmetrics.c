/*
 * OpenMetrics text. The names of samples follow from the kind of their family:
 * _total, _info, _bucket, _count and _sum are nowhere else.
 */
#include "common/openmetrics.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define OPENMETRICS_NUMBER_MAX 32

static const char *const openmetrics_kinds[] = {
	[OPENMETRICS_GAUGE] = "gauge",
	[OPENMETRICS_COUNTER] = "counter",
	[OPENMETRICS_HISTOGRAM] = "histogram",
	[OPENMETRICS_INFO] = "info",
};

static const char *const openmetrics_units[] = {
	[OPENMETRICS_NUMBER] = NULL,
	[OPENMETRICS_MS] = "seconds",
	[OPENMETRICS_BYTES] = "bytes",
	[OPENMETRICS_MILLIUNITS] = "units",
};

/* What the name of a sample ends with. */
static const char *const openmetrics_ends[] = {
	[OPENMETRICS_GAUGE] = "",
	[OPENMETRICS_COUNTER] = "_total",
	[OPENMETRICS_INFO] = "_info",
};

const char *
openmetrics_unit_name(enum openmetrics_unit unit)
{
	return openmetrics_units[unit];
}

const char *
openmetrics_kind_name(enum openmetrics_kind kind)
{
	return openmetrics_kinds[kind];
}

void
openmetrics_label(struct openmetrics_labels *labels, const char *name,
    const char *value)
{
	if (value == NULL || value[0] == '\0')
		return;
	assert(labels->n < OPENMETRICS_LABELS_MAX);
	labels->all[labels->n++] = (struct openmetrics_label){ name, value };
}

static void
openmetrics_escape(struct buffer *b, const char *text)
{
	for (const char *at = text; *at != '\0'; at++) {
		if (*at == '\n')
			(void)buffer_append_text(b, "\\n");
		else if (*at == '"' || *at == '\\')
			(void)buffer_printf(b, "\\%c", *at);
		else
			(void)buffer_append(b, at, 1);
	}
}

/* A number, or thousandths with the digits that they need: "1.23", "7"; "7.0"
 * where a label has to be a float. */
static void
openmetrics_number(char to[OPENMETRICS_NUMBER_MAX], uint64_t value,
    bool thousandths, bool is_float)
{
	size_t length;

	if (!thousandths) {
		(void)snprintf(to, OPENMETRICS_NUMBER_MAX, "%" PRIu64, value);
		return;
	}
	(void)snprintf(to, OPENMETRICS_NUMBER_MAX, "%" PRIu64 ".%03u",
	    value / 1000, (unsigned)(value % 1000));
	length = strlen(to);
	while (to[length - 1] == '0' && to[length - 2] != '.')
		to[--length] = '\0';
	if (!is_float && to[length - 1] == '0')
		to[length - 2] = '\0';
}

static bool
openmetrics_in_thousandths(enum openmetrics_unit unit)
{
	return unit == OPENMETRICS_MS || unit == OPENMETRICS_MILLIUNITS;
}

static void
openmetrics_line(struct buffer *b, const char *name, const char *end,
    const struct openmetrics_labels *labels, const char *value)
{
	(void)buffer_printf(b, "%s%s", name, end);
	for (size_t i = 0; i < labels->n; i++) {
		(void)buffer_printf(b, "%s%s=\"", i == 0 ? "{" : ",",
		    labels->all[i].name);
		openmetrics_escape(b, labels->all[i].value);
		(void)buffer_append_text(b, "\"");
	}
	(void)buffer_printf(b, "%s %s\n", labels->n > 0 ? "}" : "", value);
}

void
openmetrics_begin(struct buffer *b, const struct openmetrics_family *f)
{
	const char *unit = openmetrics_units[f->unit];

	(void)buffer_printf(b, "# TYPE %s %s\n", f->name,
	    openmetrics_kinds[f->kind]);
	if (unit != NULL)
		(void)buffer_printf(b, "# UNIT %s %s\n", f->name, unit);
	(void)buffer_printf(b, "# HELP %s ", f->name);
	openmetrics_escape(b, f->help);
	(void)buffer_append_text(b, "\n");
}

void
openmetrics_sample(struct buffer *b, const struct openmetrics_family *f,
    const struct openmetrics_labels *labels, uint64_t value)
{
	char text[OPENMETRICS_NUMBER_MAX];

	assert(f->kind != OPENMETRICS_HISTOGRAM);
	openmetrics_number(text, value, openmetrics_in_thousandths(f->unit),
	    false);
	openmetrics_line(b, f->name, openmetrics_ends[f->kind], labels, text);
}

void
openmetrics_histogram(struct buffer *b, const struct openmetrics_family *f,
    const struct openmetrics_labels *labels, const struct histogram *h)
{
	char text[OPENMETRICS_NUMBER_MAX], bound[OPENMETRICS_NUMBER_MAX] = "";
	struct openmetrics_labels with = *labels;
	const uint64_t *bounds;
	uint64_t count = 0;
	size_t n;

	assert(f->kind == OPENMETRICS_HISTOGRAM && f->unit == OPENMETRICS_MS);
	bounds = histogram_bounds_ms(f->scale, &n);
	openmetrics_label(&with, "le", "+Inf");
	for (size_t i = 0; i <= n; i++) {
		count += h->counts[i];
		openmetrics_number(text, count, false, false);
		if (i < n)
			openmetrics_number(bound, bounds[i], true, true);
		with.all[with.n - 1].value = i < n ? bound : "+Inf";
		openmetrics_line(b, f->name, "_bucket", &with, text);
	}
	openmetrics_number(text, count, false, false);
	openmetrics_line(b, f->name, "_count", labels, text);
	openmetrics_number(text, h->sum_ms, true, false);
	openmetrics_line(b, f->name, "_sum", labels, text);
}
