/*
 * The network and the credentials, as findings with advice.
 */
#include "store/dynamodb_findings.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ddblock.h"

#define FINDINGS_SOON_MS (UINT64_C(14) * 24 * 3600 * 1000)
#define FINDINGS_CLOCK_MS 2000		/* the Date has whole seconds */
#define FINDINGS_CLOCK_FAR_MS 240000	/* signatures: 5 to 15 minutes */
#define FINDINGS_SHOWN 200		/* bytes of a name in a text */

void
findings_duration(uint64_t ms, char *text, size_t size)
{
	uint64_t s = ms / 1000;

	if (s >= UINT64_C(2) * 24 * 3600)
		(void)snprintf(text, size, "%" PRIu64 " days",
		    s / (24 * 3600));
	else if (s >= 3600)
		(void)snprintf(text, size, "%" PRIu64 " h %" PRIu64 " min",
		    s / 3600, s / 60 % 60);
	else if (s >= 60)
		(void)snprintf(text, size, "%" PRIu64 " min", s / 60);
	else if (s >= 1)
		(void)snprintf(text, size, "%" PRIu64 ".%" PRIu64 " s", s,
		    ms / 100 % 10);
	else
		(void)snprintf(text, size, "%" PRIu64 " ms", ms);
}

/* ---- before anything is sent ------------------------------------------- */

void
findings_configuration(const struct findings_target *p, const char *trouble,
    struct finding *f)
{
	finding_set(f, "configuration", FINDING_OK,
	    "table %.*s%s%s%s%s, format %s", FINDINGS_SHOWN, p->table->table,
	    p->region == NULL ? "" : " in ",
	    p->region == NULL ? "" : p->region,
	    p->endpoint == NULL ? "" : " at ",
	    p->endpoint == NULL ? "" : p->endpoint, p->dialect->name);
	if (trouble[0] == '\0')
		return;
	finding_set(f, "configuration", FINDING_ERROR, "table %.*s: %.512s",
	    FINDINGS_SHOWN, p->table->table, trouble);
	finding_advise(f, "ddblockd-aws(7) says where region and endpoint are "
	    "looked for");
}

static void
findings_expiry(const struct identity_view *v, uint64_t wall_ms,
    char *text, size_t size)
{
	uint64_t expires_ms = v->credentials->expires_ms;
	char duration[32];

	if (expires_ms == 0) {
		(void)snprintf(text, size, "they do not expire");
		return;
	}
	findings_duration(expires_ms > wall_ms ? expires_ms - wall_ms :
	    wall_ms - expires_ms, duration, sizeof(duration));
	(void)snprintf(text, size, expires_ms > wall_ms ?
	    "they expire in %s" : "they expired %s ago", duration);
}

/* Their owner can be told from the last characters of the key; it is no secret,
 * but no need to show all of it either. */
void
findings_credentials(const struct identity_view *v, uint64_t boot_ms,
    uint64_t wall_ms, struct finding *f)
{
	char expiry[64], wait[32];
	const char *key;

	if (v->credentials == NULL) {
		finding_set(f, "credentials", FINDING_ERROR,
		    "there are none%s%.*s", v->text[0] == '\0' ? "" : ": ",
		    IDENTITY_TEXT_MAX, v->text);
		finding_advise(f, "ddblockd-aws(7) says where they are looked "
		    "for; the daemon goes on looking, so it need not be "
		    "started again");
		return;
	}
	key = v->credentials->access_key_id;
	findings_expiry(v, wall_ms, expiry, sizeof(expiry));
	finding_set(f, "credentials", FINDING_OK, "%.*s, key ...%s; %s",
	    FINDINGS_SHOWN, v->about,
	    strlen(key) > 4 ? key + strlen(key) - 4 : "", expiry);
	if (v->failures == 0)
		return;
	f->state = v->stale ? FINDING_ERROR : FINDING_WARNING;
	findings_duration(v->next_ms > boot_ms ? v->next_ms - boot_ms : 0,
	    wait, sizeof(wait));
	finding_set(f, f->check, f->state, "%.*s, key ...%s; %s, and could "
	    "not be renewed (%" PRIu32 " times; next in %s): %.*s",
	    FINDINGS_SHOWN, v->about,
	    strlen(key) > 4 ? key + strlen(key) - 4 : "", expiry,
	    v->failures, wait, FINDINGS_SHOWN, v->text);
	finding_advise(f, "%s", v->stale ? "they are used as long as AWS takes "
	    "them; see why their source does not answer" :
	    "they are used meanwhile; see why their source does not answer");
}

/* ---- the way there ------------------------------------------------------ */

void
findings_dns(const struct probe_report *r, struct finding *f)
{
	if (r->literal) {
		finding_set(f, "dns", FINDING_OK,
		    "%s is an address: nothing to look up", r->host);
	} else if (r->stage == PROBE_LOOKUP) {
		finding_set(f, "dns", FINDING_ERROR, "%s: %s", r->host,
		    r->text);
		finding_advise(f, "try \"getent hosts %.200s\"; see "
		    "/etc/resolv.conf, and in a VPC whether DNS support is "
		    "on", r->host);
	} else {
		finding_set(f, "dns", FINDING_OK, "%s is %s (%" PRIu64
		    " ms)", r->host, r->addresses, r->lookup_ms);
	}
}

void
findings_connection(const struct probe_report *r, struct finding *f)
{
	if (r->stage != PROBE_CONNECT) {
		finding_set(f, "connection", FINDING_OK, "to %s, port %s, in "
		    "%" PRIu64 " ms", r->address[0] == '\0' ? r->host :
		    r->address, r->port, r->connect_ms);
		return;
	}
	finding_set(f, "connection", FINDING_ERROR, "to %s, port %s: %s",
	    r->host, r->port, r->text);
	if (r->loopback)
		finding_advise(f, "is the emulator started, and on this "
		    "port?");
	else
		finding_advise(f, "let TCP port %s out: security group, "
		    "network ACL, and a NAT gateway or the VPC's gateway "
		    "endpoint for DynamoDB", r->port);
}

static void
findings_no_tls(const struct probe_report *r, struct finding *f)
{
	finding_set(f, "tls", r->loopback ? FINDING_OK : FINDING_WARNING,
	    r->loopback ? "none, and the endpoint is on this host" :
	    "none: others on the network can read and repeat the requests");
	if (!r->loopback)
		finding_advise(f, "use an https endpoint");
}

void
findings_tls(const struct probe_report *r, uint64_t wall_ms,
    struct finding *f)
{
	uint64_t expires_ms = (uint64_t)r->expires_s * 1000;
	char left[48] = "";

	if (!r->tls) {
		findings_no_tls(r, f);
		return;
	}
	if (r->stage == PROBE_TLS) {
		finding_set(f, "tls", FINDING_ERROR, "%s: %s", r->host,
		    r->text);
		finding_advise(f, "is something on the way that answers for "
		    "AWS? If that is meant, give its certificate with ca_file "
		    "or AWS_CA_BUNDLE; else reinstall ca-certificates, and see "
		    "the clock");
		return;
	}
	if (r->expires_s > 0 && expires_ms > wall_ms) {
		char duration[32];

		findings_duration(expires_ms - wall_ms, duration,
		    sizeof(duration));
		(void)snprintf(left, sizeof(left), "; valid for %s",
		    duration);
	}
	finding_set(f, "tls", FINDING_OK, "%s in %" PRIu64 " ms%s%.*s%s",
	    r->version[0] == '\0' ? "agreed" : r->version, r->tls_ms,
	    r->issuer[0] == '\0' ? "" : "; certificate by ", FINDINGS_SHOWN,
	    r->issuer, left);
	if (r->expires_s > 0 && expires_ms < wall_ms + FINDINGS_SOON_MS) {
		f->state = FINDING_WARNING;
		finding_advise(f, "the endpoint's certificate ends soon: tell "
		    "its operator");
	}
}

/* ---- the first answer --------------------------------------------------- */

static void
findings_clock_advise(const struct findings_clock *c, bool refused,
    struct finding *f)
{
	if (c->synchronised > 0)
		finding_advise(f, "something sets it wrong: see what chronyd "
		    "or systemd-timesyncd uses");
	else if (c->synchronised == -EPERM)
		finding_advise(f, "clock.conf, a drop-in for ddblockd.service "
		    "(ddblockd(8)), lets it ask the kernel%s", refused ?
		    "; or, if you know that the clock is right, set "
		    "trust_clock = yes" : "");
	else
		finding_advise(f, "start chronyd or systemd-timesyncd (on EC2 "
		    "with the server 169.254.169.123)%s", refused ?
		    "; or, if you know that the clock is right, set "
		    "trust_clock = yes" : "");
}

void
findings_clock(const struct findings_clock *c, const struct findings_target *p,
    struct finding *f)
{
	uint64_t off_ms = (uint64_t)llabs(c->difference_ms);
	/* Its unit forbids it to ask, where no lock depends on the answer. */
	bool forbidden = c->synchronised == -EPERM && !p->clock_counts;
	const char *kernel = c->synchronised > 0 ? "synchronised, says the "
	    "kernel" : c->synchronised == 0 ? "not synchronised, says the "
	    "kernel" : c->synchronised == -EPERM ? "the daemon may not ask "
	    "whether it is synchronised" : "the kernel does not say whether "
	    "it is synchronised";
	bool refused = p->clock_counts && c->synchronised <= 0;
	const char *so = refused ? ": no lock is granted" : "";
	char off[32];

	findings_duration(off_ms, off, sizeof(off));
	if (!c->known)
		finding_set(f, "clock", FINDING_WARNING, "the endpoint has "
		    "not told the time; this host's is %s%s", kernel, so);
	else if (off_ms < FINDINGS_CLOCK_MS)
		finding_set(f, "clock", c->synchronised > 0 || forbidden ?
		    FINDING_OK :
		    FINDING_WARNING, "as the endpoint's; %s%s", kernel, so);
	else
		finding_set(f, "clock", FINDING_WARNING, "this host's is %s "
		    "%s the endpoint's; %s%s", off, c->difference_ms > 0 ?
		    "ahead of" : "behind", kernel, so);
	if (f->state == FINDING_OK)
		return;
	/* Leases of our own run by no wall clock, and signatures use the
	 * endpoint's. */
	if (c->known && p->dialect->host_clock && off_ms > p->table->skew_ms &&
	    off_ms >= FINDINGS_CLOCK_MS)
		f->state = FINDING_ERROR;
	else if (refused || off_ms >= FINDINGS_CLOCK_FAR_MS)
		f->state = FINDING_ERROR;
	findings_clock_advise(c, refused, f);
}

void
findings_signature(const struct aws_error *e, struct finding *f)
{
	if (e->class == AWS_CLASS_CLOCK) {
		finding_set(f, "signature", FINDING_ERROR, "%s", e->text);
		finding_advise(f, "set this host's clock right");
	} else if (e->code == DDBLOCK_E_NO_CREDENTIALS) {
		finding_set(f, "signature", FINDING_ERROR, "not accepted: "
		    "%s%s%s", e->name, e->name[0] == '\0' ? "" : ": ",
		    e->text);
		finding_advise(f, "give valid credentials, of this partition "
		    "and for this region; what is new in their source is "
		    "noticed without a restart");
	} else if (e->code == DDBLOCK_E_UNREACHABLE) {
		finding_set(f, "signature", FINDING_ERROR, "no answer that is "
		    "DynamoDB's: %s", e->text);
		finding_advise(f, "is this the endpoint of DynamoDB, and no "
		    "proxy's?");
	} else {
		finding_set(f, "signature", FINDING_OK, "accepted");
	}
}
