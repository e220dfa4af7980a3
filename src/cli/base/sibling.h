/*
 * The project's other programs, which do some of the commands.
 */
#ifndef DDBLOCKD_CLI_BASE_SIBLING_H
#define DDBLOCKD_CLI_BASE_SIBLING_H

/*
 * Become the program @arguments[0]: the one beside this program, as in a build
 * directory, or else the one in @directory, or on the PATH. It returns only if
 * it cannot: complains, and returns the exit status.
 */
int sibling_exec(const char *directory, char **arguments);

#endif
