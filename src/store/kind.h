/*
 * The kinds of stores: all that anybody needs to know of one before it is open.
 * Only this table knows which store it is: other code reads the row of the
 * store.
 *
 * A new kind is a file that defines its row, and a line in kinds.def.
 */
#ifndef DDBLOCKD_STORE_KIND_H
#define DDBLOCKD_STORE_KIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/core.h"
#include "store/settings.h"
#include "store/store.h"

#define STORE_KINDS_MAX 8
#define STORE_KINDS_DEFAULT "sqlite"

/* Something worth a line in the log, of class @topic (common/log.h): a store
 * never logs itself. @code is 0 or DDBLOCK_E_*. */
typedef void (*store_say_fn)(void *arg, int priority, const char *topic,
    const char *namespace_name, int code, const char *text);

/* What a store is opened with. It borrows its name, its settings and what is
 * shared while it is open, and copies the rest. */
struct store_opening {
	struct event_base *base;
	const char *namespace_name;	/* for messages */
	const struct store_settings *settings;
	const char *host;	/* recorded with sessions */
	const char *version;	/* the daemon's, recorded, too */
	bool look_only;		/* make nothing that is not there */
	void *shared;		/* what share() made */
	/*
	 * clock_is_synchronised(): no lock is acquired unless it says that it
	 * is; and why that matters and what to do, for people. NULL: it does
	 * not matter.
	 */
	int (*synchronised)(void);
	const char *unsynchronised_text;
	store_outcome_fn outcome;
	void *outcome_arg;
};

/* Of a namespace, where a kind or a format has defaults of its own. */
struct store_times {
	uint64_t lease_ms;
	uint64_t idle_ms;
	bool hints;	/* another host that waits can say so */
};

/* Functions that a kind has no use for are NULL. */
struct store_kind {
	const char *name;	/* the word in the configuration */
	const char *scope;	/* of its locks: "fleet" or "host" */
	/* As in core.h. */
	bool sole_writer;
	bool no_foreign_waiters;
	bool keeps_idle;
	bool ends_with_daemon;		/* nothing of it is there afterwards */
	bool has_formats;	/* its records may be an older client's */
	uint32_t files_max;	/* that one has open */
	/* Its own among the settings, up to a NULL. What no kind names is for
	 * all of them. */
	const char *const *settings;

	/*
	 * Fill in what was not set and has no default that is the same for
	 * all; and times of the namespace.
	 *
	 * DDBLOCK_E_NOMEM
	 */
	int (*complete)(struct store_settings *, const struct store_judge *,
	    struct store_times *);
	/* Complain of what cannot be. */
	void (*judge)(const struct store_settings *,
	    const struct store_judge *);
	/* What two namespaces would both have: "file", and @ret_name which.
	 * NULL: nothing. */
	const char *(*overlap)(const struct store_settings *,
	    const struct store_settings *, const char **ret_name);
	/* What the core is told of the format of the records. */
	void (*describe)(const struct store_settings *,
	    struct core_namespace *);
	/* Why this host's clock has to be right; NULL: it need not be. */
	const char *(*clock_reason)(const struct store_settings *);

	/*
	 * What all open stores of this kind share; freed after them.
	 *
	 * DDBLOCK_E_NOMEM
	 */
	int (*share)(struct event_base *, store_say_fn, void *say_arg,
	    void **ret);
	void (*unshare)(void *shared);

	/*
	 * @ret_text (at least 512 bytes) names the namespace and says what is
	 * wrong and what to do. store_free() must not be called from within an
	 * outcome.
	 *
	 * DDBLOCK_E_BAD_REQUEST, DDBLOCK_E_NOMEM, and others of its own
	 */
	int (*open)(const struct store_opening *, struct store **ret,
	    char *ret_text, size_t text_size);
	/*
	 * The settings of an open store that a reload may change are these
	 * now; the outcome is not looked at. Not from within an outcome. If it
	 * fails, nothing has changed.
	 *
	 * DDBLOCK_E_NOMEM
	 */
	int (*configure)(struct store *, const struct store_opening *,
	    char *ret_text, size_t text_size);
};

/* In the order of kinds.def, up to a NULL. */
extern const struct store_kind *const store_kinds[];

/* May it be set where this is the store? */
bool store_kind_knows(const struct store_kind *, const char *setting);

/* The names of the stores that have it, "sqlite|memory". */
void store_kinds_knowing(const char *setting, char *text, size_t size);

#endif
