/*
 * What is said to people, on standard error.
 */
#ifndef DDBLOCKD_CLI_SAY_H
#define DDBLOCKD_CLI_SAY_H

#include <stdbool.h>
#include <stddef.h>

/*
 * From now on nothing that is said waits for who reads it, be it a terminal
 * that was stopped or a pipe that is full. What cannot be said is tried again
 * with what is said next, as far as it fits into one write.
 */
void say_without_waiting(void);

/* The same, and what is said goes to that socket, as a packet: another process
 * has it by say_text(). */
void say_through(int fd);
void say_text(const char *bytes, size_t length);

/* Say it now, or not at all: false. For what is soon out of date. */
bool say_at_once(const char *bytes, size_t length);

/* At the end of a program: the last chance of what could not be said. */
void say_rest(void);

/* Keep nothing open for it. */
void say_done(void);

#endif
