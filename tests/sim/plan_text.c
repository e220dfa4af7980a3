/*
 * Reading a plan. A line becomes words, a sentence takes its words one by one,
 * and a word that is left over or does not fit is an error with its line.
 */
#include "plan_reader.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define LINE_MAX_BYTES 256
#define TRACE_FOLLOWS "--- trace\n"	/* and the plan is over */

static bool
reader_says(const struct reader *r, const char *name)
{
	const struct setting *s = plan_world_settings;

	while (strcmp(s->name, name) != 0)
		s++;
	return (r->said & UINT64_C(1) << (s - plan_world_settings)) != 0;
}

/* Times that are not given follow from the lease. */
static void
reader_derive(struct reader *r)
{
	struct plan derived = *r->plan;

	plan_derive(&derived.ns);
	/* Checks of the given values. */
	if (reader_says(r, "request") &&
	    derived.ns.try_ms > r->plan->ns.request_ms)
		derived.ns.try_ms = r->plan->ns.request_ms;
	for (const struct setting *s = plan_world_settings; s->name != NULL;
	    s++)
		if (s->derived && !reader_says(r, s->name))
			memcpy((char *)r->plan + s->offset,
			    (const char *)&derived + s->offset,
			    sizeof(uint64_t));
}

static int
reader_trace(struct reader *r)
{
	const char *word = reader_take(r);
	uint64_t said = 0;

	if (r->plan->trace != NULL)
		return reader_fail(r, "what to trace is said twice");
	if (*word == '\0' ||
	    word[strspn(word, "abcdefghijklmnopqrstuvwxyz,")] != '\0')
		return reader_fail(r, "'%s' should be words such as "
		    "told,script", word);
	r->plan->trace = strdup(word);
	if (r->plan->trace == NULL)
		return reader_fail(r, "no memory");
	return reader_settings(r, plan_trace_settings, r->plan, &said);
}

static int
reader_expect(struct reader *r)
{
	uint64_t said = 0;

	if (r->plan->expect.losses != PLAN_WHATEVER ||
	    r->plan->expect.grants != PLAN_WHATEVER ||
	    r->plan->expect.changes != PLAN_WHATEVER)
		return reader_fail(r, "this is said twice");
	if (*reader_look(r) == '\0')
		return reader_fail(r, "nothing is expected");
	return reader_settings(r, plan_expect_settings, &r->plan->expect,
	    &said);
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
reader_format(struct reader *r)
{
	const char *word = reader_take(r);
	struct plan_namespace n = { .format = FORMATS };
	uint32_t namespace_index = 0;
	uint64_t said = 0;

	for (enum plan_format f = FORMAT_NATIVE; f < FORMATS; f++)
		if (strcmp(plan_format_name(f), word) == 0)
			n.format = f;
	if (n.format == FORMATS)
		return reader_fail(r, "there is no format '%s'", word);
	if (strncmp(reader_look(r), "ns=", 3) == 0 &&
	    reader_namespace(r, reader_take(r) + 3, &namespace_index) < 0)
		return -1;
	if (r->plan->namespaces[namespace_index].format != FORMAT_NATIVE)
		return reader_fail(r, "this is said twice");
	r->plan->namespaces[namespace_index] = n;
	return reader_settings(r, plan_format_settings,
	    &r->plan->namespaces[namespace_index], &said);
}

/* They come in the order of their letters. */
static int
reader_peer(struct reader *r)
{
	unsigned n = r->plan->n_peers;
	const char *word = reader_take(r);
	struct plan_peer *peer = &r->plan->peers[n];
	uint64_t said = 0;

	if (n == PLAN_PEERS_MAX ||
	    word[0] != plan_machine_name(PLAN_PEER_FIRST + n) ||
	    word[1] != '\0')
		return reader_fail(r, "the next peer is not '%s'", word);
	word = reader_take(r);
	for (enum peer_kind k = PEER_JAVA; k < PEER_KINDS; k++)
		if (strcmp(plan_peer_name(k), word) == 0)
			peer->kind = k;
	if (peer->kind == PEER_NONE)
		return reader_fail(r, "there is no older client '%s'", word);
	r->plan->n_peers++;
	return reader_settings(r, plan_peer_settings, peer, &said);
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
	if (strcmp(word, "format") == 0)
		return reader_format(r);
	if (strcmp(word, "peer") == 0)
		return reader_peer(r);
	if (reader_host(r, reader_take(r), &host) < 0)
		return -1;
	if (plan_is_peer(host))
		return reader_fail(r, "its line begins with peer");
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
	    strcmp(word, "host") == 0 || strcmp(word, "format") == 0 ||
	    strcmp(word, "peer") == 0)
		n = reader_head(r, word);
	else if (strcmp(word, "trace") == 0)
		n = reader_trace(r);
	else if (strcmp(word, "expect") == 0)
		n = reader_expect(r);
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
		if (strcmp(line, TRACE_FOLLOWS) == 0)
			break;
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
