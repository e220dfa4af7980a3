/*
 * A round of PINGs in words. See hint_findings.h.
 *
 * A host is an address here: it may have a session for each namespace, and one
 * of an earlier process that was not renewed any more and still looks alive.
 */
#include "hints/hint_findings.h"

#include <inttypes.h>

#include "ddblock.h"

#define FINDINGS_CHECK "hints"
#define FINDINGS_NAMED 5	/* hosts; the others are counted */

struct hint_tally {
	uint32_t n_heard;
	uint32_t n_silent;
	uint32_t n_limited;	/* of the silent ones, that were not asked */
	uint64_t fastest_us;
	uint64_t slowest_us;
};

/* Is there a peer before this one, or a better one, with the same address? */
static bool
findings_is_covered(const struct hint_round *r, uint32_t i)
{
	const struct hint_round_peer *p = &r->peers[i];

	for (uint32_t j = 0; j < r->n; j++) {
		const struct hint_round_peer *other = &r->peers[j];

		if (j == i ||
		    !hint_address_equal(&other->address, &p->address) ||
		    (!other->answered &&
		    (other->refused == NULL) != (p->refused == NULL)))
			continue;
		if (other->answered != p->answered ? other->answered : j < i)
			return true;
	}
	return false;
}

static void
findings_count(const struct hint_round *r, struct hint_tally *t)
{
	*t = (struct hint_tally){ .fastest_us = UINT64_MAX };
	for (uint32_t i = 0; i < r->n; i++) {
		const struct hint_round_peer *p = &r->peers[i];

		if (p->refused != NULL || findings_is_covered(r, i))
			continue;
		if (!p->answered) {
			t->n_silent++;
			t->n_limited += p->limited && p->sent_us[0] == 0 &&
			    p->sent_us[1] == 0;
			continue;
		}
		t->n_heard++;
		if (p->took_us < t->fastest_us)
			t->fastest_us = p->took_us;
		if (p->took_us > t->slowest_us)
			t->slowest_us = p->took_us;
	}
}

/* "192.0.2.7:7400 (web-3)" */
static void
findings_name(struct buffer *b, const struct hint_round_peer *p)
{
	char address[HINT_ADDRESS_TEXT_MAX];

	hint_address_format(&p->address, address);
	(void)buffer_append_text(b, address);
	if (p->host[0] != '\0')
		(void)buffer_printf(b, " (%s)", p->host);
}

/* Those that are refused, with the reason, or those that do not answer. */
static void
findings_names(struct buffer *b, const struct hint_round *r, bool refused)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < r->n; i++) {
		const struct hint_round_peer *p = &r->peers[i];

		if ((p->refused != NULL) != refused || p->answered ||
		    findings_is_covered(r, i) || n++ >= FINDINGS_NAMED)
			continue;
		if (n > 1)
			(void)buffer_append_text(b, ", ");
		findings_name(b, p);
		if (refused)
			(void)buffer_printf(b, ": %s", p->refused);
	}
	if (n > FINDINGS_NAMED)
		(void)buffer_printf(b, " and %" PRIu32 " more",
		    n - FINDINGS_NAMED);
}

/* "; 3 hosts have no hints", if there are any. */
static void
findings_others(struct buffer *b, uint32_t n, const char *one,
    const char *several)
{
	if (n > 0)
		(void)buffer_printf(b, "; %" PRIu32 " %s", n,
		    n == 1 ? one : several);
}

/* Rounded up, so that none takes no time. */
static void
findings_time(struct buffer *b, const char *before, uint64_t us)
{
	const uint64_t tenths = (us + 99) / 100;

	(void)buffer_printf(b, "%s%" PRIu64 ".%" PRIu64 " ms", before,
	    tenths / 10, tenths % 10);
}

static void
findings_hearers(struct buffer *b, const struct hint_tally *t)
{
	if (t->n_heard == 0) {
		(void)buffer_append_text(b, t->n_silent == 0 ?
		    "no other host hears hints" : "no other host hears us");
		return;
	}
	(void)buffer_printf(b, "%" PRIu32 " %s us (", t->n_heard,
	    t->n_heard == 1 ? "host hears" : "hosts hear");
	if (t->n_heard > 1) {
		findings_time(b, "fastest ", t->fastest_us);
		findings_time(b, ", slowest ", t->slowest_us);
	} else {
		findings_time(b, "", t->fastest_us);
	}
	(void)buffer_append_text(b, ")");
}

static void
findings_silence(struct buffer *b, const struct hint_round *r,
    const struct hint_tally *t)
{
	findings_others(b, t->n_silent, "does not answer: ",
	    "do not answer: ");
	if (t->n_silent > 0)
		findings_names(b, r, false);
	findings_others(b, t->n_limited, "of them was not asked: too many "
	    "hints at once", "of them were not asked: too many hints at once");
}

/* What keeps a datagram from arriving is as often on our side as on theirs. */
static void
findings_advise(const struct hint_round *r, const struct hint_tally *t,
    struct finding *f)
{
	const char *them = t->n_silent == 1 ? "it" : "them";
	char ours[HINT_ADDRESS_TEXT_MAX];

	hint_address_format(&r->public, ours);
	if (t->n_limited == t->n_silent)
		finding_advise(f, "check again in a moment");
	else
		finding_advise(f, "is UDP open from here to %s, and from %s "
		    "to %s? Or %s died lately: such a host looks alive until "
		    "its lease ends. Meanwhile locks are found by polls",
		    them, them, ours, t->n_silent == 1 ? "it" : "they");
}

bool
hint_findings_heard(const struct hint_round *r,
    const struct hint_findings_table *table, struct finding *f)
{
	struct hint_tally t;
	struct buffer b;

	findings_count(r, &t);
	if (r->n > 0 && t.n_heard + t.n_silent == 0)
		return false;
	buffer_init(&b, FINDING_TEXT_MAX - 1);
	findings_hearers(&b, &t);
	findings_silence(&b, r, &t);
	findings_others(&b, r->n_more, "more was not asked",
	    "more were not asked");
	findings_others(&b, r->n_without, "session is of a host without hints",
	    "sessions are of hosts without hints");
	findings_others(&b, r->n_expired, "session has expired",
	    "sessions have expired");
	if (!table->all)
		(void)buffer_printf(&b, "; only the first %" PRIu64 " items "
		    "of the table were looked at", table->n_examined);
	finding_set(f, FINDINGS_CHECK, t.n_silent > 0 ?
	    FINDING_WARNING : FINDING_OK, "%s", b.data == NULL ? "" : b.data);
	buffer_done(&b);
	if (t.n_silent > 0)
		findings_advise(r, &t, f);
	return true;
}

bool
hint_findings_refused(const struct hint_round *r, struct finding *f)
{
	struct buffer b;
	bool any;

	buffer_init(&b, FINDING_TEXT_MAX - 64);
	findings_names(&b, r, true);
	any = b.length > 0;
	if (any) {
		finding_set(f, FINDINGS_CHECK, FINDING_WARNING,
		    "nothing is sent to %s", b.data);
		finding_advise(f, "set hints_address there to an address of "
		    "that host that others reach; if no host is there, another "
		    "program wrote it into the table");
	}
	buffer_done(&b);
	return any;
}

/* ---- no round ------------------------------------------------------------ */

void
hint_findings_unbound(struct finding *f)
{
	finding_set(f, FINDINGS_CHECK, FINDING_WARNING, "the address for hints "
	    "is not ours yet: there are none");
	finding_advise(f, "the log says why; if another program has the port, "
	    "end it or set another one");
}

void
hint_findings_unknown(struct finding *f)
{
	finding_set(f, FINDINGS_CHECK, FINDING_WARNING, "the session's item "
	    "does not say yet where this host hears hints");
	finding_advise(f, "check again when it was renewed, in some seconds");
}

void
hint_findings_unlisted(int code, const char *why, struct finding *f)
{
	finding_set(f, FINDINGS_CHECK, FINDING_WARNING, "which other hosts "
	    "there are is not known: %.512s", why);
	if (code == DDBLOCK_E_ACCESS_DENIED)
		finding_advise(f, "hints need it not; to see which hosts "
		    "hear them, allow dynamodb:Scan");
}
