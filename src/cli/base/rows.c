/*
 * Rows as they come: JSON is written at once; a table first looks at a number
 * of rows to find how wide its columns are, and then writes at once too, so
 * that a list of a million locks needs no memory. Rows that are to be sorted
 * are kept as long as they are not too many for that. On a terminal, one line
 * says how far a long listing is.
 */
#include <config.h>

#include "cli/base/rows.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/options.h"
#include "cli/base/rows_kept.h"

#define ROWS_SEEN_FIRST 200
#define ROWS_SORTED_MAX 10000
#define ROWS_SORTED_BYTES_MAX (4 * 1024 * 1024)
#define ROWS_CELLS_MAX (1024 * 1024)
#define ROWS_NAME_SIZE 64

struct rows_writer {
	const struct rows_view *view;
	bool json;
	bool failed;		/* out of memory */
	bool progress;		/* may be shown */
	bool shown;		/* and is */
	size_t n_rows;
	bool held;		/* some row is a hold */
	size_t n_columns;
	const char *columns[ROWS_COLUMNS_MAX];
	size_t lengths[ROWS_COLUMNS_MAX];	/* of the names */
	size_t widths[ROWS_COLUMNS_MAX];
	bool hidden[ROWS_COLUMNS_MAX];	/* no row so far needs it */
	size_t gap;		/* before the next cell */
	bool settled;		/* the widths are known, and no row is kept */
	size_t n_written;	/* of JSON */
	struct rows_kept kept;	/* cells, clean, a NUL after each; or JSON */
	struct buffer scratch;
	struct buffer notes;	/* for below the table */
};

static void
rows_init(struct rows_writer *w, const struct rows_view *view, bool json)
{
	const char *at = view->columns == NULL ? "" : view->columns;

	*w = (struct rows_writer){ .view = view, .json = json,
		.settled = json && !view->sorted };
	/* With JSON on a terminal, a progress line would mix with the rows. */
	w->progress = isatty(STDERR_FILENO) == 1 &&
	    (!json || isatty(STDOUT_FILENO) != 1);
	rows_kept_init(&w->kept);
	buffer_init(&w->scratch, 16 * ROWS_CELLS_MAX);
	buffer_init(&w->notes, ROWS_CELLS_MAX);
	while (*at != '\0' && w->n_columns < ROWS_COLUMNS_MAX) {
		size_t length = strcspn(at, " ?");

		w->columns[w->n_columns] = at;
		w->lengths[w->n_columns] = length;
		w->widths[w->n_columns] = length;
		at += length;
		w->hidden[w->n_columns++] = *at == '?';
		at += strcspn(at, " ");
		at += strspn(at, " ");
	}
}

static void
rows_done(struct rows_writer *w)
{
	rows_kept_done(&w->kept);
	buffer_done(&w->scratch);
	buffer_done(&w->notes);
}

/* Print a cell. Its padding comes with the next cell of the line. */
static void
rows_cell(struct rows_writer *w, size_t column, const char *text,
    size_t columns)
{
	if (w->hidden[column])
		return;
	(void)printf("%*s%s", (int)w->gap, "", text);
	w->gap = 2 + (columns < w->widths[column] ?
	    w->widths[column] - columns : 0);
}

static void
rows_line_end(struct rows_writer *w)
{
	(void)putchar('\n');
	w->gap = 0;
}

static size_t
rows_columns_of(const char *text)
{
	size_t n = 0;

	for (; *text != '\0'; text++)
		n += ((unsigned char)*text & 0xc0) != 0x80;
	return n;
}

static void
rows_heading(struct rows_writer *w)
{
	for (size_t i = 0; i < w->n_columns; i++) {
		char name[ROWS_NAME_SIZE];

		(void)snprintf(name, sizeof(name), "%.*s", (int)w->lengths[i],
		    w->columns[i]);
		for (char *c = name; *c != '\0'; c++)
			*c = *c >= 'a' && *c <= 'z' ? (char)(*c - 32) : *c;
		rows_cell(w, i, name, w->lengths[i]);
	}
	rows_line_end(w);
}

static void
rows_json_write(struct rows_writer *w, const char *object)
{
	(void)fputs(w->n_written++ == 0 ? "\n" : ",\n", stdout);
	(void)fputs(object, stdout);
}

/* A row that was kept. */
static void
rows_kept_write(struct rows_writer *w, const char *text)
{
	if (w->json) {
		rows_json_write(w, text);
		return;
	}
	for (size_t i = 0; i < w->n_columns; i++) {
		rows_cell(w, i, text, rows_columns_of(text));
		text += strlen(text) + 1;
	}
	rows_line_end(w);
}

/* The widths are fixed now: print the heading and all rows that were kept. */
static void
rows_settle(struct rows_writer *w)
{
	if (w->settled)
		return;
	w->settled = true;
	if (w->n_rows > 0 && !w->json)
		rows_heading(w);
	for (size_t i = 0; i < w->kept.n && rows_kept_failed(&w->kept) == 0;
	    i++)
		rows_kept_write(w, rows_kept_text(&w->kept, i));
}

/* After a row that was kept: enough of them are. */
static bool
rows_is_enough(const struct rows_writer *w)
{
	if (!w->view->sorted)
		return w->kept.n == ROWS_SEEN_FIRST;
	return w->kept.n == ROWS_SORTED_MAX ||
	    w->kept.text.length > ROWS_SORTED_BYTES_MAX;
}

static const char *
rows_value(const struct rows_writer *w, size_t column,
    const struct ddblock_row *row, size_t *ret_length)
{
	char name[ROWS_NAME_SIZE];
	const char *value;

	(void)snprintf(name, sizeof(name), "%.*s", (int)w->lengths[column],
	    w->columns[column]);
	value = ddblock_row_find(row, name, ret_length);
	return value == NULL || *ret_length == 0 ? NULL : value;
}

/* Has the row an unusual value in a hidden column? */
static bool
rows_unusual(const struct rows_writer *w, size_t column,
    const struct ddblock_row *row)
{
	const char *usual = w->columns[column] + w->lengths[column] + 1;
	size_t length;
	const char *value = rows_value(w, column, row, &length);

	return value != NULL && (length != strcspn(usual, " ") ||
	    memcmp(value, usual, length) != 0);
}

/* If the heading has been written already, write another. */
static void
rows_reveal(struct rows_writer *w, const struct ddblock_row *row)
{
	bool again = false;

	for (size_t i = 0; i < w->n_columns; i++) {
		if (w->hidden[i] && rows_unusual(w, i, row)) {
			w->hidden[i] = false;
			again = w->settled;
		}
	}
	if (again) {
		rows_line_end(w);
		rows_heading(w);
	}
}

static void
rows_table_row(struct rows_writer *w, const struct ddblock_row *row)
{
	rows_reveal(w, row);
	if (!w->settled)
		rows_kept_add(&w->kept, row);
	for (size_t i = 0; i < w->n_columns; i++) {
		struct buffer *b = w->settled ? &w->scratch : &w->kept.text;
		size_t length = 1;
		const char *value = rows_value(w, i, row, &length);
		size_t columns;

		if (value == NULL) {
			value = "-";
			length = 1;
		}
		columns = cli_clean(b, value, length);
		if (w->settled) {
			rows_cell(w, i, b->data, columns);
			buffer_clear(b);
			continue;
		}
		(void)buffer_append(b, "", 1);
		if (columns > w->widths[i])
			w->widths[i] = columns;
	}
	if (w->settled)
		rows_line_end(w);
	if (w->view->note != NULL)
		w->view->note(&w->notes, row);
}

static void
rows_json_row(struct rows_writer *w, const struct ddblock_row *row)
{
	if (!w->settled) {
		rows_kept_add(&w->kept, row);
		rows_object(&w->kept.text, row);
		(void)buffer_append(&w->kept.text, "", 1);
		return;
	}
	rows_object(&w->scratch, row);
	rows_json_write(w, w->scratch.data == NULL ? "" : w->scratch.data);
	buffer_clear(&w->scratch);
}

static void
rows_wipe(struct rows_writer *w)
{
	if (w->shown)
		(void)fputs("\r\033[K", stderr);
	w->shown = false;
}

void
rows_field(struct buffer *b, const struct ddblock_row *row, const char *name,
    const char *before, const char *after)
{
	size_t length;
	const char *value = ddblock_row_find(row, name, &length);

	if (value == NULL)
		return;
	(void)buffer_append_text(b, before);
	(void)cli_clean(b, value, length);
	(void)buffer_append_text(b, after);
}

static void
rows_on_progress(void *arg, const struct ddblock_row *row, bool final)
{
	struct rows_writer *w = arg;
	struct buffer *b = &w->scratch;

	(void)final;
	if (!w->progress)
		return;
	rows_wipe(w);
	rows_field(b, row, "ns", "listing ", "");
	rows_field(b, row, "examined", ": ", " looked at");
	rows_field(b, row, "rows", ", ", " found");
	rows_field(b, row, "units", ", ", " read units");
	if (b->data != NULL && buffer_failed(b) == 0) {
		(void)fputs(b->data, stderr);
		w->shown = true;
	}
	buffer_clear(b);
}

/* @row: the reply's own fields. */
static void
rows_end(struct rows_writer *w, const struct ddblock_row *row)
{
	if (w->view->sorted && !w->settled)
		rows_kept_sort(&w->kept);
	rows_settle(w);
	if (w->json && w->view->json_array != NULL) {
		rows_object(&w->scratch, row);
		(void)printf("\n],\n\"daemon\":%s}\n",
		    w->scratch.data == NULL ? "{}" : w->scratch.data);
	} else if (w->json) {
		(void)fputs("\n]\n", stdout);
	} else {
		if (w->notes.length > 0)
			(void)printf("\n%s", w->notes.data);
		if (w->n_rows == 0 && w->view->none != NULL)
			(void)fprintf(stderr, "%s\n", w->view->none);
		if (w->view->footer != NULL)
			w->view->footer(row);
	}
}

static void
rows_on_row(void *arg, const struct ddblock_row *row, bool final)
{
	struct rows_writer *w = arg;

	rows_wipe(w);
	if (!final) {
		w->n_rows++;
		w->held = w->held || (w->view->is_held != NULL &&
		    w->view->is_held(row));
		if (w->json)
			rows_json_row(w, row);
		else
			rows_table_row(w, row);
		if (!w->settled && rows_is_enough(w))
			rows_settle(w);
	} else {
		rows_end(w, row);
	}
	w->failed = w->failed || rows_kept_failed(&w->kept) != 0 ||
	    buffer_failed(&w->scratch) != 0 || buffer_failed(&w->notes) != 0;
}

int
rows_print(struct cli *cli, const struct rows_view *view)
{
	struct ddblock_query_options query = view->query;
	struct rows_writer w;
	struct ddblock *d;
	int status = cli_open(cli, NULL, &d);
	int r;

	if (status != 0)
		return status;
	rows_init(&w, view, cli->json);
	query.on_progress = rows_on_progress;
	if (w.json && view->json_array != NULL)
		(void)printf("{\"%s\":[", view->json_array);
	else if (w.json)
		(void)fputs("[", stdout);
	r = ddblock_query(d, view->kind, &query, rows_on_row, &w);
	rows_wipe(&w);
	if (r == 0 && w.failed)
		r = DDBLOCK_E_NOMEM;
	if (r < 0) {
		rows_settle(&w);
		status = cli_failed(d, view->about, r);
	} else if (view->is_held != NULL && !w.held) {
		status = CLI_NOT_HELD;
	}
	rows_done(&w);
	ddblock_close(d);
	return cli_flush(status);
}

int
rows_of_key(struct cli *cli, int argc, char **argv, struct rows_view *view)
{
	if (!cli_count_operands(cli, argc, argv, 0, 1))
		return CLI_USAGE;
	if (optind < argc)
		view->query.key = argv[optind];
	view->query.ns = cli->ns;
	view->query.sort = cli->sort;
	return rows_print(cli, view);
}
