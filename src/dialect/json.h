/*
 * The part of JSON that DynamoDB's requests and answers need: a writer into a
 * bounded buffer, and lookups in a tree that json-c has parsed. Requests are
 * written rather than built as trees, because a request is a few constant texts
 * with values between them, and every operation on a lock writes one.
 */
#ifndef DDBLOCKD_DIALECT_JSON_H
#define DDBLOCKD_DIALECT_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buffer.h"
#include "common/json_shape.h"

/* DynamoDB's values nest 32 deep, each an object in an object or a list; and
 * there is what they are in. */
#define JSON_DEPTH_MAX JSON_SHAPE_DEPTH_MAX

struct json_object;
struct json_tokener;

/* Is this text in UTF-8 (no surrogates, nothing overlong)? */
bool json_is_utf8(const char *bytes, size_t length);

/*
 * Append a JSON string, quotes included. A byte that is not UTF-8 becomes a
 * question mark; check text that must arrive unchanged with json_is_utf8().
 * Errors stick to the buffer (buffer_failed()).
 */
void json_append_string(struct buffer *, const char *bytes, size_t length);
void json_append_text(struct buffer *, const char *text);

/*
 * The object in @bytes; NULL if they are none by json_shape.h. Put it after
 * use. A tokener (of JSON_DEPTH_MAX) that is used again saves a tenth of the
 * work; NULL: a new one.
 */
struct json_object *json_read_object(struct json_tokener *,
    const char *bytes, size_t length);

/* The member of an object; NULL if it is absent, null or @o is no object. */
struct json_object *json_find(struct json_object *o, const char *name);

/* The bytes of a string; NULL if @o is no string. */
const char *json_string(struct json_object *o, size_t *ret_length);

/* Read digits, all of them, without a leading zero, as at most @max. */
bool json_read_number(const char *text, size_t length, uint64_t max,
    uint64_t *ret);

#endif
