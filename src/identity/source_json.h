/*
 * Answers and files in JSON that have secrets in them (pure).
 */
#ifndef DDBLOCKD_IDENTITY_SOURCE_JSON_H
#define DDBLOCKD_IDENTITY_SOURCE_JSON_H

#include <stddef.h>
#include <stdint.h>

struct json_object;

/* One object by the letter of RFC 8259, and blanks around it; NULL: it is
 * not, or there is no memory. source_json_done() is due. */
struct json_object *source_json_parse(const char *body, size_t length);

/* Wipes. Accepts NULL. */
void source_json_done(struct json_object *);

/* Wipes it. There may be none. */
void source_json_remove(struct json_object *, const char *name);

/* A member that is a text, not empty, without a NUL in it; else NULL.
 * Borrowed. */
const char *source_json_text(struct json_object *, const char *name);

/* A member that is an object; else NULL. Borrowed. */
struct json_object *source_json_member(struct json_object *,
    const char *name);

/* A member that is a whole number above 0; else 0. */
uint64_t source_json_number(struct json_object *, const char *name);

#endif
