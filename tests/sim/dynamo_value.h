/*
 * Values of attributes: json-c's trees in DynamoDB's own JSON, {"S":"text"}.
 *
 * dynamo_value_check() brings a value into its one normal form: numbers
 * without needless digits, bytes in plain base64. Then two of them are equal
 * when their texts are. Checked values are never changed again, so that trees
 * can share them.
 */
#ifndef DDBLOCKD_TESTS_DYNAMO_VALUE_H
#define DDBLOCKD_TESTS_DYNAMO_VALUE_H

#include <json-c/json.h>

#include "dynamo_number.h"

#define DYNAMO_DEPTH_MAX 32
#define DYNAMO_MESSAGE_SIZE 600

enum dynamo_type {
	DYNAMO_S = 1,
	DYNAMO_N,
	DYNAMO_B,
	DYNAMO_SS,
	DYNAMO_NS,
	DYNAMO_BS,
	DYNAMO_BOOL,
	DYNAMO_NULL,
	DYNAMO_L,
	DYNAMO_M,
};
#define DYNAMO_IS(type) (1u << (type))
#define DYNAMO_SCALAR \
	(DYNAMO_IS(DYNAMO_S) | DYNAMO_IS(DYNAMO_N) | DYNAMO_IS(DYNAMO_B))
#define DYNAMO_SETS \
	(DYNAMO_IS(DYNAMO_SS) | DYNAMO_IS(DYNAMO_NS) | DYNAMO_IS(DYNAMO_BS))

/* What is wrong with a request. Functions that fill it return false. */
struct dynamo_error {
	const char *name;		/* "ValidationException"; NULL: none */
	struct json_object *item;	/* borrowed: the conflicting item */
	struct json_object *reasons;	/* of a transaction; borrowed */
	const char *throttled;		/* the kind of limit; or NULL */
	char message[DYNAMO_MESSAGE_SIZE];
};

bool dynamo_error_set(struct dynamo_error *, const char *name,
    const char *format, ...) __attribute__((format(printf, 3, 4)));
/* ValidationException: the request can never be carried out. */
bool dynamo_invalid(struct dynamo_error *, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* SerializationException: the JSON is not of the right form. */
bool dynamo_malformed(struct dynamo_error *, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
bool dynamo_number_invalid(struct dynamo_error *, enum dynamo_number_error);

/* "SS"; and back, 0: there is no such type. */
const char *dynamo_type_name(enum dynamo_type);
enum dynamo_type dynamo_type_find(const char *name);

/* Check a value, and normalise it in place. */
bool dynamo_value_check(struct json_object *value, struct dynamo_error *);
/* All values of an object: an item, a key, ExpressionAttributeValues. */
bool dynamo_value_check_all(struct json_object *object,
    struct dynamo_error *);

/* Of checked values only: */

enum dynamo_type dynamo_value_type(struct json_object *value);
/* The value behind the type. */
struct json_object *dynamo_value_content(struct json_object *value);
/* {"S": @content}; takes @content. */
struct json_object *dynamo_value_new(enum dynamo_type,
    struct json_object *content);
struct json_object *dynamo_value_new_number(const struct dynamo_number *);
void dynamo_value_number(struct json_object *value,
    struct dynamo_number *ret);

bool dynamo_value_equal(struct json_object *, struct json_object *);
/* Of two values of the same type, S, N or B: as memcmp(). */
int dynamo_value_compare(struct json_object *, struct json_object *);
/* Is this content of an S, N or B in that set's content? */
bool dynamo_value_in_set(struct json_object *set, struct json_object *element);
bool dynamo_value_begins_with(struct json_object *, struct json_object *);
bool dynamo_value_contains(struct json_object *, struct json_object *);
/* The value of size(). False: this type has none. */
bool dynamo_value_size(struct json_object *, size_t *ret);

/* As the service counts them. */
size_t dynamo_value_bytes(struct json_object *value);
/* Lists and maps in each other. */
int dynamo_value_depth(struct json_object *value);
size_t dynamo_item_bytes(struct json_object *item);

/* dynamo_base64.c */
/* Decode into @ret of at least length / 4 * 3. False: it is no base64. */
bool dynamo_base64_decode(const char *text, size_t length, uint8_t *ret,
    size_t *ret_length);
/* The decoded length; the text is checked already. */
size_t dynamo_base64_length(const char *text, size_t length);

#endif
