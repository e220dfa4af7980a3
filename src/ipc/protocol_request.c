/*
 * A request's line, by the rows of its verb. An argument that they do not name
 * is refused, because a misspelt "wiat=5s" must never mean "wait for ever".
 */
#include "ipc/protocol.h"

#include <stdio.h>
#include <string.h>

#include "ddblock.h"
#include "ipc/nearest.h"

enum protocol_relation { RELATION_LACKS, RELATION_CLASHES };

/* A bit for each argument. */
struct protocol_rule {
	uint64_t verbs;
	uint64_t given, set;	/* any of these; both 0: any request */
	enum protocol_relation relation;
	uint64_t others;
	int code;
	const char *refusal;
};

static const struct protocol_rule protocol_rules[] = {
#define A(name) (UINT64_C(1) << ARGUMENT_##name)
#define V(name) (UINT64_C(1) << VERB_##name)
#define RULE(verbs, given, set, relation, others, code, refusal)               \
	{ verbs, given, set, RELATION_##relation, others, DDBLOCK_E_##code,    \
	    refusal },
#include "ipc/protocol.def"
#undef A
#undef V
};

#define RULES (sizeof(protocol_rules) / sizeof(protocol_rules[0]))

static int
request_unknown(const char *what, const struct codec_text *word,
    const char *const *words, size_t n, char *reason)
{
	const char *nearest = nearest_word(word->bytes, word->length, words,
	    n);

	if (nearest == NULL)
		return protocol_refuse(reason, "%s \"%.60s\"", what,
		    word->bytes);
	return protocol_refuse(reason, "%s \"%.60s\"; did you mean \"%s\"?",
	    what, word->bytes, nearest);
}

/* Handlers that verbs share read arguments that some of these verbs lack. */
static void
request_init(const struct codec_line *l, enum protocol_verb verb,
    struct protocol_request *ret)
{
	*ret = (struct protocol_request){ .line = l, .verb = verb };
	for (unsigned i = ARGUMENT_NONE + 1; i < ARGUMENTS; i++)
		ret->values[i].number = protocol_argument(i)->initial;
}

int
protocol_begin(const struct codec_line *l, struct protocol_request *ret,
    char reason[PROTOCOL_REASON_MAX])
{
	const char *words[VERBS];

	for (unsigned i = 0; i < VERBS; i++) {
		words[i] = protocol_verb((enum protocol_verb)i)->word;
		if (strlen(words[i]) != l->word.length ||
		    memcmp(words[i], l->word.bytes, l->word.length) != 0)
			continue;
		request_init(l, i, ret);
		return 0;
	}
	return request_unknown("unknown verb", &l->word, words, VERBS, reason);
}

/* ---- which arguments -------------------------------------------------- */

/* An argument with a part of its name chosen by the client means a family of
 * names. */
static bool
request_means(enum protocol_argument argument, const char *name)
{
	const struct protocol_argument_row *row = protocol_argument(argument);
	const char *own;

	if (row->kind != KIND_FAMILY)
		return strcmp(row->word, name) == 0;
	own = strstr(row->word, "NAME");
	return strncmp(row->word, name, (size_t)(own - row->word)) == 0;
}

static int
request_no_argument(const struct protocol_verb_row *v,
    const struct codec_text *name, char *reason)
{
	const char *words[PROTOCOL_LIST_MAX];
	char what[64];
	size_t n = 0;

	while (v->arguments[n] != ARGUMENT_NONE) {
		words[n] = protocol_argument(v->arguments[n])->word;
		n++;
	}
	(void)snprintf(what, sizeof(what), "%s has no argument", v->word);
	return request_unknown(what, name, words, n, reason);
}

static int
request_check_named(struct protocol_request *q, const struct codec_argument *a,
    char *reason)
{
	const struct protocol_verb_row *v = protocol_verb(q->verb);
	const unsigned char *argument = v->arguments;

	if (strlen(a->name.bytes) != a->name.length)
		return protocol_refuse(reason, "an argument's name has a NUL");
	if (codec_find(q->line, a->name.bytes) != &a->value)
		return protocol_refuse(reason,
		    "argument \"%.60s\" is given twice", a->name.bytes);
	while (*argument != ARGUMENT_NONE &&
	    !request_means(*argument, a->name.bytes))
		argument++;
	if (*argument == ARGUMENT_NONE)
		return request_no_argument(v, &a->name, reason);
	q->values[*argument].text = &a->value;
	return 0;
}

static size_t
request_keys_max(const struct protocol_verb_row *v)
{
	if (v->subject == NULL)
		return 0;
	return strstr(v->subject, "...") != NULL ? PROTOCOL_KEYS_MAX : 1;
}

static int
request_too_many(const struct protocol_request *q, char *reason)
{
	const struct protocol_verb_row *v = protocol_verb(q->verb);

	if (v->subject == NULL)
		return protocol_refuse(reason, "%s takes only arguments of the "
		    "form name=value", v->word);
	if (request_keys_max(v) == 1)
		return protocol_refuse(reason, "%s takes one key", v->word);
	return protocol_refuse(reason, "%s takes up to %d keys at once, and "
	    "here are %zu", v->word, PROTOCOL_KEYS_MAX, q->n_keys);
}

int
protocol_check(struct protocol_request *q, char reason[PROTOCOL_REASON_MAX])
{
	const struct protocol_verb_row *v = protocol_verb(q->verb);
	const struct codec_line *l = q->line;

	for (size_t i = 0; i < l->n_arguments; i++) {
		int r = 0;

		if (l->arguments[i].name.length == 0)
			q->n_keys++;
		else
			r = request_check_named(q, &l->arguments[i], reason);
		if (r < 0)
			return r;
	}
	if (q->n_keys > request_keys_max(v))
		return request_too_many(q, reason);
	if (v->subject != NULL && (q->n_keys == 0 ||
	    l->arguments[0].name.length > 0))
		return protocol_refuse(reason,
		    "%s needs a %.*s as its first argument", v->word,
		    (int)strcspn(v->subject, "."), v->subject);
	if (v->needed != ARGUMENT_NONE && !protocol_given(q, v->needed))
		return protocol_refuse(reason, "%s needs %s=", v->word,
		    protocol_argument(v->needed)->word);
	return 0;
}

/* ---- their values ---------------------------------------------------- */

static bool
request_has_before(const struct codec_line *l, size_t n)
{
	const struct codec_text *key = &l->arguments[n].value;

	for (size_t i = 0; i < n; i++) {
		const struct codec_text *other = &l->arguments[i].value;

		if (other->length == key->length &&
		    memcmp(other->bytes, key->bytes, key->length) == 0)
			return true;
	}
	return false;
}

static int
request_read_keys(const struct protocol_request *q, char *reason)
{
	const struct codec_line *l = q->line;

	for (size_t i = 0; i < q->n_keys; i++) {
		int r;

		if (l->arguments[i].name.length > 0)
			return protocol_refuse(reason,
			    "several keys come one after the other");
		r = protocol_key(&l->arguments[i].value, reason);
		if (r < 0)
			return r;
		if (request_has_before(l, i))
			return protocol_refuse(reason,
			    "the key \"%.60s\" is given twice",
			    l->arguments[i].value.bytes);
	}
	return 0;
}

/* Does its value differ from the initial value? */
static bool
request_sets(const struct protocol_request *q, enum protocol_argument argument)
{
	const struct protocol_argument_row *row = protocol_argument(argument);
	const struct codec_text *text = q->values[argument].text;

	if (text == NULL)
		return false;
	switch (row->kind) {
	case KIND_TIME:
	case KIND_NUMBER:
	case KIND_BOOLEAN:
	case KIND_CHOICE:
	case KIND_WORDS:
		return q->values[argument].number != row->initial;
	case KIND_TEXT:
	case KIND_LINE:
		return text->length > 0;
	default:
		return true;
	}
}

static int
request_read_values(struct protocol_request *q, uint64_t *ret_given,
    uint64_t *ret_set, char *reason)
{
	const unsigned char *a;

	for (a = protocol_verb(q->verb)->arguments; *a != ARGUMENT_NONE; a++) {
		const struct codec_text *text = q->values[*a].text;
		int r = 0;

		if (text == NULL)
			continue;
		r = protocol_value(*a, text, &q->values[*a].number, reason);
		if (r < 0)
			return r;
		*ret_given |= UINT64_C(1) << *a;
		if (request_sets(q, *a))
			*ret_set |= UINT64_C(1) << *a;
	}
	if (q->n_keys > 1)
		*ret_set |= UINT64_C(1) << ARGUMENT_MULTI;
	return 0;
}

/* Does the request break the rule? */
static bool
request_breaks(const struct protocol_rule *rule, uint64_t given, uint64_t set)
{
	bool others = (rule->others & set) != 0;

	if ((rule->given | rule->set) != 0 &&
	    (rule->given & given) == 0 && (rule->set & set) == 0)
		return false;
	return rule->relation == RELATION_CLASHES ? others : !others;
}

int
protocol_read(struct protocol_request *q, char reason[PROTOCOL_REASON_MAX])
{
	uint64_t given = 0, set = 0;
	int r = request_read_keys(q, reason);

	if (r == 0)
		r = request_read_values(q, &given, &set, reason);
	if (r < 0)
		return r;
	for (size_t i = 0; i < RULES; i++) {
		const struct protocol_rule *rule = &protocol_rules[i];

		if ((rule->verbs >> q->verb & 1) == 0 ||
		    !request_breaks(rule, given, set))
			continue;
		(void)protocol_refuse(reason, "%s", rule->refusal);
		return rule->code;
	}
	return 0;
}
