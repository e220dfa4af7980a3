/*
 * Where the log's lines go. sd_journal_sendv(3) is not used because it waits
 * when the journal does not read: a journal that hung for a lease would cost
 * every lock of the host.
 */
#include "config.h"

#include "common/log_sink.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "ddblock.h"

static const char *log_sink_path = LOG_SINK_JOURNAL;
static int log_sink_fd = -1;

bool
log_sink_stderr(const char *line, size_t length)
{
	struct pollfd p = { .fd = STDERR_FILENO, .events = POLLOUT };
	ssize_t n;

	do {
		n = send(STDERR_FILENO, line, length,
		    MSG_DONTWAIT | MSG_NOSIGNAL);
	} while (n < 0 && errno == EINTR);
	if (n >= 0)
		return true;
	if (errno != ENOTSOCK)
		return errno != EAGAIN;	/* else nobody will ever read it */
	/* A pipe that can be written to has room for 4 KiB at once. */
	if (poll(&p, 1, 0) == 0)
		return false;
	do {
		n = write(STDERR_FILENO, line, length);
	} while (n < 0 && errno == EINTR);
	return n >= 0 || errno != EAGAIN;
}

int
log_sink_journal(const char *entry, size_t length)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	ssize_t n;

	if (log_sink_fd < 0)
		log_sink_fd = socket(AF_UNIX,
		    SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (log_sink_fd < 0 || strlen(log_sink_path) >=
	    sizeof(address.sun_path))
		return DDBLOCK_E_SYSTEM;
	memcpy(address.sun_path, log_sink_path, strlen(log_sink_path));
	/* By name each time: the journal may have been restarted. */
	do {
		n = sendto(log_sink_fd, entry, length,
		    MSG_DONTWAIT | MSG_NOSIGNAL,
		    (const struct sockaddr *)&address, sizeof(address));
	} while (n < 0 && errno == EINTR);
	if (n >= 0)
		return 0;
	return errno == EAGAIN || errno == ENOBUFS ? DDBLOCK_E_LIMIT :
	    DDBLOCK_E_SYSTEM;
}

void
log_sink_set_journal(const char *path)
{
	log_sink_path = path;
}
