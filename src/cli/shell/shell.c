/*
 * The two directions of the lines. Neither blocks the other: even if the daemon
 * does not read, its lines are shown.
 */
#include <config.h>

#include "cli/shell/shell.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cli/base/cli.h"
#include "ipc/codec.h"

#define SHELL_CHUNK_BYTES 65536
#define SHELL_UNSENT_BYTES (2 * CODEC_LINE_MAX)	/* then stop reading */

void
shell_init(struct shell *s, int socket)
{
	*s = (struct shell){ .socket = socket, .signals.fd = -1 };
	buffer_init(&s->in, CODEC_LINE_MAX + SHELL_CHUNK_BYTES);
	buffer_init(&s->out, 4 * SHELL_UNSENT_BYTES);
	/* A byte may become six characters of JSON. */
	buffer_init(&s->text, 8 * CODEC_LINE_MAX);
}

void
shell_done(struct shell *s)
{
	editor_free(s->editor);
	words_done(&s->words);
	buffer_done(&s->in);
	buffer_done(&s->out);
	buffer_done(&s->text);
	(void)close(s->socket);
}

static void
shell_flush(struct shell *s)
{
	while (s->out.length > 0) {
		ssize_t n = send(s->socket, s->out.data, s->out.length,
		    MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
			return;
		/*
		 * If the daemon is gone, reading shows it, after its last
		 * lines.
		 */
		buffer_consume(&s->out, n < 0 ? s->out.length : (size_t)n);
	}
	if (s->input_ended && !s->shut) {
		(void)shutdown(s->socket, SHUT_WR);
		s->shut = true;
	}
}

void
shell_ask(struct shell *s, const char *line)
{
	(void)buffer_printf(&s->out, "#" SHELL_TAG " %s\n", line);
	shell_flush(s);
}

/* Is the line whose head this is "QUIT", with or without a tag? */
static bool
shell_is_quit(const char *head, size_t length)
{
	size_t at = 0;

	if (length > 0 && head[0] == '#') {
		while (at < length && head[at] != ' ')
			at++;
		while (at < length && head[at] == ' ')
			at++;
	}
	return length - at >= 4 && memcmp(head + at, "QUIT", 4) == 0 &&
	    (length - at == 4 || head[at + 4] == ' ' || head[at + 4] == '\r');
}

void
shell_send(struct shell *s, const char *bytes, size_t length)
{
	if (buffer_append(&s->out, bytes, length) < 0) {
		cli_say("not sent: the daemon does not read");
		s->out.error = 0;
		return;
	}
	for (size_t i = 0; i < length; i++) {
		if (bytes[i] != '\n') {
			if (s->head_length < SHELL_HEAD_SIZE)
				s->head[s->head_length++] = bytes[i];
			continue;
		}
		s->n_requests++;
		s->quit = s->quit || shell_is_quit(s->head, s->head_length);
		s->head_length = 0;
	}
	shell_flush(s);
}

void
shell_end_input(struct shell *s)
{
	if (s->ended)
		return;
	/* A last line without its LF is answered, too: it is refused. */
	s->n_requests += s->head_length > 0;
	s->head_length = 0;
	s->input_ended = true;
	shell_flush(s);
}

static void
shell_lines(struct shell *s)
{
	size_t done = 0;
	char *end;

	while (!s->ended && (end = memchr(s->in.data + done, '\n',
	    s->in.length - done)) != NULL) {
		size_t length = (size_t)(end - s->in.data) - done;

		*end = '\0';
		shell_line(s, s->in.data + done, length);
		done += length + 1;
	}
	buffer_consume(&s->in, done);
	if (s->hidden)
		editor_show(s->editor);
	s->hidden = false;
	if (fflush(stdout) != 0)
		s->ended = s->quit = true;	/* shell_finish() says so */
}

static void
shell_receive(struct shell *s)
{
	ssize_t n;

	if (buffer_reserve(&s->in, SHELL_CHUNK_BYTES) < 0) {
		cli_say("a line of the daemon is too long");
		s->ended = true;
		return;
	}
	do {
		n = recv(s->socket, s->in.data + s->in.length,
		    SHELL_CHUNK_BYTES, MSG_DONTWAIT);
	} while (n < 0 && errno == EINTR);
	if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
		return;
	if (n <= 0) {
		s->ended = true;
		return;
	}
	s->in.length += (size_t)n;
	shell_lines(s);
}

static void
shell_on_signal(struct shell *s, int number)
{
	bool typing = s->editor != NULL && !s->input_ended;

	switch (number) {
	case SIGCHLD:
	case SIGCONT:
		break;
	case SIGTSTP:
		editor_suspend(s->editor);
		break;
	case SIGWINCH:
		editor_resize(s->editor);
		break;
	case SIGINT:
		if (typing) {
			editor_interrupt(s->editor);
			break;
		}
		/* fall through */
	default:
		s->status = CLI_SIGNAL + number;
		s->ended = s->quit = true;
		break;
	}
}

bool
shell_wait(struct shell *s)
{
	while (!s->ended) {
		bool full = s->out.length >= SHELL_UNSENT_BYTES;
		struct pollfd fds[3] = {
			{ .fd = s->socket, .events = s->out.length > 0 ?
			    POLLIN | POLLOUT : POLLIN },
			{ .fd = s->signals.fd, .events = POLLIN },
			{ .fd = s->input_ended || full ? -1 : STDIN_FILENO,
			    .events = POLLIN },
		};
		bool interrupted = false;
		int number;

		if (poll(fds, 3, -1) < 0) {
			if (errno == EINTR)
				continue;
			cli_say("cannot wait: %s", strerror(errno));
			s->status = CLI_FAILED;
			s->ended = s->quit = true;
			break;
		}
		if (fds[0].revents & POLLOUT)
			shell_flush(s);
		if (fds[0].revents & (POLLIN | POLLHUP | POLLERR))
			shell_receive(s);
		/* Look again after poll(): it looks at one descriptor after the
		 * other, and text typed after ^C must not be read before it. */
		while ((number = signals_next(&s->signals)) != 0) {
			shell_on_signal(s, number);
			interrupted = interrupted || number == SIGINT;
		}
		if (!s->ended && (fds[2].revents != 0 || interrupted))
			return true;
	}
	return false;
}

int
shell_finish(struct shell *s)
{
	uint64_t missing = s->n_requests > s->n_answers ?
	    s->n_requests - s->n_answers : 0;
	bool refused = s->n_answers > s->n_requests;
	bool gone = s->ended && !s->quit && !(s->shut && missing == 0);

	if (gone && missing > 0)
		cli_say("the daemon has closed the connection; unanswered "
		    "requests: %llu", (unsigned long long)missing);
	else if (gone)
		cli_say("the daemon has closed the connection; its locks are "
		    "released");
	if (gone && !refused)
		s->status = ddblock_exit_status(DDBLOCK_E_NO_DAEMON);
	return cli_flush(s->status);
}
