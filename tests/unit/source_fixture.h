/*
 * A source whose errands the test answers itself.
 */
#ifndef DDBLOCKD_TESTS_SOURCE_FIXTURE_H
#define DDBLOCKD_TESTS_SOURCE_FIXTURE_H

#include <stddef.h>

#include "identity/source.h"

#define SOURCE_FIXTURE_TEXTS_MAX 16
#define SOURCE_FIXTURE_WALL_MS UINT64_C(1800000000000) /* 2027-01-15 08:00 */

struct source_fixture {
	struct source source;
	struct source_memory memory;
	struct chain_source from;
	struct chain_role role;
	struct credentials signer;
	struct endpoint_params params;
	char *texts[SOURCE_FIXTURE_TEXTS_MAX];
};

/* A source of @methods; the caller fills in its inputs, and starts it. */
void source_fixture_init(struct source_fixture *,
    const struct source_methods *methods);
void source_fixture_done(struct source_fixture *);

/* A copy that lives as long as the fixture. */
char *source_fixture_text(struct source_fixture *, const char *);

/* Another attempt with the state of the first. */
void source_fixture_again(struct source_fixture *);

enum source_verdict source_fixture_start(struct source_fixture *);

/* An answer of HTTP, or of a program. */
enum source_verdict source_fixture_tell(struct source_fixture *, int status,
    const char *body);

/* No answer. */
enum source_verdict source_fixture_fail(struct source_fixture *, int code,
    int error);

/* The errand is a fetch with @method and @url. */
void source_fixture_expect(const struct source_fixture *, const char *method,
    const char *url);

/* The value of a header; NULL: it has none. */
const char *source_fixture_header(const struct source_fixture *,
    const char *name);

#endif
