/*
 * What a request consumed of a table's capacity, as its answer says. Each of
 * our requests asks for that.
 */
#ifndef DDBLOCKD_STORE_CONSUMED_H
#define DDBLOCKD_STORE_CONSUMED_H

#include <stddef.h>
#include <stdint.h>

/* In thousandths of a unit, of all tables that it names; 0: it does not say it,
 * as errors do not. @body: any bytes. */
uint64_t consumed_milliunits(const char *body, size_t length);

#endif
