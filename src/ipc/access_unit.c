/*
 * The unit of a process, from its cgroup, as systemd names these: slices, each
 * in another, and in the last of them the unit. What is below is made by the
 * unit itself (user@1000.service has a manager of its own, a container its
 * engine), so its names say nothing.
 */
#include <string.h>

#include "ipc/access.h"

#define UNIT_SLICE ".slice"

/* What follows the first colon but one of its line; NULL: there is none such.
 * The manager's own hierarchy, in the old layout and in the one between; else
 * the only one that there is in the new. */
static const char *
unit_path(const char *text, size_t *ret_length)
{
	static const char named[] = ":name=systemd:", only[] = "0::";
	const char *found = NULL, *end;
	const char *next;

	for (; *text != '\0'; text = next) {
		const char *colon = strchr(text, ':');

		end = strchr(text, '\n');
		if (end == NULL)
			return NULL;	/* it was cut */
		next = end + 1;
		if (colon != NULL && colon < end &&
		    strncmp(colon, named, sizeof(named) - 1) == 0)
			found = colon + sizeof(named) - 1;
		else if (strncmp(text, only, sizeof(only) - 1) == 0 &&
		    found == NULL)
			found = text + sizeof(only) - 1;
		else
			continue;
		*ret_length = (size_t)(end - found);
	}
	return found;
}

static bool
unit_ends_with(const char *name, size_t length, const char *end)
{
	size_t n = strlen(end);

	return length > n && memcmp(name + length - n, end, n) == 0;
}

bool
access_unit(const char *cgroup, char ret[ACCESS_UNIT_MAX])
{
	size_t left = 0, to = 0;
	const char *path = unit_path(cgroup, &left);
	bool slice = true;

	if (path == NULL || left == 0 || *path != '/' ||
	    unit_ends_with(path, left, " (deleted)"))
		return false;
	while (slice && left > 1) {
		const char *name = path + 1, *end = memchr(name, '/', left - 1);
		size_t length = end == NULL ? left - 1 : (size_t)(end - name);

		/* It is outside of what this process may see. */
		if (length == 0 || (length == 2 && memcmp(name, "..", 2) == 0))
			return false;
		path += length + 1;
		left -= length + 1;
		slice = unit_ends_with(name, length, UNIT_SLICE);
		/* A name that could be one of the kernel's files. */
		if (*name == '_' && length > 1) {
			name++;
			length--;
		}
		if (to + length + 2 > ACCESS_UNIT_MAX)
			return false;
		if (to > 0)
			ret[to++] = '/';
		memcpy(ret + to, name, length);
		to += length;
	}
	ret[to] = '\0';
	return true;
}

bool
access_is_unit(const char *unit, const char *name)
{
	size_t length = strlen(name);

	while (*unit != '\0') {
		size_t n = strcspn(unit, "/");

		if (n == length && memcmp(unit, name, n) == 0)
			return true;
		unit += n + (unit[n] == '/');
	}
	return false;
}
