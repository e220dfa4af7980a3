/*
 * The unit of a process, from its cgroup, as systemd names these: slices, each
 * in another, and in the last of them the unit. What is below is made by the
 * unit itself (user@1000.service has a manager of its own, a container its
 * engine), so its names say nothing.
 */
#include <string.h>

#include "ipc/access.h"

#define UNIT_SLICE ".slice"

/* Its path in the new hierarchy, which systemd uses where it is there, also
 * beside the old ones. It is "/" where only those are: then the path in
 * systemd's own of them, if there is one. NULL: the text was cut. */
static const char *
unit_path(const char *text, size_t *ret_length)
{
	static const char named[] = ":name=systemd:/", only[] = "0::/";
	const char *path = NULL, *next;

	*ret_length = 0;
	for (; *text != '\0'; text = next) {
		const char *end = strchr(text, '\n');
		const char *colon = strchr(text, ':');

		if (end == NULL)
			return NULL;
		next = end + 1;
		if (strncmp(text, only, sizeof(only) - 1) == 0 &&
		    (path == NULL || end - text >= (ptrdiff_t)sizeof(only)))
			path = text + sizeof(only) - 2;
		else if (colon != NULL && *ret_length <= 1 &&
		    strncmp(colon, named, sizeof(named) - 1) == 0)
			path = colon + sizeof(named) - 2;
		else
			continue;
		*ret_length = (size_t)(end - path);
	}
	return path;
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

	if (path == NULL || unit_ends_with(path, left, " (deleted)"))
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
