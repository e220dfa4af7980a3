/*
 * How long an endpoint's answers are waited for.
 */
#include "aws/patience.h"

void
patience_lost(struct patience *p, uint64_t sent_ms, uint64_t now_ms)
{
	p->prompt = 0;
	if (sent_ms < p->grown_ms || p->doublings == PATIENCE_MAX)
		return;
	p->doublings++;
	p->grown_ms = now_ms;
}

void
patience_heard(struct patience *p, bool prompt)
{
	p->prompt = prompt ? p->prompt + 1 : 0;
	if (p->prompt < PATIENCE_PROMPT)
		return;
	p->prompt = 0;
	if (p->doublings > 0)
		p->doublings--;
}
