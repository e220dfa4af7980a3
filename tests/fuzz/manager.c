/*
 * See manager.h.
 */
#include "manager.h"

#include <fcntl.h>
#include <unistd.h>

#include "fuzz.h"

#define CONNECTIONS 4		/* that wait to be accepted */
#define JOURNAL_SIZE (256 * 1024)

static _Alignas(64) uint8_t manager_blocks[2][JOURNAL_SIZE];

static int
manager_copy(int fd)
{
	const int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);

	FUZZ_CHECK(copy >= 0);
	return copy;
}

void
manager_open(struct manager *m)
{
	const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK |
	    SOCK_CLOEXEC, 0);

	*m = (struct manager){ .listening = fd, .memory = -1 };
	m->address.sun_family = AF_UNIX;
	m->address_length = sizeof(m->address);
	/* A name of the kernel's choice, without a file. */
	FUZZ_CHECK(fd >= 0 && bind(fd, (struct sockaddr *)&m->address,
	    sizeof(m->address.sun_family)) == 0);
	FUZZ_CHECK(getsockname(fd, (struct sockaddr *)&m->address,
	    &m->address_length) == 0);
	FUZZ_CHECK(listen(fd, CONNECTIONS) == 0);
}

/* Without the daemon nobody has it any more. */
static void
manager_drop(struct manager *m, size_t i)
{
	(void)shutdown(m->kept[i], SHUT_RDWR);
	(void)close(m->kept[i]);
	m->kept[i] = m->kept[m->n_kept - 1];
	m->given[i] = m->given[m->n_kept - 1];
	m->n_kept--;
}

void
manager_close(struct manager *m)
{
	while (m->n_kept > 0)
		manager_drop(m, 0);
	if (m->memory >= 0)
		(void)close(m->memory);
	(void)close(m->listening);
}

uint64_t
manager_keep(struct manager *m, int fd, bool is_memory)
{
	if (is_memory) {
		if (m->memory >= 0)
			(void)close(m->memory);
		m->memory = manager_copy(fd);
		return ++m->number;
	}
	if (m->n_kept == MANAGER_KEPT_MAX)
		return SERVER_KEPT_NOWHERE;
	m->kept[m->n_kept++] = manager_copy(fd);
	return ++m->number;
}

struct server_legacy
manager_pass_on(struct manager *m)
{
	struct server_legacy legacy = { .memory = -1 };
	const uint8_t *before = manager_blocks[m->block];
	enum journal_state state = JOURNAL_EMPTY;

	if (m->journals)
		state = journal_state(before, JOURNAL_SIZE);
	FUZZ_CHECK(state == JOURNAL_EMPTY || state == JOURNAL_GOOD);
	if (state == JOURNAL_GOOD) {
		legacy.journal = before;
		legacy.journal_size = JOURNAL_SIZE;
		legacy.connections = m->given;
		legacy.n_connections = m->n_kept;
	}
	if (m->memory >= 0)
		legacy.memory = manager_copy(m->memory);
	for (size_t i = 0; i < m->n_kept; i++)
		m->given[i] = manager_copy(m->kept[i]);
	m->block = 1 - m->block;
	journal_format(&m->journal, manager_blocks[m->block], JOURNAL_SIZE);
	m->journals = true;
	return legacy;
}

void
manager_passed(struct manager *m)
{
	for (size_t i = m->n_kept; i-- > 0; ) {
		if (m->given[i] < 0)
			continue;
		(void)close(m->given[i]);
		manager_drop(m, i);
	}
}
