/*
 * "Did you mean": the word probably meant by an unknown word.
 */
#ifndef DDBLOCKD_IPC_NEAREST_H
#define DDBLOCKD_IPC_NEAREST_H

#include <stddef.h>

/* The word most like @word, or NULL if none is. */
const char *nearest_word(const char *word, size_t length,
    const char *const *words, size_t n_words);

#endif
