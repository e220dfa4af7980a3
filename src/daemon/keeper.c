/*
 * Keeps for the next daemon what this one holds. See keeper.h.
 */
#include <config.h>	/* the build's */

#include "daemon/keeper.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "common/buffer.h"
#include "common/clock.h"
#include "common/error.h"
#include "common/log.h"
#include "daemon/journal_file.h"
#include "ddblock.h"
#include "ipc/server.h"

#define KEEPER_TEXT_MAX 1024
#define KEEPER_IDENTITY_MAX (JOURNAL_DATA_MAX - 64)
#define KEEPER_RETRY_MS 60000
#define KEEPER_FORGIVE_MS (UINT64_C(10) * 60000)
/* The kinds of entries. */
#define KEEPER_NAMESPACE CORE_ENTRY_KINDS
#define KEEPER_HISTORY (CORE_ENTRY_KINDS + 32)
#define KEEPER_SUFFIX ".journal"

/* The namespace is another one if one of these is another. */
static const char *const keeper_settings[] = {
	"store", "lease", "heartbeat", "margin", "drift", "file", "format",
	"bridge", "table", "region", "endpoint", "fips", "dual_stack",
	"key_attribute", "key_type", "sort_attribute", "sort_type", "rename",
	"prefix", "profile", "access_key_id",
};

/* ---- where ------------------------------------------------------------- */

/* In the first of the service manager's directories, or beside the socket. */
static char *
keeper_path(const struct config_daemon *config)
{
	const char *directory = getenv("RUNTIME_DIRECTORY");
	const char *name = strrchr(config->socket, '/');
	char *path;
	int r;

	if (config->journal != NULL)
		return strdup(config->journal);
	if (directory != NULL && directory[0] == '/')
		r = asprintf(&path, "%.*s/%s" KEEPER_SUFFIX,
		    (int)strcspn(directory, ":"), directory,
		    name == NULL ? config->socket : name + 1);
	else
		r = asprintf(&path, "%s" KEEPER_SUFFIX, config->socket);
	return r < 0 ? NULL : path;
}

static void
keeper_fail(struct keeper *k, const char *text)
{
	if (!k->failed)
		log_write(LOG_ERR, NULL, "journal %s: what is held will not "
		    "outlive this daemon; it is tried again every minute",
		    text);
	k->failed = true;
	k->retry_ms = clock_boot_ms() + KEEPER_RETRY_MS;
}

/* Whatever was left. */
static enum journal_left
keeper_open(struct keeper *k, int journal)
{
	enum journal_left left;
	char text[KEEPER_TEXT_MAX];

	if (journal_file_new(k->path, journal, &k->file, &left, text,
	    sizeof(text)) < 0) {
		k->file = NULL;
		keeper_fail(k, text);
		return JOURNAL_LEFT_NOTHING;
	}
	if (left == JOURNAL_LEFT_BAD || left == JOURNAL_LEFT_OLD)
		log_write(left == JOURNAL_LEFT_BAD ? LOG_WARNING : LOG_INFO,
		    NULL, "journal %s; starting without it: what was held "
		    "ends with its lease", text);
	memset(k->places, 0, sizeof(k->places));
	k->told_place = 0;
	k->forgive_ms = clock_boot_ms() + KEEPER_FORGIVE_MS;
	return left;
}

int
keeper_init(struct keeper *k, const struct config_daemon *config, int journal)
{
	*k = (struct keeper){ .path = NULL };
	if (config->journal != NULL && strcmp(config->journal, "no") == 0)
		return 0;
	k->path = keeper_path(config);
	if (k->path == NULL)
		return DDBLOCK_E_NOMEM;
	k->has_legacy = keeper_open(k, journal) == JOURNAL_LEFT_GOOD;
	return 0;
}

void
keeper_done(struct keeper *k, bool keep)
{
	journal_file_free(k->file, keep);
	for (uint32_t i = 0; i < k->n_namespaces; i++)
		free(k->identities[i]);
	free(k->path);
	*k = (struct keeper){ .path = NULL };
}

/* ---- namespaces -------------------------------------------------------- */

static bool
keeper_is_identity(const struct config_setting *setting)
{
	for (size_t i = 0; i < sizeof(keeper_settings) /
	    sizeof(keeper_settings[0]); i++) {
		if (strcmp(setting->name, keeper_settings[i]) == 0)
			return true;
	}
	return false;
}

/* "NAME\nstore = sqlite\n..."; NULL in @ret: it is not kept. */
static int
keeper_identify(const struct config_namespace *n, char **ret)
{
	size_t n_settings;
	const struct config_setting *settings =
	    config_settings(CONFIG_NAMESPACE, &n_settings);
	struct buffer text;
	int r;

	*ret = NULL;
	if (config_kind(n)->ends_with_daemon)
		return 0;
	buffer_init(&text, KEEPER_IDENTITY_MAX);
	(void)buffer_printf(&text, "%s\n", n->name);
	for (size_t i = 0; i < n_settings; i++) {
		const void *value = (const char *)n + settings[i].offset;

		if (!keeper_is_identity(&settings[i]) ||
		    (settings[i].kind == CONFIG_TEXT &&
		    *(char *const *)value == NULL))
			continue;
		(void)buffer_printf(&text, "%s = ", settings[i].name);
		config_value_print(&settings[i], value, &text);
		(void)buffer_append_text(&text, "\n");
	}
	r = buffer_failed(&text);
	if (r == 0 && (*ret = strdup(text.data)) == NULL)
		r = DDBLOCK_E_NOMEM;
	buffer_done(&text);
	return r == DDBLOCK_E_NOMEM ? r : 0;
}

int
keeper_add_namespaces(struct keeper *k, const struct config *config,
    uint32_t n)
{
	int r = 0;

	while (r == 0 && k->path != NULL && k->n_namespaces < n) {
		r = keeper_identify(&config->namespaces[k->n_namespaces],
		    &k->identities[k->n_namespaces]);
		if (r == 0)
			k->n_namespaces++;
	}
	return r;
}

void
keeper_remove_namespaces(struct keeper *k, uint32_t n)
{
	while (k->n_namespaces > n) {
		const uint32_t i = --k->n_namespaces;

		if (k->file != NULL)
			journal_end(journal_file_journal(k->file),
			    &k->places[i]);
		free(k->identities[i]);
		k->identities[i] = NULL;
	}
}

/* False: there is no room. */
static bool
keeper_put_namespaces(struct keeper *k)
{
	for (uint32_t i = 0; i < k->n_namespaces; i++) {
		if (k->identities[i] != NULL && k->places[i] == 0 &&
		    !journal_put(journal_file_journal(k->file), &k->places[i],
		    KEEPER_NAMESPACE, &i, sizeof(i), k->identities[i],
		    strlen(k->identities[i])))
			return false;
	}
	return true;
}

/* ---- inheriting -------------------------------------------------------- */

/* Which is it here? 1 + its index; or 0, and @why says why. @name: how much of
 * it is its name. */
static uint32_t
keeper_find(const struct keeper *k, const char *identity, size_t length,
    size_t name, const char **why)
{
	*why = "it is configured no more";
	for (uint32_t i = 0; i < k->n_namespaces; i++) {
		const char *ours = k->identities[i];

		if (ours == NULL || strncmp(ours, identity, name + 1) != 0)
			continue;
		if (strlen(ours) == length &&
		    memcmp(ours, identity, length) == 0)
			return i + 1;
		*why = "its store or its times are others now";
	}
	return 0;
}

/* One entry of a namespace: what nobody can understand is of no namespace. */
static void
keeper_match(const struct keeper *k, const struct journal_entry *e,
    struct core_legacy *legacy, struct buffer *not)
{
	const char *identity = (const char *)e->data + sizeof(uint32_t);
	const char *why, *end;
	uint32_t index;
	size_t length;

	if (e->kind != KEEPER_NAMESPACE || e->length <= sizeof(index))
		return;
	memcpy(&index, e->data, sizeof(index));
	if (index >= CORE_NAMESPACES_MAX)
		return;
	length = e->length - sizeof(index);
	end = memchr(identity, '\n', length);
	if (end == NULL)
		return;
	legacy->namespaces[index] = keeper_find(k, identity, length,
	    (size_t)(end - identity), &why);
	if (legacy->namespaces[index] == 0)
		(void)buffer_printf(not, "; nothing of namespace %.*s: %s",
		    (int)(end - identity), identity, why);
}

static void
keeper_match_history(struct keeper *k, const struct journal_entry *e)
{
	if (e->kind == KEEPER_HISTORY && e->length == sizeof(k->told_before))
		memcpy(&k->told_before, e->data, e->length);
}

static int
keeper_inherit(struct keeper *k, struct core *core, struct core_inherited *ret)
{
	struct core_legacy legacy = { .learn_secret = server_learn_secret };
	struct journal_entry e = { .place = 0 };
	struct buffer not;
	int r;

	k->has_legacy = false;
	buffer_init(&not, KEEPER_TEXT_MAX);
	(void)buffer_append_text(&not, "");
	legacy.memory = journal_file_legacy(k->file, &legacy.size);
	while (journal_read(legacy.memory, legacy.size, &e)) {
		keeper_match(k, &e, &legacy, &not);
		keeper_match_history(k, &e);
	}
	r = core_inherit(core, &legacy, ret);
	if (r < 0)
		log_write(LOG_WARNING, NULL, "journal %s: %s; starting without "
		    "it: what was held ends with its lease", k->path,
		    r == DDBLOCK_E_BAD_RECORD ? "it contradicts itself" :
		    error_text(r));
	else
		log_write(ret->n_left_out > 0 ? LOG_WARNING : LOG_INFO, NULL,
		    "journal %s: inherited sessions=%" PRIu32 " holds=%" PRIu32
		    " left_out=%" PRIu32 "%s", k->path, ret->n_sessions,
		    ret->n_holds, ret->n_left_out,
		    not.length > 0 ? not.data : "");
	k->inherited_all = r == 0 && ret->n_left_out == 0 && not.length == 0;
	buffer_done(&not);
	return r;
}

static int
keeper_refuse(char *text, size_t size, const char *what, const char *why)
{
	(void)snprintf(text, size, "%s%s", what, why);
	return DDBLOCK_E_UNSUPPORTED;
}

/* Of each namespace, in a journal that is good. */
static int
keeper_match_all(const struct keeper *k, const struct journal_file *file,
    char *text, size_t size)
{
	struct core_legacy legacy = { .arg = NULL };
	struct journal_entry e = { .place = 0 };
	struct buffer not;
	int r = 0;

	buffer_init(&not, KEEPER_TEXT_MAX);
	(void)buffer_append_text(&not, "");
	legacy.memory = journal_file_legacy(file, &legacy.size);
	while (journal_read(legacy.memory, legacy.size, &e))
		keeper_match(k, &e, &legacy, &not);
	if (not.length > 0)
		r = keeper_refuse(text, size, "this daemon could take over ",
		    not.data + strlen("; "));
	buffer_done(&not);
	return r;
}

int
keeper_suits(const struct config *config, int journal, char *text, size_t size)
{
	struct keeper k = { .path = NULL };
	struct journal_file *file = NULL;
	int r;

	if (config->daemon.journal != NULL &&
	    strcmp(config->daemon.journal, "no") == 0)
		return keeper_refuse(text, size, "journal = no", ": this "
		    "daemon would take over nothing");
	k.path = keeper_path(&config->daemon);
	r = k.path == NULL ? DDBLOCK_E_NOMEM :
	    keeper_add_namespaces(&k, config, (uint32_t)config->n_namespaces);
	if (r < 0)
		(void)snprintf(text, size, "%s", error_text(r));
	else if (!keeper_keeps_all(&k))
		r = keeper_refuse(text, size, "store = memory", ": it would "
		    "end with the daemon before this one");
	if (r == 0)
		r = journal_file_look(k.path, journal, &file, text, size);
	if (r == 0)
		r = keeper_match_all(&k, file, text, size);
	journal_file_free(file, true);
	keeper_remove_namespaces(&k, 0);
	free(k.path);
	return r;
}

int
keeper_descriptor(const struct keeper *k)
{
	return k->file == NULL ? -1 : journal_file_descriptor(k->file);
}

static int
keeper_new_empty(const struct core_config *config, struct core **ret)
{
	uint64_t seed[CORE_SEED_WORDS];
	int r;

	if (getrandom(seed, sizeof(seed), 0) != (ssize_t)sizeof(seed))
		return DDBLOCK_E_SYSTEM;
	r = core_new(config, seed, clock_boot_ms(), ret);
	explicit_bzero(seed, sizeof(seed));
	return r;
}

int
keeper_new_core(struct keeper *k, const struct core_config *config,
    struct core **ret, struct core_inherited *ret_inherited)
{
	int r = keeper_new_empty(config, ret);

	*ret_inherited = (struct core_inherited){ .n_holds = 0 };
	if (r < 0 || !k->has_legacy)
		return r;
	k->inherited = keeper_inherit(k, *ret, ret_inherited) == 0;
	if (k->inherited)
		return 0;
	*ret_inherited = (struct core_inherited){ .n_holds = 0 };
	core_free(*ret);
	*ret = NULL;
	return keeper_new_empty(config, ret);
}

/* ---- saving ------------------------------------------------------------ */

static void
keeper_give_up(struct keeper *k, struct core *core, const char *text)
{
	(void)core_save(core, NULL);
	journal_file_free(k->file, false);
	k->file = NULL;
	keeper_fail(k, text);
}

/* What it has told: what comes after that was never said or sent. False: there
 * is no room. */
static bool
keeper_put_history(struct keeper *k, const struct history *h)
{
	struct history_place at = { .serial = h->serial };

	if (h->config == NULL ||
	    (k->told_place != 0 && k->told.serial == at.serial))
		return true;
	at.pid = (uint64_t)getpid();
	if (!journal_put(journal_file_journal(k->file), &k->told_place,
	    KEEPER_HISTORY, &at, sizeof(at), NULL, 0))
		return false;
	k->told = at;
	return true;
}

static int
keeper_write(struct keeper *k, const struct history *h, struct core *core,
    char *text, size_t size)
{
	int r;

	do {
		r = keeper_put_namespaces(k) && keeper_put_history(k, h) ?
		    core_save(core, journal_file_journal(k->file)) :
		    DDBLOCK_E_LIMIT;
		if (r == DDBLOCK_E_LIMIT &&
		    journal_file_grow(k->file, text, size) < 0)
			return r;
	} while (r == DDBLOCK_E_LIMIT);
	if (r == 0)
		return journal_file_settle(k->file, text, size);
	(void)snprintf(text, size, "%s: %s", k->path, error_text(r));
	return r;
}

const void *
keeper_legacy(const struct keeper *k, size_t *ret_size)
{
	*ret_size = 0;
	return k->file == NULL ? NULL : journal_file_legacy(k->file, ret_size);
}

struct journal *
keeper_journal(const struct keeper *k)
{
	return k->file == NULL ? NULL : journal_file_journal(k->file);
}

bool
keeper_keeps_all(const struct keeper *k)
{
	for (uint32_t i = 0; i < k->n_namespaces; i++) {
		if (k->identities[i] == NULL)
			return false;
	}
	return true;
}

bool
keeper_grow(struct keeper *k)
{
	char text[KEEPER_TEXT_MAX];

	return journal_file_grow(k->file, text, sizeof(text)) == 0;
}

void
keeper_save(struct keeper *k, const struct history *h, struct core *core,
    uint64_t now_ms)
{
	char text[KEEPER_TEXT_MAX];

	if (k->file == NULL) {
		if (k->path == NULL || now_ms < k->retry_ms)
			return;
		(void)keeper_open(k, -1);
		if (k->file == NULL)
			return;
	}
	if (keeper_write(k, h, core, text, sizeof(text)) < 0) {
		keeper_give_up(k, core, text);
		return;
	}
	if (k->failed)
		log_write(LOG_INFO, NULL, "journal %s: there is one now",
		    k->path);
	k->failed = false;
	journal_file_touch(k->file, now_ms);
	if (k->forgive_ms != 0 && now_ms >= k->forgive_ms) {
		journal_file_forgive(k->file);
		k->forgive_ms = 0;
	}
}
