/*
 * What a namespace's record format cannot express: it is refused, never
 * approximated, with the format's name.
 */
#include "core/namespace.h"

#include <stdio.h>

#include "ddblock.h"

/* Could anything in it take @change? NULL, or what it lacks for that. */
static const char *
format_lacks_change(unsigned lacks, const struct change *change)
{
	if (change == NULL)
		return NULL;
	if ((lacks & CORE_LACKS_DATA) != 0 && change->sets_data)
		return "data";
	if ((lacks & CORE_LACKS_ATTRIBUTES) != 0 &&
	    change->contents.n_attributes > 0)
		return "attributes";
	return NULL;
}

static const char *
format_lacks_terms(unsigned lacks, const struct core_request *ask)
{
	if ((lacks & CORE_LACKS_SHARED) != 0 &&
	    ask->terms.mode == LOCK_MODE_SHARED)
		return "shared use";
	if ((lacks & CORE_LACKS_FAIL_CLOSED) != 0 && ask->terms.fail_closed)
		return "fail-closed holds";
	if ((lacks & CORE_LACKS_FAIL_OPEN) != 0 && ask->fail_open)
		return "holds that end with a lease";
	if ((lacks & CORE_LACKS_EVERY) != 0 && ask->terms.every_ms > 0)
		return "runs that count for a period (every)";
	return NULL;
}

static int
format_complain(const struct namespace *ns, const char *what, char *ret_text,
    size_t text_size)
{
	if (what == NULL)
		return 0;
	if (ns->bridge != NULL)
		(void)snprintf(ret_text, text_size, "with its bridge to %s "
		    "(%s), namespace %s has no %s",
		    ns->bridge->settings.name,
		    ns->bridge->settings.format, ns->settings.name,
		    what);
	else
		(void)snprintf(ret_text, text_size, "the record format %s of "
		    "namespace %s has no %s", ns->settings.format != NULL ?
		    ns->settings.format : "native", ns->settings.name, what);
	return DDBLOCK_E_UNSUPPORTED;
}

int
format_refuse_change(const struct namespace *ns, const struct change *change,
    char *ret_text, size_t text_size)
{
	return format_complain(ns,
	    format_lacks_change(ns->settings.lacks, change), ret_text,
	    text_size);
}

int
format_refuse(const struct namespace *ns, const struct core_request *ask,
    char *ret_text, size_t text_size)
{
	unsigned lacks = ns->settings.lacks;
	const char *what = format_lacks_change(lacks, ask->change);

	if (what == NULL)
		what = format_lacks_terms(lacks, ask);
	return format_complain(ns, what, ret_text, text_size);
}

bool
format_has_record(const struct namespace *ns, const struct lock_record *r)
{
	return ns->has_sessions ?
	    !contents_are_empty(&r->contents) : r->exists;
}
