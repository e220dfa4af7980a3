/*
 * A process of a greedy user: any number of connections, each of which says the
 * same text again and again as fast as the daemon reads it, or what its attack
 * tells it to.
 */
#define _GNU_SOURCE 1 /* setresuid(), accept4() */

#include "bench.h"
#include "strangers.h"

#include <errno.h>
#include <grp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define CALLERS_MAX 6000	/* of a stranger */
#define FILL_KEYS 25		/* of a request, the most there may be */
#define FILL_LINES 40		/* under way at once */
#define READ_MAX (1 << 18)
#define EVENTS_MAX 256

/* ---- connections ---- */

int
stranger_connect(const struct stranger *s)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	memcpy(address.sun_path, s->path, strlen(s->path) + 1);
	if (fd >= 0 && connect(fd, (struct sockaddr *)&address,
	    sizeof(address)) == 0)
		return fd;
	if (errno == EACCES)
		die("%s: another user may not connect", s->path);
	if (fd >= 0)
		close(fd);
	return -1;
}

struct caller *
caller_new(struct stranger *s)
{
	struct caller *c = &s->callers[s->n_callers];

	if (s->n_callers == CALLERS_MAX)
		die("too many connections of a stranger");
	s->n_callers++;
	c->fd = stranger_connect(s);
	return c;
}

struct caller *
callers_new(struct stranger *s, size_t in_all)
{
	struct caller *first = &s->callers[s->n_callers];

	for (size_t i = s->number; i < in_all; i += STRANGERS)
		caller_new(s);
	return first;
}

/* The final answer; NULL at the end of the connection. Events and rows before
 * it are left out. */
static const char *
answer_read(struct line_client *line)
{
	const char *answer;

	do {
		answer = line_read_or_end(line);
	} while (answer != NULL && (answer[0] == '+' || answer[0] == '!'));
	return answer;
}

void
caller_tell(const struct caller *c, const char *format, ...)
{
	char text[BENCH_LINE_MAX];
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	/* If it has ended, caller_await() finds that. */
	(void)send(c->fd, text, strlen(text), MSG_NOSIGNAL);
}

uint64_t
caller_await(struct caller *c)
{
	static struct line_client line;
	const char *answer, *id;

	line.fd = c->fd;
	line.start = line.end = 0;
	answer = answer_read(&line);
	if (answer == NULL || strncmp(answer, "ERR LIMIT", 9) == 0) {
		close(c->fd);
		c->fd = -1;
		return 0;
	}
	if (strncmp(answer, "OK", 2) != 0)
		die("the answer is: %s", answer);
	id = strstr(answer, " id=");
	return id != NULL ? strtoull(id + 4, NULL, 10) : 0;
}

void
callers_repeat(struct stranger *s, struct caller *c, const char *text,
    size_t length)
{
	for (; c < s->callers + s->n_callers; c++) {
		c->text = text;
		c->length = length;
		c->answers = 1;
	}
}

/* Ask epoll for what it needs now. */
static void
caller_list(struct stranger *s, struct caller *c)
{
	bool writes = c->queued > 0 || (c->text != NULL && !c->silent &&
	    (c->window == 0 || c->unanswered < c->window * c->answers ||
	    c->sent > 0));
	struct epoll_event event = {
		.events = (c->deaf ? 0 : EPOLLIN) | (writes ? EPOLLOUT : 0),
		.data.ptr = c,
	};

	if (c->fd < 0 || (c->listed && c->writes == writes))
		return;
	if (epoll_ctl(s->epoll, c->listed ? EPOLL_CTL_MOD : EPOLL_CTL_ADD,
	    c->fd, &event) != 0)
		die("epoll_ctl: %s", strerror(errno));
	c->listed = true;
	c->writes = writes;
}

static void
caller_lost(struct stranger *s, struct caller *c)
{
	s->counts->cut++;
	close(c->fd);
	c->fd = c->again ? stranger_connect(s) : -1;
	c->listed = c->silent = false;
	c->sent = c->unanswered = c->queued = c->line_length = 0;
	caller_list(s, c);
}

void
caller_say(struct stranger *s, struct caller *c, const char *format, ...)
{
	va_list arguments;
	int n;

	if (c->queue == NULL)
		c->queue = malloc(STRANGER_QUEUE_MAX);
	if (c->queue == NULL)
		die("out of memory");
	va_start(arguments, format);
	n = vsnprintf(c->queue + c->queued, STRANGER_QUEUE_MAX - c->queued,
	    format, arguments);
	va_end(arguments);
	if (n < 0 || (size_t)n >= STRANGER_QUEUE_MAX - c->queued)
		die("a stranger has too much to say");
	c->queued += (size_t)n;
	caller_list(s, c);
}

/* ---- writing ---- */

/* Returns false if the connection has ended. */
static bool
caller_send(struct caller *c, const char *data, size_t length, size_t *ret)
{
	ssize_t n = send(c->fd, data, length, MSG_DONTWAIT | MSG_NOSIGNAL);

	*ret = n > 0 ? (size_t)n : 0;
	return n >= 0 || errno == EAGAIN || errno == EINTR;
}

static void
caller_write(struct stranger *s, struct caller *c)
{
	bool alive;
	size_t n;

	if (c->queued > 0) {
		alive = caller_send(c, c->queue, c->queued, &n);
		c->queued -= n;
		memmove(c->queue, c->queue + n, c->queued);
	} else {
		size_t left = c->length - c->sent;

		if (c->crumbs_from > 0)
			left = c->sent >= c->crumbs_from ? 1 :
			    c->crumbs_from - c->sent;
		if (c->sent == 0)
			c->unanswered += c->answers;
		alive = caller_send(c, c->text + c->sent, left, &n);
		if (n == 0 && c->sent == 0)
			c->unanswered -= c->answers;
		c->sent += n;
		if (c->sent == c->length) {
			c->sent = 0;
			c->silent = c->once;
		}
	}
	if (!alive)
		caller_lost(s, c);
	else
		caller_list(s, c);
}

/* ---- reading ---- */

static void
caller_take_line(struct stranger *s, struct caller *c)
{
	const char *word = c->line;

	c->line[c->line_length] = '\0';
	c->line_length = 0;
	if (word[0] == '#') {
		word += strcspn(word, " ");
		word += word[0] == ' ';
	}
	if (word[0] == '+' || word[0] == '!')
		return;
	s->counts->answers++;
	if (strncmp(word, "ERR LIMIT", 9) == 0)
		s->counts->refused++;
	else if (word[0] == 'E' && s->counts->failed++ == 0)
		snprintf(s->counts->failure, sizeof(s->counts->failure),
		    "%s", word);
	if (c->unanswered > 0)
		c->unanswered--;
	if (c->hear != NULL)
		c->hear(s, c, word);
}

static void
caller_read(struct stranger *s, struct caller *c)
{
	static char data[READ_MAX];
	ssize_t n = recv(c->fd, data, sizeof(data), MSG_DONTWAIT);
	const char *at = data;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		caller_lost(s, c);
		return;
	}
	while (at < data + n) {
		size_t left = (size_t)(data + n - at);
		const char *end = memchr(at, '\n', left);
		size_t length = end != NULL ? (size_t)(end - at) : left;
		size_t room = sizeof(c->line) - 1 - c->line_length;

		memcpy(c->line + c->line_length, at,
		    length < room ? length : room);
		c->line_length += length < room ? length : room;
		if (end == NULL)
			break;
		caller_take_line(s, c);
		at = end + 1;
	}
	caller_list(s, c);
}

void
stranger_pump(struct stranger *s)
{
	struct epoll_event events[EVENTS_MAX];

	for (size_t i = 0; i < s->n_callers; i++)
		caller_list(s, &s->callers[i]);
	for (;;) {
		int n = epoll_wait(s->epoll, events, EVENTS_MAX, -1);

		for (int i = 0; i < n; i++) {
			struct caller *c = events[i].data.ptr;
			int fd = c->fd;

			if (events[i].events & EPOLLIN)
				caller_read(s, c);
			if (c->fd == fd && fd >= 0 && c->writes &&
			    events[i].events & EPOLLOUT)
				caller_write(s, c);
			if (c->fd == fd && fd >= 0 &&
			    (events[i].events & (EPOLLERR | EPOLLHUP)) != 0 &&
			    (events[i].events & EPOLLIN) == 0)
				caller_lost(s, c);
		}
	}
}

/* ---- many locks ---- */

/* Returns whether it was granted. Before an attack only a limit may refuse. */
static bool
fill_read(const struct stranger *s)
{
	const char *answer = answer_read(s->line);

	if (answer != NULL && strncmp(answer, "OK", 2) == 0)
		return true;
	if (answer != NULL && strncmp(answer, "ERR LIMIT", 9) != 0 &&
	    s->arena->phase < ARENA_ATTACK)
		die("the answer is: %s", answer);
	return false;
}

/* One that ended answers no more. */
static void
fill_send(const struct stranger *s, const char *prefix, size_t first,
    const char *arguments)
{
	char text[BENCH_LINE_MAX] = "ACQUIRE";
	size_t length = strlen(text);

	for (size_t i = first; i < first + FILL_KEYS; i++)
		length += (size_t)snprintf(text + length,
		    sizeof(text) - length, " strangers/%s/%zu", prefix, i);
	length += (size_t)snprintf(text + length, sizeof(text) - length,
	    " wait=1m %s\n", arguments);
	(void)send(s->line->fd, text, length, MSG_NOSIGNAL);
}

int
stranger_fill(struct stranger *s, const char *prefix, size_t locks,
    const char *arguments)
{
	size_t step = (size_t)FILL_KEYS * FILL_LINES, granted = FILL_LINES;

	if (s->line == NULL)
		s->line = calloc(1, sizeof(*s->line));
	if (s->line == NULL)
		die("out of memory");
	s->line->fd = stranger_connect(s);
	s->line->start = s->line->end = 0;
	for (size_t made = 0; made < locks && granted == FILL_LINES;
	    made += step) {
		for (size_t i = made; i < made + step; i += FILL_KEYS)
			fill_send(s, prefix, i, arguments);
		granted = 0;
		for (size_t i = 0; i < FILL_LINES; i++)
			granted += fill_read(s);
		s->counts->made += granted * FILL_KEYS;
	}
	return s->line->fd;
}

char *
text_repeat(const char *line, size_t length_max, size_t *ret_length)
{
	size_t length = strlen(line);
	char *text = malloc(length_max + 1);

	if (text == NULL)
		die("out of memory");
	*ret_length = 0;
	while (*ret_length + length <= length_max) {
		memcpy(text + *ret_length, line, length);
		*ret_length += length;
	}
	return text;
}

/* ---- its life ---- */

static void
stranger_become(void)
{
	if (setgroups(0, NULL) != 0 ||
	    setresgid(STRANGER_UID, STRANGER_UID, STRANGER_UID) != 0 ||
	    setresuid(STRANGER_UID, STRANGER_UID, STRANGER_UID) != 0)
		die("another user: %s", strerror(errno));
	/* After that: it is forgotten when the user changes. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
}

void
stranger_run(struct arena *arena, const struct attack *attack, size_t number,
    const char *path)
{
	struct stranger s = {
		.arena = arena, .counts = &arena->strangers[number],
		.path = path, .number = number,
		.epoll = epoll_create1(EPOLL_CLOEXEC),
		.callers = calloc(CALLERS_MAX, sizeof(struct caller)),
	};

	stranger_become();
	if (s.epoll < 0 || s.callers == NULL)
		die("a stranger: %s", strerror(errno));
	if (attack->prepare != NULL)
		attack->prepare(&s);
	s.counts->ready = true;
	while (arena->phase == ARENA_PREPARE)
		wait_ms(2);
	while (arena->phase < ARENA_ATTACK)
		continue;
	if (attack->run != NULL)
		attack->run(&s);
	stranger_pump(&s);
}
