/*
 * The protocol as data (protocol.def): the verbs, their arguments, and their
 * values in a request. Pure, and shared by the daemon, libddblock and
 * ddblock(1).
 */
#ifndef DDBLOCKD_IPC_PROTOCOL_H
#define DDBLOCKD_IPC_PROTOCOL_H

#include "ipc/codec.h"

#define PROTOCOL_KEYS_MAX 25		/* subjects of one request */
#define PROTOCOL_KEY_MAX 1024		/* bytes of each */
#define PROTOCOL_LIST_MAX 28		/* arguments of a verb, and an end */
#define PROTOCOL_REASON_MAX 256
#define PROTOCOL_FOREVER UINT64_MAX	/* of a TIME: its own word */

enum protocol_kind {
	KIND_NAMESPACE = 1,	/* only the daemon knows the values */
	KIND_NAMESPACES,
	KIND_KEY,		/* UTF-8 without NUL of least to most bytes */
	KIND_TEXT,		/* UTF-8 without NUL of least bytes or more */
	KIND_LINE,		/* without control characters, too; most 0: of
				 * any length */
	KIND_BYTES,		/* least bytes or more */
	KIND_FAMILY,		/* attr.NAME: many names, any bytes */
	KIND_TIME,		/* ms, least or more; or the word of choices */
	KIND_NUMBER,		/* least to most */
	KIND_BOOLEAN,
	KIND_CHOICE,		/* a word: its place in choices, from least */
	KIND_WORDS,		/* some of choices: a bit each */
};

/* The types of a field's values. */
enum protocol_type {
	TYPE_TEXT = 0,		/* also of unknown fields */
	TYPE_WORD,
	TYPE_CODE,
	TYPE_NUMBER,
	TYPE_TIME,
	TYPE_BOOLEAN,
	TYPE_ANY,		/* a number or a duration */
};

enum protocol_argument {
	ARGUMENT_NONE,
#define ARGUMENT(name, ...) ARGUMENT_##name,
#include "ipc/protocol.def"
	ARGUMENTS,
	ARGUMENT_MULTI = ARGUMENTS,	/* more than one key */
};

enum protocol_verb {
#define VERB(name, ...) VERB_##name,
#include "ipc/protocol.def"
	VERBS,
};

/* The clients that may send it. */
enum protocol_right {
	RIGHT_ANYBODY,
	RIGHT_ADMIN,
	RIGHT_OPERATOR,		/* or the user that the daemon runs as */
	RIGHT_OWNER,		/* that user, or root, and no administrator */
};

struct protocol_argument_row {
	const char *word;
	enum protocol_kind kind;
	uint64_t least, most;
	uint64_t initial;	/* without it */
	const char *choices;	/* with '|' between, or NULL */
	const char *refusal;	/* or NULL: the kind's */
};

struct protocol_verb_row {
	const char *word;
	const char *subject;	/* the unnamed first argument, or NULL; */
				/* with "...", up to PROTOCOL_KEYS_MAX */
	enum protocol_right right;
	enum protocol_argument needed;	/* or ARGUMENT_NONE */
	unsigned char arguments[PROTOCOL_LIST_MAX];	/* to ARGUMENT_NONE */
};

/* The content of a request. It borrows the line. */
struct protocol_request {
	const struct codec_line *line;
	enum protocol_verb verb;
	size_t n_keys;	/* the line's first arguments */
	struct {
		const struct codec_text *text;	/* NULL: it is not given */
		uint64_t number;	/* of kinds with numbers; also of
					 * arguments that the verb does not
					 * take */
	} values[ARGUMENTS];
};

/* protocol.c: the rows. */
const struct protocol_verb_row *protocol_verb(enum protocol_verb);
const struct protocol_argument_row *protocol_argument(enum protocol_argument);
bool protocol_takes(enum protocol_verb, enum protocol_argument);
enum protocol_type protocol_field(const char *name);
/* The word of a CHOICE; its length. */
const char *protocol_choice(enum protocol_argument, uint64_t number,
    size_t *ret_length);

/*
 * protocol_request.c: reads a request's line in three steps, because the caller
 * decides more between them. Each returns 0, or DDBLOCK_E_BAD_REQUEST or
 * _UNSUPPORTED with the reason for people.
 *
 * First the verb; then whether each argument belongs to it; then their values,
 * and whether they may be combined.
 */
int protocol_begin(const struct codec_line *, struct protocol_request *ret,
    char ret_reason[PROTOCOL_REASON_MAX]);
int protocol_check(struct protocol_request *,
    char ret_reason[PROTOCOL_REASON_MAX]);
int protocol_read(struct protocol_request *,
    char ret_reason[PROTOCOL_REASON_MAX]);

/* protocol_value.c: one value; 0, or DDBLOCK_E_BAD_REQUEST. */
int protocol_value(enum protocol_argument, const struct codec_text *,
    uint64_t *ret, char ret_reason[PROTOCOL_REASON_MAX]);
/* The reason, as printf(), and the code for it. */
int protocol_refuse(char ret_reason[PROTOCOL_REASON_MAX], const char *format,
    ...) __attribute__((format(printf, 2, 3)));
/* A key as the subject. */
int protocol_key(const struct codec_text *,
    char ret_reason[PROTOCOL_REASON_MAX]);

/* protocol_write.c: as codec_value(): an argument with a number; with a text,
 * and nothing for NULL. */
void protocol_write(struct buffer *, enum protocol_argument, uint64_t number);
void protocol_write_text(struct buffer *, enum protocol_argument,
    const char *text);

static inline const struct codec_text *
protocol_text(const struct protocol_request *q, enum protocol_argument a)
{
	return q->values[a].text;
}

static inline uint64_t
protocol_number(const struct protocol_request *q, enum protocol_argument a)
{
	return q->values[a].number;
}

static inline bool
protocol_given(const struct protocol_request *q, enum protocol_argument a)
{
	return q->values[a].text != NULL;
}

static inline bool
protocol_is(const struct protocol_request *q, enum protocol_argument a)
{
	return q->values[a].number != 0;
}

#endif
