/*
 * Users of this machine, by name or by number.
 */
#ifndef DDBLOCKD_CLI_BASE_USER_H
#define DDBLOCKD_CLI_BASE_USER_H

#include <stdbool.h>
#include <stdint.h>

/* A name, or a number, which need not have one. False: it is neither. */
bool user_number(const char *text, uint64_t *ret_uid);

/* The name, or "uid 1500". Valid until the next call. The last one is
 * remembered: the same come again and again, and a server may be asked. */
const char *user_name(uint64_t uid);

#endif
