/* Memory for answers, in all. See answer_room.h. */
#include "aws/answer_room.h"

#include <assert.h>

bool
answer_room_take(struct answer_room *r, size_t *share, size_t length)
{
	size_t wanted = length > ANSWER_ROOM_FREE ?
	    length - ANSWER_ROOM_FREE : 0;
	size_t left = ANSWER_ROOM_MAX - r->used;

	if (wanted <= *share)
		return true;
	if (wanted - *share > left || wanted > left - (wanted - *share))
		return false;
	r->used += wanted - *share;
	*share = wanted;
	return true;
}

void
answer_room_give(struct answer_room *r, size_t *share)
{
	assert(*share <= r->used);
	r->used -= *share;
	*share = 0;
}
