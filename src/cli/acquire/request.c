/*
 * The locks that a command asks for.
 */
#include <config.h>

#include "cli/acquire/request.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ipc/codec.h"

static bool
request_add_key(struct lock_request *request, const char *key)
{
	if (request->n_keys == DDBLOCK_KEYS_MAX)
		return false;
	request->keys[request->n_keys++] = key;
	return true;
}

/* Can the options be combined? NULL, or the complaint. */
static const char *
request_complaint(const struct lock_request *request)
{
	if (request->no_wait && request->has_wait)
		return "-n does not wait, and -w does: name one of them";
	if (request->exclusive && request->options.mode == DDBLOCK_SHARED)
		return "-x has the lock alone, -s and -c share it: name one "
		    "of them";
	if (request->has_counts && request->options.every_ms == 0)
		return "--counts says which run counts for --every: name that, "
		    "too";
	return contents_complaint(&request->contents);
}

int
request_operand(struct cli *cli, struct lock_request *request, int argc,
    char **argv)
{
	const char *complaint = request_complaint(request);

	if (complaint != NULL)
		return cli_misused(cli, "%s", complaint);
	if (request->n_keys == 0) {
		if (optind == argc)
			return cli_misused(cli, "which lock?");
		(void)request_add_key(request, argv[optind++]);
	}
	request->name = request->keys[0];
	if (request->n_keys > 1) {
		(void)snprintf(request->multi_name, sizeof(request->multi_name),
		    "%.80s and %zu more", request->keys[0],
		    request->n_keys - 1);
		request->name = request->multi_name;
	}
	return 0;
}

bool
request_option(struct lock_request *request, enum cli_option option)
{
	struct ddblock_acquire_options *options = &request->options;
	uint64_t number;

	switch (option) {
	case CLI_OPTION_KEY:
		return request_add_key(request, optarg);
	case CLI_OPTION_NONBLOCK:
		request->no_wait = true;
		options->wait_ms = 0;
		return true;
	case CLI_OPTION_EXCLUSIVE:
		request->exclusive = true;
		return true;
	case CLI_OPTION_SHARED:
		options->mode = DDBLOCK_SHARED;
		return true;
	case CLI_OPTION_LIMIT:
		if (!codec_parse_number(optarg, strlen(optarg), &number) ||
		    number == 0 || number > UINT32_MAX)
			return false;
		options->mode = DDBLOCK_SHARED;
		options->limit = (uint32_t)number;
		return true;
	case CLI_OPTION_FAIL_CLOSED:
		options->policy = DDBLOCK_FAIL_CLOSED;
		return true;
	case CLI_OPTION_WAIT:
		request->has_wait = true;
		return cli_parse_wait(optarg, &options->wait_ms);
	case CLI_OPTION_CONFLICT:
		if (!codec_parse_number(optarg, strlen(optarg), &number) ||
		    number > 255)
			return false;
		request->busy_status = (int)number;
		request->not_due_status = (int)number;
		return true;
	case CLI_OPTION_NAME:
		request->client_name = optarg;
		return optarg[0] != '\0';
	case CLI_OPTION_OWNER:
		options->owner = optarg;
		return optarg[0] != '\0';
	case CLI_OPTION_MAX_HOLD:
		return cli_parse_time(optarg, &options->max_hold_ms) &&
		    options->max_hold_ms > 0;
	case CLI_OPTION_AT_LEAST:
		return cli_parse_time(optarg, &options->at_least_ms) &&
		    options->at_least_ms > 0;
	case CLI_OPTION_EVERY:
		return cli_parse_time(optarg, &options->every_ms) &&
		    options->every_ms > 0;
	case CLI_OPTION_COUNTS:
		options->counts_at_end = strcmp(optarg, "succeeded") == 0;
		request->has_counts = true;
		return options->counts_at_end ||
		    strcmp(optarg, "started") == 0;
	case CLI_OPTION_DANGER:
		options->danger_ms = -1;
		return strcmp(optarg, "never") == 0 ||
		    (cli_parse_time(optarg, &options->danger_ms) &&
			options->danger_ms > 0);
	default:
		return contents_option(&request->contents, option);
	}
}

const char *
request_client_name(const struct lock_request *request, const char *own)
{
	const char *name = request->client_name;

	if (name == NULL)
		name = getenv("DDBLOCK_NAME");
	return name == NULL || name[0] == '\0' ? own : name;
}
