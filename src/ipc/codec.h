/*
 * The line codec: text lines to their parts and back. Pure, and shared by the
 * daemon, libddblock and ddblock(1). The grammar is in proto/.
 *
 *     request = [ "#" tag SP ] VERB *( SP argument ) LF
 *     reply   = [ "#" tag SP ] ( "OK" / "ERR" SP CODE ) *( SP argument )
 *               [ SP ":" text ] LF
 *     row     = [ "#" tag SP ] "+" *( SP argument ) LF
 *     event   = "!" NAME *( SP argument ) LF
 *     argument = value / name "=" value
 *
 * Names and values are percent-encoded; the tag and the text are not: the tag
 * is visible ASCII, the text is UTF-8 without control characters.
 */
#ifndef DDBLOCKD_IPC_CODEC_H
#define DDBLOCKD_IPC_CODEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buffer.h"

#define CODEC_LINE_MAX (1024 * 1024)	/* bytes, with the LF */
#define CODEC_TAG_MAX 32
#define CODEC_ARGUMENTS_MAX 64

enum codec_kind {
	CODEC_REQUEST = 1,
	CODEC_OK,
	CODEC_ERR,
	CODEC_ROW,
	CODEC_EVENT,
};

struct codec_text {
	char *bytes;	/* decoded, in the line's own memory, NUL after it */
	size_t length;
};

struct codec_argument {
	struct codec_text name;		/* length 0: positional */
	struct codec_text value;
};

struct codec_line {
	enum codec_kind kind;
	struct codec_text tag;		/* length 0: none */
	struct codec_text word;		/* verb, code or event name */
	struct codec_argument arguments[CODEC_ARGUMENTS_MAX];
	size_t n_arguments;
	struct codec_text text;		/* after " :"; length 0: none */
};

/*
 * Take a line apart in place (@line without its LF; a CR at the end is
 * ignored; @line[length] must be writable). @from_client says which half of
 * the grammar to expect. On failure @ret holds the tag, if it could be read,
 * and *@ret_reason says why, for people.
 *
 * DDBLOCK_E_BAD_REQUEST
 */
int codec_parse(char *line, size_t length, bool from_client,
    struct codec_line *ret, const char **ret_reason);

/* The named argument, or NULL. */
const struct codec_text *codec_find(const struct codec_line *,
    const char *name);

/* Is it that word? NULL is no word. */
bool codec_is(const struct codec_text *, const char *word);

/* Is it UTF-8 without NUL? */
bool codec_is_text(const char *bytes, size_t length);

/* Is it UTF-8 without NUL and control characters, fit to be shown to people? */
bool codec_is_line(const char *bytes, size_t length);

/* "500ms", "30s", "5m", "1h", "7d", "1.5s", bare: seconds. False: not a
 * duration or more than ten years. */
bool codec_parse_duration(const char *text, size_t length, uint64_t *ret_ms);
bool codec_parse_number(const char *text, size_t length, uint64_t *ret);
bool codec_parse_boolean(const char *text, size_t length, bool *ret);

/*
 * Writing: begin, any number of arguments, end. Values are percent-encoded.
 * The word is written as it is: a verb, "OK", "ERR" (its code is the first
 * positional argument), "+", "!NAME". Failures stick in the buffer
 * (buffer_failed()).
 */
void codec_begin(struct buffer *, const char *tag, const char *word);
void codec_value(struct buffer *, const char *name, const char *bytes,
    size_t length);		/* @name NULL: positional */
void codec_text_value(struct buffer *, const char *name, const char *text);
void codec_number(struct buffer *, const char *name, uint64_t);
void codec_boolean(struct buffer *, const char *name, bool);
/* "18.9s": rounded down to a tenth of a second; exact in ms below a second.
 * A duration that must arrive exactly is written "18937ms". */
void codec_duration(struct buffer *, const char *name, uint64_t ms);
void codec_end(struct buffer *, const char *text);	/* NULL: no text */

#endif
