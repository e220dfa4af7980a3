/*
 * Which hosts are this one (pure): plain HTTP goes nowhere else, and an
 * emulator there is signed for without a region.
 */
#ifndef DDBLOCKD_AWS_LOOPBACK_H
#define DDBLOCKD_AWS_LOOPBACK_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Is the host of a URL, without brackets, "localhost" or a loopback address in
 * a form that means the same to everybody? "127.1" and "127.0.0.01" are not.
 */
bool loopback_is_host(const char *host, size_t length);

/* The addresses of the one name that is this host's everywhere, as resolver.h
 * gives them; NULL: @host is another name, or no name. */
const char *loopback_addresses(const char *host);

#endif
