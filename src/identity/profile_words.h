/*
 * Words as a POSIX shell has them: blanks, quotes and backslashes, and nothing
 * else of a shell (pure). So are names of sections cut; commands are not
 * (argv.h).
 */
#ifndef DDBLOCKD_IDENTITY_PROFILE_WORDS_H
#define DDBLOCKD_IDENTITY_PROFILE_WORDS_H

#include <stddef.h>

/*
 * Cut @text, where the words then stand. How many there are, also of more than
 * @words_max, of which the first are in @words.
 *
 * DDBLOCK_E_BAD_REQUEST
 *     A quote has no end, or a backslash nothing to quote.
 */
int profile_words(char *text, char **words, size_t words_max);

#endif
