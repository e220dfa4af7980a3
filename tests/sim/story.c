/*
 * Facts from short lines: see story.h for the language.
 */
#include "story.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STORY_WORDS_MAX 12
#define STORY_LINE_MAX 200
#define STORY_TEXT_MAX 8192
#define STORY_REQUESTS_MAX 64

struct story {
	struct judge *judge;
	struct judge_rules rules;
	char line[STORY_LINE_MAX];
	char words_line[STORY_LINE_MAX];
	char *words[STORY_WORDS_MAX];
	size_t n_words;
	enum core_verb verbs[STORY_REQUESTS_MAX];	/* by request */
};

_Noreturn static void
story_fail(const struct story *s, const char *what)
{
	(void)fprintf(stderr, "story: %s: %s\n", what, s->line);
	abort();
}

/* ---- words ------------------------------------------------------------ */

static void
story_split(struct story *s, const char *line, size_t length)
{
	char *at = s->words_line;

	s->n_words = 0;
	if (length >= sizeof(s->line))
		abort();
	memcpy(s->line, line, length);
	s->line[length] = '\0';
	memcpy(s->words_line, s->line, length + 1);
	while (*at != '\0') {
		size_t n = strcspn(at, " ");

		if (s->n_words == STORY_WORDS_MAX)
			story_fail(s, "too many words");
		if (n > 0)
			s->words[s->n_words++] = at;
		at += n;
		if (*at != '\0')
			*at++ = '\0';
	}
}

static const char *
story_word(const struct story *s, size_t i)
{
	if (i >= s->n_words)
		story_fail(s, "something is missing");
	return s->words[i];
}

static uint64_t
story_number(const struct story *s, const char *text)
{
	char *end;
	uint64_t n = (uint64_t)strtoll(text, &end, 10);

	if (end == text || *end != '\0')
		story_fail(s, "no number");
	return n;
}

/* The value of "NAME=VALUE", or its default. */
/* The text after "NAME=", or NULL. */
static const char *
story_text(const struct story *s, const char *name)
{
	size_t length = strlen(name);

	for (size_t i = 0; i < s->n_words; i++)
		if (strncmp(s->words[i], name, length) == 0 &&
		    s->words[i][length] == '=')
			return s->words[i] + length + 1;
	return NULL;
}

static uint64_t
story_option(const struct story *s, const char *name, uint64_t otherwise)
{
	const char *text = story_text(s, name);

	return text == NULL ? otherwise : story_number(s, text);
}

static bool
story_has(const struct story *s, const char *word)
{
	for (size_t i = 0; i < s->n_words; i++)
		if (strcmp(s->words[i], word) == 0)
			return true;
	return false;
}

/* As long as names in the table are: 32 characters. */
static void
story_name(char ret[33], const char *from, size_t length)
{
	memset(ret, '0', 32);
	ret[32] = '\0';
	memcpy(ret, from, length < 32 ? length : 32);
}

static uint64_t
story_id(const struct story *s, const char *word, char prefix)
{
	if (word[0] != prefix)
		story_fail(s, "another kind of name is needed");
	return story_number(s, word + 1);
}

/* ---- the table -------------------------------------------------------- */

static void
story_element(struct story *s, const char *word, struct fact_lock *l)
{
	struct fact_element *e = &l->elements[l->n_elements++];
	size_t session = strcspn(word, "/");
	const char *grant = word + session + 1;
	size_t length = strcspn(grant, "!~");

	story_name(e->session, word, session);
	story_name(e->grant, grant, length);
	e->fail_closed = grant[length] == '!';
	e->lease_ms = grant[length] == '~' ?
	    story_number(s, grant + length + 1) : s->rules.lease_ms;
}

static void
story_waiter_mark(const char *word, struct fact_waiter_mark *ret)
{
	ret->shared = word[0] == '&';
	story_name(ret->session, word + 1, strlen(word) - 1);
}

static void
story_writer(const struct story *s, struct fact *f)
{
	f->expired = strcmp(s->words[1], "ttl") == 0;
	if (f->expired || strcmp(s->words[1], "hand") == 0)
		f->host = FACT_BY_HAND;
	f->sent_ms = story_option(s, "sent", f->at_ms);
}

static void
story_contents(const struct story *s, uint64_t ret[FACT_SLOTS])
{
	ret[FACT_DATA] = story_option(s, "data", 0);
	ret[FACT_NOTE] = story_option(s, "note", 0);
}

static void
story_lock(struct story *s, struct fact *f)
{
	struct fact_lock *l = &f->lock;

	f->kind = FACT_LOCK;
	f->key = story_word(s, 3);
	story_writer(s, f);
	l->exists = !story_has(s, "gone");
	l->readable = l->exists && !story_has(s, "broken");
	l->says_broken = story_has(s, "broken-by");
	l->shared = story_has(s, "shared");
	l->limit = story_option(s, "limit", 0);
	l->token = story_option(s, "token", 0);
	l->ttl_ahead_s = (int64_t)story_option(s, "ttl", 0);
	l->has_ttl = l->ttl_ahead_s != 0 ||
	    (story_has(s, "ttl") && !f->expired);
	story_contents(s, l->contents);
	l->n_waiter_marks = (size_t)story_option(s, "wishes", 0);
	for (size_t i = 4; i < s->n_words; i++)
		if (strchr(s->words[i], '/') != NULL)
			story_element(s, s->words[i], l);
		else if (s->words[i][0] == '+' || s->words[i][0] == '&')
			story_waiter_mark(s->words[i],
			    &l->waiter_marks[l->n_waiter_marks++]);
		else if (s->words[i][0] == '>')
			story_name(l->line[l->n_line++], s->words[i] + 1,
			    strlen(s->words[i]) - 1);
}

/* In a format that older clients share. */
static void
story_record(struct story *s, struct fact *f)
{
	struct fact_record *r = &f->record;
	const char *hold = story_word(s, 4);

	f->kind = FACT_RECORD;
	f->key = story_word(s, 3);
	story_writer(s, f);
	r->exists = strcmp(hold, "gone") != 0;
	r->free = strcmp(hold, "free") == 0;
	r->lease_ms = story_has(s, "never") ? 0 : s->rules.lease_ms;
	r->until_ms = story_option(s, "until", FACT_NEVER);
	r->token = story_option(s, "token", 0);
	story_contents(s, r->contents);
	if (r->exists && !r->free)
		(void)snprintf(r->hold, sizeof(r->hold), "%s", hold);
	if (r->exists)
		(void)snprintf(r->version, sizeof(r->version), "%llu",
		    (unsigned long long)story_option(s, "version", f->at_ms));
}

/* A host, or an older client. */
static unsigned
story_machine(char letter)
{
	return letter >= 'P' && letter <= 'U' ?
	    FACT_PEER_FIRST + (unsigned)(letter - 'P') :
	    (unsigned)(letter - 'A');
}

static void
story_belief(const struct story *s, struct fact *f, enum fact_kind kind)
{
	f->kind = kind;
	f->key = s->words[3];
	f->token = story_option(s, "token", 0);
}

static void
story_session(struct story *s, struct fact *f, char name[33])
{
	struct fact_session *i = &f->item;

	f->kind = FACT_SESSION;
	story_name(name, story_word(s, 3), strlen(story_word(s, 3)));
	f->session = name;
	story_writer(s, f);
	i->exists = !story_has(s, "gone");
	i->dead = story_has(s, "dead");
	i->beat = story_option(s, "beat", 0);
	i->lease_ms = story_option(s, "lease", s->rules.lease_ms);
	i->ttl_ahead_s = (int64_t)story_option(s, "ttl", 172800);
}

static void
story_host(struct story *s, struct fact *f, char name[33])
{
	static const struct {
		const char *word;
		enum fact_kind kind;
	} kinds[] = {
		{ "start", FACT_STARTED },
		{ "die", FACT_DIED },
		{ "end", FACT_ENDED },
		{ "pause", FACT_PAUSED },
		{ "resume", FACT_RESUMED },
		{ "withdraw", FACT_WITHDRAWN },
		{ "return", FACT_RETURNED },
		{ "limit", FACT_LIMITED },
		{ "freeze", FACT_FROZEN },
		{ "renewed", FACT_RENEWED },
	};
	const char *verb = story_word(s, 2);

	if (strcmp(verb, "lock") == 0) {
		story_lock(s, f);
		return;
	}
	if (strcmp(verb, "record") == 0) {
		story_record(s, f);
		return;
	}
	if (strcmp(verb, "marks") == 0) {
		f->kind = FACT_MARKED;
		f->key = s->words[3];
		f->version = story_word(s, 4);
		f->n_holders = story_option(s, "n", 1);
		story_writer(s, f);
		return;
	}
	if (strcmp(verb, "session") == 0) {
		story_session(s, f, name);
		return;
	}
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strcmp(verb, kinds[i].word) == 0)
			f->kind = kinds[i].kind;
	f->rate_ppm = (int32_t)story_option(s, "rate", 0);
	f->holds_max = (uint32_t)story_option(s, "holds", 0);
	f->until_ms = story_option(s, "until", 0);
}

/* ---- clients ---------------------------------------------------------- */

static void
story_outlived(struct story *s, struct fact *f)
{
	f->kind = FACT_OUTLIVED;
	f->process = story_option(s, "process", 0);
}

static void
story_ask(struct story *s, struct fact *f, enum core_verb verb)
{
	f->kind = FACT_ASKED;
	f->verb = verb;
	f->request = story_id(s, story_word(s, 4), 'r');
	if (f->request >= STORY_REQUESTS_MAX)
		story_fail(s, "too many requests");
	s->verbs[f->request] = verb;
	f->wait_ms = story_option(s, "wait", 0);
	f->shared = story_has(s, "shared");
	f->limit = story_option(s, "limit", 0);
	f->max_hold_ms = story_option(s, "max-hold", 0);
	f->keepalive_ms = story_option(s, "keepalive", 0);
	f->danger_ms = story_option(s, "danger", 0);
	f->manual = story_has(s, "manual");
	f->reentrant = story_has(s, "reentrant");
	f->stays = story_has(s, "stays");
	f->process = story_option(s, "process", 0);
	f->linger_ms = story_option(s, "linger", 0);
	f->at_least_ms = story_option(s, "at-least", 0);
	f->every_ms = story_option(s, "every", 0);
	f->at_end = story_has(s, "at-end");
	f->resumes = story_has(s, "resumes");
	f->user = story_option(s, "user", 0);
	if (story_has(s, "unwarned"))
		f->danger_ms = FACT_NEVER;
	f->fail_closed = story_has(s, "fail-closed");
	f->multi = story_option(s, "joint", 0);
	story_contents(s, f->contents);
	f->clears = story_has(s, "clears");
	f->due_ms = story_option(s, "due", FACT_NEVER);
	f->token = story_option(s, "token", 0);
	f->version = story_text(s, "record");
	if (verb == CORE_ACQUIRE || verb == CORE_BREAK || verb == CORE_RAISE ||
	    verb == CORE_GET ||
	    verb == CORE_WATCH || verb == CORE_UNWATCH)
		f->key = s->words[3];
	else if (verb == CORE_CANCEL)
		f->target = story_id(s, s->words[3], 'r');
	else if (verb == CORE_RESUME)
		f->target = story_id(s, s->words[3], 'c');
	else
		f->hold = story_number(s, s->words[3]);
}

/* The holder of a watched lock. */
static void
story_state(const struct story *s, struct fact *f)
{
	static const char *const words[] = {
		[FACT_UNKNOWN] = "unknown",
		[FACT_FREE] = "free",
		[FACT_HELD] = "held",
		[FACT_DEAD] = "dead",
	};

	for (enum fact_state i = FACT_UNKNOWN; i <= FACT_DEAD; i++)
		if (story_has(s, words[i]))
			f->state = i;
	f->shared = story_has(s, "shared");
	f->token = story_option(s, "token", 0);
	f->n_holders = story_option(s, "n", f->state >= FACT_HELD);
}

static void
story_told(struct story *s, struct fact *f)
{
	f->kind = FACT_ANSWERED;
	f->request = story_id(s, story_word(s, 3), 'r');
	f->verb = s->verbs[f->request];
	f->code = (int)story_option(s, "code", 0);
	f->hold = story_option(s, "hold", 0);
	f->token = story_option(s, "token", 0);
	f->until_ms = story_has(s, "for-ever") ? FACT_NEVER :
	    story_option(s, "until", 0);
	f->end_ms = story_option(s, "ends", 0);
	f->resumes = story_has(s, "resumable");
	story_contents(s, f->contents);
	if (f->verb == CORE_WATCH)
		story_state(s, f);
}

static void
story_changed(const struct story *s, struct fact *f)
{
	f->kind = FACT_CHANGED;
	f->key = story_word(s, 3);
	story_state(s, f);
}

static void
story_loss(struct story *s, struct fact *f)
{
	for (int i = CORE_LOSS_EXPIRED; i <= CORE_LOSS_CUT_OFF; i++)
		if (story_has(s, core_loss_name((enum core_loss)i)))
			f->loss = (enum core_loss)i;
}

static void
story_notice(struct story *s, struct fact *f, enum fact_kind kind)
{
	f->kind = kind;
	f->hold = story_number(s, story_word(s, 3));
	f->until_ms = story_option(s, "until", 0);
	story_loss(s, f);
}

static void
story_client(struct story *s, struct fact *f)
{
	const char *verb = story_word(s, 2);
	char *at = strchr(s->words[1], '@');

	*at = '\0';
	f->client = story_id(s, s->words[1], 'c');
	f->host = story_machine(at[1]);
	if (strcmp(verb, "has") == 0)
		story_belief(s, f, FACT_PEER_HAS);
	else if (strcmp(verb, "left") == 0)
		story_belief(s, f, FACT_PEER_LEFT);
	else if (strcmp(verb, "acquire") == 0)
		story_ask(s, f, CORE_ACQUIRE);
	else if (strcmp(verb, "release") == 0)
		story_ask(s, f, CORE_RELEASE);
	else if (strcmp(verb, "downgrade") == 0)
		story_ask(s, f, CORE_DOWNGRADE);
	else if (strcmp(verb, "cancel") == 0)
		story_ask(s, f, CORE_CANCEL);
	else if (strcmp(verb, "renew") == 0)
		story_ask(s, f, CORE_RENEW);
	else if (strcmp(verb, "get") == 0)
		story_ask(s, f, CORE_GET);
	else if (strcmp(verb, "break") == 0)
		story_ask(s, f, CORE_BREAK);
	else if (strcmp(verb, "raise") == 0)
		story_ask(s, f, CORE_RAISE);
	else if (strcmp(verb, "watch") == 0)
		story_ask(s, f, CORE_WATCH);
	else if (strcmp(verb, "unwatch") == 0)
		story_ask(s, f, CORE_UNWATCH);
	else if (strcmp(verb, "resume") == 0)
		story_ask(s, f, CORE_RESUME);
	else if (strcmp(verb, "changed") == 0)
		story_changed(s, f);
	else if (strcmp(verb, "told") == 0)
		story_told(s, f);
	else if (strcmp(verb, "danger") == 0)
		story_notice(s, f, FACT_IN_DANGER);
	else if (strcmp(verb, "safe") == 0)
		story_notice(s, f, FACT_SAFE);
	else if (strcmp(verb, "lost") == 0)
		story_notice(s, f, FACT_LOST);
	else if (strcmp(verb, "taken") == 0)
		story_notice(s, f, FACT_TAKEN);
	else if (strcmp(verb, "talks") == 0)
		f->kind = FACT_HEARD;
	else if (strcmp(verb, "outlived") == 0)
		story_outlived(s, f);
	else if (strcmp(verb, "drains") == 0)
		f->kind = FACT_DRAINED;
	else if (strcmp(verb, "leaves") == 0) {
		f->kind = FACT_LEFT;
		story_loss(s, f);
	}
}

/* ---- all -------------------------------------------------------------- */

static void
story_rules(struct story *s)
{
	struct judge_rules *r = &s->rules;

	r->danger_ms = story_option(s, "danger", r->danger_ms);
	r->audit_ms = story_option(s, "audit", r->audit_ms);
	r->lateness_ms = story_option(s, "lateness", 0);
	r->idle_ms = story_option(s, "idle", 0);
	r->retention_s = story_option(s, "retention", 0);
	r->handover_max = (uint32_t)story_option(s, "handovers", 0);
	r->line_max = (uint32_t)story_option(s, "line", 0);
	r->holds_per_client_max = (uint32_t)story_option(s, "holds", 0);
	r->requests_per_client_max = (uint32_t)story_option(s, "requests", 0);
	r->all_may_resume = story_has(s, "all-may-resume");
	r->sees_table = !story_has(s, "blind");
	r->foreign[0].is = story_has(s, "foreign");
	r->foreign[0].tokens = story_has(s, "tokens");
	r->bridge = story_has(s, "bridge");
	r->old.lease_ms = r->lease_ms;
	r->old.danger_ms = r->danger_ms;
	r->old.margin_ms = r->margin_ms;
}

static void
story_line(struct story *s, const char *line, size_t length)
{
	struct fact f = { .kind = 0 };
	char name[33];

	story_split(s, line, length);
	if (s->n_words == 0)
		return;
	if (strcmp(s->words[0], "rules") == 0) {
		story_rules(s);
		return;
	}
	if (s->judge == NULL)
		s->judge = judge_new(&s->rules, 1 + s->rules.bridge);
	f.namespace_index = (uint32_t)story_option(s, "ns", 0);
	f.at_ms = story_number(s, s->words[0]);
	if (strcmp(story_word(s, 1), "quiet") == 0) {
		f.kind = FACT_QUIET;
	} else if (strchr(s->words[1], '@') != NULL) {
		story_client(s, &f);
	} else {
		f.host = story_machine(s->words[1][0]);
		story_host(s, &f, name);
	}
	if (f.kind == 0)
		story_fail(s, "an unknown word");
	(void)judge_fact(s->judge, &f);
}

struct judge *
story_judge(const char *const *texts, uint64_t end_ms)
{
	struct story s = {
		.rules = {
			.lease_ms = 20000, .margin_ms = 1000,
			.drift_ppm = 10000, .poll_ms = 1000,
			.request_ms = 5000, .try_ms = 1000,
			.audit_ms = 60000,
			.slack_ms = 100, .sees_table = true,
		},
	};

	for (; *texts != NULL; texts++) {
		const char *at = *texts;

		while (*at != '\0') {
			size_t length = strcspn(at, "\n");

			story_line(&s, at, length);
			at += length + (at[length] != '\0');
		}
	}
	(void)judge_end(s.judge, end_ms);
	return s.judge;
}
