/*
 * The configuration: one table of settings drives the file, the flags, --help
 * and --check-config, so that the four cannot differ.
 *
 * Read with config_read() and config_set(), then completed and judged with
 * config_finish(). Errors are collected in a report, one line each, with file,
 * line, value, rule and what to do.
 */
#ifndef DDBLOCKD_DAEMON_CONFIG_H
#define DDBLOCKD_DAEMON_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buffer.h"
#include "core/core.h"
#include "ipc/access.h"
#include "store/kind.h"

#define CONFIG_NAMESPACE_LENGTH_MAX 64
#define CONFIG_HOST_LENGTH_MAX 253	/* of a name in DNS */
#define CONFIG_SETTINGS_MAX 64		/* in one section */
#define CONFIG_VALUE_LENGTH_MAX 4096

enum config_kind {
	CONFIG_TEXT = 1,	/* char *, not empty */
	CONFIG_SECRET,		/* char *, never shown, wiped */
	CONFIG_DURATION,	/* uint64_t, ms */
	CONFIG_WAIT,		/* the same; CONFIG_FOREVER */
	CONFIG_PERCENT,		/* uint64_t, ppm */
	CONFIG_COUNT,		/* uint64_t */
	CONFIG_SIZE,		/* uint64_t, bytes */
	CONFIG_MODE,		/* uint64_t, octal */
	CONFIG_BOOLEAN,		/* uint64_t, 0 or 1 */
	CONFIG_CHOICE,		/* uint64_t, index into choices */
};

#define CONFIG_FOREVER UINT64_MAX

enum config_section {
	CONFIG_DAEMON = 0,
	CONFIG_NAMESPACE,
	CONFIG_ACCESS,
	CONFIG_SECTIONS,
};

/* A row of the table. */
struct config_setting {
	const char *name;
	bool live;		/* a reload changes it, and not only a start */
	enum config_kind kind;
	size_t offset;		/* in the section's structure */
	const char *standard;	/* the default; NULL: none, or computed */
	uint64_t least, most;	/* of a number */
	const char *choices;	/* "auto|journal|stderr|json" */
	const char *argument;	/* what --help calls its value */
	const char *help;
};

/* Where a value was set: a line of a file, or a flag (line 0). */
struct config_origin {
	const char *file;	/* NULL: it is the default; borrowed */
	unsigned line;
};

struct config_daemon {
	char *socket;
	char *journal;		/* "no": none; NULL: beside the socket */
	uint64_t socket_mode;
	char *socket_group;
	char *admin_group;
	uint64_t admin;		/* index: host, any */
	char *host;		/* NULL: as the kernel says */
	char *hints;		/* NULL: none */
	char *hints_address;	/* NULL: the same */
	uint64_t log;		/* enum log_target */
	uint64_t log_level;	/* index: error, warning, info, debug */
	uint64_t audit_trail;	/* index: all, refusals, no */
	uint64_t history;
	char *metrics_listen;	/* NULL: nowhere */
	uint64_t stop_wait_ms;
	uint64_t release_on_stop;
	uint64_t connections_max;
	uint64_t connections_per_uid_max;
	uint64_t requests_per_connection_max;
	uint64_t holds_per_connection_max;
	uint64_t watches_per_connection_max;
	uint64_t watches_max;
	uint64_t locks_max;
	uint64_t memory_max;
	uint64_t requests_max;
	uint64_t queued_bytes_max;
	uint64_t queued_bytes_per_uid_max;
	struct config_origin origins[CONFIG_SETTINGS_MAX];
};

struct config_namespace {
	char name[CONFIG_NAMESPACE_LENGTH_MAX + 1];
	struct config_origin origin;
	struct store_settings store;
#define NAMESPACE(name, kind, field, ...) SETTING_##kind field;
#include "store/settings.def"
	uint64_t bridge_index;	/* 1 + that of @bridge; or 0 */
	bool removed;	/* the files have it no more (config_reload.h) */
	struct config_origin origins[CONFIG_SETTINGS_MAX];
};

/* A rule of access as it is written: lists of words, or NULL. */
struct config_access {
	char name[CONFIG_NAMESPACE_LENGTH_MAX + 1];
	struct config_origin origin;
	char *user;
	char *group;
	char *unit;
	char *namespaces;
	char *prefix;
	char *allow;
	uint64_t limits[ACCESS_LIMITS];
	struct config_origin origins[CONFIG_SETTINGS_MAX];
	/* What the rule points into. */
	char *unit_words, *prefix_words, *title;
};

struct config {
	struct config_daemon daemon;
	struct config_namespace *namespaces;	/* "default" is the first */
	size_t n_namespaces;
	struct config_access *access;	/* in the order of the file */
	size_t n_access;
	struct access rules;	/* what config_finish() makes of these */
	struct buffer errors;	/* lines */
	struct buffer warnings;
};

/* The settings of a section, in the order of documentation. */
const struct config_setting *config_settings(enum config_section,
    size_t *ret_count);

int config_new(struct config **ret);

/* Wipes the secrets. Accepts NULL. */
void config_free(struct config *);

/*
 * Read a file. Its name is borrowed until config_free(). Every error in it is
 * reported.
 *
 * DDBLOCK_E_BAD_REQUEST, DDBLOCK_E_NOMEM
 * DDBLOCK_E_SYSTEM
 *     It cannot be read; errno says why. Reported too.
 */
int config_read(struct config *, const char *path);

/* As config_read(), from memory, which is overwritten up to and with
 * @text[length]. */
int config_read_text(struct config *, const char *name, char *text,
    size_t length);

/*
 * Set one value. @namespace_name NULL: a setting of the daemon; else of that
 * namespace, which is made if need be. The last one wins; two lines of files
 * that set the same are an error.
 *
 * DDBLOCK_E_BAD_REQUEST (reported), DDBLOCK_E_NOMEM
 */
int config_set(struct config *, const char *namespace_name, const char *name,
    const char *value, struct config_origin);

/* Make a namespace if it is not there. As config_set(). */
int config_add_namespace(struct config *, const char *name,
    struct config_origin, struct config_namespace **ret);

/* Make a rule of access, number @ret, and set one value of it. As
 * config_set(). */
int config_add_access(struct config *, const char *name, struct config_origin,
    size_t *ret);
int config_set_access(struct config *, size_t access, const char *name,
    const char *value, struct config_origin);

/*
 * Fill in what was not set, then check the settings together.
 *
 * DDBLOCK_E_BAD_REQUEST (reported), DDBLOCK_E_NOMEM
 */
int config_finish(struct config *);

/* The effective settings as a file, without the secrets. */
int config_describe(const struct config *, struct buffer *);

/* What the core wants to know of a namespace. */
struct core_namespace config_core_namespace(const struct config_namespace *);
struct core_limits config_core_limits(const struct config_daemon *);

/* For the parts of this module. */
bool config_is_set(const struct config_namespace *, const char *name);
const struct store_kind *config_kind(const struct config_namespace *);
bool config_knows(const struct config_namespace *, const char *setting);
void config_check_known(struct config *, const struct config_namespace *);
struct config_origin config_origin_of(const struct config_origin *origins,
    enum config_section, const char *name);
/* "FILE:LINE: ", as far as they are known. */
void config_print_origin(struct config_origin, struct buffer *lines);

void config_complain(struct config *, struct config_origin,
    const char *format, ...) __attribute__((format(printf, 3, 4)));
void config_check_bridges(struct config *);
bool config_is_name(const char *);
/* config_access.c */
const struct config_setting *config_access_settings(size_t *ret_count);
int config_check_access(struct config *);
void config_free_access(struct config *);
void config_describe_access(const struct config *, struct buffer *);
void config_warn(struct config *, struct config_origin, const char *format,
    ...) __attribute__((format(printf, 3, 4)));

/*
 * Values of one kind (config_value.c). On failure @text (of @size bytes) says
 * the rule. @target is the uint64_t or char * at the setting's offset.
 */
int config_value_parse(const struct config_setting *, const char *value,
    void *target, char *text, size_t size);
void config_value_print(const struct config_setting *, const void *target,
    struct buffer *);
void config_value_clear(const struct config_setting *, void *target);

#endif
