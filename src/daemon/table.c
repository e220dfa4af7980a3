/*
 * --init-table and --check-table: one question to one store.
 */
#include "daemon/daemon.h"

#include <event2/event.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "common/error.h"
#include "daemon/stores.h"
#include "ddblock.h"

#define TABLE_TEXT_MAX 1024

struct table {
	struct event_base *base;
	const char *namespace_name;
	int code;
	bool answered;
};

static void
table_on_answer(void *arg, int code, const char *text)
{
	struct table *t = arg;
	const char *advice = stores_advice(code);

	t->code = code;
	t->answered = true;
	if (code == 0)
		printf("namespace %s: %s\n", t->namespace_name, text);
	else
		fprintf(stderr, "ddblockd: namespace %s: %s%s%s%s%s\n",
		    t->namespace_name, error_text(code),
		    *text == '\0' ? "" : ": ", text,
		    advice == NULL ? "" : "; ", advice == NULL ? "" : advice);
	(void)event_base_loopexit(t->base, NULL);
}

static int
table_ask(struct table *t, const struct config_namespace *n, bool init)
{
	char text[TABLE_TEXT_MAX] = "";
	struct utsname names = { 0 };
	struct providers *providers;
	struct store *store;
	int r = providers_new(t->base, &providers);

	(void)uname(&names);
	if (r < 0)
		return r;
	r = stores_open(t->base, providers, n, names.nodename, !init,
	    stores_no_outcome, NULL, &store, text, sizeof(text));
	if (r < 0) {
		/* The text names the namespace. */
		fprintf(stderr, "ddblockd: %s\n",
		    text[0] == '\0' ? error_text(r) : text);
		providers_free(providers);
		return r;
	}
	if (init)
		store_init_table(store, table_on_answer, t);
	else
		store_check_table(store, table_on_answer, t);
	if (!t->answered && event_base_dispatch(t->base) < 0)
		t->code = DDBLOCK_E_INTERNAL;
	store_free(store);
	providers_free(providers);
	return t->code;
}

int
daemon_table(const struct config *config, const char *namespace_name,
    bool init)
{
	const struct config_namespace *n = NULL;
	struct table t = { .namespace_name = namespace_name,
		.code = DDBLOCK_E_INTERNAL };
	int r;

	for (size_t i = 0; i < config->n_namespaces; i++) {
		if (strcmp(config->namespaces[i].name, namespace_name) == 0)
			n = &config->namespaces[i];
	}
	if (n == NULL) {
		fprintf(stderr, "ddblockd: there is no namespace %s in the "
		    "configuration\n", namespace_name);
		return daemon_exit_status(DDBLOCK_E_UNKNOWN_NAMESPACE);
	}
	t.base = event_base_new();
	if (t.base == NULL)
		return daemon_exit_status(DDBLOCK_E_NOMEM);
	r = table_ask(&t, n, init);
	event_base_free(t.base);
	return daemon_exit_status(r);
}
