/*
 * --init-table and --check-table: one question to one store.
 */
#include "daemon/daemon.h"

#include <event2/event.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "common/clock.h"
#include "common/error.h"
#include "daemon/stores.h"
#include "ddblock.h"

#define TABLE_TEXT_MAX 1024
#define TABLE_PATIENCE_MS 3000	/* then it says what it waits for */
#define TABLE_NEWS_MS 10000	/* and again after so long */
#define TABLE_TICK_MS 200

struct table {
	struct event_base *base;
	const char *namespace_name;
	struct store *store;
	struct event *timer;	/* NULL: nothing is said while it waits */
	uint64_t say_ms;	/* what it waits for, at the latest */
	char said[TABLE_TEXT_MAX];
	int code;
	bool answered;
};

static void
table_on_answer(void *arg, int code, const char *text)
{
	struct table *t = arg;
	const char *advice = code == DDBLOCK_E_WRONG_TABLE ? NULL :
	    stores_advice(code);

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

/* Something went wrong that was not said yet. A table that is not there yet is
 * in the making. */
static bool
table_has_news(const struct table *t, const struct store_status *s)
{
	return s->last_error != 0 && s->last_error != DDBLOCK_E_NO_TABLE &&
	    strcmp(s->last_text, t->said) != 0;
}

/* A person who waits for an answer sees the reason: at once when something went
 * wrong, otherwise when it takes long. */
static void
table_on_tick(evutil_socket_t fd, short what, void *arg)
{
	struct table *t = arg;
	struct store_status s;
	uint64_t now_ms = clock_boot_ms();

	(void)fd;
	(void)what;
	if (t->answered)
		return;
	store_view_status(t->store, &s);
	if (now_ms < t->say_ms && !table_has_news(t, &s))
		return;
	t->say_ms = now_ms + TABLE_NEWS_MS;
	(void)snprintf(t->said, sizeof(t->said), "%s", s.last_text);
	fprintf(stderr, "ddblockd: namespace %s: waiting for %s%s%s\n",
	    t->namespace_name, s.where, s.last_error == 0 ? "" : ": ",
	    s.last_error == 0 ? "" : s.last_text[0] != '\0' ? s.last_text :
	    error_text(s.last_error));
}

static int
table_watch(struct table *t)
{
	struct timeval tick = { .tv_usec = TABLE_TICK_MS * 1000 };

	t->say_ms = clock_boot_ms() + TABLE_PATIENCE_MS;
	t->timer = event_new(t->base, -1, EV_PERSIST, table_on_tick, t);
	if (t->timer == NULL)
		return DDBLOCK_E_NOMEM;
	return event_add(t->timer, &tick) < 0 ? DDBLOCK_E_NOMEM : 0;
}

static int
table_run(struct table *t, bool init)
{
	int r = table_watch(t);

	if (r == 0) {
		if (init)
			store_init_table(t->store, table_on_answer, t);
		else
			store_check_table(t->store, table_on_answer, t);
		if (!t->answered && event_base_dispatch(t->base) < 0)
			t->code = DDBLOCK_E_INTERNAL;
		r = t->code;
	}
	if (t->timer != NULL)
		event_free(t->timer);
	return r;
}

static int
table_ask(struct table *t, const struct config_namespace *n, bool init)
{
	char text[TABLE_TEXT_MAX] = "";
	struct utsname names = { 0 };
	struct stores *stores;
	int r = stores_new(t->base, &stores);

	(void)uname(&names);
	if (r < 0)
		return r;
	r = stores_open(stores, n, names.nodename, !init,
	    stores_no_outcome, NULL, &t->store, text, sizeof(text));
	if (r < 0) {
		/* The text names the namespace. */
		fprintf(stderr, "ddblockd: %s\n",
		    text[0] == '\0' ? error_text(r) : text);
		stores_free(stores);
		return r;
	}
	r = table_run(t, init);
	store_free(t->store);
	stores_free(stores);
	return r;
}

/* Nobody has said anything of it: perhaps the daemon was told by options. */
static bool
table_is_untold(const struct config_namespace *n)
{
	for (size_t i = 0; i < CONFIG_SETTINGS_MAX; i++) {
		if (n->origins[i].file != NULL)
			return false;
	}
	return true;
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
	if (table_is_untold(n))
		fprintf(stderr, "ddblockd: namespace %s: no file and no option "
		    "says anything of it, so this is about the default store, "
		    "%s; where the daemon was started with options (--store, "
		    "--table, ...), give the same here\n", namespace_name,
		    config_kind(n)->name);
	t.base = event_base_new();
	if (t.base == NULL)
		return daemon_exit_status(DDBLOCK_E_NOMEM);
	r = table_ask(&t, n, init);
	event_base_free(t.base);
	return daemon_exit_status(r);
}
