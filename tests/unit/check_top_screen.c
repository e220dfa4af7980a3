/*
 * ddblock top: what is on the screen, of which size ever, and what keys do.
 */
#include <inttypes.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>

#include "cli/top/detail.h"
#include "cli/top/model.h"
#include "cli/top/page.h"
#include "cli/top/screen.h"
#include "cli/top/table.h"
#include "cli/top/view.h"
#include "test.h"

#define LINES_MAX 40
#define LINE_SIZE 1024

static struct model m;
static struct detail d;
static struct view v;
static char lines[LINES_MAX][LINE_SIZE];

static void
local(char *ret, size_t size, uint64_t wall_ms, uint64_t now_wall_ms)
{
	(void)now_wall_ms;
	(void)snprintf(ret, size, "@%" PRIu64, wall_ms);
}

static void
setup(void)
{
	const uint64_t random_bits[2] = { 1, 2 };
	struct model_namespace ns = { .name = "default", .store = "sqlite",
		.state = "ok", .has_session = true, .danger_ms = 9500,
		.renewed_ms = 500, .counts = true, .held = 2, .waiting = 1 };
	struct model_daemon daemon = { .version = "0.1.0", .host = "web-3",
		.pid = 123, .uptime_ms = 65000, .connections = 4 };

	(void)setlocale(LC_CTYPE, "C.UTF-8");
	ck_assert_int_eq(model_init(&m, random_bits), 0);
	detail_init(&d);
	view_init(&v, 2000);
	v.local = local;
	model_begin_status(&m);
	model_namespace(&m, &ns);
	model_status(&m, &daemon, 1000);
}

static void
teardown(void)
{
	detail_done(&d);
	model_done(&m);
}

TEST_FIXTURE(setup, teardown)

/* Texts follow each other from left to right. */
static void
put(void *arg, unsigned line, unsigned column, enum page_style style,
    const char *bytes, size_t length)
{
	size_t at;

	(void)arg;
	(void)style;
	ck_assert_uint_lt(line, LINES_MAX);
	at = strlen(lines[line]);
	ck_assert_uint_eq(page_width(lines[line], at), column);
	ck_assert_uint_lt(at + length, LINE_SIZE);
	(void)memcpy(lines[line] + at, bytes, length);
	lines[line][at + length] = '\0';
}

static void
draw(unsigned columns, unsigned n)
{
	struct page page;

	(void)memset(lines, 0, sizeof(lines));
	page_init(&page, columns, n, put, NULL);
	screen_draw(&page, &v, &m, &d);
	page_done(&page);
	for (unsigned i = 0; i < LINES_MAX; i++) {
		ck_assert_uint_le(page_width(lines[i], strlen(lines[i])),
		    columns);
		if (i >= n)
			ck_assert_str_eq(lines[i], "");
	}
}

/* The line that begins so, or -1. */
static int
find(const char *begin)
{
	for (int i = 0; i < LINES_MAX; i++) {
		if (strncmp(lines[i], begin, strlen(begin)) == 0)
			return i;
	}
	return -1;
}

static void
look(unsigned n)
{
	struct row r;
	char key[32];

	model_begin(&m, 5000);
	row_init(&r);
	r.ns = "default";
	r.key = "key-1";
	r.who = "waiter";
	r.holder = "web-3/worker:8";
	r.waited_ms = 700;
	model_wait(&m, &r);
	for (unsigned i = 0; i < n; i++) {
		row_init(&r);
		(void)snprintf(key, sizeof(key), "key-%u", i);
		r.ns = "default";
		r.key = key;
		r.id = i + 1;
		r.token = 100 + i;
		r.held_ms = 60000 - 1000 * i;
		r.has_left = true;
		r.left_ms = 19000;
		r.who = "worker";
		r.state = "held";
		r.pid = 80 + i;
		model_hold(&m, &r);
	}
	model_end(&m, 5010, 100000, false);
	view_on_lists(&v, &m);
}

/* ---- pages ---------------------------------------------------------- */

/* Nothing that drives a terminal, turns its text or hides it comes through;
 * what does not fit is cut, and not within a character. */
static const struct {
	const char *text;
	unsigned columns;
	const char *shown;
} texts[] = {
	{ "jobs/nightly", 20, "jobs/nightly" },
	{ "jobs/nightly", 6, "jobs/~" },
	{ "\033[31mred\007\n", 40, "\\x1b[31mred\\x07\\x0a" },
	{ "\302\233 C1", 40, "\\xc2\\x9b C1" },
	{ "no\377text", 40, "no\\xfftext" },
	{ "turn\342\200\256ed", 40, "turn\\xe2\\x80\\xaeed" },
	{ "\303\244\303\266\303\274", 3, "\303\244\303\266\303\274" },
	{ "\303\244\303\266\303\274", 2, "\303\244~" },
	{ "\346\227\245\346\234\254", 4, "\346\227\245\346\234\254" },
	{ "\346\227\245\346\234\254", 3, "\346\227\245~" },
	{ "\033\033", 6, "\\x1b~" },
	{ "", 5, "" },
};

TEST_ROWS(test_texts, texts)
{
	struct page page;

	(void)memset(lines, 0, sizeof(lines));
	page_init(&page, texts[_i].columns, 1, put, NULL);
	page_put(&page, PAGE_PLAIN, texts[_i].text);
	page_done(&page);
	ck_assert_str_eq(lines[0], texts[_i].shown);
}

static const struct {
	uint64_t ms;
	const char *text;
} durations[] = {
	{ 0, "0ms" }, { 999, "999ms" }, { 1000, "1.0s" }, { 59999, "59.9s" },
	{ 60000, "1m00s" }, { 3599999, "59m59s" }, { 3600000, "1h00m" },
	{ 86399999, "23h59m" }, { 86400000, "1d00h" },
	{ UINT64_C(8553600000), "99d00h" },
};

TEST_ROWS(test_durations, durations)
{
	char text[PAGE_DURATION_SIZE];

	page_duration(text, sizeof(text), durations[_i].ms);
	ck_assert_str_eq(text, durations[_i].text);
}

/* A name that needs little leaves the rest to the other. */
TEST(test_widths)
{
	static const struct table_column columns[] = {
		{ "A", 0, false, 0 }, { "N", 10, true, 0 },
		{ "B", 0, false, 0 }, { "C", 10, true, 60 },
	};
	const unsigned little[] = { 6, 0, 100, 0 };
	const unsigned much[] = { 100, 0, 100, 0 };
	struct table t;

	table_plan(&t, columns, 4, 2, 50, little);
	ck_assert_uint_eq(t.widths[0], 6);
	ck_assert_uint_eq(t.widths[1], 10);
	ck_assert_uint_eq(t.widths[2], 50 - 6 - 10 - 4);
	ck_assert_uint_eq(t.widths[3], 0);
	table_plan(&t, columns, 4, 2, 60, much);
	ck_assert_uint_eq(t.widths[3], 10);
	ck_assert_uint_eq(t.widths[0], 17);
	ck_assert_uint_eq(t.widths[2], 17);
}

/* ---- the screen ----------------------------------------------------- */

TEST(test_screen_of_80_columns)
{
	look(3);
	draw(80, 24);
	ck_assert_str_eq(lines[0], "ddblockd 0.1.0 on web-3, pid 123, up "
	    "1m05s, connections: 4");
	ck_assert_int_eq(find("default   sqlite   ok        9.5s   500ms"), 2);
	ck_assert_int_eq(find("1*Keys 2 Holds 3 Waits  by WAITERS"), 3);
	/* The one that is waited for is first. */
	ck_assert_int_eq(find("key-1"), 5);
	ck_assert_int_eq(find("key-0"), 6);
	ck_assert_int_eq(find("q quit"), 23);
	(void)view_press(&v, &m, &d, '2');
	draw(80, 24);
	ck_assert_int_eq(find("key-0    1m00s    @40000    19.0s  held"), 5);
	(void)view_press(&v, &m, &d, VIEW_KEY_TAB);
	draw(80, 24);
	ck_assert_int_eq(find("key-1    700ms      0        -  waiter"), 5);
}

TEST(test_small_screens)
{
	look(30);
	draw(40, 10);
	ck_assert_int_eq(find("key-1"), 5);
	ck_assert_int_eq(find("q quit"), 9);
	draw(30, 7);
	ck_assert_int_eq(find("key-1"), 5);
	draw(29, 7);
	ck_assert_int_eq(find("too small"), 0);
	ck_assert_int_eq(find("30x7 at least"), 1);
	draw(80, 6);
	ck_assert_int_eq(find("too small"), 0);
	draw(5, 1);
	draw(1, 1);
}

/* The bar is always in sight, and stays with its row. */
TEST(test_bar)
{
	look(40);
	draw(80, 24);
	for (int i = 0; i < 30; i++)
		(void)view_press(&v, &m, &d, 'j');
	draw(80, 24);
	ck_assert_int_eq(find("key-30"), 22);
	(void)view_press(&v, &m, &d, VIEW_KEY_END);
	draw(80, 24);
	ck_assert_int_eq(find("key-39"), 22);
	draw(80, 12);
	ck_assert_int_eq(find("key-39"), 10);
	(void)view_press(&v, &m, &d, VIEW_KEY_HOME);
	draw(80, 12);
	ck_assert_int_eq(find("key-1"), 5);
	(void)view_press(&v, &m, &d, '2');
	(void)view_press(&v, &m, &d, VIEW_KEY_DOWN);
	ck_assert_uint_eq(v.places[LIST_HOLDS].index, 1);
	model_sort(&m, LIST_HOLDS, COLUMN_HELD, true);
	view_on_lists(&v, &m);
	ck_assert_uint_eq(v.places[LIST_HOLDS].index, 38);
	look(0);
	draw(80, 24);
	ck_assert_int_eq(find("No holds."), 5);
}

TEST(test_sorting)
{
	look(3);
	(void)view_press(&v, &m, &d, '2');
	(void)view_press(&v, &m, &d, 'r');
	draw(80, 24);
	ck_assert_int_eq(find("1 Keys 2*Holds 3 Waits  by HELD (reversed)"),
	    3);
	ck_assert_int_eq(find("key-2"), 5);
	/* SINCE is no order of its own. */
	(void)view_press(&v, &m, &d, 's');
	draw(80, 24);
	ck_assert_int_eq(find("1 Keys 2*Holds 3 Waits  by LEFT"), 3);
}

TEST(test_filter_is_typed)
{
	(void)view_press(&v, &m, &d, '/');
	for (const char *c = "jobsx"; *c != '\0'; c++)
		(void)view_press(&v, &m, &d, (uint32_t)*c);
	(void)view_press(&v, &m, &d, 0xe4);
	(void)view_press(&v, &m, &d, 0x65e5);
	(void)view_press(&v, &m, &d, 0x1f512);
	draw(80, 24);
	ck_assert_int_eq(find("Show rows with: jobsx\303\244\346\227\245"
	    "\360\237\224\222"), 23);
	for (int i = 0; i < 4; i++)
		(void)view_press(&v, &m, &d, VIEW_KEY_BACKSPACE);
	ck_assert_int_eq(view_press(&v, &m, &d, VIEW_KEY_ENTER), VIEW_LOOK);
	ck_assert_str_eq(m.filter, "jobs");
	ck_assert_int_eq(view_press(&v, &m, &d, VIEW_KEY_ESCAPE), VIEW_LOOK);
	ck_assert_str_eq(m.filter, "");
	/* Given up, it does not change. */
	(void)view_press(&v, &m, &d, '/');
	(void)view_press(&v, &m, &d, 'x');
	ck_assert_int_eq(view_press(&v, &m, &d, VIEW_KEY_ESCAPE),
	    VIEW_NOTHING);
	ck_assert_str_eq(m.filter, "");
	/* No more than there is room for. */
	(void)view_press(&v, &m, &d, '/');
	for (int i = 0; i < 1000; i++)
		(void)view_press(&v, &m, &d, 0x65e5);
	draw(40, 10);
	(void)view_press(&v, &m, &d, VIEW_KEY_ENTER);
	ck_assert_uint_eq(strlen(m.filter), 255);
}

/* ---- a lock, and its break ------------------------------------------ */

static void
inside(uint64_t token, unsigned n_waiters)
{
	struct row r;

	detail_begin(&d, 100000);
	detail_field(&d, "state", token > 0 ? "held" : "free", 4);
	d.coming.held = token > 0;
	d.coming.token = token;
	detail_field(&d, "data", "a\033b\0c", 5);
	detail_field(&d, "owner", "web-3/worker:8", 14);
	for (unsigned i = n_waiters; i-- > 0;) {
		row_init(&r);
		r.who = "waiter";
		r.pid = 500 + i;
		r.ahead = i;
		detail_waiter(&d, &r);
	}
	detail_end(&d);
	view_on_detail(&v, &d);
}

TEST(test_inside)
{
	look(3);
	ck_assert_int_eq(view_press(&v, &m, &d, VIEW_KEY_ENTER), VIEW_OPEN);
	ck_assert_str_eq(d.key, "key-1");
	draw(80, 24);
	ck_assert_int_eq(find("key-1  in namespace default"), 3);
	ck_assert_int_eq(find("Looking."), 4);
	inside(101, 1300);
	draw(80, 24);
	ck_assert_int_eq(find("state      held"), 4);
	ck_assert_int_eq(find("owner      web-3/worker:8"), 5);
	ck_assert_int_eq(find("Waiters of this host, in order: 1300"), 6);
	ck_assert_int_eq(find("   1.     0ms since @100000  waiter, pid 500"),
	    7);
	(void)view_press(&v, &m, &d, VIEW_KEY_END);
	draw(80, 24);
	ck_assert_int_eq(find("and 800 more"), 21);
	ck_assert_int_eq(find("data       a\\x1bb\\x00c"), 22);
	(void)view_press(&v, &m, &d, VIEW_KEY_HOME);
	draw(40, 10);
	ck_assert_int_eq(find("state      held"), 4);
	ck_assert_int_eq(view_press(&v, &m, &d, VIEW_KEY_ESCAPE), VIEW_LOOK);
	ck_assert_int_eq(v.mode, VIEW_LIST);
}

static enum view_command
say(const char *text)
{
	for (; *text != '\0'; text++)
		ck_assert_int_eq(view_press(&v, &m, &d, (uint32_t)*text),
		    VIEW_NOTHING);
	return view_press(&v, &m, &d, VIEW_KEY_ENTER);
}

/* What is broken is the hold that was shown when it was asked for. */
TEST(test_break_of_what_was_seen)
{
	look(3);
	ck_assert_int_eq(view_press(&v, &m, &d, 'b'), VIEW_OPEN);
	ck_assert_int_eq(v.prompt, VIEW_NO_PROMPT);
	inside(101, 0);
	ck_assert_int_eq(v.prompt, VIEW_CONFIRM);
	draw(80, 24);
	ck_assert_int_eq(find("Break token 101? Its holder would go on without "
	    "protection. y/n"), 23);
	draw(40, 10);
	ck_assert_int_eq(find("Break token 101? y/n"), 9);
	inside(102, 0);		/* there is another by now */
	(void)view_press(&v, &m, &d, 'y');
	ck_assert_int_eq(say("it hangs"), VIEW_BREAK);
	ck_assert_uint_eq(v.breaking.token, 101);
	ck_assert_uint_eq(v.breaking.number, d.number);
	ck_assert_str_eq(v.breaking.reason, "it hangs");
}

TEST(test_break_is_given_up)
{
	look(3);
	(void)view_press(&v, &m, &d, 'b');
	inside(101, 0);
	(void)view_press(&v, &m, &d, VIEW_KEY_ENTER);
	ck_assert_int_eq(v.prompt, VIEW_NO_PROMPT);
	ck_assert_str_eq(v.message, "not broken");
	(void)view_press(&v, &m, &d, 'b');
	(void)view_press(&v, &m, &d, 'y');
	ck_assert_int_eq(say("  "), VIEW_NOTHING);
	ck_assert_str_eq(v.message, "not broken: a reason is needed");
	(void)view_press(&v, &m, &d, 'b');
	(void)view_press(&v, &m, &d, 'y');
	(void)view_press(&v, &m, &d, 'a');
	(void)view_press(&v, &m, &d, VIEW_KEY_ESCAPE);
	ck_assert_str_eq(v.message, "not broken");
	inside(0, 0);
	(void)view_press(&v, &m, &d, 'b');
	ck_assert_int_eq(v.prompt, VIEW_NO_PROMPT);
	ck_assert_str_eq(v.message, "there is nothing to break: the lock is "
	    "free");
}

/* A reason is as long as the protocol allows. */
TEST(test_long_reason)
{
	look(3);
	(void)view_press(&v, &m, &d, 'b');
	inside(101, 0);
	(void)view_press(&v, &m, &d, 'y');
	for (int i = 0; i < 300; i++)
		(void)view_press(&v, &m, &d, 0xe4);
	ck_assert_int_eq(view_press(&v, &m, &d, VIEW_KEY_ENTER), VIEW_BREAK);
	ck_assert_uint_eq(strlen(v.breaking.reason), VIEW_REASON_MAX);
}

/* ---- what is not as it should be ------------------------------------ */

TEST(test_troubles)
{
	look(3);
	(void)snprintf(v.trouble, sizeof(v.trouble), "/run/x: refused");
	draw(80, 24);
	ck_assert_int_eq(find("reconnecting: /run/x: refused"), 0);
	ck_assert_int_eq(find("key-1"), 5);
	v.trouble[0] = '\0';
	v.silent_ms = 5400;
	draw(80, 24);
	ck_assert_int_eq(find("the daemon has not answered for 5 s"), 0);
	v.silent_ms = 0;
	m.took_ms = 250;
	v.pace_ms = 2500;
	draw(80, 24);
	ck_assert_int_eq(find("1*Keys 2 Holds 3 Waits  by WAITERS  takes "
	    "250ms, so every 2.5s"), 3);
	m.partial = true;
	v.pace_ms = 0;
	draw(90, 24);
	ck_assert_int_eq(find("1*Keys 2 Holds 3 Waits  by WAITERS  only the "
	    "first 3 were looked at"), 3);
}

TEST(test_many_namespaces)
{
	struct model_daemon daemon = { .pid = 123, .uptime_ms = 66000 };

	model_begin_status(&m);
	for (unsigned i = 0; i < MODEL_NAMESPACES_MAX + 3; i++) {
		struct model_namespace ns = { .state = "danger" };

		(void)snprintf(ns.name, sizeof(ns.name), "ns-%u", i);
		model_namespace(&m, &ns);
	}
	model_status(&m, &daemon, 2000);
	look(3);
	draw(80, 24);
	ck_assert_int_eq(find("ns-4"), 6);
	ck_assert_int_eq(find("and 59 more namespaces"), 7);
	ck_assert_int_eq(find("default    key-1"), 10);
	draw(40, 10);
	ck_assert_int_eq(find("and 64 more namespaces"), 2);
}

TEST(test_help)
{
	(void)view_press(&v, &m, &d, 'h');
	draw(80, 24);
	ck_assert_int_eq(find("any key goes back"), 14);
	draw(30, 7);
	(void)view_press(&v, &m, &d, 'x');
	ck_assert_int_eq(v.mode, VIEW_LIST);
	ck_assert_int_eq(view_press(&v, &m, &d, 'q'), VIEW_QUIT);
}
