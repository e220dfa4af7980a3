/*
 * The protocol's rows agree with each other, and a request is read by them, or
 * refused with its reason.
 */
#include <string.h>

#include "ddblock.h"
#include "ipc/protocol.h"
#include "test.h"

#define LINE_SIZE 2048

struct asked {
	char memory[LINE_SIZE];
	struct codec_line line;
	struct protocol_request request;
	char reason[PROTOCOL_REASON_MAX];
	int code;
};

static void
ask(struct asked *a, const char *text)
{
	const char *reason;

	ck_assert_uint_lt(strlen(text), LINE_SIZE);
	memcpy(a->memory, text, strlen(text));
	ck_assert_int_eq(codec_parse(a->memory, strlen(text), true, &a->line,
	    &reason), 0);
	a->reason[0] = '\0';
	a->code = protocol_begin(&a->line, &a->request, a->reason);
	if (a->code == 0)
		a->code = protocol_check(&a->request, a->reason);
	if (a->code == 0)
		a->code = protocol_read(&a->request, a->reason);
}

static uint64_t
number(const struct asked *a, enum protocol_argument argument)
{
	ck_assert_msg(a->code == 0, "%s", a->reason);
	return protocol_number(&a->request, argument);
}

TEST(test_rows_of_verbs)
{
	bool taken[ARGUMENTS] = { false };

	for (unsigned v = 0; v < VERBS; v++) {
		const struct protocol_verb_row *row = protocol_verb(v);
		const unsigned char *a, *b;

		for (a = row->arguments; *a != ARGUMENT_NONE; a++) {
			ck_assert_uint_lt(*a, ARGUMENTS);
			ck_assert(protocol_takes(v, *a));
			taken[*a] = true;
			for (b = row->arguments; b < a; b++)
				ck_assert_str_ne(protocol_argument(*a)->word,
				    protocol_argument(*b)->word);
		}
		ck_assert_int_lt(a - row->arguments, PROTOCOL_LIST_MAX);
		ck_assert(row->needed == ARGUMENT_NONE ||
		    protocol_takes(v, row->needed));
	}
	for (unsigned a = ARGUMENT_NONE + 1; a < ARGUMENTS; a++)
		ck_assert_msg(taken[a], "%s", protocol_argument(a)->word);
}

/* What has choices has a word for each number from least to most; what has
 * none of its kind's words for a bad value has its own. */
TEST(test_rows_of_arguments)
{
	for (unsigned a = ARGUMENT_NONE + 1; a < ARGUMENTS; a++) {
		const struct protocol_argument_row *row = protocol_argument(a);
		size_t n = row->choices == NULL ? 0 : 1;

		for (size_t i = 0; n > 0 && row->choices[i] != '\0'; i++)
			n += row->choices[i] == '|';
		switch (row->kind) {
		case KIND_CHOICE:
			ck_assert_uint_eq(row->most + 1, n);
			ck_assert_uint_le(row->initial, row->most);
			ck_assert(n == 2 || row->refusal != NULL);
			break;
		case KIND_WORDS:
			ck_assert_uint_eq(row->most, (1u << n) - 1);
			ck_assert_ptr_nonnull(row->refusal);
			break;
		case KIND_TIME:
			ck_assert_uint_le(n, 1);
			break;
		case KIND_KEY:
		case KIND_TEXT:
		case KIND_LINE:
		case KIND_NUMBER:
			ck_assert_ptr_nonnull(row->refusal);
			/* fall through */
		default:
			ck_assert_uint_eq(n, 0);
			ck_assert(row->least == 0 || row->refusal != NULL ||
			    row->most > 0);
			break;
		}
		ck_assert_uint_lt(row->refusal == NULL ? 0 :
		    strlen(row->refusal), PROTOCOL_REASON_MAX);
	}
}

/* A rule is about what each of its verbs takes. */
TEST(test_rows_of_rules)
{
	static const struct {
		uint64_t verbs, arguments;
		const char *refusal;
	} rules[] = {
#define A(name) (UINT64_C(1) << ARGUMENT_##name)
#define V(name) (UINT64_C(1) << VERB_##name)
#define RULE(verbs, given, set, relation, others, code, refusal)               \
		{ verbs, (given) | (set) | (others), refusal },
#include "ipc/protocol.def"
#undef A
#undef V
	};

	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
		for (unsigned v = 0; v < VERBS; v++) {
			if ((rules[i].verbs >> v & 1) == 0)
				continue;
			for (unsigned a = 0; a < ARGUMENTS; a++)
				ck_assert_msg((rules[i].arguments >> a & 1) ==
				    0 || protocol_takes(v, a), "%s",
				    rules[i].refusal);
		}
		ck_assert_uint_lt(strlen(rules[i].refusal),
		    PROTOCOL_REASON_MAX);
	}
}

TEST(test_without_arguments)
{
	struct asked a;

	ask(&a, "ACQUIRE k");
	ck_assert_uint_eq(a.request.verb, VERB_ACQUIRE);
	ck_assert_uint_eq(a.request.n_keys, 1);
	for (unsigned i = ARGUMENT_NONE + 1; i < ARGUMENTS; i++) {
		ck_assert(!protocol_given(&a.request, i));
		ck_assert_uint_eq(number(&a, i),
		    protocol_argument(i)->initial);
	}
	ck_assert_uint_eq(number(&a, ARGUMENT_SIGNAL), 15);
	ck_assert_uint_eq(number(&a, ARGUMENT_KEEP), 1);
	ask(&a, "HELLO");
	ck_assert_uint_eq(number(&a, ARGUMENT_PROTO), 1);
	ask(&a, "LIST");
	ck_assert_uint_eq(number(&a, ARGUMENT_STATE), 7);
}

TEST(test_with_arguments)
{
	struct asked a;

	ask(&a, "ACQUIRE k l mode=shared limit=1000 wait=forever poll=10ms "
	    "linger=1m owner=the%20owner report=queue process=yes signal=0");
	ck_assert_uint_eq(a.request.n_keys, 2);
	ck_assert_uint_eq(number(&a, ARGUMENT_MODE), 1);
	ck_assert_uint_eq(number(&a, ARGUMENT_LIMIT), 1000);
	ck_assert_uint_eq(number(&a, ARGUMENT_WAIT), PROTOCOL_FOREVER);
	ck_assert_uint_eq(number(&a, ARGUMENT_POLL), 10);
	ck_assert_uint_eq(number(&a, ARGUMENT_LINGER), 60000);
	ck_assert_uint_eq(number(&a, ARGUMENT_REPORT), 1);
	ck_assert_uint_eq(number(&a, ARGUMENT_PROCESS), 1);
	ck_assert_uint_eq(number(&a, ARGUMENT_SIGNAL), 0);
	ck_assert_str_eq(protocol_text(&a.request, ARGUMENT_OWNER)->bytes,
	    "the owner");
	ask(&a, "TRY k policy=fail-closed danger=never renew=manual keep=no "
	    "reentrant=yes on_close=lease data= attr.a=1 replace_data=no");
	ck_assert_uint_eq(number(&a, ARGUMENT_POLICY), 1);
	ck_assert_uint_eq(number(&a, ARGUMENT_DANGER), PROTOCOL_FOREVER);
	ck_assert_uint_eq(number(&a, ARGUMENT_RENEW), 1);
	ck_assert_uint_eq(number(&a, ARGUMENT_KEEP), 0);
	ck_assert_uint_eq(number(&a, ARGUMENT_REPLACE_DATA), 0);
	ck_assert(protocol_given(&a.request, ARGUMENT_DATA));
	ck_assert(protocol_given(&a.request, ARGUMENT_ATTRIBUTE));
	ask(&a, "HELD state=lost,held");
	ck_assert_uint_eq(number(&a, ARGUMENT_HOLD_STATE), 5);
	ask(&a, "LIST state=free");
	ck_assert_uint_eq(number(&a, ARGUMENT_STATE), 1);
	ask(&a, "RELEASE id=18446744073709551615 process=yes");
	ck_assert_uint_eq(number(&a, ARGUMENT_ID), UINT64_MAX);
	ck_assert_uint_eq(number(&a, ARGUMENT_OF_PROCESS), 1);
}

struct refused {
	const char *line;
	const char *reason;	/* how it begins */
	int code;		/* 0: BAD_REQUEST */
};

/* All of most texts the examples of proto/ have. */
static void
expect_refused(const struct refused *rows, size_t n)
{
	struct asked a;

	for (size_t i = 0; i < n; i++) {
		ask(&a, rows[i].line);
		ck_assert_msg(strncmp(a.reason, rows[i].reason,
		    strlen(rows[i].reason)) == 0, "%s: %s", rows[i].line,
		    a.reason);
		ck_assert_int_eq(a.code, rows[i].code != 0 ? rows[i].code :
		    DDBLOCK_E_BAD_REQUEST);
	}
}

TEST(test_what_is_refused)
{
	static const struct refused rows[] = {
		{ "GRAB k", "unknown verb \"GRAB\"", 0 },
		{ "RENW id=1", "unknown verb \"RENW\"; did you mean \"RENEW\"?",
		    0 },
		{ "TRY k wait=5s", "TRY has no argument \"wait\"", 0 },
		{ "ACQUIRE k wiat=5s", "ACQUIRE has no argument \"wiat\"; did "
		    "you mean \"wait\"?", 0 },
		{ "ACQUIRE k a%00=5s", "an argument's name has a NUL", 0 },
		{ "ACQUIRE k attr.a=1 attr.a=2", "argument \"attr.a\" is given "
		    "twice", 0 },
		{ "PING k", "PING takes only arguments of the form", 0 },
		{ "GET k l", "GET takes one key", 0 },
		{ "GET ns=a k", "GET needs a KEY as its first argument", 0 },
		{ "RENEW", "RENEW needs id=", 0 },
		{ "TRY k mode=shared l", "several keys come one after", 0 },
		{ "TRY k l k", "the key \"k\" is given twice", 0 },
		{ "TRY %FF", "the key is not UTF-8 text without NUL", 0 },
		{ "TRY k sort=", "the sort value has 0 bytes; it needs 1 to "
		    "1024", 0 },
		{ "TRY k mode=", "mode is exclusive or shared", 0 },
		{ "TRY k mode=shared limit=1001", "limit is how many", 0 },
		{ "TRY k max_hold=0s", "max_hold is more than 0s", 0 },
		{ "TRY k max_hold=forever", "max_hold is a time up to", 0 },
		{ "ACQUIRE k poll=9ms", "poll is at least 10ms", 0 },
		{ "ACQUIRE k report=", "report is queue", 0 },
		{ "ACQUIRE k report=line", "report is queue", 0 },
		{ "TRY k owner=", "the owner is one line of UTF-8 text", 0 },
		{ "TRY k owner=a%0Ab", "the owner is one line of", 0 },
		{ "TRY k keep=maybe", "keep is yes or no", 0 },
		{ "CANCEL tag=", "only a request with a tag can be", 0 },
		{ "HELLO name=", "the name is empty or not UTF-8 text", 0 },
		{ "LIST state=free,lost", "there is no state \"lost\"; a lock "
		    "is free, held or dead (several: with commas between)", 0 },
		{ "LIST state=held,", "there is no state \"\"", 0 },
		{ "BREAK k token=0 reason=x", "token is the lock's number", 0 },
	};

	expect_refused(rows, sizeof(rows) / sizeof(rows[0]));
}

TEST(test_what_does_not_go_together)
{
	static const struct refused rows[] = {
		{ "TRY k limit=2", "limit goes with mode=shared", 0 },
		{ "TRY k mode=exclusive limit=2", "limit goes with", 0 },
		{ "TRY k replace_data=yes", "replace_data goes with", 0 },
		{ "TRY k mode=shared keep=yes", "a sharer reads the data", 0 },
		{ "TRY k l renew=manual", "policy=fail-closed, max_hold,",
		    DDBLOCK_E_UNSUPPORTED },
		{ "TRY k l only_if_exists=yes", "data, attributes and "
		    "only_if_exists", DDBLOCK_E_UNSUPPORTED },
		{ "TRY k l attr.a=1", "data, attributes and only_if_exists",
		    DDBLOCK_E_UNSUPPORTED },
		{ "TRY k signal=15", "signal is the number of", 0 },
		{ "TRY k process=no signal=15", "signal is the number", 0 },
		{ "RELEASE", "RELEASE needs id=, or all=yes", 0 },
		{ "RELEASE all=no", "RELEASE needs id=, or all=yes", 0 },
		{ "RELEASE id=1 all=yes", "RELEASE needs id=, or all=yes", 0 },
		{ "RELEASE id=1 ns=a", "RELEASE needs id=, or all=yes", 0 },
		{ "RELEASE all=yes data=", "RELEASE all=yes changes", 0 },
		{ "BREAK k reason=x", "BREAK needs token=, as GET", 0 },
		{ "BREAK k token=1 record=r reason=x", "BREAK needs token=, as "
		    "GET", 0 },
		{ "BREAK k token=1", "BREAK needs reason=, for", 0 },
		{ "BREAK k token=1 reason=", "BREAK needs reason=, for", 0 },
	};

	expect_refused(rows, sizeof(rows) / sizeof(rows[0]));
}

/* A value equal to the initial one contradicts no other. */
TEST(test_what_goes_together)
{
	static const char *const lines[] = {
		"TRY k l renew=auto reentrant=no policy=fail-open",
		"TRY k l on_close=release only_if_exists=no",
		"TRY k data= replace_data=no", "TRY k mode=exclusive data=x",
		"RELEASE id=1 all=no keep=no", "RELEASE all=yes ns=a,b",
		"BREAK k record=r reason=x", "TRY k process=yes signal=9",
		"DOWNGRADE id=1 limit=2",
	};
	struct asked a;

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		ask(&a, lines[i]);
		ck_assert_msg(a.code == 0, "%s: %s", lines[i], a.reason);
	}
}

TEST(test_words_of_choices)
{
	size_t length;

	ck_assert_str_eq(protocol_choice(ARGUMENT_MODE, 1, &length), "shared");
	ck_assert_uint_eq(length, 6);
	ck_assert_int_eq(strncmp(protocol_choice(ARGUMENT_POLICY, 0, &length),
	    "fail-open|", 10), 0);
	ck_assert_uint_eq(length, 9);
}
