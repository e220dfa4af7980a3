/*
 * Reading a plan. A line becomes words, a sentence takes its words one by one,
 * and whatever is left over or does not fit is an error with its line.
 */
#include "plan_text.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "ipc/codec.h"

#define LINE_MAX_BYTES 256
#define WORDS_MAX 24
#define DAY_MS (UINT64_C(24) * 3600 * 1000)

struct reader {
	struct plan *plan;
	unsigned line;
	char *text;
	size_t size;
	char *words[WORDS_MAX + 1];	/* NULL after the last */
	unsigned next;
	uint64_t said;			/* bits of plan_world_settings */
	bool quiet, end;
};

__attribute__((format(printf, 2, 3)))
static int
reader_fail(struct reader *r, const char *format, ...)
{
	va_list arguments;
	int n = snprintf(r->text, r->size, "line %u: ", r->line);

	if (n > 0 && (size_t)n < r->size) {
		va_start(arguments, format);
		(void)vsnprintf(r->text + n, r->size - (size_t)n, format,
		    arguments);
		va_end(arguments);
	}
	return -1;
}

/* The next word; at the end of the line there is an empty one. */
static const char *
reader_take(struct reader *r)
{
	return r->words[r->next] == NULL ? "" : r->words[r->next++];
}

static const char *
reader_look(const struct reader *r)
{
	return r->words[r->next] == NULL ? "" : r->words[r->next];
}

/* ---- words ------------------------------------------------------------ */

static int
reader_number(struct reader *r, const char *word, uint64_t most, uint64_t *ret)
{
	uint64_t n = 0;

	if (!codec_parse_number(word, strlen(word), &n) || n > most)
		return reader_fail(r, "'%s' should be a number up to %" PRIu64,
		    word, most);
	*ret = n;
	return 0;
}

static int
reader_count(struct reader *r, const char *word, uint32_t *ret)
{
	uint64_t n = 0;

	if (reader_number(r, word, UINT32_MAX, &n) < 0)
		return -1;
	*ret = (uint32_t)n;
	return 0;
}

/* As on the wire, without fractions; and days. */
static int
reader_duration(struct reader *r, const char *word, uint64_t *ret)
{
	size_t n = strlen(word);
	uint64_t days;

	if (n > 1 && word[n - 1] == 'd' &&
	    codec_parse_number(word, n - 1, &days) && days <= 3660) {
		*ret = days * DAY_MS;
		return 0;
	}
	if (n > 1 && word[n - 1] > '9' && strchr(word, '.') == NULL &&
	    codec_parse_duration(word, n, ret))
		return 0;
	return reader_fail(r, "'%s' should be a duration such as 250ms, 5s, "
	    "2m, 3h or 365d", word);
}

static int
reader_shift(struct reader *r, const char *word, int64_t *ret)
{
	uint64_t ms;

	if (word[0] != '+' && word[0] != '-')
		return reader_fail(r, "'%s' should be a shift such as +5s or "
		    "-365d", word);
	if (reader_duration(r, word + 1, &ms) < 0)
		return -1;
	*ret = word[0] == '+' ? (int64_t)ms : -(int64_t)ms;
	return 0;
}

static int
reader_ppm(struct reader *r, const char *word, uint64_t *ret)
{
	size_t n = strlen(word);

	if (n > 3 && strcmp(word + n - 3, "ppm") == 0 &&
	    codec_parse_number(word, n - 3, ret) && *ret <= 1000000)
		return 0;
	return reader_fail(r, "'%s' should be a rate such as 5000ppm", word);
}

static int
reader_host(struct reader *r, const char *word, unsigned *ret)
{
	if (word[0] < 'A' || word[0] >= 'A' + PLAN_HOSTS_MAX || word[1] != '\0')
		return reader_fail(r, "'%s' should be a host, from A to %c",
		    word, 'A' + PLAN_HOSTS_MAX - 1);
	*ret = (unsigned)(word[0] - 'A');
	if (*ret >= r->plan->n_hosts)
		return reader_fail(r, "there is no host %s", word);
	return 0;
}

static int
reader_key(struct reader *r, const char *word, char *ret)
{
	size_t n = strlen(word);

	if (n == 0 || n >= PLAN_KEY_MAX || strchr(word, '=') != NULL)
		return reader_fail(r, "'%s' should be a key of up to %d bytes, "
		    "without =", word, PLAN_KEY_MAX - 1);
	memcpy(ret, word, n + 1);
	return 0;
}

/* ---- settings --------------------------------------------------------- */

static int
reader_rate(struct reader *r, const char *word, int32_t *ret)
{
	uint64_t ppm = 0;

	if (word[0] != '+' && word[0] != '-')
		return reader_fail(r, "'%s' should be a rate such as +5000ppm",
		    word);
	if (reader_ppm(r, word + 1, &ppm) < 0)
		return -1;
	*ret = word[0] == '+' ? (int32_t)ppm : -(int32_t)ppm;
	return 0;
}

/* "2ms..8ms", or "5ms" for both. */
static int
reader_range(struct reader *r, char *word, uint64_t *ret)
{
	char *dots = strstr(word, "..");

	if (dots != NULL)
		*dots = '\0';
	if (reader_duration(r, word, &ret[0]) < 0)
		return -1;
	if (dots != NULL)
		return reader_duration(r, dots + 2, &ret[1]);
	ret[1] = ret[0];
	return 0;
}

static int
reader_value(struct reader *r, const struct setting *s, char *value,
    void *member)
{
	uint64_t n = 0;

	switch (s->form) {
	case SETTING_DURATION:
		return reader_duration(r, value, member);
	case SETTING_SECONDS:
		if (reader_duration(r, value, &n) < 0)
			return -1;
		if (n % 1000 != 0)
			return reader_fail(r, "%s is in whole seconds",
			    s->name);
		*(uint64_t *)member = n / 1000;
		return 0;
	case SETTING_SHIFT:
		return reader_shift(r, value, member);
	case SETTING_PPM:
		if (reader_ppm(r, value, &n) < 0)
			return -1;
		*(uint32_t *)member = (uint32_t)n;
		return 0;
	case SETTING_RATE:
		return reader_rate(r, value, member);
	case SETTING_COUNT:
		return reader_count(r, value, member);
	case SETTING_NUMBER:
		return reader_number(r, value, UINT64_MAX, member);
	case SETTING_RANGE:
		return reader_range(r, value, member);
	default:
		return reader_fail(r, "%s has no value", s->name);
	}
}

/* The rest of the line: settings of @object. */
static int
reader_settings(struct reader *r, const struct setting *table, void *object,
    uint64_t *said)
{
	while (*reader_look(r) != '\0') {
		char *word = r->words[r->next++];
		char *value = strchr(word, '=');
		const struct setting *s = table;
		void *member;

		if (value != NULL)
			*value++ = '\0';
		while (s->name != NULL && strcmp(s->name, word) != 0)
			s++;
		if (s->name == NULL)
			return reader_fail(r, "there is no setting '%s' here",
			    word);
		if (*said & UINT64_C(1) << (s - table))
			return reader_fail(r, "%s is said twice", word);
		*said |= UINT64_C(1) << (s - table);
		member = (char *)object + s->offset;
		if (value == NULL && s->form == SETTING_FLAG)
			*(bool *)member = true;
		else if (value == NULL)
			return reader_fail(r, "%s needs a value", word);
		else if (reader_value(r, s, value, member) < 0)
			return -1;
	}
	return 0;
}

/* What was not said of a lease follows from it. */
static void
reader_derive(struct reader *r)
{
	struct plan derived = *r->plan;

	plan_derive(&derived.ns);
	for (const struct setting *s = plan_world_settings; s->name != NULL;
	    s++)
		if (s->derived &&
		    (r->said & UINT64_C(1) << (s - plan_world_settings)) == 0)
			memcpy((char *)r->plan + s->offset,
			    (const char *)&derived + s->offset,
			    sizeof(uint64_t));
}

/* ---- steps ------------------------------------------------------------ */

static int
reader_namespace(struct reader *r, struct plan_step *s)
{
	if (strncmp(reader_look(r), "ns=", 3) != 0)
		return 0;
	if (reader_count(r, reader_take(r) + 3, &s->namespace_index) < 0)
		return -1;
	if (s->namespace_index >= r->plan->n_namespaces)
		return reader_fail(r, "there is no namespace %" PRIu32,
		    s->namespace_index);
	return 0;
}

static int
reader_end(struct reader *r, const char *word, enum plan_end *ret)
{
	for (enum plan_end e = END_RELEASE; e <= END_NEVER; e++)
		if (strcmp(plan_end_name(e), word) == 0) {
			*ret = e;
			return 0;
		}
	return reader_fail(r, "'%s' should be release, close, drain or never",
	    word);
}

static int
reader_long(struct reader *r, const char *word, uint64_t *ret)
{
	if (strcmp(word, "forever") == 0) {
		*ret = PLAN_FOREVER;
		return 0;
	}
	return reader_duration(r, word, ret);
}

static int
reader_mode(struct reader *r, const char *word, bool *ret)
{
	*ret = strcmp(word, "shared") == 0;
	return *ret || strcmp(word, "exclusive") == 0 ? 0 :
	    reader_fail(r, "'%s' should be shared or exclusive", word);
}

static int
reader_option(struct reader *r, struct plan_step *s, char *word, char *value)
{
	if (strcmp(word, "mode") == 0)
		return reader_mode(r, value, &s->shared);
	if (strcmp(word, "limit") == 0)
		return reader_count(r, value, &s->limit);
	if (strcmp(word, "wait") == 0)
		return reader_long(r, value, &s->wait_ms);
	if (strcmp(word, "hold") == 0)
		return reader_long(r, value, &s->hold_ms);
	if (strcmp(word, "renew") == 0)
		return reader_duration(r, value, &s->renew_ms);
	if (strcmp(word, "end") == 0)
		return reader_end(r, value, &s->end);
	return reader_fail(r, "a lock has no '%s'", word);
}

static int
reader_lock(struct reader *r, struct plan_step *s)
{
	if (reader_key(r, reader_take(r), s->key) < 0)
		return -1;
	while (*reader_look(r) != '\0' &&
	    strncmp(reader_look(r), "ns=", 3) != 0) {
		char *word = r->words[r->next++];
		char *value = strchr(word, '=');

		if (value == NULL)
			return reader_fail(r, "'%s' should be mode=, limit=, "
			    "wait=, hold=, renew=, end= or ns=", word);
		*value++ = '\0';
		if (reader_option(r, s, word, value) < 0)
			return -1;
	}
	return reader_namespace(r, s);
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

static int
reader_message(struct reader *r, struct plan_step *s)
{
	const char *word;

	if (reader_operation(r, reader_take(r), &s->operation) < 0 ||
	    reader_count(r, reader_take(r), &s->nth) < 0)
		return -1;
	if (s->nth == 0)
		return reader_fail(r, "the next message is number 1");
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
	return 0;
}

static int
reader_form(struct reader *r, enum step_form form, struct plan_step *s)
{
	switch (form) {
	case FORM_LOCK:
		return reader_lock(r, s);
	case FORM_PREFIX:
		if (*reader_look(r) == '\0' ||
		    strncmp(reader_look(r), "ns=", 3) == 0)
			return reader_namespace(r, s);
		/* fall through */
	case FORM_KEY:
		if (reader_key(r, reader_take(r), s->key) < 0)
			return -1;
		return reader_namespace(r, s);
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
		return reader_namespace(r, s);
	default:
		return 0;
	}
}

/* "c1", "c1@A", "A", "table" or "hand". */
static int
reader_subject(struct reader *r, char *word, struct plan_step *s,
    enum step_subject *ret)
{
	char *at = strchr(word, '@');
	uint64_t client = 0;

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
	if (reader_number(r, word + 1, PLAN_CLIENTS_MAX, &client) < 0)
		return -1;
	if (client == 0)
		return reader_fail(r, "clients count from c1");
	s->client = (unsigned)client;
	return at == NULL ? 0 : reader_host(r, at, &s->host);
}

static int
reader_step(struct reader *r)
{
	struct plan_step s = { .kind = 0 };
	enum step_subject subject;
	const char *verb;
	char none[] = "";

	if (reader_duration(r, reader_take(r), &s.at_ms) < 0)
		return -1;
	if (reader_subject(r, r->words[r->next] == NULL ? none :
	    r->words[r->next++], &s, &subject) < 0)
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
	*plan_add(r->plan, s.kind, s.at_ms) = s;
	return 0;
}

/* ---- lines ------------------------------------------------------------ */

static int
reader_trace(struct reader *r)
{
	const char *word = reader_take(r);

	if (r->plan->trace != NULL)
		return reader_fail(r, "what to trace is said twice");
	if (*word == '\0' ||
	    word[strspn(word, "abcdefghijklmnopqrstuvwxyz,")] != '\0')
		return reader_fail(r, "'%s' should be words such as "
		    "told,script", word);
	r->plan->trace = strdup(word);
	return r->plan->trace == NULL ? reader_fail(r, "no memory") : 0;
}

static int
reader_time(struct reader *r, bool *said, uint64_t *ret)
{
	if (*said)
		return reader_fail(r, "this is said twice");
	*said = true;
	return reader_duration(r, reader_take(r), ret);
}

static int
reader_head(struct reader *r, const char *word)
{
	unsigned host;
	uint64_t said = 0;

	if (r->plan->n_steps > 0)
		return reader_fail(r, "the world comes before the steps");
	if (strcmp(word, "world") == 0)
		return reader_settings(r, plan_world_settings, r->plan,
		    &r->said);
	if (strcmp(word, "limits") == 0)
		return reader_settings(r, plan_limit_settings, r->plan, &said);
	if (reader_host(r, reader_take(r), &host) < 0)
		return -1;
	return reader_settings(r, plan_host_settings, &r->plan->hosts[host],
	    &said);
}

static int
reader_sentence(struct reader *r)
{
	const char *word = reader_take(r);
	int n;

	if (strcmp(word, "at") == 0)
		n = reader_step(r);
	else if (strcmp(word, "world") == 0 || strcmp(word, "limits") == 0 ||
	    strcmp(word, "host") == 0)
		n = reader_head(r, word);
	else if (strcmp(word, "trace") == 0)
		n = reader_trace(r);
	else if (strcmp(word, "quiet") == 0)
		n = reader_time(r, &r->quiet, &r->plan->quiet_ms);
	else if (strcmp(word, "end") == 0)
		n = reader_time(r, &r->end, &r->plan->end_ms);
	else
		return reader_fail(r, "'%s' begins no line of a plan", word);
	if (n == 0 && *reader_look(r) != '\0')
		return reader_fail(r, "'%s' is too much", reader_look(r));
	return n;
}

static int
reader_line(struct reader *r, char *line)
{
	unsigned n = 0;
	char *rest = NULL;

	line[strcspn(line, "#\n")] = '\0';
	for (char *w = strtok_r(line, " \t", &rest); w != NULL;
	    w = strtok_r(NULL, " \t", &rest)) {
		if (n == WORDS_MAX)
			return reader_fail(r, "too many words");
		r->words[n++] = w;
	}
	r->words[n] = NULL;
	r->next = 0;
	return n == 0 ? 0 : reader_sentence(r);
}

int
plan_read(struct plan *p, FILE *from, char *ret_text, size_t text_size)
{
	struct reader r = { .plan = p, .text = ret_text, .size = text_size };
	char line[LINE_MAX_BYTES];
	char wrong[160];

	while (fgets(line, sizeof(line), from) != NULL) {
		r.line++;
		if (strchr(line, '\n') == NULL && !feof(from))
			return reader_fail(&r, "too long");
		if (reader_line(&r, line) < 0)
			return -1;
	}
	if (!r.end)
		return reader_fail(&r, "there is no end");
	if (!r.quiet)
		p->quiet_ms = p->end_ms;
	reader_derive(&r);
	plan_sort(p);
	if (plan_check(p, wrong, sizeof(wrong)) < 0)
		return reader_fail(&r, "%s", wrong);
	return 0;
}
