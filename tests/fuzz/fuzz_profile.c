/*
 * AWS's shared files, of any bytes, and what follows from them: which source
 * counts, region and endpoint, and the words of a command line.
 *
 * Lines that begin with '$' are variables of the environment; those after a
 * line "---" are the credentials file, the others the config file.
 */
#include "fuzz.h"

#include "common/buffer.h"
#include "common/utf8.h"
#include "identity/argv.h"
#include "identity/chain.h"
#include "identity/endpoint_params.h"
#include "identity/profile.h"

#define VARIABLES_MAX 8

struct files {
	struct buffer texts[PROFILE_FILES];
	char *variables[VARIABLES_MAX];
	size_t n_variables;
};

static const char *
files_variable(void *arg, const char *name)
{
	const struct files *f = arg;
	const size_t length = strlen(name);

	for (size_t i = 0; i < f->n_variables; i++) {
		if (strncmp(f->variables[i], name, length) == 0 &&
		    f->variables[i][length] == '=')
			return f->variables[i] + length + 1;
	}
	return NULL;
}

static void
files_split(struct files *f, struct fuzz_input in)
{
	enum profile_file file = PROFILE_CONFIG;
	struct fuzz_input line;

	while (fuzz_line(&in, &line)) {
		if (line.length > 0 && line.at[0] == '$') {
			if (f->n_variables < VARIABLES_MAX)
				f->variables[f->n_variables++] =
				    fuzz_copy(line.at + 1, line.length - 1);
		} else if (line.length == 3 && memcmp(line.at, "---", 3) == 0) {
			file = PROFILE_CREDENTIALS;
		} else {
			(void)buffer_append(&f->texts[file], line.at,
			    line.length);
			(void)buffer_append(&f->texts[file], "\n", 1);
		}
	}
}

static void
files_check_command(const char *command)
{
	const char *text = NULL;
	struct argv a;

	if (argv_split(&a, command, &text) < 0)
		return;
	FUZZ_CHECK(a.n_words > 0 && a.n_words <= ARGV_WORDS_MAX);
	FUZZ_CHECK(a.words[a.n_words] == NULL);
	for (size_t i = 0; i < a.n_words; i++)
		FUZZ_CHECK(strlen(a.words[i]) <= strlen(command));
	argv_done(&a);
}

static void
files_follow(struct files *f, const struct profiles *p)
{
	const struct chain_inputs inputs = {
		.variable = files_variable, .variable_arg = f, .profiles = p,
	};
	const struct endpoint_settings settings = { .region = NULL };
	struct chain_source metadata;
	struct endpoint_params params;
	struct chain chain;
	char text[1024] = "";

	if (chain_resolve(&inputs, &chain, text, sizeof(text)) == 0) {
		chain_describe(&chain, text, sizeof(text));
		FUZZ_CHECK(chain.n_roles <= CHAIN_ROLES_MAX);
		if (chain.source.command != NULL)
			files_check_command(chain.source.command);
		chain_done(&chain);
	} else {
		FUZZ_CHECK(text[0] != '\0');
	}
	if (chain_metadata(&inputs, &metadata, text, sizeof(text)) == 0)
		chain_source_done(&metadata);
	(void)endpoint_params_resolve(&settings, &inputs, &params, text,
	    sizeof(text));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct files f = { .n_variables = 0 };
	struct profiles *p;
	int r = 0;

	FUZZ_CHECK(profiles_new(&p) == 0);
	for (int i = 0; i < PROFILE_FILES; i++)
		buffer_init(&f.texts[i], PROFILE_TEXT_MAX);
	files_split(&f, fuzz_input(data, size));
	for (int i = 0; i < PROFILE_FILES && r == 0; i++) {
		const struct buffer *text = &f.texts[i];
		char *copy = fuzz_exact_copy(text->data, text->length);
		char error[256] = "";

		r = profiles_read(p, (enum profile_file)i, "FILE", copy,
		    text->length, error, sizeof(error));
		FUZZ_CHECK((r == 0) == (error[0] == '\0'));
		free(copy);
	}
	if (r == 0)
		files_follow(&f, p);
	profiles_free(p);
	for (int i = 0; i < PROFILE_FILES; i++)
		buffer_done(&f.texts[i]);
	for (size_t i = 0; i < f.n_variables; i++)
		free(f.variables[i]);
	return 0;
}
