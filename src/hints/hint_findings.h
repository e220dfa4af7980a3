/*
 * What a round of PINGs has shown, as findings with advice (pure).
 */
#ifndef DDBLOCKD_HINTS_HINT_FINDINGS_H
#define DDBLOCKD_HINTS_HINT_FINDINGS_H

#include "common/finding.h"
#include "hints/hint_round.h"

/* How much of the table was looked at for hosts. */
struct hint_findings_table {
	bool all;
	uint64_t n_examined;
};

/* Which hosts hear us, and which do not answer. False: there is none that was
 * asked, and another finding says why. */
bool hint_findings_heard(const struct hint_round *,
    const struct hint_findings_table *, struct finding *);

/* Where nothing is sent to. False: there is no such host. */
bool hint_findings_refused(const struct hint_round *, struct finding *);

/* No round was possible: our socket is not bound; our session's item does not
 * say yet where we hear; the other sessions cannot be read: DDBLOCK_E_*. */
void hint_findings_unbound(struct finding *);
void hint_findings_unknown(struct finding *);
void hint_findings_unlisted(int code, const char *why, struct finding *);

#endif
