/*
 * The project's other programs, which some commands are done by.
 */
#ifndef DDBLOCKD_CLI_SIBLING_H
#define DDBLOCKD_CLI_SIBLING_H

/*
 * Become the program @arguments[0]: the one beside this program, as in a build
 * directory, or else the one in @directory, or on the PATH. It returns only if
 * it cannot: complains, and returns the exit status.
 */
int sibling_exec(const char *directory, char **arguments);

#endif
