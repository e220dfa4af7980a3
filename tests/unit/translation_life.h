/*
 * One operation in the hands of a test, which sends its attempts and makes up
 * the answers; and records for them to show.
 */
#ifndef DDBLOCKD_TESTS_TRANSLATION_LIFE_H
#define DDBLOCKD_TESTS_TRANSLATION_LIFE_H

#include "store/translation.h"

#define SID "00000000000000000000000000000001"
#define ME SID ".00000000000000000000000000000002.20000.-"
#define OTHER "00000000000000000000000000000003." \
	"00000000000000000000000000000004.20000.-"
#define THIRD "00000000000000000000000000000005." \
	"00000000000000000000000000000006.20000.-"
#define WALL UINT64_C(1800000000000)

#define N(name, n) "\"" name "\":{\"N\":\"" n "\"}"
#define S(name, s) "\"" name "\":{\"S\":\"" s "\"}"
#define HOLDERS(e) "\"holders\":{\"SS\":[\"" e "\"]}"
#define X S("mode", "x")
#define MINE HOLDERS(ME) "," N("token", "45") "," X
#define THEIRS HOLDERS(OTHER) "," N("token", "60") "," X
#define SHARED(e) HOLDERS(e) "," N("token", "45") "," S("mode", "s")
#define BOTH SHARED(ME "\",\"" OTHER)
#define FREE N("token", "45") "," X
#define BROKEN(token, by) N("token", token) "," X "," S("broken_by", by)
#define WAITER_MARK "\"xwait\":{\"SS\":[\"" SID "\"]}"
#define SHARED_WAITER_MARK "\"swait\":{\"SS\":[\"" SID "\"]}"
#define BEAT(n) N("beat", n) "," N("lease_ms", "20000")
#define DEAD(by) S("dead", by)

enum kind {
	ACQUIRE = OPERATION_ACQUIRE,
	TAKE = 100,		/* an ACQUIRE from dead holders */
	RELEASE = OPERATION_RELEASE,
	STAYS = 101,		/* a RELEASE where others were seen */
	ALONG = 105,		/* a RELEASE that takes @other along */
	EXTEND = OPERATION_EXTEND,
	ADD_WAITER = OPERATION_ADD_WAITER,
	REMOVE_WAITER = OPERATION_REMOVE_WAITER,
	SHARE = 102,		/* an ACQUIRE for shared use */
	ADD_SHARED_WAITER = 103,
	REMOVE_SHARED_WAITER = 104,
	BREAK = OPERATION_BREAK,
	OPEN = OPERATION_SESSION_OPEN,
	BEAT_ = OPERATION_SESSION_BEAT,
	KILL = OPERATION_SESSION_KILL,
	BURY = OPERATION_SESSION_BURY,
	CLOSE = OPERATION_SESSION_CLOSE,
	READ = OPERATION_READ,
};

struct life {
	struct translation translation;
	struct operation operation;
	struct outcome outcome;
	const struct dialect_request *request;
	uint32_t attempt;
	char body[2048];
};

void life_init(struct life *, int kind);
void life_done(struct life *);

/* The next attempt; fails the test if there is none. */
void life_send(struct life *, uint64_t now_ms);

/* The answer to an attempt; the last one's, but for the first of these. */
enum translation_verdict life_answer(struct life *, uint32_t attempt,
    enum translation_class class, int code, const char *body);
enum translation_verdict life_lose(struct life *);
enum translation_verdict life_conflict(struct life *, const char *item);
enum translation_verdict life_ok(struct life *, const char *attributes);

/* An attempt, its request, and its answer. */
struct life_turn {
	uint64_t sent_ms;
	const char *asks;	/* its condition, or if it has none, its
				 * operation; NULL: any */
	enum translation_class class;
	int code;
	const char *body;
	enum translation_verdict verdict;
};

/* All attempts of an operation, and what becomes of it. */
struct life_course {
	int kind;
	struct life_turn turns[4];	/* sent_ms is 0: no more */
	enum outcome_kind outcome;	/* given up, if no answer is the last */
	int code;
	uint64_t sent_ms;
	uint64_t unanswered_ms;	/* 0: none is unanswered */
};

#define LOST(sent_ms)                                                          \
	{ (sent_ms), NULL, TRANSLATION_LOST, DDBLOCK_E_UNREACHABLE, NULL,      \
	    TRANSLATION_LATER }
#define SHOWS(item) "{\"Item\":{" item "}}"
#define ATTRIBUTES(item) "{\"Attributes\":{" item "}}"
#define BAD_ITEM SHOWS(S("token", "1"))

/* @l lives on until life_done(). */
void life_play(struct life *l, const struct life_course *);

#endif
