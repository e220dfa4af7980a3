/*
 * Messages to the user, on standard error.
 */
#ifndef DDBLOCKD_CLI_BASE_SAY_H
#define DDBLOCKD_CLI_BASE_SAY_H

#include <stdbool.h>
#include <stddef.h>

/*
 * From now on no message waits for its reader, such as a stopped terminal or a
 * full pipe. A message that was not written is tried again with the next, as
 * far as both fit into one write.
 */
void say_nonblocking(void);

/* The same, but messages go to that socket, as packets: another process prints
 * them by say_text(). */
void say_to_socket(int fd);
void say_text(const char *bytes, size_t length);

/* Say it now, or not at all: false. For text that is soon out of date. */
bool say_now(const char *bytes, size_t length);

/* At the end of a program: the last attempt for messages not yet written. */
void say_flush(void);

/* Close what was opened for messages. */
void say_done(void);

#endif
