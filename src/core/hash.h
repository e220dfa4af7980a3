/*
 * A hash table for what there may be very many of: an object pays for its place
 * in one with a pointer (a handle of uthash has 56 bytes). It keeps no order.
 * Once the table is there, adding cannot fail, and no step pays for the growth
 * of the whole table.
 */
#ifndef DDBLOCKD_CORE_HASH_H
#define DDBLOCKD_CORE_HASH_H

#include <stddef.h>
#include <stdint.h>

/* Embedded in the object that it belongs to. */
struct hash_link {
	struct hash_link *next;
};

/* Of the object's key; the same as long as it is in a table. */
typedef uint32_t (*hash_fn)(const struct hash_link *);

struct hash_table {
	struct hash_link **chains;
	uint32_t n_chains;
	uint32_t n_halves;	/* of them: the power of two up to it */
	uint32_t n_places;	/* room for so many chains */
	uint32_t n;
	hash_fn hash;
};

/* DDBLOCK_E_NOMEM */
int hash_init(struct hash_table *, hash_fn);

/* Zeroed is fine, too. Its entries do not change. */
void hash_done(struct hash_table *);

/* So many are to come: it need not grow with them. */
void hash_reserve(struct hash_table *, size_t n);

/* @hash is that of its key: the table's function would say the same, which is
 * called only when the table grows. */
void hash_add(struct hash_table *, struct hash_link *, uint32_t hash);
void hash_remove(struct hash_table *, struct hash_link *, uint32_t hash);

/* The chain of entries that may have this hash, for the caller to compare. */
struct hash_link *hash_chain(const struct hash_table *, uint32_t hash);

/* What comes after @link, or first of all if it is NULL; NULL: nothing. The one
 * returned may be removed, once its successor was asked for. */
struct hash_link *hash_next(const struct hash_table *,
    const struct hash_link *);

#endif
