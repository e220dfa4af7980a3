/*
 * A record format in the hands of a test: operations go through the translation
 * to a model of DynamoDB, which carries the very requests out. The test decides
 * the faults of the network.
 */
#ifndef DDBLOCKD_TESTS_DIALECT_LIFE_H
#define DDBLOCKD_TESTS_DIALECT_LIFE_H

#include "store/translation.h"
#include "tests/sim/dynamo.h"

#define WALL UINT64_C(1800000000000)	/* when a test begins */
#define BOOT UINT64_C(50000)
#define STEP 1000			/* between two attempts */

#define S(name, s) "'" name "':{'S':'" s "'}"
#define N(name, n) "'" name "':{'N':'" n "'}"
#define B(name, b) "'" name "':{'B':'" b "'}"

/* Holds of ours, as the core names them, and another client's. */
extern const struct holder me;
extern const struct holder you;

struct life {
	const struct dialect *dialect;
	struct dialect_table table;
	struct dynamo *dynamo;
	uint64_t now_ms;	/* boot time; the wall goes with it */
	struct translation translation;
	struct outcome outcome;
	bool running;
	unsigned n_requests;	/* of the last operation */
	struct dialect_request late[8];
	size_t n_late;
	char text[4096];
};

/* An empty table, as the format wants it. */
void life_init(struct life *, const struct dialect *,
    const struct dialect_table *);
void life_done(struct life *);

/* An operation on "k" with all that it may need. */
struct operation life_make(enum operation_kind);

/*
 * Run it. @net has a letter for each attempt: '.' for one that is answered,
 * and what is not named is; 'a' for one whose answer is lost, 'r' for one that
 * is lost before it took effect, 'h' for one that is held back, 's' for one
 * whose failed condition comes without the record, 't' for one that is told to
 * come again, '!' for giving up. The outcome is valid until the next.
 */
const struct outcome *life_run(struct life *, const struct operation *,
    const char *net);

/* The same, of what must come to that. */
const struct outcome *life_expect(struct life *, const struct operation *,
    const char *net, enum outcome_kind);

/* The held-back request lands now: did it take effect? */
bool life_land(struct life *, size_t i);

/* Attributes of an item beside its keys, with ' for ". */
void life_put(struct life *, const char *attributes);
void life_put_key(struct life *, const char *key, const char *attributes);

/* The item "k" goes. */
void life_remove(struct life *);

/* The item "k" as a text that is comparable: attributes in their order, with '
 * for ", and without its keys; "" if there is none. */
const char *life_item(struct life *);
/* Fails the test if it is another. */
void life_is(struct life *, const char *attributes);

/* Refused with that code, and with a text that has these words in it. */
void life_refuses(struct life *, const struct operation *, int code,
    const char *words);

/* A read of such a record ends with BAD_RECORD and names these; every write
 * leaves it as it is. */
void life_is_bad(struct life *, const char *attributes, const char *attribute,
    const char *words);

/*
 * What networks do to the attempts of an operation. No fault turns our own
 * effect into a conflict.
 */
#define LIFE_NETS 11
extern const char *const life_nets[LIFE_NETS];

/* What a format can do, beside taking, renewing and giving back. */
struct life_cycle {
	const char *dead;	/* a record of another client; taken, broken */
	const char *free;	/* and one that it released; NULL: none */
	bool takes;		/* may the dead one be taken? */
	bool extends;
	bool keeps;		/* a release that keeps the record */
	const struct contents *contents;	/* UPDATE; NULL: none */
};

/* Every operation over such a network: it is done, and shows that it is. */
void life_cycle(struct life *, const struct life_cycle *, const char *net);

#endif
