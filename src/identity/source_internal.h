/*
 * What the sources share among themselves (pure).
 */
#ifndef DDBLOCKD_IDENTITY_SOURCE_INTERNAL_H
#define DDBLOCKD_IDENTITY_SOURCE_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "identity/source.h"

struct json_object;

extern const struct source_methods source_settings;
extern const struct source_methods source_environment;
extern const struct source_methods source_profile;
extern const struct source_methods source_process;
extern const struct source_methods source_web_identity;
extern const struct source_methods source_sso;
extern const struct source_methods source_container;
extern const struct source_methods source_imds;

#define SOURCE_FILE_TIMEOUT_MS 5000
#define SOURCE_SERVICE_TIMEOUT_MS 10000	/* STS, SSO */
#define SOURCE_SERVICE_ATTEMPTS 3	/* the SDKs' standard mode */

/* ---- verdicts: each has its sentence in source->text ---- */

enum source_verdict source_fail(struct source *, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
enum source_verdict source_fail_code(struct source *, int code);

/* The same, and it is of no use to ask again soon. */
enum source_verdict source_refuse(struct source *, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* ---- errands ---- */

/* The next wish: a fetch of source->url, and so on; the caller adds what else
 * it needs. Counts attempts from 0. */
struct errand *source_fetch(struct source *, const char *method);
struct errand *source_read(struct source *, const char *path);

void source_header(struct errand *, const char *name, const char *value);

/* SOURCE_WAIT, unless what the errand is made of found no memory. */
enum source_verdict source_go(struct source *);

/*
 * Whether the same errand is worth another attempt at once: nothing came, or
 * the service had a fault of its own, and there were fewer than @attempts_max.
 * A pause before the next is a pause of all (identity.h).
 */
bool source_repeats(struct source *, const struct errand_answer *,
    uint32_t attempts_max);

/* What an answer without success says, for people: "503", or "403,
 * AccessDenied: the role ..."; of a body only the code and the message. */
void source_describe(const struct source *, const struct errand_answer *,
    char *text, size_t text_size);

/*
 * A text of another program or service, fit to print: the first line of @from
 * in ASCII. A service may recite a secret that it was sent, or that it returned
 * the time before: that is masked, before any of it is cut off.
 */
void source_quote(const struct source *, const char *from, char *to,
    size_t size);

/* Append, with everything as %XX that is not unreserved (RFC 3986). */
void source_encode(struct buffer *, const char *text);

/* ---- results ---- */

/*
 * Take them over; @who for messages. DONE, or what to say instead.
 */
enum source_verdict source_keep(struct source *, const char *who,
    const struct credentials *borrowed);

/* The same from JSON. */
struct source_fields {
	const char *token;	/* its name */
	bool temporary;		/* token and expiry are required */
};

enum source_verdict source_keep_json(struct source *, const char *who,
    struct json_object *, const struct source_fields *);

/* ---- STS ---- */

/* The body of a request of @action for @role, up to what follows. */
void source_sts_begin(struct source *, const char *action,
    const struct chain_role *role);
void source_sts_parameter(struct source *, const char *name,
    const char *value);

/* Wish for it. */
enum source_verdict source_sts_send(struct source *);

/* What came of it; @action as above. */
enum source_verdict source_sts_answer(struct source *, const char *action,
    const struct chain_role *role, const struct errand_answer *);

#endif
