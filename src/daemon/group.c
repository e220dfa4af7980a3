/*
 * A group of the configuration, by its name or its number.
 */
#include <config.h>	/* the build's */

#include "daemon/group.h"

#include <grp.h>
#include <stdint.h>
#include <string.h>

#include "ipc/codec.h"

/* A name of digits alone counts before a number, as with chown(1). */
bool
group_find(const char *name, gid_t *ret)
{
	const struct group *group = getgrnam(name);
	uint64_t number;

	if (group != NULL) {
		*ret = group->gr_gid;
		return true;
	}
	if (!codec_parse_number(name, strlen(name), &number) ||
	    number >= (gid_t)-1)
		return false;
	*ret = (gid_t)number;
	return true;
}
