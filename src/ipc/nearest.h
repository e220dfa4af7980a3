/*
 * "Did you mean": what was probably meant by a word that is not known.
 */
#ifndef DDBLOCKD_IPC_NEAREST_H
#define DDBLOCKD_IPC_NEAREST_H

#include <stddef.h>

/* The word most like @word, or NULL if none is. */
const char *nearest_word(const char *word, size_t length,
    const char *const *words, size_t n_words);

#endif
