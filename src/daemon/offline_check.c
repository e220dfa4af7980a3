/*
 * --check: what CHECK shows, without a daemon: the stores are opened for it,
 * looked at one after the other, and closed again.
 */
#include "daemon/daemon.h"

#include <event2/event.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "common/error.h"
#include "common/finding.h"
#include "daemon/stores.h"
#include "ddblock.h"

#define CHECK_TEXT_MAX 1024
#define CHECK_STATUS_ERRORS 1
#define CHECK_LINES_MAX 16384

struct check {
	struct event_base *base;
	struct stores *stores;
	bool ended;
	uint64_t n_findings, n_warnings, n_errors;
};

/* What comes next may take some time. */
static void
check_print(struct buffer *lines)
{
	if (buffer_failed(lines) == 0)
		(void)fputs(lines->data, stdout);
	(void)fflush(stdout);
	buffer_done(lines);
}

static void
check_on_finding(void *arg, const struct finding *f)
{
	struct check *k = arg;
	struct buffer lines;

	if (f == NULL) {
		k->ended = true;
		(void)event_base_loopbreak(k->base);
		return;
	}
	k->n_findings++;
	k->n_warnings += f->state == FINDING_WARNING;
	k->n_errors += f->state == FINDING_ERROR;
	buffer_init(&lines, CHECK_LINES_MAX);
	finding_show(&lines, f->check, finding_word(f->state), f->text,
	    f->advice);
	check_print(&lines);
}

static void
check_show_sums(const struct check *k)
{
	struct buffer line;

	buffer_init(&line, CHECK_LINES_MAX);
	finding_show_sums(&line, k->n_findings, k->n_errors, k->n_warnings);
	check_print(&line);
}

static int
check_namespace(struct check *k, const struct config_namespace *n)
{
	char text[CHECK_TEXT_MAX] = "";
	struct utsname names = { 0 };
	struct store *store = NULL;
	struct finding f;
	int r;

	(void)uname(&names);
	printf("%s%s\n", k->n_findings > 0 ? "\n" : "", n->name);
	r = stores_open(k->stores, n, names.nodename, true,
	    stores_no_outcome, NULL, &store, text, sizeof(text));
	if (r < 0) {
		const char *advice = stores_advice(r);

		finding_set(&f, "configuration", FINDING_ERROR, "%.700s",
		    text[0] == '\0' ? error_text(r) : text);
		finding_advise(&f, "%s", advice == NULL ? "" : advice);
		check_on_finding(k, &f);
		return 0;
	}
	k->ended = false;
	r = store_check(store, check_on_finding, k);
	if (r == 0 && !k->ended && event_base_dispatch(k->base) < 0)
		r = DDBLOCK_E_INTERNAL;
	store_free(store);
	return r;
}

static int
check_namespaces(struct check *k, const struct config *config,
    const char *namespace_name)
{
	bool found = false;
	int r = 0;

	for (size_t i = 0; i < config->n_namespaces && r == 0; i++) {
		const struct config_namespace *n = &config->namespaces[i];

		if (namespace_name != NULL &&
		    strcmp(n->name, namespace_name) != 0)
			continue;
		found = true;
		r = check_namespace(k, n);
	}
	if (found || r < 0)
		return r;
	fprintf(stderr, "ddblockd: there is no namespace %s in the "
	    "configuration\n", namespace_name);
	return DDBLOCK_E_UNKNOWN_NAMESPACE;
}

int
daemon_check(const struct config *config, const char *namespace_name)
{
	struct check k = { .base = event_base_new() };
	int r = k.base == NULL ? DDBLOCK_E_NOMEM :
	    stores_new(k.base, &k.stores);

	if (r == 0)
		r = check_namespaces(&k, config, namespace_name);
	stores_free(k.stores);
	if (k.base != NULL)
		event_base_free(k.base);
	if (r < 0)
		return daemon_exit_status(r);
	check_show_sums(&k);
	return k.n_errors > 0 ? CHECK_STATUS_ERRORS : 0;
}
