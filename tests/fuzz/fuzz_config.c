/*
 * The daemon's configuration, of any bytes: it is refused with complaints that
 * can be shown; or it is complete, fits the core, and what `--print-config`
 * would write of it reads the same.
 */
#include <config.h>	/* the build's */

#include "fuzz.h"

#include "common/utf8.h"
#include "core/timing.h"
#include "daemon/config.h"

static void
fuzz_check_lines(const struct buffer *lines)
{
	struct fuzz_input in = { lines->data, lines->length }, line;

	while (fuzz_line(&in, &line)) {
		for (size_t i = 0, n; i < line.length; i += n) {
			n = utf8_shown(line.at + i, line.length - i);
			FUZZ_CHECK(n > 0);
		}
	}
}

static void
fuzz_check_core(const struct config *c)
{
	const struct core_limits limits = config_core_limits(&c->daemon);

	FUZZ_CHECK(limits.clients_max > 0 && limits.locks_max > 0);
	FUZZ_CHECK(c->n_namespaces > 0 &&
	    c->n_namespaces <= CORE_NAMESPACES_MAX);
	for (size_t i = 0; i < c->n_namespaces; i++) {
		const struct core_namespace n =
		    config_core_namespace(&c->namespaces[i]);
		const char *setting;
		char text[512];

		FUZZ_CHECK(timing_check(&n, &setting, text, sizeof(text)) == 0);
	}
}

/* NULL: it is refused. */
static struct config *
fuzz_read(const char *text, size_t length)
{
	char *copy = fuzz_copy(text, length);
	struct config *c;
	int r;

	FUZZ_CHECK(config_new(&c) == 0);
	r = config_read_text(c, "fuzz.conf", copy, length);
	free(copy);
	if (r == 0)
		r = config_finish(c);
	fuzz_check_lines(&c->errors);
	fuzz_check_lines(&c->warnings);
	FUZZ_CHECK((r == 0) == (c->errors.length == 0));
	if (r == 0)
		return c;
	config_free(c);
	return NULL;
}

/* What it sets, without the remarks where that is from. */
static void
fuzz_describe(const struct config *c, struct buffer *b)
{
	static const char remark[] = "\t; default";
	char *at;

	buffer_init(b, SIZE_MAX);
	FUZZ_CHECK(config_describe(c, b) == 0);
	while ((at = strstr(b->data, remark)) != NULL)
		memset(at, ' ', sizeof(remark) - 1);
}

static void
fuzz_check_same(const struct buffer *first, const struct buffer *second)
{
	struct fuzz_input in[2] = { { first->data, first->length },
		{ second->data, second->length } }, line[2];

	while (fuzz_line(&in[0], &line[0])) {
		FUZZ_CHECK(fuzz_line(&in[1], &line[1]));
		for (int i = 0; i < 2; i++)
			while (line[i].length > 0 &&
			    line[i].at[line[i].length - 1] == ' ')
				line[i].length--;
		FUZZ_CHECK(line[0].length == line[1].length &&
		    memcmp(line[0].at, line[1].at, line[0].length) == 0);
	}
	FUZZ_CHECK(in[1].length == 0);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct config *c = fuzz_read((const char *)data, size), *again;
	struct buffer first, second;

	if (c == NULL)
		return 0;
	fuzz_check_core(c);
	fuzz_describe(c, &first);
	again = fuzz_read(first.data, first.length);
	/* Of secrets it does not say anything. */
	if (strstr(first.data, "secret") == NULL) {
		FUZZ_CHECK(again != NULL);
		fuzz_describe(again, &second);
		fuzz_check_same(&first, &second);
		buffer_done(&second);
	}
	buffer_done(&first);
	config_free(again);
	config_free(c);
	return 0;
}
