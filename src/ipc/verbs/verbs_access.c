/*
 * ACCESS: what the rules let a user do, and which of them decides that. About a
 * user by numbers, so that nothing has to be looked up here.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "ddblock.h"
#include "ipc/connection/rights.h"
#include "ipc/verbs/room.h"

#define ACCESS_GROUPS_MAX 65536	/* as many as the kernel lets a process have */

/* The numbers of groups=: a count, or a code with its reason. */
static int
access_groups(struct connection *c, const struct codec_text *text,
    gid_t *groups, size_t *ret_count)
{
	const char *word = text->bytes;

	while (word != NULL) {
		size_t left = text->length - (size_t)(word - text->bytes);
		const char *comma = memchr(word, ',', left);
		size_t length = comma == NULL ? left : (size_t)(comma - word);
		uint64_t number;

		if (!codec_parse_number(word, length, &number) ||
		    number >= UINT32_MAX || *ret_count == ACCESS_GROUPS_MAX)
			return connection_reason(c, DDBLOCK_E_BAD_REQUEST,
			    "groups are numbers with commas between");
		groups[(*ret_count)++] = (gid_t)number;
		word = comma == NULL ? NULL : comma + 1;
	}
	return 0;
}

/* The user that the request is about; its groups are to be freed. */
static int
access_client(struct connection *c, const struct protocol_request *q,
    struct access_client *ret, gid_t **ret_groups)
{
	const struct codec_text *text = protocol_text(q, ARGUMENT_GROUPS);
	const struct codec_text *unit = protocol_text(q, ARGUMENT_UNIT);
	int r;

	*ret = (struct access_client){
		.uid = (uid_t)protocol_number(q, ARGUMENT_UID),
		.gid = (gid_t)-1,
		.unit = unit == NULL ? "" : unit->bytes,
	};
	*ret_groups = NULL;
	if (text != NULL) {
		*ret_groups = calloc(text->length / 2 + 1, sizeof(gid_t));
		if (*ret_groups == NULL)
			return connection_reason(c, DDBLOCK_E_LIMIT,
			    "out of memory");
		r = access_groups(c, text, *ret_groups, &ret->n_groups);
		if (r < 0)
			return r;
	}
	ret->groups = *ret_groups;
	ret->standing = rights_standing_of(c->server, ret);
	return 0;
}

/* The rule that says so; NULL: none does. */
static void
access_by(struct buffer *b, const struct access_rule *rule)
{
	char where[ACCESS_TEXT_MAX];

	if (rule == NULL)
		return;
	codec_text_value(b, "rule", rule->name);
	access_where(rule, where);
	codec_text_value(b, "where", where);
}

static struct buffer *
access_begin_row(struct connection *c, const struct protocol_request *q,
    uint32_t namespace_index)
{
	const struct server *s = c->server;
	struct buffer *b = connection_out(c);

	codec_begin(b, q->line->tag.bytes, "+");
	codec_text_value(b, "ns", s->calls.namespace_name(s->arg,
	    namespace_index));
	return b;
}

static void
access_row(struct connection *c, const struct protocol_request *q,
    uint32_t namespace_index, const struct rights_answer *a)
{
	struct buffer *b = access_begin_row(c, q, namespace_index);

	codec_text_value(b, "right", access_word(a->right));
	codec_boolean(b, "allowed", a->allowed);
	access_by(b, a->rule);
	codec_end(b, NULL);
}

/* Of the limits those that there are; how many? */
static uint64_t
access_limit_rows(struct connection *c, const struct protocol_request *q,
    uint32_t namespace_index, const struct access_client *client)
{
	const struct access_rule *rule;
	uint64_t n = 0, most;

	for (int i = 0; i < ACCESS_LIMITS; i++) {
		struct buffer *b;

		most = rights_explain_limit(c->server, client,
		    (enum access_limit)i, &rule);
		if (most == 0)
			continue;
		b = access_begin_row(c, q, namespace_index);
		codec_text_value(b, "setting",
		    access_limit_word((enum access_limit)i));
		codec_number(b, "most", most);
		access_by(b, rule);
		codec_end(b, NULL);
		n++;
	}
	return n;
}

int
verbs_access(struct connection *c, const struct protocol_request *q)
{
	const struct codec_text *key = protocol_text(q, ARGUMENT_KEY);
	struct key name;
	struct access_client client;
	struct rights_answer answer;
	uint32_t namespace_index = 0;
	gid_t *groups = NULL;
	uint64_t n = 0;
	struct buffer *b;
	int r = request_namespace(c, q, &namespace_index);

	if (r == 0)
		r = rights_check(c, namespace_index, NULL, ACCESS_ADMIN);
	if (r == 0)
		r = access_client(c, q, &client, &groups);
	if (r < 0) {
		free(groups);
		return r;
	}
	if (key != NULL)
		name = (struct key){ key->bytes, key->length };
	for (unsigned right = 1; right < ACCESS_ALL; right <<= 1, n++) {
		answer.right = right;
		rights_explain(c->server, &client, namespace_index,
		    key == NULL ? NULL : &name, &answer);
		access_row(c, q, namespace_index, &answer);
	}
	n += access_limit_rows(c, q, namespace_index, &client);
	free(groups);
	b = connection_out(c);
	codec_begin(b, q->line->tag.bytes, "OK");
	codec_number(b, "rows", n);
	codec_end(b, NULL);
	connection_queued(c);
	return 0;
}
