/*
 * Scenes over a lossy network: one write, of which a message is lost. They are
 * repeated until they show their case.
 */
#ifndef DDBLOCKD_TESTS_DYNAMODB_SCENE_H
#define DDBLOCKD_TESTS_DYNAMODB_SCENE_H

#include "dynamodb_proxy.h"

struct scene_kind {
	const char *const *names;	/* of the acts */
	unsigned requests;	/* that it takes when nothing is lost */

	/* A scene that is not like any before, and its operation. */
	struct operation *(*prepare)(int act);

	/* What a read shows once it is done; NULL: the store cannot know. */
	void (*check)(const struct seen *done);
};

/*
 * No message is lost: it takes so many requests, and the write is not in doubt.
 */
void scene_lose_nothing(const struct scene_kind *, int act);

/* The first request that is not skipped is lost, and it is done. */
struct seen *scene_lose(const struct scene_kind *, int act, enum proxy_fault,
    unsigned skips);

/* So are all that follow: it is not known whether it is done. */
struct seen *scene_lose_all(const struct scene_kind *, int act,
    enum proxy_fault, unsigned skips, uint64_t time_ms);

#endif
