/*
 * The client library, with a daemon that says anything, in virtual time. Every
 * request is answered once at most, a callback's values can be read, and what
 * the library has, it frees.
 *
 *	>#2 OK id=7	a line from the daemon; '~' one without its LF
 *	a k		acquire "k", and so on (library_call())
 *	+2500		so many milliseconds pass
 *	-		the daemon ends the connection
 *
 * Any other line is one from the daemon. The first one is "1" for a client that
 * resumes. The greeting has been sent, as #1.
 */
#include "fuzz.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "clock.h"
#include "ddblock.h"

#define LINES_MAX 200
#define KEYS 3
#define ADVANCE_MAX_MS 10000000

static struct {
	char directory[64];
	struct sockaddr_un address;
	int listening;
	int connection;		/* the daemon's end; -1: none */
	unsigned n_asked;
	unsigned n_answered;
} fake = { .listening = -1, .connection = -1 };

/* ---- what the library says ---------------------------------------------- */

static void
library_look(const struct ddblock_row *row)
{
	const char *name, *value;
	size_t length, sum = 0;

	for (size_t i = 0; row != NULL &&
	    ddblock_row_at(row, i, &name, &value, &length); i++) {
		FUZZ_CHECK(value[length] == '\0');
		sum += strlen(name) + length;
	}
	FUZZ_CHECK(sum < SIZE_MAX);
	if (row != NULL)
		(void)ddblock_row_find(row, "id", &length);
}

static void
library_on_row(void *arg, const struct ddblock_row *row, bool final)
{
	(void)arg;
	(void)final;
	library_look(row);
}

static void
library_on_reply(void *arg, struct ddblock *d, const struct ddblock_reply *r)
{
	(void)arg;
	(void)d;
	FUZZ_CHECK(++fake.n_answered <= fake.n_asked);
	FUZZ_CHECK(r->code <= 0);
	FUZZ_CHECK(r->text == NULL || strlen(r->text) < SIZE_MAX);
	library_look(r->row);
}

static void
library_on_event(void *arg, struct ddblock *d, const struct ddblock_event *e)
{
	(void)arg;
	FUZZ_CHECK(e->kind >= DDBLOCK_EVENT_IN_DANGER &&
	    e->kind <= DDBLOCK_EVENT_RESUMED);
	if (e->kind == DDBLOCK_EVENT_LOST)
		FUZZ_CHECK(ddblock_remaining_ms(d, e->id) == 0);
	(void)ddblock_token_text(d, e->id, "k");
}

/* ---- what a program asks ------------------------------------------------ */

static int
library_acquire(struct ddblock *d, char how, const char *key)
{
	struct ddblock_acquire_options o = DDBLOCK_ACQUIRE_OPTIONS_INIT;
	const char *keys[KEYS] = { key, "b", "c" };

	o.on_queue = library_on_row;
	o.mode = how == 's' ? DDBLOCK_SHARED : DDBLOCK_EXCLUSIVE;
	o.reentrant = how == 'e';
	o.linger_ms = how == 'l' ? 5000 : 0;
	o.policy = how == 'f' ? DDBLOCK_FAIL_CLOSED : DDBLOCK_FAIL_OPEN;
	o.renew_manually = how == 'm';
	o.keepalive_ms = how == 'k' ? 1000 : 0;
	if (how == 'A')
		return ddblock_acquire_several_start(d, keys, KEYS, &o,
		    library_on_reply, NULL, NULL);
	return ddblock_acquire_start(d, key, &o, library_on_reply, NULL, NULL);
}

static int
library_query(struct ddblock *d, enum ddblock_query_kind kind, const char *key)
{
	struct ddblock_query_options o = DDBLOCK_QUERY_OPTIONS_INIT;

	o.on_progress = library_on_row;
	o.key = key;
	if (kind == DDBLOCK_QUERY_LIST) {
		o.key = NULL;
		o.prefix = key;
	}
	return ddblock_query_start(d, kind, &o, library_on_row,
	    library_on_reply, NULL, NULL);
}

/* DDBLOCK_E_BAD_REQUEST: that is no letter of a call. */
static int
library_call(struct ddblock *d, char how, const char *text, uint64_t n)
{
	ddblock_reply_function *const f = library_on_reply;

	switch (how) {
	case 'a': case 's': case 'e': case 'l': case 'f': case 'm': case 'k':
	case 'A':
		return library_acquire(d, how, text);
	case 'r':
		return ddblock_release_start(d, n, f, NULL, NULL);
	case 'R':
		return ddblock_release_all_start(d, NULL, f, NULL, NULL);
	case 'b':
		return ddblock_release_best_effort_start(d, n, f, NULL, NULL);
	case 'd':
		return ddblock_downgrade_start(d, n, 3, f, NULL, NULL);
	case 'n':
		return ddblock_renew_start(d, n, f, NULL, NULL);
	case 'u':
		return ddblock_resume_start(d, text, library_on_row, f, NULL,
		    NULL);
	case 'B':
		return ddblock_break_start(d, text, NULL, NULL, 1, "x", f,
		    NULL, NULL);
	case 'w':
		return ddblock_watch_start(d, text, NULL, NULL, library_on_row,
		    f, NULL, NULL);
	case 'q':
		return library_query(d, (enum ddblock_query_kind)(1 + n % 9),
		    "k");
	default:
		return DDBLOCK_E_BAD_REQUEST;
	}
}

static void
library_ask(struct ddblock *d, char how, struct fuzz_input in)
{
	char *text = fuzz_copy(in.at, in.length);
	const uint64_t n = strtoull(text, NULL, 10);

	if (how == 'W') {
		(void)ddblock_unwatch(d, text, NULL, NULL);
	} else if (how == 'c') {
		(void)ddblock_cancel(d, n);
	} else {
		/* A call may answer before it returns. */
		fake.n_asked++;
		if (library_call(d, how, text, n) < 0)
			fake.n_asked--;
	}
	(void)ddblock_until_boot_ms(d, n);
	library_look(ddblock_found(d, n));
	free(text);
}

/* ---- the daemon --------------------------------------------------------- */

static void
fake_remove(void)
{
	(void)unlink(fake.address.sun_path);
	(void)rmdir(fake.directory);
}

static void
fake_listen(void)
{
	if (fake.listening >= 0)
		return;
	(void)snprintf(fake.directory, sizeof(fake.directory),
	    "/tmp/fuzz_library.XXXXXX");
	FUZZ_CHECK(mkdtemp(fake.directory) != NULL);
	fake.address.sun_family = AF_UNIX;
	(void)snprintf(fake.address.sun_path, sizeof(fake.address.sun_path),
	    "%.60s/s", fake.directory);
	fake.listening = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
	FUZZ_CHECK(fake.listening >= 0 && bind(fake.listening,
	    (struct sockaddr *)&fake.address, sizeof(fake.address)) == 0);
	FUZZ_CHECK(listen(fake.listening, 4) == 0);
	(void)atexit(fake_remove);
}

static void
fake_hang_up(void)
{
	if (fake.connection >= 0)
		(void)close(fake.connection);
	fake.connection = -1;
}

static void
fake_say(const char *bytes, size_t length)
{
	if (fake.connection >= 0 && length > 0)
		(void)send(fake.connection, bytes, length,
		    MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* What it hears does not matter, but there must be room for more; and a
 * library that connects again finds it. */
static void
fake_hear(void)
{
	char bytes[16384];
	const int next = accept(fake.listening, NULL, NULL);

	if (next >= 0) {
		fake_hang_up();
		fake.connection = next;
	}
	while (fake.connection >= 0 &&
	    recv(fake.connection, bytes, sizeof(bytes), MSG_DONTWAIT) > 0)
		;
}

static void
fake_obey(struct ddblock *d, struct fuzz_input in)
{
	const char how = in.length > 0 ? in.at[0] : '\n';
	char number[16] = "";

	if (how == '+') {
		memcpy(number, in.at + 1, in.length - 1 < sizeof(number) - 1 ?
		    in.length - 1 : sizeof(number) - 1);
		fuzz_advance(strtoull(number, NULL, 10) % ADVANCE_MAX_MS);
	} else if (how == '-') {
		fake_hang_up();
	} else if (in.length > 1 && in.at[1] == ' ' && how != '~') {
		in.at += 2;
		in.length -= 2;
		library_ask(d, how, in);
	} else {
		if (how == '>' || how == '~') {
			in.at++;
			in.length--;
		}
		fake_say(in.at, in.length);
		if (how != '~')
			fake_say("\n", 1);
	}
	(void)ddblock_dispatch(d);
	(void)ddblock_next_deadline_ms(d);
	fake_hear();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = fuzz_input(data, size), line;
	struct ddblock_connect_options o = DDBLOCK_CONNECT_OPTIONS_INIT;
	struct ddblock *d;

	fuzz_reset_clock();
	fake_listen();
	fake.n_asked = fake.n_answered = 0;
	o.path = fake.address.sun_path;
	o.name = "fuzz";
	o.resume = fuzz_line(&in, &line) && (fuzz_byte(&line) & 1) != 0;
	FUZZ_CHECK(ddblock_connect(&o, &d) == 0);
	ddblock_on_event(d, library_on_event, NULL);
	(void)ddblock_dispatch(d);
	fake_hear();
	for (int i = 0; i < LINES_MAX && fuzz_line(&in, &line); i++)
		fake_obey(d, line);
	ddblock_close(d);
	fake_hear();
	fake_hang_up();
	return 0;
}
