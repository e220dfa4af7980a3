/*
 * The look at one lock that comes, and the one that is shown.
 */
#include <config.h>

#include "cli/top/detail.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void
detail_look_done(struct detail_look *l)
{
	for (size_t i = 0; i < l->n_fields; i++) {
		free(l->fields[i].name);
		free(l->fields[i].value);
	}
	best_done(&l->holds.best);
	best_done(&l->waiters.best);
	free(l->record);
	free(l->owner);
	(void)memset(l, 0, sizeof(*l));
}

void
detail_init(struct detail *d)
{
	(void)memset(d, 0, sizeof(*d));
}

void
detail_done(struct detail *d)
{
	detail_look_done(&d->shown);
	detail_look_done(&d->coming);
}

static bool
detail_name(char *ret, const char *text)
{
	int n = snprintf(ret, DETAIL_NAME_SIZE, "%s", text);

	return n >= 0 && n < DETAIL_NAME_SIZE;
}

bool
detail_open(struct detail *d, const struct row *r)
{
	d->number++;
	d->loaded = false;
	detail_look_done(&d->shown);
	detail_look_done(&d->coming);
	return detail_name(d->ns, r->ns) && detail_name(d->key, r->key) &&
	    detail_name(d->sort, r->sort);
}

void
detail_begin(struct detail *d, uint64_t now_wall_ms)
{
	detail_look_done(&d->coming);
	d->coming.at_wall_ms = now_wall_ms;
	best_init(&d->coming.holds.best, COLUMN_HELD);
	best_init(&d->coming.waiters.best, COLUMN_AHEAD);
	d->coming.waiters.best.reversed = true;
}

/* A copy; NULL only if there was nothing or no memory. */
static char *
detail_copy(struct detail *d, const char *bytes, size_t length)
{
	char *copy = malloc(length + 1);

	if (copy == NULL) {
		d->failed = true;
		return NULL;
	}
	if (length > 0)
		(void)memcpy(copy, bytes, length);
	copy[length] = '\0';
	return copy;
}

void
detail_field(struct detail *d, const char *name, const char *value,
    size_t length)
{
	struct detail_look *l = &d->coming;
	struct detail_field f = {
		.length = length,
		.kept = length < DETAIL_VALUE_MAX ? length : DETAIL_VALUE_MAX,
	};

	/* The record is compared as a whole, however long. */
	if (strcmp(name, "record") == 0)
		l->record = detail_copy(d, value, length);
	if (strcmp(name, "owner") == 0)
		l->owner = detail_copy(d, value, length);
	if (l->n_fields == DETAIL_FIELDS_MAX)
		return;
	f.name = detail_copy(d, name, strlen(name));
	f.value = detail_copy(d, value, f.kept);
	if (f.name != NULL && f.value != NULL) {
		l->fields[l->n_fields++] = f;
		return;
	}
	free(f.name);
	free(f.value);
}

static void
detail_row(struct detail_rows *rows, const struct row *r)
{
	rows->n_all++;
	(void)best_offer(&rows->best, r);
}

void
detail_hold(struct detail *d, const struct row *r)
{
	detail_row(&d->coming.holds, r);
}

void
detail_waiter(struct detail *d, const struct row *r)
{
	detail_row(&d->coming.waiters, r);
}

void
detail_end(struct detail *d)
{
	best_settle(&d->coming.holds.best);
	best_settle(&d->coming.waiters.best);
	d->failed = d->failed || d->coming.holds.best.failed ||
	    d->coming.waiters.best.failed;
	detail_look_done(&d->shown);
	d->shown = d->coming;
	(void)memset(&d->coming, 0, sizeof(d->coming));
	d->loaded = true;
}

const char *
detail_find(const struct detail_look *l, const char *name)
{
	for (size_t i = 0; i < l->n_fields; i++) {
		if (strcmp(l->fields[i].name, name) == 0)
			return l->fields[i].value;
	}
	return NULL;
}
