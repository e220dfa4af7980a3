/*
 * ddblock check --access: what the daemon's rules let a user do, and which rule
 * says so. The user and its groups are looked up here, as the daemon sees them
 * of a process that has logged in.
 */
#include <config.h>

#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/rows.h"
#include "cli/command/command.h"
#include "common/buffer.h"
#include "ipc/codec.h"

#define ACCESS_GROUPS_MAX 65536

struct access_user {
	char uid[24];
	struct buffer groups;	/* "4,100"; empty: none */
};

/* False: there is no memory. */
static bool
access_groups(const struct passwd *entry, struct buffer *ret)
{
	gid_t *groups = NULL, *grown;
	int n = 16, room;

	do {
		room = n *= 2;
		grown = reallocarray(groups, (size_t)n, sizeof(*groups));
		if (grown == NULL) {
			free(groups);
			return false;
		}
		groups = grown;
	} while (getgrouplist(entry->pw_name, entry->pw_gid, groups, &room) <
	    0 && n < ACCESS_GROUPS_MAX);
	for (int i = 0; i < room && i < n; i++)
		(void)buffer_printf(ret, "%s%lu", i > 0 ? "," : "",
		    (unsigned long)groups[i]);
	free(groups);
	return buffer_failed(ret) == 0;
}

/* 0, or an exit status after a complaint. A number without a user is good. */
static int
access_find(const char *name, struct access_user *ret)
{
	const struct passwd *entry = getpwnam(name);
	uint64_t number = 0;

	if (entry == NULL) {
		if (!codec_parse_number(name, strlen(name), &number)) {
			cli_say("there is no user \"%s\"", name);
			return CLI_USAGE;
		}
		entry = number < UINT32_MAX ? getpwuid((uid_t)number) : NULL;
	} else {
		number = entry->pw_uid;
	}
	(void)snprintf(ret->uid, sizeof(ret->uid), "%llu",
	    (unsigned long long)number);
	if (entry != NULL && !access_groups(entry, &ret->groups)) {
		cli_say("out of memory");
		return CLI_FAILED;
	}
	return 0;
}

int
check_access(struct cli *cli, const char *user, const char *unit)
{
	struct rows_view view = {
		.kind = DDBLOCK_QUERY_ACCESS,
		.query = DDBLOCK_QUERY_OPTIONS_INIT,
		.columns = "right allowed setting? most? rule where",
		.about = "cannot ask for the rules of access",
	};
	const char *colon = strchr(user, ':');
	struct access_user found = { 0 };
	char *name = strndup(user, colon == NULL ? strlen(user) :
	    (size_t)(colon - user));
	int status;

	buffer_init(&found.groups, CODEC_LINE_MAX / 2);
	if (name == NULL) {
		cli_say("out of memory");
		status = CLI_FAILED;
	} else {
		status = access_find(name, &found);
	}
	if (status == 0) {
		view.query.ns = cli->ns;
		view.query.key = colon == NULL ? NULL : colon + 1;
		view.query.uid = found.uid;
		view.query.groups = found.groups.length == 0 ? NULL :
		    found.groups.data;
		view.query.unit = unit;
		status = rows_print(cli, &view);
	}
	free(name);
	buffer_done(&found.groups);
	return status;
}
