/* Places in time for what would come all at one moment. See spread.h. */
#include "aws/spread.h"

uint64_t
spread_take_us(struct spread *s, uint64_t now_ns)
{
	uint64_t wait_ns;

	if (s->next_ns < now_ns)
		s->next_ns = now_ns;
	wait_ns = s->next_ns - now_ns;
	s->next_ns += SPREAD_EACH_NS;
	return wait_ns < SPREAD_AT_ONCE * SPREAD_EACH_NS ? 0 : wait_ns / 1000;
}
