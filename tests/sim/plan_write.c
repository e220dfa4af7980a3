/*
 * Writing a plan, so that reading it gives the same. Defaults are left out,
 * because these lines are for people, too.
 */
#include "plan_text.h"

#include <inttypes.h>
#include <limits.h>
#include <string.h>

#define SETTINGS_IN_A_LINE 5

/* In the largest unit in which it is a whole number. */
static void
write_duration(FILE *to, uint64_t ms)
{
	static const struct {
		uint64_t ms;
		const char *name;
	} units[] = {
		{ 86400000, "d" }, { 3600000, "h" }, { 60000, "m" },
		{ 1000, "s" }, { 1, "ms" },
	};
	size_t i = 0;

	if (ms == PLAN_FOREVER) {
		(void)fputs("forever", to);
		return;
	}
	if (ms == 0) {
		(void)fputs("0s", to);
		return;
	}
	while (ms % units[i].ms != 0)
		i++;
	(void)fprintf(to, "%" PRIu64 "%s", ms / units[i].ms, units[i].name);
}

static void
write_shift(FILE *to, int64_t ms)
{
	(void)fputc(ms < 0 ? '-' : '+', to);
	write_duration(to, (uint64_t)(ms < 0 ? -ms : ms));
}

/* ---- settings --------------------------------------------------------- */

static void
write_value(FILE *to, const struct setting *s, const void *member)
{
	const uint64_t *n = member;

	if (s->form != SETTING_FLAG)
		(void)fprintf(to, "%s=", s->name);
	switch (s->form) {
	case SETTING_DURATION:
	case SETTING_LONG:
		write_duration(to, *n);
		break;
	case SETTING_SECONDS:
		write_duration(to, *n * 1000);
		break;
	case SETTING_SHIFT:
		write_shift(to, *(const int64_t *)member);
		break;
	case SETTING_PPM:
		(void)fprintf(to, "%" PRIu32 "ppm", *(const uint32_t *)member);
		break;
	case SETTING_RATE:
		(void)fprintf(to, "%+" PRId32 "ppm", *(const int32_t *)member);
		break;
	case SETTING_COUNT:
	case SETTING_NAMESPACE:
		(void)fprintf(to, "%" PRIu32, *(const uint32_t *)member);
		break;
	case SETTING_OF:
		(void)fputc(plan_machine_name(
		    *(const unsigned *)member - 1), to);
		break;
	case SETTING_NUMBER:
		(void)fprintf(to, "%" PRIu64, *n);
		break;
	case SETTING_RANGE:
		write_duration(to, n[0]);
		if (n[0] != n[1]) {
			(void)fputs("..", to);
			write_duration(to, n[1]);
		}
		break;
	case SETTING_FLAG:
		(void)fputs(s->name, to);
		break;
	case SETTING_MODE:
		(void)fputs(*(const bool *)member ? "shared" : "exclusive",
		    to);
		break;
	case SETTING_PHASE:
		(void)fputs(plan_phase_name(
		    *(const enum plan_phase *)member), to);
		break;
	case SETTING_END:
		(void)fputs(plan_end_name(*(const enum plan_end *)member), to);
		break;
	}
}

/* Is it as in @usual? */
static bool
write_is_usual(const struct setting *s, const void *object, const void *usual)
{
	return memcmp((const char *)object + s->offset,
	    (const char *)usual + s->offset, plan_setting_size(s)) == 0;
}

/* The settings of @object that are not as in @usual; @head begins lines. */
static void
write_settings(FILE *to, const char *head, const struct setting *table,
    const void *object, const void *usual)
{
	unsigned n = 0;

	for (const struct setting *s = table; s->name != NULL; s++) {
		if (write_is_usual(s, object, usual))
			continue;
		if (n > 0 && n % SETTINGS_IN_A_LINE == 0)
			(void)fputc('\n', to);
		if (n++ % SETTINGS_IN_A_LINE == 0)
			(void)fputs(head, to);
		(void)fputc(' ', to);
		write_value(to, s, (const char *)object + s->offset);
	}
	if (n > 0)
		(void)fputc('\n', to);
}

/* The same in one line, also if all is as in @usual. */
static void
write_line(FILE *to, const char *head, const struct setting *table,
    const void *object, const void *usual)
{
	(void)fputs(head, to);
	for (const struct setting *s = table; s->name != NULL; s++) {
		if (write_is_usual(s, object, usual))
			continue;
		(void)fputc(' ', to);
		write_value(to, s, (const char *)object + s->offset);
	}
	(void)fputc('\n', to);
}

static void
write_formats(FILE *to, const struct plan *p)
{
	static const struct plan_namespace usual = {
		.format = FORMAT_NATIVE };
	char head[40];
	int n;

	for (uint32_t i = 0; i < p->n_namespaces; i++) {
		const struct plan_namespace *of = &p->namespaces[i];

		if (of->format == FORMAT_NATIVE && of->lease_ms == 0)
			continue;
		n = snprintf(head, sizeof(head), "format %s",
		    plan_format_name(of->format));
		if (i > 0)
			(void)snprintf(head + n, sizeof(head) - (size_t)n,
			    " ns=%" PRIu32, i);
		write_line(to, head, plan_format_settings, of, &usual);
	}
}

static void
write_peers(FILE *to, const struct plan *p, const struct plan *usual)
{
	char head[40];

	for (unsigned i = 0; i < p->n_peers; i++) {
		(void)snprintf(head, sizeof(head), "peer %c %s",
		    plan_machine_name(PLAN_PEER_FIRST + i),
		    plan_peer_name(p->peers[i].kind));
		write_line(to, head, plan_peer_settings, &p->peers[i],
		    &usual->peers[i]);
	}
}

/* The defaults of a plan with this lease and drift. */
static void
write_world(FILE *to, const struct plan *p)
{
	struct plan usual;
	uint32_t drift_ppm;
	char head[8];

	plan_init(&usual);
	drift_ppm = usual.ns.drift_ppm;
	usual.ns.lease_ms = p->ns.lease_ms;
	usual.ns.drift_ppm = p->ns.drift_ppm;
	plan_derive(&usual.ns);
	if (usual.ns.try_ms > p->ns.request_ms)
		usual.ns.try_ms = p->ns.request_ms;
	usual.ns.drift_ppm = drift_ppm;
	/* Always said, because the rest hangs on them. */
	usual.ns.lease_ms = 0;
	usual.n_hosts = UINT_MAX;
	write_settings(to, "world", plan_world_settings, p, &usual);
	write_settings(to, "limits", plan_limit_settings, p, &usual);
	for (unsigned i = 0; i < p->n_hosts; i++) {
		(void)snprintf(head, sizeof(head), "host %c", 'A' + (int)i);
		write_settings(to, head, plan_host_settings, &p->hosts[i],
		    &usual.hosts[i]);
	}
	write_formats(to, p);
	write_peers(to, p, &usual);
}

/* ---- steps ------------------------------------------------------------ */

static void
write_subject(FILE *to, const struct plan_step *s, enum step_subject subject)
{
	if (subject == SUBJECT_CLIENT)
		(void)fprintf(to, "c%u", s->client);
	else if (subject == SUBJECT_CLIENT_AT)
		(void)fprintf(to, "c%u@%c", s->client,
		    plan_machine_name(s->host));
	else if (subject == SUBJECT_HOST)
		(void)fputc(plan_machine_name(s->host), to);
	else
		(void)fputs(subject == SUBJECT_TABLE ? "table" : "hand", to);
}

static void
write_with(FILE *to, const struct plan_step *s, const struct setting *table)
{
	static const struct plan_step usual = { .end = END_RELEASE };

	if (s->key[0] != '\0')
		(void)fprintf(to, " %s", s->key);
	for (const struct setting *each = table; each->name != NULL; each++) {
		if (write_is_usual(each, s, &usual))
			continue;
		(void)fputc(' ', to);
		write_value(to, each, (const char *)s + each->offset);
	}
}

static void
write_message(FILE *to, const struct plan_step *s)
{
	const char *name = s->operation == PLAN_ANY ? "any" :
	    operation_kind_name(s->operation);

	(void)fputc(' ', to);
	for (; *name != '\0'; name++)
		(void)fputc(*name == ' ' ? '-' : *name, to);
	(void)fprintf(to, " %" PRIu32, s->nth);
	if (s->last > 0)
		(void)fprintf(to, "..%" PRIu32, s->last);
	(void)fprintf(to, " %s", plan_fault_name(s->fault));
	if (plan_fault_form(s->fault) == FAULT_DURATION) {
		(void)fputc(' ', to);
		write_duration(to, s->ms);
	} else if (plan_fault_form(s->fault) == FAULT_COUNT) {
		(void)fprintf(to, " %" PRIu32, s->count);
	} else if (plan_fault_form(s->fault) == FAULT_TYPE) {
		(void)fprintf(to, " %s", s->type);
	}
}

void
plan_write_step(const struct plan_step *s, FILE *to)
{
	const struct step_words *words = plan_step_words(s->kind);

	(void)fputs("at ", to);
	write_duration(to, s->at_ms);
	(void)fputc(' ', to);
	write_subject(to, s, words->subject);
	(void)fprintf(to, " %s", plan_step_verb(s->kind));
	switch (words->form) {
	case FORM_NOTHING:
		break;
	case FORM_LOCK:
		write_with(to, s, plan_lock_settings);
		break;
	case FORM_LIST:
		write_with(to, s, plan_list_settings);
		break;
	case FORM_HAND:
		write_with(to, s, plan_hand_settings);
		break;
	case FORM_RELOAD:
		write_with(to, s, plan_reload_settings);
		break;
	case FORM_KEY:
		(void)fprintf(to, " %s", s->key);
		break;
	case FORM_DURATION:
		(void)fputc(' ', to);
		write_duration(to, s->ms);
		break;
	case FORM_SHIFT:
		(void)fputc(' ', to);
		write_shift(to, s->shift_ms);
		break;
	case FORM_COUNTS:
		(void)fprintf(to, " %" PRIu32 " %" PRIu32, s->nth, s->count);
		break;
	case FORM_MESSAGE:
		write_message(to, s);
		break;
	case FORM_SESSION:
		(void)fprintf(to, " %c", 'A' + (int)s->host);
		break;
	case FORM_PHASE:
		(void)fprintf(to, " %s", plan_phase_name(s->phase));
		break;
	}
	if (s->namespace_index > 0 && (words->form == FORM_KEY ||
	    words->form == FORM_SESSION))
		(void)fprintf(to, " ns=%" PRIu32, s->namespace_index);
	(void)fputc('\n', to);
}

void
plan_write(const struct plan *p, FILE *to)
{
	static const struct plan_expect whatever = {
		PLAN_WHATEVER, PLAN_WHATEVER, PLAN_WHATEVER };
	struct plan usual;

	write_world(to, p);
	plan_init(&usual);
	if (p->trace != NULL) {
		(void)fprintf(to, "trace %s", p->trace);
		write_line(to, "", plan_trace_settings, p, &usual);
	}
	write_settings(to, "expect", plan_expect_settings, &p->expect,
	    &whatever);
	for (size_t i = 0; i < p->n_steps; i++)
		plan_write_step(&p->steps[i], to);
	if (p->quiet_ms != p->end_ms) {
		(void)fputs("quiet ", to);
		write_duration(to, p->quiet_ms);
		(void)fputc('\n', to);
	}
	(void)fputs("end ", to);
	write_duration(to, p->end_ms);
	(void)fputc('\n', to);
}
