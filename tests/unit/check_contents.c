/*
 * What clients keep in a lock: changes, their limits, values in DynamoDB's
 * JSON, and base64.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base64.h"
#include "core/contents.h"
#include "core/typed.h"
#include "ddblock.h"
#include "test.h"

#define TEXT(text) { (text), sizeof(text) - 1 }

static const struct attribute base_attributes[] = {
	{ TEXT("a"), TEXT("1"), false },
	{ TEXT("b"), TEXT("2"), false },
};
static const struct contents base = { TEXT("old"), base_attributes, 2 };
static const struct contents none = { { NULL, 0 }, NULL, 0 };

/* Everything about it in one line: "data a=1 b:2". */
static const char *
shown(const struct contents *c)
{
	static char text[256];
	size_t length = c->data.length;

	memcpy(text, length > 0 ? c->data.bytes : "", length);
	for (size_t i = 0; i < c->n_attributes; i++) {
		const struct attribute *a = &c->attributes[i];

		length += (size_t)snprintf(text + length,
		    sizeof(text) - length, " %.*s%c%.*s", (int)a->name.length,
		    a->name.bytes, a->typed ? ':' : '=',
		    (int)a->value.length, a->value.bytes);
	}
	text[length] = '\0';
	return text;
}

static const struct {
	struct change change;
	const struct contents *base;
	const char *becomes;
	const char *left;	/* when the given contents are left out */
} changes[] = {
	/* No argument: no change. */
	{ { .sets_data = false }, &base, "old a=1 b=2", "old a=1 b=2" },
	{ { .sets_data = false }, &none, "", "" },
	{ { .sets_data = true, .contents = { TEXT("new"), NULL, 0 } }, &base,
	    "new a=1 b=2", " a=1 b=2" },
	{ { .sets_data = true }, &base, " a=1 b=2", " a=1 b=2" },
	{ { .clears = true }, &base, "", "" },
	{ { .clears = true, .sets_data = true,
	    .contents = { TEXT("new"), base_attributes + 1, 1 } }, &base,
	    "new b=2", "" },
	/* Only where there is none. */
	{ { .sets_data = true, .spares_data = true,
	    .contents = { TEXT("new"), NULL, 0 } }, &base,
	    "old a=1 b=2", "old a=1 b=2" },
	{ { .sets_data = true, .spares_data = true,
	    .contents = { TEXT("new"), NULL, 0 } }, &none, "new", "" },
	{ { .sets_data = true, .spares_data = true, .clears = true,
	    .contents = { TEXT("new"), NULL, 0 } }, &base, "old", "old" },
};

TEST_ROWS(test_changes, changes)
{
	struct contents *c, *copy;
	struct change *change = change_copy(&changes[_i].change);

	ck_assert_ptr_nonnull(change);
	ck_assert_int_eq(change_apply(change, changes[_i].base, &c), 0);
	ck_assert_str_eq(shown(c), changes[_i].becomes);
	copy = contents_copy(c);
	ck_assert_ptr_nonnull(copy);
	ck_assert(contents_are_equal(c, copy));
	change_leave_out(change, copy);
	ck_assert_str_eq(shown(copy), changes[_i].left);
	free(copy);
	free(c);
	free(change);
}

TEST(test_attributes)
{
	struct attribute given[] = {
		{ TEXT("b"), TEXT("{\"N\":\"3\"}"), true },
		{ TEXT("a"), TEXT(""), true },
		{ TEXT("c"), TEXT(""), false },
	};
	struct change change = { .contents = { { NULL, 0 }, given, 3 } };
	struct contents *c;

	ck_assert_int_eq(change_apply(&change, &base, &c), 0);
	ck_assert_str_eq(shown(c), "old b:{\"N\":\"3\"} c=");
	ck_assert(!contents_are_equal(c, &base));
	free(c);
}

TEST(test_too_much)
{
	char *bytes = calloc(1, CONTENTS_MAX);
	struct change change = { .sets_data = true };
	struct attribute many[ATTRIBUTES_MAX];
	char names[ATTRIBUTES_MAX];
	struct contents *c = NULL;

	ck_assert_ptr_nonnull(bytes);
	change.contents.data = (struct key){ bytes, CONTENTS_MAX - 4 };
	ck_assert_int_eq(change_apply(&change, &base, &c), 0);
	free(c);
	change.contents.data.length++;
	ck_assert_int_eq(change_apply(&change, &base, &c), DDBLOCK_E_LIMIT);
	change.clears = true;
	ck_assert_int_eq(change_apply(&change, &base, &c), 0);
	free(c);
	change = (struct change){ .contents.attributes = many };
	for (size_t i = 0; i < ATTRIBUTES_MAX; i++) {
		names[i] = (char)('A' + i);
		many[i] = (struct attribute){ { names + i, 1 }, { "", 0 }, 0 };
	}
	change.contents.n_attributes = ATTRIBUTES_MAX - 2;
	ck_assert_int_eq(change_apply(&change, &base, &c), 0);
	free(c);
	change.contents.n_attributes++;
	ck_assert_int_eq(change_apply(&change, &base, &c), DDBLOCK_E_LIMIT);
	free(bytes);
}

static const struct {
	struct attribute attribute;
	const char *says;	/* NULL: it is good */
} attributes[] = {
	{ { TEXT("x"), TEXT(""), false }, NULL },
	{ { TEXT("x.y=\xc3\xa9"), TEXT("\xc3\xa9"), false }, NULL },
	{ { TEXT("x"), TEXT("{\"N\":\"1\"}"), true }, NULL },
	{ { { "", 0 }, TEXT("v"), false }, "1 to 255 bytes" },
	{ { TEXT("x:y"), TEXT("v"), false }, "without a colon" },
	{ { TEXT("x\0y"), TEXT("v"), false }, "without NUL" },
	{ { TEXT("\xff"), TEXT("v"), false }, "UTF-8" },
	{ { TEXT("x"), TEXT("\xff"), false }, "data" },
	{ { TEXT("x"), TEXT("a\0b"), false }, "without NUL" },
	{ { TEXT("x"), TEXT("1"), true }, "well-formed JSON" },
};

TEST_ROWS(test_refuse, attributes)
{
	struct contents c = {
		{ NULL, 0 }, &attributes[_i].attribute, 1,
	};
	const char *reason = contents_refuse(&c);

	if (attributes[_i].says == NULL)
		ck_assert_ptr_null(reason);
	else
		ck_assert_msg(reason != NULL && strstr(reason,
		    attributes[_i].says) != NULL, "%s", reason);
}

TEST(test_refuse_twice)
{
	struct attribute two[] = { base_attributes[0], base_attributes[0] };
	struct contents c = { { NULL, 0 }, two, 2 };
	char name[ATTRIBUTE_NAME_MAX + 1];

	ck_assert_str_eq(contents_refuse(&c), "an attribute is given twice");
	memset(name, 'n', sizeof(name));
	two[1].name = (struct key){ name, sizeof(name) };
	ck_assert_ptr_nonnull(contents_refuse(&c));
	two[1].name.length--;
	ck_assert_ptr_null(contents_refuse(&c));
}

static const struct {
	const char *text;
	const char *says;	/* NULL: it is good */
} values[] = {
	{ "{\"S\":\"\"}", NULL },
	{ " { \"S\" : \"\\u00e9\\ud83d\\ude00\\n\\/\" } ", NULL },
	{ "{\"N\":\"-0.5e-3\"}", NULL },
	{ "{\"N\":\"12345678901234567890123456789012345678\"}", NULL },
	{ "{\"N\":\"9.99E125\"}", NULL },
	{ "{\"N\":\"1e-130\"}", NULL },
	{ "{\"N\":\"0\"}", NULL },
	{ "{\"N\":\"00010.00\"}", NULL },
	{ "{\"B\":\"\"}", NULL },
	{ "{\"B\":\"AP8=\"}", NULL },
	{ "{\"BOOL\":false}", NULL },
	{ "{\"NULL\":true}", NULL },
	{ "{\"SS\":[\"a\",\"b\"]}", NULL },
	{ "{\"NS\":[\"1\"]}", NULL },
	{ "{\"BS\":[\"AA==\"]}", NULL },
	{ "{\"L\":[]}", NULL },
	{ "{\"M\":{}}", NULL },
	{ "{\"M\":{\"a\":{\"L\":[{\"S\":\"x\"},{\"N\":\"1\"}]}}}", NULL },
	{ "", "well-formed" },
	{ "{}", "well-formed" },
	{ "{\"S\":\"a\"", "well-formed" },
	{ "{\"S\":\"a\"}}", "more than one" },
	{ "{\"S\":\"a\"},\"x\":{\"S\":\"b\"}", "more than one" },
	{ "{\"S\":\"a\",\"N\":\"1\"}", "well-formed" },
	{ "{\"S\":a}", "well-formed" },
	{ "{\"S\":\"\\x\"}", "well-formed" },
	{ "{\"S\":\"\\ud83d\"}", "well-formed" },
	{ "{\"S\":\"\\ude00\"}", "well-formed" },
	{ "{\"S\":\"\\u0000\"}", "well-formed" },
	{ "{\"S\":\"\xff\"}", "well-formed" },
	{ "{\"S\":\"\n\"}", "well-formed" },
	{ "{\"X\":\"a\"}", "one of S, N, B" },
	{ "{\"N\":1}", "well-formed" },
	{ "{\"N\":\"\"}", "38 digits" },
	{ "{\"N\":\"1.2.3\"}", "38 digits" },
	{ "{\"N\":\"1e\"}", "38 digits" },
	{ "{\"N\":\"0x1\"}", "38 digits" },
	{ "{\"N\":\"123456789012345678901234567890123456789\"}", "38 digits" },
	{ "{\"N\":\"1e126\"}", "38 digits" },
	{ "{\"N\":\"1e-131\"}", "38 digits" },
	{ "{\"B\":\"A\"}", "base64" },
	{ "{\"B\":\"A===\"}", "base64" },
	{ "{\"B\":\"A-==\"}", "base64" },
	{ "{\"BOOL\":\"true\"}", "BOOL" },
	{ "{\"NULL\":false}", "NULL" },
	{ "{\"SS\":[]}", "at least one" },
	{ "{\"SS\":[1]}", "well-formed" },
	{ "{\"L\":[\"a\"]}", "well-formed" },
	{ "{\"M\":{\"a\":\"b\"}}", "well-formed" },
	{ "{\"M\":{\"a\":{\"S\":\"b\"},}}", "well-formed" },
};

TEST_ROWS(test_typed, values)
{
	const char *reason = NULL;
	bool good = typed_check(values[_i].text, strlen(values[_i].text),
	    &reason);

	if (values[_i].says == NULL)
		ck_assert_msg(good, "%s: %s", values[_i].text, reason);
	else
		ck_assert_msg(!good && strstr(reason, values[_i].says) != NULL,
		    "%s: %s", values[_i].text, reason);
}

/* However deep it claims to be, the stack is not. */
TEST_LOOP(test_depth, 0, 3)
{
	static char text[200000];
	const char *reason = NULL;
	size_t n = _i == 0 ? TYPED_DEPTH_MAX - 1 : TYPED_DEPTH_MAX;
	size_t length = 0;

	n = _i == 2 ? 20000 : n;
	for (size_t i = 0; i < n; i++, length += 6)
		memcpy(text + length, "{\"L\":[", 6);
	memcpy(text + length, "{\"NULL\":true}", 13);
	length += 13;
	for (size_t i = 0; i < n; i++, length += 2)
		memcpy(text + length, "]}", 2);
	ck_assert(typed_check(text, length, &reason) == (_i == 0));
	ck_assert(_i == 0 || strstr(reason, "31 deep") != NULL);
}

/* Every length, every byte. */
TEST(test_base64)
{
	unsigned char bytes[256], back[256];
	struct buffer text;
	size_t length;

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (unsigned char)(255 - i);
	buffer_init(&text, 4096);
	for (size_t n = 0; n <= sizeof(bytes); n++) {
		buffer_clear(&text);
		base64_append(&text, bytes, n);
		ck_assert_uint_eq(text.length, (n + 2) / 3 * 4);
		ck_assert(base64_room(text.length) >= n);
		ck_assert(base64_read(text.length > 0 ? text.data : "",
		    text.length, back, &length));
		ck_assert_uint_eq(length, n);
		ck_assert_int_eq(memcmp(back, bytes, n), 0);
	}
	buffer_clear(&text);
	base64_append(&text, "\0\xff\xfe foobar", 10);
	ck_assert_str_eq(text.data, "AP/+IGZvb2Jhcg==");
	ck_assert(!base64_read("AP8", 3, back, &length));
	ck_assert(!base64_read("A===", 4, back, &length));
	ck_assert(!base64_read("AP=8", 4, back, &length));
	ck_assert(!base64_read("AP8*", 4, back, &length));
	buffer_done(&text);
}
