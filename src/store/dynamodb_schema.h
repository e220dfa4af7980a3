/*
 * The table's keys: as a namespace needs them, as DescribeTable shows them, in
 * requests and in words (pure).
 */
#ifndef DDBLOCKD_STORE_DYNAMODB_SCHEMA_H
#define DDBLOCKD_STORE_DYNAMODB_SCHEMA_H

#include <stddef.h>

#include "common/buffer.h"
#include "dialect/dialect.h"

#define SCHEMA_TEXT_MAX 640	/* two names of 255 bytes in a message */

/* What to do about others. */
#define SCHEMA_ADVICE                                                          \
	"name another table, or the key_attribute, sort_attribute and "        \
	"format that it has"

struct json_object;

/* ,"KeySchema":[...],"AttributeDefinitions":[...] of CreateTable */
void schema_write(struct buffer *, const struct dialect_table *);

/* {...}, the key of an item that belongs to no lock, and that may be read. */
void schema_write_no_key(struct buffer *, const struct dialect_table *);

/* 'partition key "key" (S), sort key "range" (S)', as it must be, */
void schema_needed(const struct dialect_table *, char text[SCHEMA_TEXT_MAX]);

/* and as it is in the Table of DescribeTable. */
void schema_found(struct json_object *table, char text[SCHEMA_TEXT_MAX]);

/* The text at @name in @o, or "". */
const char *schema_text(struct json_object *o, const char *name);

#endif
