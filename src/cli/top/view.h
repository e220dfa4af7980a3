/*
 * What the user of ddblock top looks at, and what keys change. Pure: what a key
 * asks of the daemon is returned as a command.
 */
#ifndef DDBLOCKD_CLI_TOP_VIEW_H
#define DDBLOCKD_CLI_TOP_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/top/detail.h"
#include "cli/top/model.h"
#include "cli/top/page.h"

#define VIEW_INTERVAL_MIN_MS 100
#define VIEW_INTERVAL_MAX_MS (7 * 86400 * 1000)
#define VIEW_REASON_MAX 200	/* bytes: the protocol's */

/* Keys that are no character. */
enum view_key {
	VIEW_KEY_NONE = 0x200000,
	VIEW_KEY_UP,
	VIEW_KEY_DOWN,
	VIEW_KEY_PAGE_UP,
	VIEW_KEY_PAGE_DOWN,
	VIEW_KEY_HOME,
	VIEW_KEY_END,
	VIEW_KEY_TAB,
	VIEW_KEY_ENTER,
	VIEW_KEY_ESCAPE,
	VIEW_KEY_BACKSPACE,
	VIEW_KEY_CLEAR,		/* ^U */
	VIEW_KEY_REDRAW,	/* ^L */
};

enum view_command {
	VIEW_NOTHING,		/* but what is shown may have changed */
	VIEW_LOOK,		/* at the daemon, soon */
	VIEW_OPEN,		/* look into the lock of the detail */
	VIEW_BREAK,		/* what ->breaking says */
	VIEW_REDRAW,
	VIEW_QUIT,
};

enum view_mode {
	VIEW_LIST,
	VIEW_DETAIL,
	VIEW_HELP,
};

enum view_prompt {
	VIEW_NO_PROMPT,
	VIEW_FILTER,
	VIEW_CONFIRM,		/* y, or not */
	VIEW_REASON,
};

/* The row under the bar: it is found again after a refresh. */
struct view_place {
	size_t index, offset;
	uint64_t hash, id, pid;
};

/* The hold that was shown when its break was asked for. */
struct view_breaking {
	bool wanted;		/* ask when the detail is there */
	uint64_t number;	/* of the detail */
	uint64_t token;		/* 0: named by its record */
	char owner[DETAIL_VALUE_MAX];	/* then its record is of this one */
	char reason[VIEW_REASON_MAX + 1];
};

struct view {
	enum list list;
	enum view_mode mode, behind;	/* behind the help */
	enum view_prompt prompt;
	struct view_place places[LISTS];
	size_t page_rows;	/* rows that fit: the layout says it */
	size_t detail_offset, detail_lines, detail_rows;
	char input[MODEL_TEXT_SIZE];
	size_t input_length;
	struct view_breaking breaking;
	bool paused;
	uint64_t interval_ms;
	char message[1024];	/* until the next key */
	enum page_style message_style;
	char trouble[512];	/* the connection is not there: why; or "" */
	uint64_t pace_ms;	/* between two looks, if that is longer */
	uint64_t silent_ms;	/* no answer for so long, or 0 */
	/* The wall clock as people write it, as short as "15:04:05". */
	void (*local)(char *ret, size_t size, uint64_t wall_ms,
	    uint64_t now_wall_ms);
};

void view_init(struct view *, uint64_t interval_ms);

/* @key: a character, or one of enum view_key. */
enum view_command view_press(struct view *, struct model *, struct detail *,
    uint32_t key);

/* The lists are new; the detail is. */
void view_on_lists(struct view *, const struct model *);
void view_on_detail(struct view *, const struct detail *);

void view_say(struct view *, enum page_style, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
