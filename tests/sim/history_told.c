/*
 * Histories of real daemons: the clients' requests, and the answers and events.
 */
#include "history_line.h"

#include <string.h>

#include "common/error.h"

static enum core_verb
history_verb(const struct history_line *l)
{
	static const char *const verbs[] = {
		[CORE_ACQUIRE] = "ACQUIRE",
		[CORE_CANCEL] = "CANCEL",
		[CORE_RELEASE] = "RELEASE",
		[CORE_RENEW] = "RENEW",
		[CORE_DOWNGRADE] = "DOWNGRADE",
		[CORE_GET] = "GET",
		[CORE_LIST] = "LIST",
		[CORE_BREAK] = "BREAK",
		[CORE_RESUME] = "RESUME",
		[CORE_RAISE] = "RAISE",
	};
	const char *text = history_text(l, "DDBLOCK_VERB");

	for (size_t i = 1; text != NULL &&
	    i < sizeof(verbs) / sizeof(verbs[0]); i++)
		if (verbs[i] != NULL && strcmp(text, verbs[i]) == 0)
			return (enum core_verb)i;
	return 0;
}

static enum core_loss
history_loss(const struct history_line *l)
{
	const char *text = history_text(l, "DDBLOCK_REASON");

	for (int i = CORE_LOSS_EXPIRED; text != NULL &&
	    i <= CORE_LOSS_RELEASED; i++)
		if (strcmp(text, core_loss_name((enum core_loss)i)) == 0)
			return (enum core_loss)i;
	return 0;
}

/* How it wants the lock: exclusively, unless it says otherwise. */
static void
history_use(const struct history_line *l, struct fact *f)
{
	const char *mode = history_text(l, "DDBLOCK_MODE");

	f->shared = mode != NULL && strcmp(mode, "shared") == 0;
	(void)history_number(l, "DDBLOCK_LIMIT", &f->limit);
	f->fail_closed = history_text(l, "DDBLOCK_POLICY") != NULL;
}

/* Acquires and gets have an earlier answer. */
static uint64_t
history_due_ms(const struct history_line *l, const struct fact *f)
{
	const struct judge_rules *rules = &l->history->rules;
	uint64_t ms = rules->request_ms;

	if (f->verb == CORE_LIST ||
	    (f->verb == CORE_ACQUIRE && f->wait_ms == CORE_FOREVER))
		return FACT_NEVER;	/* LIST: as many pages as there are */
	if (f->verb == CORE_ACQUIRE || f->verb == CORE_GET)
		ms = rules->try_ms;
	if (f->verb == CORE_ACQUIRE && f->wait_ms > ms)
		ms = f->wait_ms;
	return l->life->end_us / 1000 + ms;
}

static int
history_asked(struct history_line *l, struct fact *f)
{
	f->kind = FACT_ASKED;
	f->verb = history_verb(l);
	f->key = history_text(l, "DDBLOCK_KEY");
	f->due_ms = history_due_ms(l, f);
	if (!history_number(l, "DDBLOCK_REQUEST", &f->request) ||
	    f->verb == 0)
		return history_fail(l, "no request");
	if ((f->verb == CORE_RELEASE || f->verb == CORE_RENEW ||
	    f->verb == CORE_DOWNGRADE) &&
	    !history_number(l, "DDBLOCK_HOLD", &f->hold))
		return history_fail(l, "no hold");
	(void)history_number(l, "DDBLOCK_TOKEN", &f->token);
	(void)history_number(l, "DDBLOCK_USER", &f->user);
	f->resumes = history_text(l, "DDBLOCK_RESUMES") != NULL;
	history_use(l, f);
	if (f->verb != CORE_ACQUIRE && f->verb != CORE_BREAK)
		return 0;
	f->wait_ms = CORE_FOREVER;
	(void)history_number(l, "DDBLOCK_WAIT_MS", &f->wait_ms);
	(void)history_number(l, "DDBLOCK_MAX_HOLD_MS", &f->max_hold_ms);
	(void)history_number(l, "DDBLOCK_KEEPALIVE_MS", &f->keepalive_ms);
	(void)history_number(l, "DDBLOCK_DANGER_MS", &f->danger_ms);
	(void)history_number(l, "DDBLOCK_LINGER_MS", &f->linger_ms);
	(void)history_number(l, "DDBLOCK_AT_LEAST_MS", &f->at_least_ms);
	(void)history_number(l, "DDBLOCK_EVERY_MS", &f->every_ms);
	f->at_end = history_text(l, "DDBLOCK_COUNTS") != NULL;
	(void)history_number(l, "DDBLOCK_PROCESS", &f->process);
	f->manual = history_text(l, "DDBLOCK_RENEW") != NULL;
	f->reentrant = history_text(l, "DDBLOCK_REENTRANT") != NULL;
	f->stays = history_text(l, "DDBLOCK_ON_CLOSE") != NULL;
	f->due_ms = history_due_ms(l, f);
	if (f->key == NULL || strlen(f->key) >= FACT_KEY_MAX ||
	    !history_namespace(l, &f->namespace_index))
		return history_fail(l, "no key, a long one, or no namespace");
	return 0;
}

static int
history_outlived(struct history_line *l, struct fact *f)
{
	f->kind = FACT_OUTLIVED;
	return history_number(l, "DDBLOCK_PROCESS", &f->process) ? 0 :
	    history_fail(l, "no process");
}

static int
history_answered(struct history_line *l, struct fact *f)
{
	const char *word = history_text(l, "DDBLOCK_CODE");
	bool granted;

	f->kind = FACT_ANSWERED;
	f->verb = history_verb(l);
	if (word == NULL || f->verb == 0 ||
	    !history_number(l, "DDBLOCK_REQUEST", &f->request))
		return history_fail(l, "no request or no code");
	f->code = error_from_word(word, strlen(word));
	if (f->code == 0 && strcmp(word, "OK") != 0)
		return history_fail(l, "an unknown code");
	if (f->code != 0)
		return 0;
	granted = f->verb == CORE_ACQUIRE || f->verb == CORE_DOWNGRADE;
	/* A fail-closed hold has none. */
	if (!history_number(l, "DDBLOCK_UNTIL_BOOT_MS", &f->until_ms) &&
	    granted && history_text(l, "DDBLOCK_POLICY") == NULL)
		return history_fail(l, "no deadline");
	if (granted && (!history_number(l, "DDBLOCK_HOLD", &f->hold) ||
		!history_number(l, "DDBLOCK_TOKEN", &f->token)))
		return history_fail(l, "no hold or no token");
	(void)history_number(l, "DDBLOCK_END_BOOT_MS", &f->end_ms);
	f->resumes = history_text(l, "DDBLOCK_RESUMES") != NULL;
	return 0;
}

/*
 * A client resumes a hold: the hold continues, or the client is told why not.
 */
static int
history_taken(struct history_line *l, struct fact *f)
{
	f->kind = FACT_TAKEN;
	f->loss = history_loss(l);
	if (!history_number(l, "DDBLOCK_HOLD", &f->hold) ||
	    (!history_number(l, "DDBLOCK_UNTIL_BOOT_MS", &f->until_ms) &&
	    f->loss == 0))
		return history_fail(l, "resumed without a hold, a deadline or "
		    "a reason");
	return 0;
}

/* What a daemon goes on with. A fail-closed hold has no deadline. */
static int
history_kept(struct history_line *l, struct fact *f)
{
	f->kind = FACT_KEPT;
	f->key = history_text(l, "DDBLOCK_KEY");
	f->loss = history_loss(l);
	(void)history_number(l, "DDBLOCK_UNTIL_BOOT_MS", &f->until_ms);
	if (!history_number(l, "DDBLOCK_HOLD", &f->hold) ||
	    (!history_number(l, "DDBLOCK_TOKEN", &f->token) && f->loss == 0) ||
	    f->key == NULL || !history_namespace(l, &f->namespace_index))
		return history_fail(l, "it keeps a hold without its number, "
		    "lock or token");
	return 0;
}

static int
history_notice(struct history_line *l, struct fact *f, enum fact_kind kind)
{
	f->kind = kind;
	f->loss = history_loss(l);
	if (!history_number(l, "DDBLOCK_HOLD", &f->hold) ||
	    (kind == FACT_LOST && f->loss == 0) || (kind != FACT_LOST &&
		!history_number(l, "DDBLOCK_UNTIL_BOOT_MS", &f->until_ms)))
		return history_fail(l, "a notice without its hold, reason or "
		    "deadline");
	return 0;
}

static void
history_left(const struct history_line *l, struct fact *f)
{
	f->kind = FACT_LEFT;
	f->loss = history_loss(l);
}

/* No history has the answers of watches. */
static bool
history_is_watch(const struct history_line *l)
{
	const char *verb = history_text(l, "DDBLOCK_VERB");

	return verb != NULL && (strcmp(verb, "WATCH") == 0 ||
	    strcmp(verb, "UNWATCH") == 0);
}

int
history_told(struct history_line *l, const char *event)
{
	struct fact f = { .host = l->life->host };
	bool client = history_number(l, "DDBLOCK_CLIENT", &f.client);
	int r = 0;

	if (history_is_watch(l))
		return 0;
	if (strcmp(event, "asked") == 0)
		r = history_asked(l, &f);
	else if (strcmp(event, "answered") == 0)
		r = history_answered(l, &f);
	else if (strcmp(event, "danger") == 0)
		r = history_notice(l, &f, FACT_IN_DANGER);
	else if (strcmp(event, "safe") == 0)
		r = history_notice(l, &f, FACT_SAFE);
	else if (strcmp(event, "lost") == 0)
		r = history_notice(l, &f, FACT_LOST);
	else if (strcmp(event, "taken") == 0)
		r = history_taken(l, &f);
	else if (strcmp(event, "kept") == 0)
		r = history_kept(l, &f);
	else if (strcmp(event, "heard") == 0)
		f.kind = FACT_HEARD;
	else if (strcmp(event, "left") == 0)
		history_left(l, &f);
	else if (strcmp(event, "outlived") == 0)
		r = history_outlived(l, &f);
	else
		return 0;	/* for people */
	if (r == 0 && !client)
		r = history_fail(l, "no client");
	if (r < 0)
		return r;
	f.client = history_client(l, f.client);
	history_add_told(l, &f);
	return 0;
}

int
history_renewed(struct history_line *l)
{
	struct fact f = { .kind = FACT_RENEWED, .host = l->life->host };

	if (!history_namespace(l, &f.namespace_index) ||
	    !history_number(l, "DDBLOCK_UNTIL_BOOT_MS", &f.until_ms))
		return history_fail(l, "a renewal of nothing");
	history_add_told(l, &f);
	return 0;
}
