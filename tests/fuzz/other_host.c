/*
 * Another host at the same store.
 */
#include "other_host.h"

static const struct holder other = { { 9, 8 }, { 7, 6 }, 10000, false };

static enum operation_kind
other_host_kind(char how)
{
	switch (how) {
	case 'o':
		return OPERATION_SESSION_OPEN;
	case 'b':
		return OPERATION_SESSION_BEAT;
	case 'w':
		return OPERATION_ADD_WAITER;
	case 'r':
		return OPERATION_RELEASE;
	default:
		return OPERATION_ACQUIRE;
	}
}

void
other_host_ask(struct other_host *h, struct store *store, char how,
    struct fuzz_input in)
{
	struct operation *o = &h->operations[h->n];
	char *key = h->keys[h->n];

	if (h->n == OTHER_HOST_MAX)
		return;
	if (in.length > OTHER_HOST_KEY_MAX)
		in.length = OTHER_HOST_KEY_MAX;
	memcpy(key, in.at, in.length);
	*o = (struct operation){
		.kind = other_host_kind(how), .deadline_ms = UINT64_MAX,
		.key = { key, in.length }, .me = other, .tokens = 1,
		.mode = how == 's' ? LOCK_MODE_SHARED : LOCK_MODE_EXCLUSIVE,
		.holders = &other, .n_holders = 1, .owner = "other",
		.session = other.session, .lease_ms = other.lease_ms,
	};
	if (o->kind < OPERATION_SESSION_OPEN && !key_is_sound(o->key))
		return;
	h->n++;
	store_submit(store, o);
}

bool
other_host_asked(const struct other_host *h, const struct operation *o)
{
	return o >= h->operations && o < h->operations + OTHER_HOST_MAX;
}
