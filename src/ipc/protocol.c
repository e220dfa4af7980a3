/*
 * The rows of the protocol, as protocol.def has them.
 */
#include "ipc/protocol.h"

#include <string.h>

static const struct protocol_argument_row protocol_arguments[] = {
#define ARGUMENT(name, word, kind, least, most, initial, choices, since,       \
    refusal, meaning)                                                          \
	[ARGUMENT_##name] = { word, KIND_##kind, least, most, initial,         \
	    choices, refusal },
#include "ipc/protocol.def"
};

static const struct protocol_verb_row protocol_verbs[] = {
#define A(name) ARGUMENT_##name,
#define VERB(name, handler, asker, subject, right, since, needed, arguments,   \
    row, ok, err, does)                                                        \
	[VERB_##name] = { #name, subject, RIGHT_##right, ARGUMENT_##needed,    \
	    { arguments ARGUMENT_NONE } },
#include "ipc/protocol.def"
#undef A
};

static const struct {
	const char *word;
	enum protocol_type type;
} protocol_fields[] = {
#define FIELD(word, type, ...) { word, TYPE_##type },
#include "ipc/protocol.def"
};

_Static_assert(ARGUMENT_MULTI < 64, "a rule has a bit for each");

const struct protocol_verb_row *
protocol_verb(enum protocol_verb verb)
{
	return &protocol_verbs[verb];
}

const struct protocol_argument_row *
protocol_argument(enum protocol_argument argument)
{
	return &protocol_arguments[argument];
}

bool
protocol_takes(enum protocol_verb verb, enum protocol_argument argument)
{
	const unsigned char *a = protocol_verbs[verb].arguments;

	while (*a != ARGUMENT_NONE && *a != argument)
		a++;
	return *a != ARGUMENT_NONE;
}

enum protocol_type
protocol_field(const char *name)
{
	const size_t n = sizeof(protocol_fields) / sizeof(protocol_fields[0]);
	size_t i = 0;

	while (i < n && strcmp(protocol_fields[i].word, name) != 0)
		i++;
	return i < n ? protocol_fields[i].type : TYPE_TEXT;
}

const char *
protocol_choice(enum protocol_argument argument, uint64_t number,
    size_t *ret_length)
{
	const char *word = protocol_arguments[argument].choices;

	while (number-- > 0)
		word += strcspn(word, "|") + 1;
	*ret_length = strcspn(word, "|");
	return word;
}
