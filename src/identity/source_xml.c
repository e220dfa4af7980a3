/*
 * The answers of STS: a walk through the document that keeps the names of the
 * open elements, and copies the text of the one that is looked for.
 *
 * So small, because of XML only that is understood which the service writes:
 * elements, attributes (passed over), texts, comments, the five entities of
 * XML's own and numbers of characters. A document type could define more, and
 * make a short answer a long one: there is none.
 */
#include "config.h"

#include "identity/source_xml.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "common/error.h"
#include "common/utf8.h"

#define SOURCE_XML_DEPTH_MAX 16
#define SOURCE_XML_BLANKS " \t\r\n"

struct source_xml_name {
	const char *text;	/* in the document */
	size_t length;
};

struct source_xml {
	const char *at;
	const char *end;
	const char *path;
	struct source_xml_name open[SOURCE_XML_DEPTH_MAX];
	size_t depth;
	bool ended;		/* the root was closed */
	bool inside;		/* of the one that is looked for */
	bool found;		/* and left it */
	struct buffer *ret;
};

static size_t
source_xml_left(const struct source_xml *x)
{
	return (size_t)(x->end - x->at);
}

static bool
source_xml_take(struct source_xml *x, const char *text)
{
	size_t length = strlen(text);

	if (source_xml_left(x) < length ||
	    memcmp(x->at, text, length) != 0)
		return false;
	x->at += length;
	return true;
}

/* Go on behind the next @text. */
static bool
source_xml_skip(struct source_xml *x, const char *text)
{
	const char *found = memmem(x->at, source_xml_left(x), text,
	    strlen(text));

	if (found == NULL)
		return false;
	x->at = found + strlen(text);
	return true;
}

static bool
source_xml_is(char c, const char *among)
{
	return c != '\0' && strchr(among, c) != NULL;
}

static bool
source_xml_blanks(struct source_xml *x)
{
	const char *start = x->at;

	while (x->at < x->end && source_xml_is(*x->at, SOURCE_XML_BLANKS))
		x->at++;
	return x->at > start;
}

static bool
source_xml_name(struct source_xml *x, struct source_xml_name *ret)
{
	static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	    "abcdefghijklmnopqrstuvwxyz0123456789._-:";
	const char *start = x->at;

	while (x->at < x->end && source_xml_is(*x->at, allowed))
		x->at++;
	*ret = (struct source_xml_name){ start, (size_t)(x->at - start) };
	return ret->length > 0 && !source_xml_is(*start, "0123456789.-");
}

/* ---- where we are ---- */

static bool
source_xml_here(const struct source_xml *x)
{
	const char *path = x->path;

	for (size_t i = 0; i < x->depth; i++) {
		size_t length = strcspn(path, "/");

		if (length == 0 || x->open[i].length != length ||
		    memcmp(x->open[i].text, path, length) != 0)
			return false;
		path += length;
		if (*path == '/')
			path++;
	}
	return *path == '\0';
}

static bool
source_xml_push(struct source_xml *x, struct source_xml_name name)
{
	/* A second root; or an element in what should be a text. */
	if (x->ended || x->inside || x->depth == SOURCE_XML_DEPTH_MAX)
		return false;
	x->open[x->depth++] = name;
	x->inside = !x->found && source_xml_here(x);
	return true;
}

static bool
source_xml_pop(struct source_xml *x, struct source_xml_name name)
{
	struct source_xml_name open;

	if (x->depth == 0)
		return false;
	open = x->open[--x->depth];
	if (open.length != name.length ||
	    memcmp(open.text, name.text, name.length) != 0)
		return false;
	if (x->inside) {
		x->inside = false;
		x->found = true;
	}
	x->ended = x->depth == 0;
	return true;
}

/* ---- what there is ---- */

/* name="value", which is of no interest. */
static bool
source_xml_attribute(struct source_xml *x)
{
	struct source_xml_name name;
	const char *close;
	char quote;

	if (!source_xml_name(x, &name))
		return false;
	(void)source_xml_blanks(x);
	if (!source_xml_take(x, "="))
		return false;
	(void)source_xml_blanks(x);
	if (x->at == x->end || (*x->at != '"' && *x->at != '\''))
		return false;
	quote = *x->at++;
	close = memchr(x->at, quote, source_xml_left(x));
	if (close == NULL || memchr(x->at, '<', (size_t)(close - x->at)))
		return false;
	x->at = close + 1;
	return true;
}

/* After "<". */
static bool
source_xml_open(struct source_xml *x)
{
	struct source_xml_name name;

	if (!source_xml_name(x, &name))
		return false;
	while (source_xml_blanks(x) && x->at < x->end &&
	    !source_xml_is(*x->at, "/>"))
		if (!source_xml_attribute(x))
			return false;
	if (source_xml_take(x, "/>"))
		return source_xml_push(x, name) && source_xml_pop(x, name);
	return source_xml_take(x, ">") && source_xml_push(x, name);
}

/* After "</". */
static bool
source_xml_close(struct source_xml *x)
{
	struct source_xml_name name;

	if (!source_xml_name(x, &name))
		return false;
	(void)source_xml_blanks(x);
	return source_xml_take(x, ">") && source_xml_pop(x, name);
}

static void
source_xml_append(struct source_xml *x, const char *bytes, size_t length)
{
	if (x->inside)
		(void)buffer_append(x->ret, bytes, length);
}

static void
source_xml_append_character(struct source_xml *x, uint32_t c)
{
	char bytes[4];
	size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;

	for (size_t i = n; i > 1; i--, c >>= 6)
		bytes[i - 1] = (char)(0x80 | (c & 0x3f));
	bytes[0] = (char)(n == 1 ? c : (0xf00 >> n & 0xff) | c);
	source_xml_append(x, bytes, n);
}

/* After "&#". */
static bool
source_xml_number(struct source_xml *x)
{
	uint32_t base = source_xml_take(x, "x") ? 16 : 10, c = 0;
	const char *start = x->at;

	for (; x->at < x->end && *x->at != ';'; x->at++) {
		static const char digits[] = "0123456789abcdef";
		char lower = *x->at >= 'A' && *x->at <= 'F' ?
		    (char)(*x->at + ('a' - 'A')) : *x->at;
		const char *digit = lower != '\0' ? strchr(digits, lower) :
		    NULL;

		if (digit == NULL || (uint32_t)(digit - digits) >= base)
			return false;
		c = c * base + (uint32_t)(digit - digits);
		if (c > 0x10ffff)
			return false;
	}
	if (x->at == start || !source_xml_take(x, ";") || c == 0 ||
	    (c >= 0xd800 && c <= 0xdfff))
		return false;
	source_xml_append_character(x, c);
	return true;
}

/* After "&". */
static bool
source_xml_entity(struct source_xml *x)
{
	static const char *const rows[][2] = {
		{ "amp;", "&" }, { "lt;", "<" }, { "gt;", ">" },
		{ "quot;", "\"" }, { "apos;", "'" },
	};

	if (source_xml_take(x, "#"))
		return source_xml_number(x);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (source_xml_take(x, rows[i][0])) {
			source_xml_append(x, rows[i][1], 1);
			return true;
		}
	return false;
}

/* One character of a text. */
static bool
source_xml_character(struct source_xml *x)
{
	size_t n = utf8_character(x->at, source_xml_left(x));

	if (n == 0 || *x->at == '\0')
		return false;
	/* Outside of the root there are blanks only. */
	if (x->depth == 0 && !source_xml_is(*x->at, SOURCE_XML_BLANKS))
		return false;
	source_xml_append(x, x->at, n);
	x->at += n;
	return true;
}

static bool
source_xml_step(struct source_xml *x)
{
	if (source_xml_take(x, "<!--"))
		return source_xml_skip(x, "-->");
	if (source_xml_take(x, "</"))
		return source_xml_close(x);
	/* "<!" and "<?" have no name, and end it here. */
	if (source_xml_take(x, "<"))
		return source_xml_open(x);
	if (x->depth > 0 && source_xml_take(x, "&"))
		return source_xml_entity(x);
	return source_xml_character(x);
}

int
source_xml_read(const char *body, size_t length, const char *path,
    struct buffer *ret)
{
	struct source_xml x = {
		.at = body,
		.end = body + length,
		.path = path,
		.ret = ret,
	};
	size_t before = ret->length;
	bool well = true;

	if (source_xml_take(&x, "<?xml "))
		well = source_xml_skip(&x, "?>");
	while (well && x.at < x.end)
		well = source_xml_step(&x);
	if (buffer_failed(ret) != 0)
		return buffer_failed(ret);
	if (well && x.ended && x.found)
		return 0;
	if (ret->data != NULL) {
		explicit_bzero(ret->data + before, ret->length - before);
		ret->length = before;
	}
	return DDBLOCK_E_BAD_REQUEST;
}
