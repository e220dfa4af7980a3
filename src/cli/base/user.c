/*
 * Users of this machine, by name or by number.
 */
#include <config.h>

#include "cli/base/user.h"

#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>

#include "ipc/codec.h"

bool
user_number(const char *text, uint64_t *ret_uid)
{
	const struct passwd *user = getpwnam(text);

	if (user == NULL)
		return codec_parse_number(text, strlen(text), ret_uid);
	*ret_uid = user->pw_uid;
	return true;
}

const char *
user_name(uint64_t uid)
{
	static char name[64];
	static uint64_t known = UINT64_MAX;
	const struct passwd *user;

	if (uid == known && name[0] != '\0')
		return name;
	user = getpwuid((uid_t)uid);
	known = uid;
	if (user != NULL)
		(void)snprintf(name, sizeof(name), "%s", user->pw_name);
	else
		(void)snprintf(name, sizeof(name), "uid %" PRIu64, uid);
	return name;
}
