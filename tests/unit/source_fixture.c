/*
 * A source whose errands the test answers itself.
 */
#include "source_fixture.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/error.h"

static void
source_fixture_dress(struct source_fixture *f,
    const struct source_methods *methods)
{
	source_init(&f->source, methods);
	f->source.from = &f->from;
	f->source.role = &f->role;
	f->source.signer = &f->signer;
	f->source.params = &f->params;
	f->source.home = "/home/USER";
	f->source.memory = &f->memory;
	f->source.wall_ms = SOURCE_FIXTURE_WALL_MS;
}

void
source_fixture_init(struct source_fixture *f,
    const struct source_methods *methods)
{
	*f = (struct source_fixture){ .from = { .kind = CHAIN_IMDS } };
	(void)snprintf(f->params.region, sizeof(f->params.region), "%s",
	    "eu-west-1");
	source_memory_init(&f->memory);
	source_fixture_dress(f, methods);
}

void
source_fixture_again(struct source_fixture *f)
{
	const struct source_methods *methods = f->source.methods;

	source_done(&f->source);
	source_fixture_dress(f, methods);
}

char *
source_fixture_text(struct source_fixture *f, const char *text)
{
	for (size_t i = 0; i < SOURCE_FIXTURE_TEXTS_MAX; i++)
		if (f->texts[i] == NULL) {
			f->texts[i] = strdup(text);
			ck_assert_ptr_nonnull(f->texts[i]);
			return f->texts[i];
		}
	ck_abort_msg("too many texts");
	return NULL;
}

void
source_fixture_done(struct source_fixture *f)
{
	for (size_t i = 0; i < SOURCE_FIXTURE_TEXTS_MAX; i++)
		free(f->texts[i]);
	source_done(&f->source);
	source_memory_done(&f->memory);
}

enum source_verdict
source_fixture_start(struct source_fixture *f)
{
	return f->source.methods->start(&f->source);
}

enum source_verdict
source_fixture_tell(struct source_fixture *f, int status, const char *body)
{
	const struct errand_answer answer = {
		.status = status,
		.text = "",
		.body = body,
		.body_length = strlen(body),
	};

	ck_assert_int_ne(f->source.errand.kind, ERRAND_NONE);
	return f->source.methods->answer(&f->source, &answer);
}

enum source_verdict
source_fixture_fail(struct source_fixture *f, int code, int error)
{
	const struct errand_answer answer = {
		.code = code,
		.error = error,
		.text = error != 0 ? strerror(error) : error_text(code),
		.body = "",
	};

	return f->source.methods->answer(&f->source, &answer);
}

void
source_fixture_expect(const struct source_fixture *f, const char *method,
    const char *url)
{
	const struct errand *e = &f->source.errand;

	ck_assert_int_eq(e->kind, ERRAND_FETCH);
	ck_assert_str_eq(e->method, method);
	ck_assert_str_eq(e->url, url);
	ck_assert_uint_gt(e->timeout_ms, 0);
	ck_assert_uint_gt(e->answer_max, 0);
}

const char *
source_fixture_header(const struct source_fixture *f, const char *name)
{
	const struct errand *e = &f->source.errand;

	for (size_t i = 0; i < e->n_headers; i++)
		if (strcasecmp(e->headers[i].name, name) == 0)
			return e->headers[i].value;
	return NULL;
}
