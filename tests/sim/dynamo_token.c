/*
 * The words and signs of expressions.
 */
#include <string.h>
#include <strings.h>

#include "dynamo_expression.h"

#define TOKEN_DIGITS "0123456789"
#define TOKEN_LETTERS \
	"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define TOKEN_WORD TOKEN_LETTERS TOKEN_DIGITS "_"

bool
dynamo_token_is_word(const struct dynamo_token *t, const char *word)
{
	return t->kind == DYNAMO_TOKEN_NAME && t->length == strlen(word) &&
	    strncasecmp(t->text, word, t->length) == 0;
}

bool
dynamo_token_is_sign(const struct dynamo_token *t, char sign)
{
	return t->kind == DYNAMO_TOKEN_SIGN && t->text[0] == sign;
}

struct dynamo_token
dynamo_token_read(const char *text)
{
	struct dynamo_token t = { .length = 1 };

	text += strspn(text, " \t\r\n");
	t.text = text;
	if (*text == '\0') {
		t.kind = DYNAMO_TOKEN_END;
		t.length = 0;
	} else if (strspn(text, TOKEN_LETTERS) > 0) {
		t.kind = DYNAMO_TOKEN_NAME;
		t.length = strspn(text, TOKEN_WORD);
	} else if (*text == '0') {
		t.kind = DYNAMO_TOKEN_NUMBER;
	} else if (strspn(text, TOKEN_DIGITS) > 0) {
		t.kind = DYNAMO_TOKEN_NUMBER;
		t.length = strspn(text, TOKEN_DIGITS);
	} else if (*text == '#' || *text == ':') {
		t.length += strspn(text + 1, TOKEN_WORD);
		t.kind = t.length == 1 ? DYNAMO_TOKEN_BAD :
		    *text == '#' ? DYNAMO_TOKEN_ALIAS : DYNAMO_TOKEN_VALUE;
	} else if (*text == '=') {
		t.kind = DYNAMO_TOKEN_COMPARE;
	} else if (*text == '<' || *text == '>') {
		t.kind = DYNAMO_TOKEN_COMPARE;
		if (text[1] == '=' || (*text == '<' && text[1] == '>'))
			t.length = 2;
	} else if (strchr("()[].,+-", *text) != NULL) {
		t.kind = DYNAMO_TOKEN_SIGN;
	} else {
		t.kind = DYNAMO_TOKEN_BAD;
	}
	return t;
}
