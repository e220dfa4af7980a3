/*
 * Blanks and lines as Python's texts have them (pure): botocore reads the
 * files of profiles with it, so what it takes away at the ends of a value (a
 * no-break space from a web page, say) is not part of a key of ours either.
 */
#ifndef DDBLOCKD_IDENTITY_PROFILE_TEXT_H
#define DDBLOCKD_IDENTITY_PROFILE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/* A piece of a text; nothing ends it. */
struct profile_span {
	char *at;
	size_t length;
};

/* Without blanks at the ends. @indent: characters taken away in front; or
 * NULL. */
struct profile_span profile_strip(struct profile_span, size_t *indent);

/*
 * Cut the next line off @rest; false: there is none. The line has not got what
 * ended it: LF, CR, both; or, within values (@inner), whatever Unicode says
 * ends a line.
 */
bool profile_line(struct profile_span *rest, bool inner,
    struct profile_span *line);

#endif
