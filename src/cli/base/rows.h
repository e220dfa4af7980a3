/*
 * Rows from the daemon, for people (a table) or for programs (JSON).
 */
#ifndef DDBLOCKD_CLI_BASE_ROWS_H
#define DDBLOCKD_CLI_BASE_ROWS_H

#include "cli/base/cli.h"
#include "common/buffer.h"

#define ROWS_COLUMNS_MAX 16

struct rows_view {
	enum ddblock_query_kind kind;
	struct ddblock_query_options query;
	/* Their names, separated by spaces. "mode?exclusive" is shown only if a
	 * row has another mode, "limit?" only if a row has a limit. */
	const char *columns;
	bool sorted;		/* by key, as far as there is room */
	const char *about;	/* for complaints: what failed */
	const char *none;	/* what to say when there are no rows */
	const char *json_array;	/* a name for the rows: the reply's own fields
				 * go beside them; NULL: the rows are all */
	/* Details that a table has no room for: lines below it, for rows that
	 * have any; NULL: none. */
	void (*note)(struct buffer *, const struct ddblock_row *);
	/* Does the row stand for a hold? If no row does, the status is
	 * CLI_NOT_HELD. NULL: the rows have no effect on it. */
	bool (*is_held)(const struct ddblock_row *);
	/* The reply's own fields, below a table; NULL: nothing. */
	void (*footer)(const struct ddblock_row *);
};

/* Ask, and print what comes. Returns the exit status. */
int rows_print(struct cli *, const struct rows_view *);

/* The same for a command whose operand is a key, or none; with the namespace
 * and the sort key that it was given. The options have been read. */
int rows_of_key(struct cli *, int argc, char **argv, struct rows_view *);

/* {"name":value,...}; the same without the braces; one field. */
void rows_object(struct buffer *, const struct ddblock_row *);
void rows_members(struct buffer *, const struct ddblock_row *);
void rows_member(struct buffer *, const char *name, const char *value,
    size_t length);

/* @before, the row's field @name made fit for a terminal, @after; nothing if
 * there is no such field. */
void rows_field(struct buffer *, const struct ddblock_row *, const char *name,
    const char *before, const char *after);

#endif
