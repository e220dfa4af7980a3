/*
 * Which credentials, region and endpoint are in use.
 *
 * A round goes: read the files; if they changed, resolve them to a plan and
 * parameters; ask the instance for the region if it is not configured; then
 * from stage to stage (the source, then each role) get the credentials that are
 * due. A round begins when the credentials in use are due, when they were not
 * accepted, and every few minutes for the files.
 *
 * 1. The credentials in use change only in identity_publish(), and never to
 * expired ones while they are valid themselves.
 * 2. There is an errand under way, or a time to wake at; never both or none.
 * 3. A plan that cannot be resolved leaves the one before it in force.
 */
#include "identity/identity.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "identity/identity_files.h"
#include "identity/identity_plan.h"
#include "identity/identity_refresh.h"
#include "identity/source.h"

#define IDENTITY_FILES_MIN_MS 240000	/* between two looks at the files */
#define IDENTITY_FILES_MAX_MS 300000
#define IDENTITY_REJECTED_MIN_MS 30000	/* between two rounds for that */

enum identity_state {
	IDENTITY_IDLE = 0,
	IDENTITY_FILES,
	IDENTITY_REGION,
	IDENTITY_STAGE,
};

/* What a stage gave, and when it is due: the source's, then each role's. */
struct identity_stage {
	struct credentials credentials;
	struct refresh refresh;
};

/* What went wrong last; code 0: nothing. */
struct identity_trouble {
	int code;
	char text[IDENTITY_TEXT_MAX];
};

struct identity {
	struct identity_plan plan;
	struct identity_files files;
	struct source_memory memory;

	enum identity_state state;
	struct source source;	/* REGION and STAGE */
	size_t stage;		/* of STAGE */
	struct identity_stage stages[CHAIN_ROLES_MAX + 1];

	/* In use. */
	struct credentials credentials;
	uint64_t expires_ms;
	const char *name;	/* of the source */
	bool changed;		/* since the last step told */

	uint64_t files_ms;	/* boot time of the next look at the files */
	uint64_t retry_ms;	/* after a failure */
	uint64_t rejected_ms;	/* when it was said; 0: never */
	bool again;		/* it was said amid a round */
	uint64_t refreshed_ms;
	uint32_t failures;
	uint64_t next_ms;
	struct identity_trouble configured;	/* of files, plan and region */
	struct identity_trouble trouble;	/* of getting credentials */
};

/* ---- trouble ---- */

static void
identity_set_trouble(struct identity_trouble *t, int code, const char *text)
{
	t->code = code;
	(void)snprintf(t->text, sizeof(t->text), "%s", text);
}

static void
identity_fail(struct identity *i, const struct identity_now *now,
    struct identity_trouble *t, int code, const char *text)
{
	const struct refresh *last =
	    &i->stages[i->plan.chain.n_roles].refresh;
	bool refused = i->state == IDENTITY_STAGE && i->source.rejected;

	identity_set_trouble(t, code, text);
	if (i->failures < UINT32_MAX)
		i->failures++;
	i->retry_ms = now->boot_ms + refresh_wait_ms(last, i->failures,
	    refused, now);
}

/* ---- the end of a round ---- */

static uint64_t
identity_sooner(uint64_t one, uint64_t other)
{
	return one < other ? one : other;
}

static struct identity_stage *
identity_last(struct identity *i)
{
	return &i->stages[i->plan.chain.n_roles];
}

static uint64_t
identity_due_ms(struct identity *i, const struct identity_now *now)
{
	if (i->failures > 0)
		return i->retry_ms;
	return refresh_due_ms(&identity_last(i)->refresh, now);
}

static void
identity_wait(struct identity *i, const struct identity_now *now,
    struct identity_step *ret)
{
	i->next_ms = identity_due_ms(i, now);
	ret->errand = NULL;
	ret->wake_ms = identity_sooner(i->next_ms, i->files_ms);
}

static void
identity_rest(struct identity *i, const struct identity_now *now,
    struct identity_step *ret)
{
	if (i->state == IDENTITY_REGION || i->state == IDENTITY_STAGE)
		source_done(&i->source);
	identity_files_forget(&i->files);
	i->state = IDENTITY_IDLE;
	if (i->again) {
		i->again = false;
		refresh_drop(&identity_last(i)->refresh);
		i->files_ms = now->boot_ms;
		i->retry_ms = now->boot_ms;
	}
	identity_wait(i, now, ret);
}

/* ---- stages ---- */

static void identity_next_stage(struct identity *, size_t stage,
    const struct identity_now *, struct identity_step *);

/* Others than those in use, unless they are worse. */
static bool
identity_better(const struct identity *i, const struct credentials *c,
    uint64_t wall_ms)
{
	bool expired = c->expires_ms != 0 && wall_ms >= c->expires_ms;

	return !expired || !credentials_exist(&i->credentials) ||
	    (i->expires_ms != 0 && c->expires_ms >= i->expires_ms);
}

/* The last stage has something: put it into use. */
static void
identity_publish(struct identity *i, const struct identity_now *now,
    struct identity_step *ret)
{
	const struct identity_stage *last = identity_last(i);
	const struct source_methods *m = source_of(i->plan.chain.source.kind);
	const struct credentials *c = &last->credentials;
	bool outlives = m->outlives && i->plan.chain.n_roles == 0;
	bool expired = !refresh_valid(&last->refresh, now->wall_ms);

	if (identity_better(i, c, now->wall_ms)) {
		if (!credentials_equal(&i->credentials, c)) {
			if (credentials_copy(&i->credentials, c) < 0) {
				identity_fail(i, now, &i->trouble,
				    DDBLOCK_E_NOMEM,
				    error_text(DDBLOCK_E_NOMEM));
				identity_rest(i, now, ret);
				return;
			}
			i->changed = true;
		}
		i->expires_ms = c->expires_ms;
		i->credentials.expires_ms = c->expires_ms;
		i->name = m->name;
	}
	if (expired && !outlives) {
		identity_fail(i, now, &i->trouble, DDBLOCK_E_NO_CREDENTIALS,
		    "the credentials had expired when they came: this host's "
		    "clock may be wrong, or their source has a problem");
	} else {
		i->failures = 0;
		i->refreshed_ms = now->boot_ms;
		identity_set_trouble(&i->trouble, 0, expired ?
		    "the metadata service gives expired credentials, which "
		    "AWS lets clients use while it is in trouble" : "");
	}
	identity_rest(i, now, ret);
}

static void
identity_stage_failed(struct identity *i, const struct identity_now *now,
    enum source_verdict verdict, struct identity_step *ret)
{
	const struct chain *chain = &i->plan.chain;
	char text[IDENTITY_TEXT_MAX];

	/* What the stage gave before still buys the next. */
	if (i->stage < chain->n_roles &&
	    refresh_valid(&i->stages[i->stage].refresh, now->wall_ms)) {
		source_done(&i->source);
		identity_next_stage(i, i->stage + 1, now, ret);
		return;
	}
	/* It may be the fault of the stages before. */
	if (i->source.rejected)
		for (size_t j = 0; j < i->stage; j++)
			refresh_drop(&i->stages[j].refresh);
	(void)snprintf(text, sizeof(text), "%s%.460s",
	    verdict == SOURCE_ABSENT ? "no source has credentials: " : "",
	    i->source.text);
	identity_fail(i, now, &i->trouble, DDBLOCK_E_NO_CREDENTIALS, text);
	identity_rest(i, now, ret);
}

static void
identity_stage_done(struct identity *i, const struct identity_now *now,
    struct identity_step *ret)
{
	const struct source_methods *m = source_of(i->plan.chain.source.kind);
	struct identity_stage *stage = &i->stages[i->stage];

	credentials_done(&stage->credentials);
	stage->credentials = i->source.credentials;
	i->source.credentials = (struct credentials){ .expires_ms = 0 };
	refresh_take(&stage->refresh, stage->credentials.expires_ms,
	    i->stage == 0 && m->outlives, now);
	source_done(&i->source);
	identity_next_stage(i, i->stage + 1, now, ret);
}

static void
identity_stage_verdict(struct identity *i, const struct identity_now *now,
    enum source_verdict verdict, struct identity_step *ret)
{
	switch (verdict) {
	case SOURCE_WAIT:
		ret->errand = &i->source.errand;
		return;
	case SOURCE_DONE:
		identity_stage_done(i, now, ret);
		return;
	case SOURCE_FAILED:
	case SOURCE_ABSENT:
		identity_stage_failed(i, now, verdict, ret);
		return;
	}
}

static void
identity_source(struct identity *i, const struct source_methods *methods,
    const struct chain_source *from, const struct identity_now *now)
{
	source_init(&i->source, methods);
	i->source.from = from;
	i->source.params = &i->plan.params;
	i->source.home = i->plan.home;
	i->source.memory = &i->memory;
	i->source.wall_ms = now->wall_ms;
}

/* From @stage on, get the credentials that are due. */
static void
identity_next_stage(struct identity *i, size_t stage,
    const struct identity_now *now, struct identity_step *ret)
{
	const struct chain *chain = &i->plan.chain;

	while (stage <= chain->n_roles &&
	    refresh_due_ms(&i->stages[stage].refresh, now) > now->boot_ms)
		stage++;
	if (stage > chain->n_roles) {
		i->state = IDENTITY_FILES;	/* no source to be done with */
		identity_publish(i, now, ret);
		return;
	}
	i->state = IDENTITY_STAGE;
	i->stage = stage;
	identity_source(i, stage == 0 ? source_of(chain->source.kind) :
	    &source_assume_role, &chain->source, now);
	i->source.given = &i->stages[stage].credentials;
	if (stage > 0) {
		i->source.role = &chain->roles[stage - 1];
		i->source.signer = &i->stages[stage - 1].credentials;
	}
	identity_stage_verdict(i, now, i->source.methods->start(&i->source),
	    ret);
}

/* ---- the region ---- */

/* The plan is there: get its credentials if they are due. */
static void
identity_proceed(struct identity *i, const struct identity_now *now,
    struct identity_step *ret)
{
	if (identity_due_ms(i, now) > now->boot_ms) {
		identity_rest(i, now, ret);
		return;
	}
	/* A failure does not make due what is not, but the last stage. */
	if (i->failures > 0)
		refresh_drop(&identity_last(i)->refresh);
	identity_next_stage(i, 0, now, ret);
}

static void
identity_region_verdict(struct identity *i, const struct identity_now *now,
    enum source_verdict verdict, struct identity_step *ret)
{
	char text[IDENTITY_TEXT_MAX];

	if (verdict == SOURCE_WAIT) {
		ret->errand = &i->source.errand;
	} else if (verdict == SOURCE_DONE) {
		identity_plan_set_region(&i->plan, i->source.spare.data);
		i->changed = true;
		source_done(&i->source);
		i->state = IDENTITY_FILES;
		identity_proceed(i, now, ret);
	} else {
		(void)snprintf(text, sizeof(text), "no region is set "
		    "(`region`, or AWS_REGION), and %.380s", i->source.text);
		identity_fail(i, now, &i->trouble, DDBLOCK_E_NO_CREDENTIALS,
		    text);
		identity_rest(i, now, ret);
	}
}

/* ---- files and plan ---- */

static void
identity_replan(struct identity *i, const struct identity_now *now)
{
	char text[IDENTITY_TEXT_MAX] = "";
	bool moved = false;
	int r = identity_plan_resolve(&i->plan, &i->files, &moved, text,
	    sizeof(text));

	if (r < 0) {
		/* Of the old one what is due goes on below. */
		identity_files_suspect(&i->files);
		identity_set_trouble(&i->configured, r, text);
		if (!i->plan.resolved)
			identity_fail(i, now, &i->configured, r, text);
		return;
	}
	i->changed = i->changed || moved;
	identity_set_trouble(&i->configured, 0, "");
	for (size_t j = 0; j <= CHAIN_ROLES_MAX; j++) {
		credentials_done(&i->stages[j].credentials);
		refresh_drop(&i->stages[j].refresh);
	}
	i->failures = 0;
}

static void
identity_read(struct identity *i, const struct identity_now *now,
    struct identity_step *ret)
{
	if (i->files.changed || !i->plan.resolved)
		identity_replan(i, now);
	identity_files_forget(&i->files);
	if (!i->plan.resolved) {
		identity_rest(i, now, ret);
		return;
	}
	if (identity_plan_wants_region(&i->plan) &&
	    (i->failures == 0 || i->retry_ms <= now->boot_ms)) {
		i->state = IDENTITY_REGION;
		identity_source(i, &source_imds_region, &i->plan.metadata,
		    now);
		identity_region_verdict(i, now,
		    i->source.methods->start(&i->source), ret);
		return;
	}
	identity_proceed(i, now, ret);
}

static void
identity_files_verdict(struct identity *i, const struct identity_now *now,
    enum identity_files_verdict verdict, struct identity_step *ret)
{
	switch (verdict) {
	case IDENTITY_FILES_WAIT:
		ret->errand = &i->files.errand;
		return;
	case IDENTITY_FILES_READ:
		identity_read(i, now, ret);
		return;
	case IDENTITY_FILES_FAILED:
		identity_files_suspect(&i->files);
		identity_set_trouble(&i->configured, DDBLOCK_E_NO_CREDENTIALS,
		    i->files.error);
		if (i->plan.resolved) {
			identity_proceed(i, now, ret);
			return;
		}
		identity_fail(i, now, &i->configured,
		    DDBLOCK_E_NO_CREDENTIALS, i->files.error);
		identity_rest(i, now, ret);
		return;
	}
}

static void
identity_round(struct identity *i, const struct identity_now *now,
    struct identity_step *ret)
{
	uint64_t range_ms = IDENTITY_FILES_MAX_MS - IDENTITY_FILES_MIN_MS;

	assert(i->state == IDENTITY_IDLE);
	i->state = IDENTITY_FILES;
	i->files_ms = now->boot_ms + IDENTITY_FILES_MIN_MS +
	    (range_ms * now->random >> 32);
	identity_files_verdict(i, now, identity_files_start(&i->files), ret);
}

/* ---- the outside ---- */

int
identity_new(const struct identity_config *config, struct identity **ret)
{
	struct identity *i = calloc(1, sizeof(*i));
	int r;

	if (i == NULL)
		return DDBLOCK_E_NOMEM;
	source_memory_init(&i->memory);
	i->name = "";
	r = identity_plan_init(&i->plan, config);
	if (r == 0)
		r = identity_files_init(&i->files, config->variable,
		    config->variable_arg, config->home);
	if (r < 0) {
		identity_free(i);
		return r;
	}
	*ret = i;
	return 0;
}

void
identity_free(struct identity *i)
{
	if (i == NULL)
		return;
	if (i->state == IDENTITY_REGION || i->state == IDENTITY_STAGE)
		source_done(&i->source);
	for (size_t j = 0; j <= CHAIN_ROLES_MAX; j++)
		credentials_done(&i->stages[j].credentials);
	credentials_done(&i->credentials);
	source_memory_done(&i->memory);
	identity_files_done(&i->files);
	identity_plan_done(&i->plan);
	free(i);
}

static void
identity_begin(struct identity *i, struct identity_step *ret)
{
	*ret = (struct identity_step){ .wake_ms = UINT64_MAX };
	i->changed = false;
}

void
identity_start(struct identity *i, const struct identity_now *now,
    struct identity_step *ret)
{
	identity_begin(i, ret);
	identity_round(i, now, ret);
	ret->changed = i->changed;
}

void
identity_answer(struct identity *i, const struct identity_now *now,
    const struct errand_answer *answer, struct identity_step *ret)
{
	assert(i->state != IDENTITY_IDLE);
	identity_begin(i, ret);
	if (i->state == IDENTITY_FILES) {
		identity_files_verdict(i, now,
		    identity_files_answer(&i->files, answer), ret);
	} else {
		enum source_verdict verdict;

		i->source.wall_ms = now->wall_ms;
		verdict = i->source.methods->answer(&i->source, answer);
		if (i->state == IDENTITY_REGION)
			identity_region_verdict(i, now, verdict, ret);
		else
			identity_stage_verdict(i, now, verdict, ret);
	}
	ret->changed = i->changed;
}

void
identity_wake(struct identity *i, const struct identity_now *now,
    struct identity_step *ret)
{
	identity_begin(i, ret);
	if (i->state != IDENTITY_IDLE)
		return;
	/* The wall clock may have been set: then it is due, or not yet. */
	if (identity_due_ms(i, now) <= now->boot_ms ||
	    i->files_ms <= now->boot_ms)
		identity_round(i, now, ret);
	else
		identity_wait(i, now, ret);
	ret->changed = i->changed;
}

void
identity_rejected(struct identity *i, const struct identity_now *now,
    const struct credentials *used, struct identity_step *ret)
{
	bool soon = i->rejected_ms != 0 &&
	    now->boot_ms < i->rejected_ms + IDENTITY_REJECTED_MIN_MS;

	identity_begin(i, ret);
	if (!soon && credentials_equal(used, &i->credentials)) {
		i->rejected_ms = now->boot_ms;
		i->again = true;
	}
	if (i->state != IDENTITY_IDLE)
		return;
	identity_rest(i, now, ret);
	if (ret->wake_ms <= now->boot_ms)
		identity_round(i, now, ret);
	ret->changed = i->changed;
}

void
identity_view(const struct identity *i, uint64_t wall_ms,
    struct identity_view *ret)
{
	const struct identity_trouble *t = i->configured.code != 0 ?
	    &i->configured : &i->trouble;

	*ret = (struct identity_view){
		.credentials = credentials_exist(&i->credentials) ?
		    &i->credentials : NULL,
		.params = i->plan.has_params && i->plan.params.region[0] !=
		    '\0' ? &i->plan.params : NULL,
		.source = i->name,
		.about = i->plan.about,
		.stale = i->expires_ms != 0 && wall_ms >= i->expires_ms,
		.refreshed_ms = i->refreshed_ms,
		.next_ms = i->next_ms,
		.failures = i->failures,
		.code = t->code,
		.text = t->text,
		.exposed = identity_files_exposed(&i->files),
	};
}
