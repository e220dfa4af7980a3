/*
 * The project's other programs, which some commands are done by.
 */
#ifndef DDBLOCKD_CLI_BESIDE_H
#define DDBLOCKD_CLI_BESIDE_H

/*
 * Become the program @arguments[0]: the one beside this program, as in a build
 * directory, or else the one in @directory, or on the PATH. It returns only if
 * it cannot: complains, and returns the exit status.
 */
int beside_become(const char *directory, char **arguments);

#endif
