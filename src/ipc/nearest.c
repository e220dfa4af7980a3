/*
 * "Did you mean": the known word with the fewest edits, so that a misspelt
 * argument is put right at a glance.
 */
#include "ipc/nearest.h"

#include <stdbool.h>
#include <string.h>

#define NEAREST_LENGTH_MAX 24
#define NEAREST_EDITS_MAX 2

static size_t
nearest_min(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Small and capital letters are alike here, in ASCII. */
static bool
nearest_alike(char a, char b)
{
	if (a >= 'a' && a <= 'z')
		a = (char)(a - 'a' + 'A');
	if (b >= 'a' && b <= 'z')
		b = (char)(b - 'a' + 'A');
	return a == b;
}

/* Insertions, deletions, changes and swaps of neighbours. */
static size_t
nearest_edits(const char *a, size_t a_length, const char *b, size_t b_length)
{
	size_t rows[3][NEAREST_LENGTH_MAX + 1];
	size_t *before = rows[0], *last = rows[1], *row = rows[2];

	for (size_t k = 0; k <= b_length; k++)
		last[k] = k;
	for (size_t i = 1; i <= a_length; i++) {
		size_t *swap = before;

		row[0] = i;
		for (size_t k = 1; k <= b_length; k++) {
			bool same = nearest_alike(a[i - 1], b[k - 1]);

			row[k] = nearest_min(last[k - 1] + !same,
			    nearest_min(last[k], row[k - 1]) + 1);
			if (i > 1 && k > 1 &&
			    nearest_alike(a[i - 1], b[k - 2]) &&
			    nearest_alike(a[i - 2], b[k - 1]))
				row[k] = nearest_min(row[k], before[k - 2] + 1);
		}
		before = last;
		last = row;
		row = swap;
	}
	return last[b_length];
}

const char *
nearest_word(const char *word, size_t length, const char *const *words,
    size_t n_words)
{
	size_t best = NEAREST_EDITS_MAX + 1;
	const char *nearest = NULL;

	if (length > NEAREST_LENGTH_MAX)
		return NULL;
	for (size_t i = 0; i < n_words; i++) {
		size_t n = strlen(words[i]);
		size_t edits;

		if (n > NEAREST_LENGTH_MAX)
			continue;
		edits = nearest_edits(word, length, words[i], n);
		/* If all letters must change, the word is not similar. */
		if (edits < best && edits < n) {
			best = edits;
			nearest = words[i];
		}
	}
	return nearest;
}
