/*
 * Reading the steps of a plan: the subject, the verb, and the words that
 * follow.
 */
#include "plan_reader.h"

#include <inttypes.h>
#include <string.h>

/* "ns=1", which comes last and need not. */
static int
reader_last(struct reader *r, struct plan_step *s)
{
	if (strncmp(reader_look(r), "ns=", 3) != 0)
		return 0;
	return reader_namespace(r, reader_take(r) + 3, &s->namespace_index);
}

static int
reader_lock(struct reader *r, struct plan_step *s)
{
	uint64_t said = 0;

	if (reader_key(r, reader_take(r), s->key) < 0)
		return -1;
	return reader_settings(r, plan_lock_settings, s, &said);
}

static int
reader_operation(struct reader *r, const char *word, enum operation_kind *ret)
{
	char name[32];

	*ret = PLAN_ANY;
	if (strcmp(word, "any") == 0)
		return 0;
	for (enum operation_kind k = OPERATION_READ;
	    k <= OPERATION_SESSION_CLOSE; k++) {
		(void)snprintf(name, sizeof(name), "%s",
		    operation_kind_name(k));
		for (char *c = name; *c != '\0'; c++)
			if (*c == ' ')
				*c = '-';
		if (strcmp(name, word) == 0) {
			*ret = k;
			return 0;
		}
	}
	return reader_fail(r, "there is no message '%s'", word);
}

/* "2", or "2..5". */
static int
reader_which(struct reader *r, struct plan_step *s)
{
	char word[32], *dots;

	(void)snprintf(word, sizeof(word), "%s", reader_take(r));
	dots = strstr(word, "..");
	if (dots != NULL) {
		*dots = '\0';
		if (reader_count(r, dots + 2, &s->last) < 0)
			return -1;
	}
	if (reader_count(r, word, &s->nth) < 0)
		return -1;
	if (s->nth == 0)
		return reader_fail(r, "the next message is number 1");
	if (dots != NULL && s->last <= s->nth)
		return reader_fail(r, "'%s..%s' ends before it begins", word,
		    dots + 2);
	return 0;
}

/* The name of an error. */
static int
reader_type(struct reader *r, const char *word, char ret[PLAN_TYPE_MAX])
{
	size_t n = strlen(word);

	if (n == 0 || n >= PLAN_TYPE_MAX ||
	    word[0] < 'A' || word[0] > 'Z')
		return reader_fail(r, "'%s' should be an error such as "
		    "ResourceNotFoundException", word);
	memcpy(ret, word, n + 1);
	return 0;
}

static int
reader_message(struct reader *r, struct plan_step *s)
{
	const char *word;

	if (reader_operation(r, reader_take(r), &s->operation) < 0 ||
	    reader_which(r, s) < 0)
		return -1;
	word = reader_take(r);
	for (enum message_fault f = MESSAGE_LOST; f < MESSAGE_FAULTS; f++)
		if (strcmp(plan_fault_name(f), word) == 0)
			s->fault = f;
	if (s->fault == 0)
		return reader_fail(r, "'%s' is nothing that befalls a message",
		    word);
	if (plan_fault_form(s->fault) == FAULT_DURATION)
		return reader_duration(r, reader_take(r), &s->ms);
	if (plan_fault_form(s->fault) == FAULT_COUNT)
		return reader_count(r, reader_take(r), &s->count);
	if (plan_fault_form(s->fault) == FAULT_TYPE)
		return reader_type(r, reader_take(r), s->type);
	return 0;
}

static int
reader_form(struct reader *r, enum step_form form, struct plan_step *s)
{
	uint64_t said = 0;

	switch (form) {
	case FORM_LOCK:
		return reader_lock(r, s);
	case FORM_LIST:
		if (*reader_look(r) != '\0' &&
		    strchr(reader_look(r), '=') == NULL &&
		    reader_key(r, reader_take(r), s->key) < 0)
			return -1;
		return reader_settings(r, plan_list_settings, s, &said);
	case FORM_HAND:
		if (reader_key(r, reader_take(r), s->key) < 0)
			return -1;
		return reader_settings(r, plan_hand_settings, s, &said);
	case FORM_KEY:
		if (reader_key(r, reader_take(r), s->key) < 0)
			return -1;
		return reader_last(r, s);
	case FORM_DURATION:
		return reader_duration(r, reader_take(r), &s->ms);
	case FORM_SHIFT:
		return reader_shift(r, reader_take(r), &s->shift_ms);
	case FORM_COUNTS:
		if (reader_count(r, reader_take(r), &s->nth) < 0)
			return -1;
		return reader_count(r, reader_take(r), &s->count);
	case FORM_MESSAGE:
		return reader_message(r, s);
	case FORM_SESSION:
		if (reader_host(r, reader_take(r), &s->host) < 0)
			return -1;
		return reader_last(r, s);
	case FORM_RELOAD:
		return reader_settings(r, plan_reload_settings, s,
		    &(uint64_t){ 0 });
	case FORM_PHASE:
		return reader_phase(r, reader_take(r), &s->phase);
	default:
		return 0;
	}
}

/* "1", or "1..9". */
static int
reader_clients(struct reader *r, char *word, struct plan_step *s,
    unsigned *ret_last)
{
	char *dots = strstr(word, "..");
	uint64_t first = 0, last = 0;

	if (dots != NULL)
		*dots = '\0';
	if (reader_number(r, word, PLAN_CLIENTS_MAX, &first) < 0)
		return -1;
	last = first;
	if (dots != NULL &&
	    reader_number(r, dots + 2, PLAN_CLIENTS_MAX, &last) < 0)
		return -1;
	if (first == 0)
		return reader_fail(r, "clients count from c1");
	if (last < first)
		return reader_fail(r, "'c%s..%s' ends before it begins", word,
		    dots + 2);
	s->client = (unsigned)first;
	*ret_last = (unsigned)last;
	return 0;
}

/* "c1", "c1..9@A", "A", "table" or "hand". */
static int
reader_subject(struct reader *r, char *word, struct plan_step *s,
    enum step_subject *ret, unsigned *ret_last)
{
	char *at = strchr(word, '@');

	if (strcmp(word, "table") == 0) {
		*ret = SUBJECT_TABLE;
		return 0;
	}
	if (strcmp(word, "hand") == 0) {
		*ret = SUBJECT_HAND;
		return 0;
	}
	if (word[0] != 'c') {
		*ret = SUBJECT_HOST;
		return reader_host(r, word, &s->host);
	}
	*ret = at == NULL ? SUBJECT_CLIENT : SUBJECT_CLIENT_AT;
	if (at != NULL)
		*at++ = '\0';
	if (reader_clients(r, word + 1, s, ret_last) < 0)
		return -1;
	return at == NULL ? 0 : reader_host(r, at, &s->host);
}

/* "key/1..300" means each of these keys. */
static int
reader_add(struct reader *r, struct plan_step s)
{
	char *dots = strstr(s.key, ".."), *digits = dots;
	uint64_t first = 0, last = 0;

	while (digits != NULL && digits > s.key && digits[-1] >= '0' &&
	    digits[-1] <= '9')
		digits--;
	if (digits == dots) {
		*plan_add(r->plan, s.kind, s.at_ms) = s;
		return 0;
	}
	*dots = '\0';
	if (reader_number(r, digits, UINT16_MAX, &first) < 0 ||
	    reader_number(r, dots + 2, UINT16_MAX, &last) < 0)
		return -1;
	if (last < first)
		return reader_fail(r, "'%s..%s' ends before it begins", s.key,
		    dots + 2);
	for (uint64_t i = first; i <= last; i++) {
		struct plan_step *each = plan_add(r->plan, s.kind, s.at_ms);

		*each = s;
		(void)snprintf(each->key, sizeof(each->key), "%.*s%" PRIu64,
		    (int)(digits - s.key), s.key, i);
	}
	return 0;
}

int
reader_step(struct reader *r)
{
	struct plan_step s = { .kind = 0 };
	enum step_subject subject;
	unsigned last = 0;
	const char *verb;
	char none[] = "";

	if (reader_duration(r, reader_take(r), &s.at_ms) < 0)
		return -1;
	if (reader_subject(r, r->words[r->next] == NULL ? none :
	    r->words[r->next++], &s, &subject, &last) < 0)
		return -1;
	verb = reader_take(r);
	for (enum step_kind k = STEP_LOCK; k < STEP_KINDS; k++)
		if (plan_step_words(k)->subject == subject &&
		    strcmp(plan_step_verb(k), verb) == 0)
			s.kind = k;
	if (s.kind == 0)
		return reader_fail(r, "'%s' is nothing that it can do", verb);
	if (reader_form(r, plan_step_words(s.kind)->form, &s) < 0)
		return -1;
	do {
		if (reader_add(r, s) < 0)
			return -1;
	} while (s.client++ < last);
	return 0;
}
