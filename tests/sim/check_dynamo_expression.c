/*
 * The model of DynamoDB: numbers, values and expressions.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dynamo_ask.h"
#include "dynamo_expression.h"
#include "dynamo_value.h"
#include "suite.h"

#define NINES "99999999999999999999999999999999999999"	/* 38 */
#define WRONG NULL

/* ---- numbers ---- */

static const struct {
	const char *text, *plain;	/* or why not */
	enum dynamo_number_error error;
} numbers[] = {
	{ "0", "0", 0 }, { "-0", "0", 0 }, { "000", "0", 0 },
	{ "0.000", "0", 0 }, { "0e9999999", "0", 0 }, { "7", "7", 0 },
	{ "+7", "7", 0 }, { "-7", "-7", 0 }, { "007", "7", 0 },
	{ ".5", "0.5", 0 }, { "5.", "5", 0 }, { "12.50", "12.5", 0 },
	{ "1e2", "100", 0 }, { "1E+2", "100", 0 }, { "1e-2", "0.01", 0 },
	{ "120e-1", "12", 0 }, { "0.00120e3", "1.2", 0 },
	{ NINES, NINES, 0 }, { NINES "000", NINES "000", 0 },
	{ "0." NINES, "0." NINES, 0 }, { "-" NINES, "-" NINES, 0 },
	{ NINES "1", NULL, DYNAMO_NUMBER_LONG },
	{ "1" NINES "e-1", NULL, DYNAMO_NUMBER_LONG },
	{ "1e126", NULL, DYNAMO_NUMBER_OVERFLOW },
	{ "-1e126", NULL, DYNAMO_NUMBER_OVERFLOW },
	{ "1e-131", NULL, DYNAMO_NUMBER_UNDERFLOW },
	{ "1e99999999999999999999", NULL, DYNAMO_NUMBER_OVERFLOW },
	{ "", NULL, DYNAMO_NUMBER_BAD }, { "-", NULL, DYNAMO_NUMBER_BAD },
	{ ".", NULL, DYNAMO_NUMBER_BAD }, { "e1", NULL, DYNAMO_NUMBER_BAD },
	{ "1e", NULL, DYNAMO_NUMBER_BAD }, { "1e+", NULL, DYNAMO_NUMBER_BAD },
	{ " 1", NULL, DYNAMO_NUMBER_BAD }, { "1 ", NULL, DYNAMO_NUMBER_BAD },
	{ "1.2.3", NULL, DYNAMO_NUMBER_BAD }, { "0x1", NULL,
	    DYNAMO_NUMBER_BAD }, { "--1", NULL, DYNAMO_NUMBER_BAD },
	{ "NaN", NULL, DYNAMO_NUMBER_BAD },
};

START_TEST(numbers_are_read_and_written)
{
	char text[DYNAMO_NUMBER_SIZE];
	struct dynamo_number n;

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		const char *given = numbers[i].text;

		ck_assert_msg(dynamo_number_parse(given, strlen(given), &n) ==
		    numbers[i].error, "%s", given);
		if (numbers[i].error != 0)
			continue;
		ck_assert_uint_eq(dynamo_number_format(&n, text),
		    strlen(numbers[i].plain));
		ck_assert_str_eq(text, numbers[i].plain);
	}
	ck_assert(dynamo_number_is_plain("120", 3));
	ck_assert(!dynamo_number_is_plain("012", 3));
	ck_assert(!dynamo_number_is_plain("1.0", 3));
	ck_assert_int_eq(dynamo_number_parse("9.9e125", 7, &n), 0);
	ck_assert_uint_eq(dynamo_number_format(&n, text), 126);
	ck_assert_int_eq(dynamo_number_parse("-1e-130", 7, &n), 0);
	ck_assert_uint_eq(dynamo_number_format(&n, text), 133);
}
END_TEST

static struct dynamo_number
number(const char *text)
{
	struct dynamo_number n;

	ck_assert_int_eq(dynamo_number_parse(text, strlen(text), &n), 0);
	return n;
}

START_TEST(numbers_have_an_order)
{
	static const char *const sorted[] = { "-9e125", "-10", "-9.5", "-9",
	    "-0.1", "-1e-130", "0", "1e-130", "0.09", "0.1", "0.11", "1",
	    "1.00001", "9", "9.5", "10", NINES, "1e125" };
	const size_t n = sizeof(sorted) / sizeof(sorted[0]);

	for (size_t i = 0; i < n; i++) {
		for (size_t j = 0; j < n; j++) {
			struct dynamo_number a = number(sorted[i]);
			struct dynamo_number b = number(sorted[j]);
			int r = dynamo_number_compare(&a, &b);

			ck_assert_msg((r > 0) == (i > j) && (r < 0) == (i < j),
			    "%s %s", sorted[i], sorted[j]);
		}
	}
}
END_TEST

START_TEST(numbers_are_added_exactly)
{
	static const struct {
		const char *a, *b, *sum;
	} sums[] = {
		{ "1", "2", "3" }, { "5", "-5", "0" }, { "0", "-7", "-7" },
		{ "999", "1", "1000" }, { "1000", "-1", "999" },
		{ "-1000", "1", "-999" }, { "0.1", "0.2", "0.3" },
		{ "10", "-0.01", "9.99" }, { "-3.5", "-6.5", "-10" },
		{ NINES, "1", "1" "00000000000000000000000000000000000000" },
		{ NINES, "-" NINES, "0" }, { "1e37", "1", "1"
		    "0000000000000000000000000000000000001" },
		{ "1e38", "1", NULL }, { NINES, "0.1", NULL },
		{ "9e125", "1e125", NULL }, { "1e125", "1e-130", NULL },
		{ "5e125", "5e125", NULL },
		{ "1e-130", "-2e-130", "-1e-130" },
		{ "1.1e-130", "-1e-130", NULL },
	};

	for (size_t i = 0; i < sizeof(sums) / sizeof(sums[0]); i++) {
		struct dynamo_number a = number(sums[i].a);
		struct dynamo_number b = number(sums[i].b);
		struct dynamo_number sum, expected;
		bool fits = dynamo_number_add(&a, &b, &sum) == 0;

		ck_assert_msg(fits == (sums[i].sum != NULL), "%s + %s",
		    sums[i].a, sums[i].b);
		if (!fits)
			continue;
		expected = number(sums[i].sum);
		ck_assert_msg(dynamo_number_compare(&sum, &expected) == 0,
		    "%s + %s", sums[i].a, sums[i].b);
	}
}
END_TEST

/* ---- values ---- */

static const struct {
	const char *given, *plain;	/* or the error's name */
	bool valid;
} values[] = {
	{ "{'S':''}", "{'S':''}", true },
	{ "{'N':'01.0'}", "{'N':'1'}", true },
	{ "{'B':''}", "{'B':''}", true },
	{ "{'B':'YQ=='}", "{'B':'YQ=='}", true },
	{ "{'B':'YR=='}", "{'B':'YQ=='}", true },
	{ "{'B':'YWJj'}", "{'B':'YWJj'}", true },
	{ "{'BOOL':false}", "{'BOOL':false}", true },
	{ "{'NULL':true}", "{'NULL':true}", true },
	{ "{'L':[]}", "{'L':[]}", true },
	{ "{'M':{}}", "{'M':{}}", true },
	{ "{'L':[{'N':'1e1'},{'M':{'a':{'N':'+2'}}}]}",
	    "{'L':[{'N':'10'},{'M':{'a':{'N':'2'}}}]}", true },
	{ "{'SS':['b','a','']}", "{'SS':['b','a','']}", true },
	{ "{'NS':['2','1.50']}", "{'NS':['2','1.5']}", true },
	{ "{'BS':['YQ==','']}", "{'BS':['YQ==','']}", true },
	{ "{'S':'a','N':null,'X':'y'}", "{'S':'a'}", true },
	{ "{}", INVALID, false },
	{ "{'S':null}", INVALID, false },
	{ "{'X':'a'}", INVALID, false },
	{ "{'S':'a','N':'1'}", INVALID, false },
	{ "{'N':''}", INVALID, false },
	{ "{'N':'one'}", INVALID, false },
	{ "{'N':'1e126'}", INVALID, false },
	{ "{'NULL':false}", INVALID, false },
	{ "{'SS':[]}", INVALID, false },
	{ "{'SS':['a','b','a']}", INVALID, false },
	{ "{'NS':['1','2','1.0']}", INVALID, false },
	{ "{'NS':['1','x']}", INVALID, false },
	{ "{'BS':['YQ==','YR==']}", INVALID, false },
	{ "{'L':[{'S':'a'},{}]}", INVALID, false },
	{ "{'L':[null]}", INVALID, false },
	{ "{'M':{'':{'S':'a'}}}", INVALID, false },
	{ "null", INVALID, false },
	{ "'a'", MALFORMED, false },
	{ "{'S':5}", MALFORMED, false },
	{ "{'N':5}", MALFORMED, false },
	{ "{'B':'a'}", MALFORMED, false },
	{ "{'B':'YQ='}", MALFORMED, false },
	{ "{'B':'Y!=='}", MALFORMED, false },
	{ "{'B':'=YQ='}", MALFORMED, false },
	{ "{'BOOL':'true'}", MALFORMED, false },
	{ "{'NULL':1}", MALFORMED, false },
	{ "{'SS':'a'}", MALFORMED, false },
	{ "{'SS':[1]}", MALFORMED, false },
	{ "{'L':{}}", MALFORMED, false },
	{ "{'M':[]}", MALFORMED, false },
};

START_TEST(values_are_checked)
{
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		char *given = ask_quote(values[i].given);
		char *plain = ask_quote(values[i].plain);
		struct json_object *value = json_tokener_parse(given);
		struct dynamo_error e = { 0 };
		bool valid = dynamo_value_check(value, &e);

		ck_assert_msg(valid == values[i].valid, "%s", given);
		ck_assert_str_eq(valid ? json_object_to_json_string_ext(value,
		    JSON_C_TO_STRING_PLAIN) : e.name, plain);
		json_object_put(value);
		free(plain);
		free(given);
	}
}
END_TEST

/* ---- conditions ---- */

#define ITEM "{'key':{'S':'a'},'n':{'N':'5'},'s':{'S':'hello'}," \
	"'b':{'B':'YWJj'},'ss':{'SS':['x','y']},'ns':{'NS':['1','2']}," \
	"'l':{'L':[{'N':'1'},{'S':'z'},{'M':{'q':{'N':'9'}}}]}," \
	"'m':{'M':{'x':{'BOOL':true},'y':{'N':'3'}}},'z':{'NULL':true}," \
	"'t':{'BOOL':true},'a.b':{'S':'dot'}}"
static const struct {
	const char *name, *value;
} stock[] = {
	{ ":n", "{'N':'1'}" }, { ":five", "{'N':'5.0'}" },
	{ ":s", "{'S':'he'}" }, { ":S", "{'S':'S'}" },
	{ ":X", "{'S':'X'}" }, { ":b", "{'B':'YWI='}" },
	{ ":ss", "{'SS':['x']}" }, { ":sss", "{'SS':['y','x']}" },
	{ ":ns", "{'NS':['1']}" }, { ":l", "{'L':[{'N':'1'}]}" },
	{ ":m", "{'M':{'y':{'N':'3.0'},'x':{'BOOL':true}}}" },
	{ ":t", "{'BOOL':true}" }, { ":z", "{'NULL':true}" },
	{ ":big", "{'N':'" NINES "'}" },
};

/* ,'ExpressionAttribute...':{...} of what the expression uses. */
static void
fill(struct buffer *to, const char *expression)
{
	const char *comma = ",'ExpressionAttributeValues':{";

	for (size_t i = 0; i < sizeof(stock) / sizeof(stock[0]); i++) {
		size_t n = strlen(stock[i].name);
		const char *at = expression;

		while ((at = strstr(at, stock[i].name)) != NULL &&
		    strspn(at + n, "abcdefghijklmnopqrstuvwxyzSX") > 0)
			at += n;
		if (at == NULL)
			continue;
		(void)buffer_printf(to, "%s'%s':%s", comma, stock[i].name,
		    stock[i].value);
		comma = ",";
	}
	(void)buffer_append_text(to, *comma == ',' && comma[1] == '\0' ?
	    "}" : "");
	if (strstr(expression, "#dot") != NULL)
		(void)buffer_append_text(to,
		    ",'ExpressionAttributeNames':{'#dot':'a.b'}");
}

static void
ask_with(struct ask *a, const char *operation, const char *what,
    const char *expression, const char *more)
{
	struct buffer b;

	ask_expect(a, "PutItem", "{~,'Item':" ITEM "}", "{}");
	buffer_init(&b, 100000);
	(void)buffer_printf(&b, "{~,'Key':{'key':{'S':'a'}},'%s':'%s'%s",
	    what, expression, more);
	fill(&b, expression);
	(void)buffer_append_text(&b, "}");
	ask(a, operation, b.data);
	buffer_done(&b);
}

static const char *const conditions_true[] = {
	"n = :five", "n <> :n", "n > :n", "n >= :five", "n <= :five",
	"n <> :s", "n <> gone", "gone <> lost", "m = :m", "ss = :sss",
	"s >= :s", "b > :b", "n between :n and :five", "n IN (:s, :five)",
	"NOT n = :n", "not NOT n = :five", "n = :n OR n = :five",
	"n = :n and n = :n or t = :t", "n = :n OR n = :five AND t = :t",
	"(n = :n OR n = :five) AND t = :t", "NOT (n = :n AND t = :t)",
	"(n = :five)", "(n) = (:five)", "n=:five AND(t=:t)",
	"attribute_exists(n)", "attribute_exists (n)",
	"attribute_exists((n))", "attribute_exists(l[2].q)",
	"attribute_not_exists(gone)", "attribute_not_exists(l[3])",
	"attribute_not_exists(s.x)", "attribute_not_exists(n[0])",
	"attribute_exists(#dot)", "#dot > :s OR t = :t",
	"attribute_type(s, :S)", "attribute_type(:s, :S)",
	"begins_with(s, :s)", "begins_with(b, :b)", "begins_with(:s, :s)",
	"contains(s, :s)", "contains(ns, :n)", "contains(l, :n)",
	"contains(b, :b)", "NOT contains(ss, :s)", "size(s) = :five",
	"size(ss) > :n", "size(m) > :n", "size(b) > :n", "size(l) > :n",
	"size(:s) > :n", "size(s) > size(b)", "size(s) IN (:five)",
	"size(s) BETWEEN :n AND :five", "NOT size(n) > :n", "l[0] = :n",
	"l [ 0 ] = :n", "m . y > :n", ":n < :five", ":n = :n", "z = :z",
	"n BETWEEN :n AND :five AND t = :t", "NOT n < :s", "NOT :s < n",
	"n IN ((:five))", "n = :five \\t\\r\\n AND t = :t",
};
static const char *const conditions_false[] = {
	"n = :n", "n = gone", "gone = lost", "gone < :n", "n < :s", "l = :l",
	"n = :s", "ss = :ss", "n BETWEEN :s AND :s", "gone IN (:n)",
	"n IN (:n)", "attribute_exists(gone)", "attribute_exists(l[9])",
	"attribute_type(n, :S)", "attribute_type(gone, :S)",
	"begins_with(n, :s)", "begins_with(gone, :s)", "begins_with(s, b)",
	"contains(n, :n)", "contains(m, :n)", "contains(ss, :ss)",
	"contains(gone, :n)", "size(n) = :n", "size(gone) > :n",
	"size(z) > :n", "size(s) > :s", "gone BETWEEN :n AND :five",
};
static const char *const conditions_invalid[] = {
	"", "  ", "n", ":n", "size(s)", "n =", "n = :n AND", "AND n = :n",
	"n = :n n = :n", "n == :n", "n != :n", "n = :n = :n",
	"n = 5", "n + :n = :five", "(n = :n", "n = :n)", "((n = :n))",
	"((n)) = :n", "()", "n IN :n", "n IN ()", "n NOT IN (:n)",
	"n BETWEEN :n", "n BETWEEN :n OR :five", "n BETWEEN :five AND :n",
	"n BETWEEN :n AND :s", "n BETWEEN n AND :five", "n IN (n)",
	"n BETWEEN :t AND :t", "n = n", "n < n", "ss < :ss", ":t < t",
	"attribute_exists()", "attribute_exists(:n)",
	"attribute_exists(n, s)", "attribute_exists(size(s))",
	"attribute_exists(n) = :t", "attribute_type(n, :X)",
	"attribute_type(n, :n)", "attribute_type(n, s)", "begins_with(s)",
	"begins_with(s, s)", "begins_with(s, :n)", "contains(s)",
	"contains(s, s)", "size(:n) > :n", "size(s, n) > :n",
	"size(size(s)) > :n", "ATTRIBUTE_EXISTS(n)", "foo(n)",
	"if_not_exists(n, :n) = :n", "name = :n", "m.name = :n", "key = :s",
	"n = :undefined", "#undefined = :n", "_n = :n", "n$ = :n", "1n = :n",
	"n = :", "# = :n", "l[00] = :n", "l[-1] = :n", "l[a] = :n",
	"l[0 = :n", "l[2147483648] = :n", ".n = :n", "n. = :n",
};

static void
judge(struct ask *a, const char *const *texts, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++) {
		ask_with(a, "DeleteItem", "ConditionExpression", texts[i],
		    "");
		ck_assert_msg(strcmp(a->name, name) == 0, "%s: %s %s",
		    texts[i], a->name, ask_text(a, "message"));
	}
}

START_TEST(conditions)
{
	struct ask a;

	ask_init(&a);
	judge(&a, conditions_true,
	    sizeof(conditions_true) / sizeof(char *), "");
	judge(&a, conditions_false,
	    sizeof(conditions_false) / sizeof(char *),
	    "ConditionalCheckFailedException");
	judge(&a, conditions_invalid,
	    sizeof(conditions_invalid) / sizeof(char *),
	    INVALID);
	ask_done(&a);
}
END_TEST

/* ---- updates ---- */

static const struct {
	const char *expression;
	const char *attribute, *value;	/* what it is then; "": not there */
} updates[] = {
	{ "SET x = :n", "x", "{'N':'1'}" },
	{ "set x=:n remove n", "n", "" },
	{ "SET x = n", "x", "{'N':'5'}" },
	{ "SET x = n, n = :n", "x", "{'N':'5'}" },
	{ "REMOVE n SET x = n", "x", "{'N':'5'}" },
	{ "SET x = n + :n", "x", "{'N':'6'}" },
	{ "SET x = n-:n", "x", "{'N':'4'}" },
	{ "SET x = (n - :n)", "x", "{'N':'4'}" },
	{ "SET x = (n) - (:n)", "x", "{'N':'4'}" },
	{ "SET x = if_not_exists(n, :n)", "x", "{'N':'5'}" },
	{ "SET x = if_not_exists(gone, :n) + :n", "x", "{'N':'2'}" },
	{ "SET x = if_not_exists(gone, if_not_exists(lost, :n))", "x",
	    "{'N':'1'}" },
	{ "SET l = list_append(:l, l)", "l", "{'L':[{'N':'1'},{'N':'1'},"
	    "{'S':'z'},{'M':{'q':{'N':'9'}}}]}" },
	{ "SET x = list_append(if_not_exists(gone, :l), :l)", "x",
	    "{'L':[{'N':'1'},{'N':'1'}]}" },
	{ "SET m.w = :n", "m", "{'M':{'x':{'BOOL':true},'y':{'N':'3'},"
	    "'w':{'N':'1'}}}" },
	{ "SET m.x = m.y, m.y = m.x", "m",
	    "{'M':{'x':{'N':'3'},'y':{'BOOL':true}}}" },
	{ "REMOVE m.x", "m", "{'M':{'y':{'N':'3'}}}" },
	{ "REMOVE m.gone, gone, l[7]", "n", "{'N':'5'}" },
	{ "SET l[9] = :n, l[7] = :s", "l", "{'L':[{'N':'1'},{'S':'z'},"
	    "{'M':{'q':{'N':'9'}}},{'S':'he'},{'N':'1'}]}" },
	{ "SET l[1] = :n REMOVE l[0]", "l",
	    "{'L':[{'N':'1'},{'M':{'q':{'N':'9'}}}]}" },
	{ "REMOVE l[0], l[2] ADD l[5] :n", "l",
	    "{'L':[{'S':'z'},{'N':'1'}]}" },
	{ "SET l[2].q = :n REMOVE l[0], l[1]", "l",
	    "{'L':[{'M':{'q':{'N':'1'}}}]}" },
	{ "ADD n :n", "n", "{'N':'6'}" }, { "ADD x :n", "x", "{'N':'1'}" },
	{ "ADD ns :ns", "ns", "{'NS':['1','2']}" },
	{ "ADD ss :ss, x :ss", "x", "{'SS':['x']}" },
	{ "ADD m.y :n", "m", "{'M':{'x':{'BOOL':true},'y':{'N':'4'}}}" },
	{ "DELETE ss :ss", "ss", "{'SS':['y']}" },
	{ "DELETE ss :sss", "ss", "" }, { "DELETE x :ss", "x", "" },
	{ "SET x = :m", "x", "{'M':{'y':{'N':'3'},'x':{'BOOL':true}}}" },
	{ "SET #dot = :n", "a.b", "{'N':'1'}" },
	{ "", WRONG, "" }, { "SET", WRONG, "" },
	{ "x = :n", WRONG, "" }, { "SET x", WRONG, "" },
	{ "SET x = :n,", WRONG, "" }, { "SET x = :n SET y = :n", WRONG,
	    "" }, { "SET x = n + :n + :n", WRONG, "" },
	{ "SET x = n * :n", WRONG, "" }, { "SET x = - :n", WRONG, "" },
	{ "SET x = s + :n", WRONG, "" }, { "SET x = n + :s", WRONG, "" },
	{ "SET x = gone", WRONG, "" }, { "SET x = l[7]", WRONG, "" },
	{ "SET x = gone + :n", WRONG, "" },
	{ "SET x = :big + :n + :n", WRONG, "" },
	{ "SET x = :big - l[0] SET y = :n", WRONG, "" },
	{ "SET x = if_not_exists(n, gone)", WRONG, "" },
	{ "SET x = if_not_exists(n, n)", WRONG, "" },
	{ "SET x = if_not_exists(:n, :n)", WRONG, "" },
	{ "SET x = if_not_exists(n)", WRONG, "" },
	{ "SET x = list_append(l, :n)", WRONG, "" },
	{ "SET x = list_append(s, :l)", WRONG, "" },
	{ "SET x = list_append(l, list_append(l, l))", WRONG, "" },
	{ "SET x = size(s)", WRONG, "" },
	{ "SET x = foo(s)", WRONG, "" },
	{ "SET s.x = :n", WRONG, "" }, { "SET gone.x = :n", WRONG, "" },
	{ "SET m[0] = :n", WRONG, "" }, { "SET l.x = :n", WRONG, "" },
	{ "REMOVE gone.x", WRONG, "" }, { "REMOVE :n", WRONG, "" },
	{ "SET x = :n, x = :n", WRONG, "" },
	{ "SET m = :m, m.x = :n", WRONG, "" },
	{ "SET m.x = :n REMOVE m", WRONG, "" },
	{ "SET m.x = :n, m[0] = :n", WRONG, "" },
	{ "SET key = :s", WRONG, "" }, { "ADD s :n", WRONG, "" },
	{ "ADD n :s", WRONG, "" }, { "ADD n :ss", WRONG, "" },
	{ "ADD l :l", WRONG, "" }, { "ADD n n", WRONG, "" },
	{ "ADD ss :ns", WRONG, "" }, { "DELETE n :n", WRONG, "" },
	{ "DELETE n :ns", WRONG, "" }, { "DELETE m.x :ss", WRONG, "" },
	{ "ADD n :n SET n = :n", WRONG, "" },
};

START_TEST(update_expressions)
{
	struct ask a;
	char path[40];

	ask_init(&a);
	for (size_t i = 0; i < sizeof(updates) / sizeof(updates[0]); i++) {
		char *value = ask_quote(updates[i].value);
		struct json_object *expected = json_tokener_parse(value);
		struct json_object *is;

		ask_with(&a, "UpdateItem", "UpdateExpression",
		    updates[i].expression, ",'ReturnValues':'ALL_NEW'");
		ck_assert_msg(strcmp(a.name, updates[i].attribute == WRONG ?
		    INVALID : "") == 0, "%s: %s",
		    updates[i].expression, ask_text(&a, "message"));
		(void)snprintf(path, sizeof(path), "Attributes/%s",
		    updates[i].attribute == WRONG ? "none" :
		    updates[i].attribute);
		is = json_tokener_parse(ask_text(&a, path));
		ck_assert_msg(json_object_equal(expected, is), "%s: %s",
		    updates[i].expression, ask_text(&a, path));
		json_object_put(is);
		json_object_put(expected);
		free(value);
	}
	ask_done(&a);
}
END_TEST

START_TEST(key_is_not_updated)
{
	struct ask a;

	ask_init(&a);
	ask_refused(&a, "UpdateItem", "{~,'Key':{'key':{'S':'a'}},"
	    "'UpdateExpression':'SET #k = :v','ExpressionAttributeNames':"
	    "{'#k':'key'},'ExpressionAttributeValues':{':v':{'S':'b'}}}",
	    INVALID);
	ck_assert(strstr(ask_text(&a, "message"), "part of the key") != NULL);
	ask_refused(&a, "UpdateItem", "{~,'Key':{'key':{'S':'a'}},"
	    "'UpdateExpression':'REMOVE #k.x','ExpressionAttributeNames':"
	    "{'#k':'key'}}", INVALID);
	ask_done(&a);
}
END_TEST

/* ---- projections ---- */

static const struct {
	const char *expression, *item;
} projections[] = {
	{ "n", "{'n':{'N':'5'}}" }, { "n, gone", "{'n':{'N':'5'}}" },
	{ "gone", "{}" }, { "#dot", "{'a.b':{'S':'dot'}}" },
	{ "m.y,s", "{'m':{'M':{'y':{'N':'3'}}},'s':{'S':'hello'}}" },
	{ "l[2].q", "{'l':{'L':[{'M':{'q':{'N':'9'}}}]}}" },
	{ "l[1], l[0], l[7]", "{'l':{'L':[{'N':'1'},{'S':'z'}]}}" },
	{ "m.gone, s.x, n[0]", "{}" },
	{ "", WRONG }, { "n,", WRONG }, { "n m", WRONG },
	{ "n, n", WRONG }, { "m, m.x", WRONG }, { "m.x, m[0]", WRONG },
	{ ":n", WRONG }, { "name", WRONG }, { "size(n)", WRONG },
};

START_TEST(projection_expressions)
{
	struct ask a;

	ask_init(&a);
	for (size_t i = 0; i < sizeof(projections) / sizeof(projections[0]);
	    i++) {
		char *item = ask_quote(projections[i].item == WRONG ? "{}" :
		    projections[i].item);
		struct json_object *expected = json_tokener_parse(item);
		struct json_object *is;

		ask_with(&a, "GetItem", "ProjectionExpression",
		    projections[i].expression, "");
		ck_assert_msg(strcmp(a.name, projections[i].item == WRONG ?
		    INVALID : "") == 0, "%s",
		    projections[i].expression);
		is = json_object_object_get(a.answer, "Item");
		ck_assert_msg(projections[i].item == WRONG ||
		    json_object_equal(expected, is), "%s: %s",
		    projections[i].expression,
		    json_object_to_json_string(a.answer));
		json_object_put(expected);
		free(item);
	}
	ask_done(&a);
}
END_TEST

START_TEST(reserved_words)
{
	ck_assert(dynamo_word_is_reserved("abort"));
	ck_assert(dynamo_word_is_reserved("Zone"));
	ck_assert(dynamo_word_is_reserved("TTL"));
	ck_assert(!dynamo_word_is_reserved("holders"));
	ck_assert(!dynamo_word_is_reserved("ab"));
	ck_assert(!dynamo_word_is_reserved(""));
}
END_TEST

int
main(void)
{
	const TTest *const tests[] = {
		numbers_are_read_and_written, numbers_have_an_order,
		numbers_are_added_exactly, values_are_checked, conditions,
		update_expressions, key_is_not_updated,
		projection_expressions, reserved_words, NULL,
	};

	return suite_run("dynamo_expression", tests);
}
