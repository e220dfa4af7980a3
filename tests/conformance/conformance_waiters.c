/*
 * Conformance: sessions that say on a lock's record that they wait for it.
 */
#include "conformance.h"

static const struct story waiter_marks[] = {
	{ "want",
	    "acquire a: held a #1\n"
	    "want b: held a #1 wait b\n" },
	{ "want again",
	    "acquire a: held a #1\n"
	    "want b: held a #1 wait b\n"
	    "want c: held a #1 wait b c\n"
	    "want b: held a #1 wait b c\n" },
	/* A wish for what is free would never be taken out. */
	{ "want free",
	    "want b: conflict\n"
	    "acquire a: held a #1\n"
	    "release a: free #1\n"
	    "want b: conflict\n" },
	{ "want shared free",
	    "want-shared b: conflict\n"
	    "unwant-shared b: conflict\n"
	    "share a: shared a #1\n"
	    "release a: free was shared #1\n"
	    "want-shared b: conflict\n" },
	{ "unwant",
	    "acquire a: held a #1\n"
	    "want b: held a #1 wait b\n"
	    "want c: held a #1 wait b c\n"
	    "unwant b: held a #1 wait c\n"
	    "unwant c: held a #1\n" },
	{ "unwant absent",
	    "unwant b: conflict\n"
	    "acquire a: held a #1\n"
	    "unwant b: conflict\n" },
	/* The holder's own wish goes; those of others outlive all holders. */
	{ "across grants",
	    "acquire a: held a #1\n"
	    "want b: held a #1 wait b\n"
	    "want c: held a #1 wait b c\n"
	    "release a: free #1 wait b c\n"
	    "acquire b: held b #2 wait c\n" },
	{ "across takeover",
	    "acquire a: held a #1\n"
	    "want b: held a #1 wait b\n"
	    "want c: held a #1 wait b c\n"
	    "take b a #1: held b #2 wait c\n" },
	{ "across joining",
	    "share a: shared a #1\n"
	    "want-shared b: shared a #1 share-wait b\n"
	    "want-shared c: shared a #1 share-wait b c\n"
	    "share b: shared a b #2 share-wait c\n" },
	/* The two kinds are two sets, whatever the lock's use is. */
	{ "both, held",
	    "acquire a: held a #1\n"
	    "want b: held a #1 wait b\n"
	    "unwant-shared b: conflict\n"
	    "want-shared b: held a #1 wait b share-wait b\n"
	    "want-shared c: held a #1 wait b share-wait b c\n"
	    "want-shared b: held a #1 wait b share-wait b c\n"
	    "unwant c: conflict\n"
	    "unwant b: held a #1 share-wait b c\n"
	    "unwant-shared b: held a #1 share-wait c\n"
	    "unwant-shared c: held a #1\n" },
	{ "both, shared",
	    "share a: shared a #1\n"
	    "want b: shared a #1 wait b\n"
	    "unwant-shared b: conflict\n"
	    "want-shared b: shared a #1 wait b share-wait b\n"
	    "want-shared c: shared a #1 wait b share-wait b c\n"
	    "unwant c: conflict\n"
	    "unwant b: shared a #1 share-wait b c\n"
	    "unwant-shared b: shared a #1 share-wait c\n"
	    "unwant-shared c: shared a #1\n" },
	/* A session that waits for both and becomes the holder still waits to
	 * share; one that shares waits for nothing. */
	{ "both, across grants",
	    "share a: shared a #1\n"
	    "want b: shared a #1 wait b\n"
	    "want c: shared a #1 wait b c\n"
	    "want-shared b: shared a #1 wait b c share-wait b\n"
	    "want-shared c: shared a #1 wait b c share-wait b c\n"
	    "release a: free was shared #1 wait b c share-wait b c\n"
	    "acquire b: held b #2 wait c share-wait b c\n"
	    "want b: held b #2 wait b c share-wait b c\n"
	    "release b: free #2 wait b c share-wait b c\n"
	    "share b2: shared b2 #3 wait c share-wait c\n" },
};

STORIES(test_waiter_marks, waiter_marks)

TCase *
conformance_waiters(void)
{
	return test_case("wishes", __FILE__);
}
