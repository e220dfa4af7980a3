/*
 * Cases for the judge: a history that breaks a rule, and its nearest neighbour
 * that does not. They differ in one place only, most often by a millisecond.
 *
 * The lease is 20 s, the margin 1 s, the drift 1 %: a deadline is 19000 ms
 * after a renewal was sent, and a kill 20200 ms after it was seen.
 */
#ifndef DDBLOCKD_TESTS_JUDGE_CASE_H
#define DDBLOCKD_TESTS_JUDGE_CASE_H

#include <stddef.h>
#include <stdint.h>

#include "story.h"
#include "suite.h"

struct judge_case {
	const char *rule;
	const char *what;
	const char *before;
	const char *guilty;
	const char *innocent;
	const char *after;	/* or NULL */
	uint64_t end_ms;	/* 0: at 200 s */
};

/* Each with a session. */
#define JUDGE_THREE_HOSTS						\
	"0 A start\n"							\
	"0 B start\n"							\
	"0 C start\n"							\
	"0 A session a open\n"						\
	"0 B session b open\n"						\
	"0 C session c open\n"

#define JUDGE_CASES(of) of, sizeof(of) / sizeof(of[0])

/* Fails unless each is judged as it should be. */
void judge_cases(const struct judge_case *, size_t n);

#endif
