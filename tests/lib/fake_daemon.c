/*
 * A daemon that says what a test tells it to.
 */
#include "tests/lib/fake_daemon.h"

#include <check.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "ddblock.h"

void
fake_init(struct fake_daemon *f)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	*f = (struct fake_daemon){ .listener = -1, .connection = -1 };
	(void)snprintf(f->folder, sizeof(f->folder), "/tmp/fakeXXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(f->folder));
	(void)snprintf(f->path, sizeof(f->path), "%s/socket", f->folder);
	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s",
	    f->path);
	f->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ck_assert_int_ge(f->listener, 0);
	ck_assert_int_eq(bind(f->listener, (struct sockaddr *)&address,
	    sizeof(address)), 0);
	ck_assert_int_eq(listen(f->listener, 4), 0);
}

void
fake_hang_up(struct fake_daemon *f)
{
	if (f->connection >= 0)
		(void)close(f->connection);
	f->connection = -1;
}

void
fake_done(struct fake_daemon *f)
{
	fake_hang_up(f);
	(void)close(f->listener);
	(void)unlink(f->path);
	(void)rmdir(f->folder);
}

struct ddblock *
fake_open(struct fake_daemon *f)
{
	struct ddblock *d = NULL;

	ck_assert_int_eq(ddblock_open(f->path, "test", &d), 0);
	f->connection = accept(f->listener, NULL, NULL);
	ck_assert_int_ge(f->connection, 0);
	ck_assert_int_eq(ddblock_dispatch(d), 0);
	fake_expect(f, "#1 HELLO proto=1 name=test renewed=yes");
	fake_send(f, "#1 OK proto=1 version=0 namespaces=main,other\n");
	ck_assert_int_eq(ddblock_dispatch(d), 0);
	return d;
}

struct ddblock *
fake_connect_resuming(struct fake_daemon *f)
{
	struct ddblock_connect_options o = DDBLOCK_CONNECT_OPTIONS_INIT;
	struct ddblock *d = NULL;

	o.path = f->path;
	o.name = "test";
	o.resume = 1;
	ck_assert_int_eq(ddblock_connect(&o, &d), 0);
	fake_accept(f);
	return d;
}

struct ddblock *
fake_open_resuming(struct fake_daemon *f, bool older)
{
	struct ddblock *d = fake_connect_resuming(f);

	ck_assert_int_eq(ddblock_dispatch(d), 0);
	fake_expect(f, "#1 HELLO proto=1 name=test renewed=yes");
	fake_expect(f, "#2 HELLO resume=yes");
	fake_send(f, "#1 OK proto=1 version=0 namespaces=main,other\n");
	fake_send(f, older ? "#2 ERR BAD_REQUEST :no argument resume\n" :
	    "#2 OK proto=1\n");
	ck_assert_int_eq(ddblock_dispatch(d), 0);
	return d;
}

void
fake_accept(struct fake_daemon *f)
{
	f->connection = accept(f->listener, NULL, NULL);
	ck_assert_int_ge(f->connection, 0);
	f->length = 0;
}

void
fake_send(struct fake_daemon *f, const char *format, ...)
{
	char text[4096];
	va_list arguments;
	int length;

	va_start(arguments, format);
	length = vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	ck_assert_int_lt(length, (int)sizeof(text));
	ck_assert_int_eq(send(f->connection, text, (size_t)length,
	    MSG_NOSIGNAL), length);
}

/* Take in what has arrived; never wait for more. */
static void
fake_receive(struct fake_daemon *f)
{
	ssize_t n;

	do {
		n = recv(f->connection, f->received + f->length,
		    sizeof(f->received) - 1 - f->length, MSG_DONTWAIT);
		if (n > 0)
			f->length += (size_t)n;
	} while (n > 0);
	f->received[f->length] = '\0';
}

const char *
fake_next(struct fake_daemon *f)
{
	static char line[sizeof(f->received)];
	char *end;
	size_t length;

	fake_receive(f);
	end = strchr(f->received, '\n');
	ck_assert_msg(end != NULL, "no line, but \"%s\"", f->received);
	*end = '\0';
	length = (size_t)(end - f->received) + 1;
	(void)memcpy(line, f->received, length);
	f->length -= length;
	(void)memmove(f->received, f->received + length, f->length + 1);
	return line;
}

void
fake_expect(struct fake_daemon *f, const char *line)
{
	ck_assert_str_eq(fake_next(f), line);
}

void
fake_expect_nothing(struct fake_daemon *f)
{
	fake_receive(f);
	ck_assert_str_eq(f->received, "");
}
