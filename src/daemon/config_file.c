/*
 * The configuration file, with libinih. That splits `name = value` lines and
 * drops comments. It cuts section names at 49 bytes, does not mention empty
 * sections, numbers no lines, and takes an indented line for a continuation;
 * so the reader that hands it the lines keeps the sections and the numbers
 * itself, and removes indentation.
 */
#include <config.h>	/* the build's */

#include "daemon/config.h"

#include <errno.h>
#include <fcntl.h>
#include <ini.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/file_trust.h"
#include "ddblock.h"

#define CONFIG_FILE_MAX (1024 * 1024)

struct config_reading {
	struct config *config;
	struct config_origin at;
	char *next;		/* of the text */
	char *end;
	char section[CONFIG_NAMESPACE_LENGTH_MAX + 1];	/* the namespace */
	size_t access;		/* the rule of access */
	enum { CONFIG_NOWHERE, CONFIG_IN_DAEMON, CONFIG_IN_NAMESPACE,
	    CONFIG_IN_ACCESS, CONFIG_IN_ERROR } where;
	bool open;		/* libinih has yet to call us about the line */
	int error;
};

static int
config_fail(struct config_reading *r, int error)
{
	if (r->error == 0 || error == DDBLOCK_E_NOMEM)
		r->error = error;
	return error;
}

/* NAME, if that is a section [@kind NAME]; or NULL. */
static const char *
config_section_name(const char *section, const char *kind)
{
	size_t length = strlen(kind);

	if (strncmp(section, kind, length) != 0 ||
	    (section[length] != ' ' && section[length] != '\t'))
		return NULL;
	section += length;
	return section + strspn(section, " \t");
}

/* `[daemon]`, `[namespace NAME]` or `[access NAME]`, without the brackets. */
static void
config_enter(struct config_reading *r, const char *section)
{
	const char *name = config_section_name(section, "namespace");
	const char *rule = config_section_name(section, "access");
	struct config_namespace *n;
	int error;

	r->where = CONFIG_IN_ERROR;
	if (strcmp(section, "daemon") == 0) {
		r->where = CONFIG_IN_DAEMON;
		return;
	}
	if (name != NULL) {
		error = config_add_namespace(r->config, name, r->at, &n);
	} else if (rule != NULL) {
		error = config_add_access(r->config, rule, r->at, &r->access);
	} else {
		config_complain(r->config, r->at, "there is no section [%s]; "
		    "use [daemon], [namespace NAME] or [access NAME]",
		    section);
		error = DDBLOCK_E_BAD_REQUEST;
	}
	if (error < 0) {
		(void)config_fail(r, error);
		return;
	}
	if (name != NULL)
		memcpy(r->section, n->name, sizeof(r->section));
	r->where = name != NULL ? CONFIG_IN_NAMESPACE : CONFIG_IN_ACCESS;
}

/* A line that begins with a bracket. */
static void
config_read_section(struct config_reading *r, char *line)
{
	char *end = strchr(line, ']');
	const char *rest = end == NULL ? "" : end + 1;

	rest += strspn(rest, " \t");
	if (end == NULL || (*rest != '\0' && *rest != ';' && *rest != '#')) {
		config_complain(r->config, r->at, "\"%s\" is not a section; "
		    "write [daemon], [namespace NAME] or [access NAME]", line);
		r->where = CONFIG_IN_ERROR;
		(void)config_fail(r, DDBLOCK_E_BAD_REQUEST);
		return;
	}
	*end = '\0';
	config_enter(r, line + 1);
}

/* The next line, without indentation and line end; NULL: there is none. */
static char *
config_next_line(struct config_reading *r)
{
	char *line = r->next;
	char *end;

	if (line == r->end)
		return NULL;
	end = memchr(line, '\n', (size_t)(r->end - line));
	r->next = end == NULL ? r->end : end + 1;
	if (end == NULL)
		end = r->end;	/* there is room for a NUL */
	*end = '\0';
	if (end > line && end[-1] == '\r')
		end[-1] = '\0';
	r->at.line++;
	if (r->at.line == 1 && strncmp(line, "\xef\xbb\xbf", 3) == 0)
		line += 3;
	return line + strspn(line, " \t");
}

/* What begins with a space and a ';' is a comment for libinih; people expect
 * the same of a '#'. */
static void
config_cut_comment(char *line)
{
	if (*line == '\0')
		return;
	for (char *c = line + 1; *c != '\0'; c++) {
		if (*c == '#' && (c[-1] == ' ' || c[-1] == '\t')) {
			*c = '\0';
			return;
		}
	}
}

/* Values that are not what they look like. False: a complaint was made. */
static bool
config_is_plain(struct config_reading *r, const char *name, const char *value)
{
	char first = value[0];

	if (first == ';' || first == '#')	/* libinih takes it for one */
		config_complain(r->config, r->at, "the value of %s begins "
		    "with '%c': a comment needs a space before it", name,
		    first);
	else if (first == '"' || first == '\'')
		config_complain(r->config, r->at, "the value of %s begins "
		    "with a quote, which would be a part of it: write it "
		    "without quotes", name);
	else
		return true;
	(void)config_fail(r, DDBLOCK_E_BAD_REQUEST);
	return false;
}

/* libinih's fgets(). The buffer still has the line before: maybe a secret. */
static char *
config_read_line(char *buffer, int size, void *arg)
{
	struct config_reading *r = arg;
	char *line;

	explicit_bzero(buffer, (size_t)size);
	if (r->open) {
		config_complain(r->config, r->at, "this is not a setting; "
		    "write NAME = VALUE");
		(void)config_fail(r, DDBLOCK_E_BAD_REQUEST);
		r->open = false;
	}
	for (;;) {
		line = config_next_line(r);
		if (line == NULL)
			return NULL;
		if (*line == '[') {
			config_read_section(r, line);
			continue;
		}
		config_cut_comment(line);
		if (strlen(line) + 2 < (size_t)size)
			break;
		config_complain(r->config, r->at, "the line is longer than "
		    "%d bytes; shorten it", size - 3);
		(void)config_fail(r, DDBLOCK_E_BAD_REQUEST);
	}
	r->open = strchr(";#", *line) == NULL;	/* nor empty */
	(void)snprintf(buffer, (size_t)size, "%s\n", line);
	return buffer;
}

static int
config_handle(void *arg, const char *section, const char *name,
    const char *value)
{
	struct config_reading *r = arg;
	int error;

	(void)section;	/* see above */
	r->open = false;
	if (!config_is_plain(r, name, value))
		return 1;
	switch (r->where) {
	case CONFIG_IN_DAEMON:
		error = config_set(r->config, NULL, name, value, r->at);
		break;
	case CONFIG_IN_NAMESPACE:
		error = config_set(r->config, r->section, name, value, r->at);
		break;
	case CONFIG_IN_ACCESS:
		error = config_set_access(r->config, r->access, name, value,
		    r->at);
		break;
	case CONFIG_NOWHERE:
		config_complain(r->config, r->at, "%s is in no section; "
		    "write [daemon], [namespace NAME] or [access NAME] above "
		    "it", name);
		error = DDBLOCK_E_BAD_REQUEST;
		break;
	default:
		error = 0;	/* the section has been complained about */
		break;
	}
	if (error < 0)
		(void)config_fail(r, error);
	return 1;
}

int
config_read_text(struct config *c, const char *name, char *text,
    size_t length)
{
	struct config_reading r = {
		.config = c,
		.at = { .file = name },
		.next = text,
		.end = text + length,
	};

	if (memchr(text, '\0', length) != NULL) {
		config_complain(c, r.at, "there is a NUL byte in it; is it "
		    "the right file?");
		return DDBLOCK_E_BAD_REQUEST;
	}
#if HAVE_DECL_INI_MAX_LINE
	/* Debian's library takes these at run time. */
	ini_use_stack = false;
	ini_max_line = CONFIG_VALUE_LENGTH_MAX;
	ini_initial_alloc = CONFIG_VALUE_LENGTH_MAX;
#endif
	/* Lines that it did not like are ours to report: see open. */
	if (ini_parse_stream(config_read_line, &r, config_handle, &r) == -2)
		return DDBLOCK_E_NOMEM;
	return r.error;
}

static int
config_load(struct config *c, const char *path, int fd, char **ret,
    size_t *ret_length)
{
	const struct config_origin at = { .file = path };
	char *text = malloc(CONFIG_FILE_MAX + 1);
	size_t length = 0;
	ssize_t n;

	if (text == NULL)
		return DDBLOCK_E_NOMEM;
	do {
		n = read(fd, text + length, CONFIG_FILE_MAX + 1 - length);
		if (n > 0)
			length += (size_t)n;
	} while (n > 0 || (n < 0 && errno == EINTR));
	if (n < 0 || length > CONFIG_FILE_MAX) {
		config_complain(c, at, "%s", n < 0 ? strerror(errno) :
		    "it is longer than 1 MiB; is it the right file?");
		explicit_bzero(text, length);
		free(text);
		return n < 0 ? DDBLOCK_E_SYSTEM : DDBLOCK_E_BAD_REQUEST;
	}
	*ret = text;
	*ret_length = length;
	return 0;
}

/* A setting of this file that is a secret, and where it stands; NULL: none. */
static const char *
config_secret(const struct config *c, const char *path,
    struct config_origin *ret)
{
	static const char *const names[] = { "secret_access_key",
		"session_token" };

	for (size_t i = 0; i < c->n_namespaces * 2; i++) {
		*ret = config_origin_of(c->namespaces[i / 2].origins,
		    CONFIG_NAMESPACE, names[i % 2]);
		if (ret->file == path)
			return names[i % 2];
	}
	return NULL;
}

/*
 * Others can change the file, or read it. With a secret in it both is an error,
 * as a private key is for ssh(1): by what others can change they choose whose
 * locks these are. Without one reading is fine.
 */
static int
config_check_secrets(struct config *c, const char *path, int fd)
{
	const enum file_trust trust = file_trust(fd, path);
	const char *advice = file_trust_advice(trust);
	struct config_origin at;
	const char *secret = config_secret(c, path, &at);

	if (secret == NULL && advice != NULL) {
		at = (struct config_origin){ .file = path };
		config_warn(c, at, "%s", advice);
	} else if (secret != NULL && advice != NULL) {
		config_complain(c, at, "%s is a secret in a file that is not "
		    "safe: %s %s", secret, advice, path);
		return DDBLOCK_E_BAD_REQUEST;
	} else if (secret != NULL && trust == FILE_TRUST_READABLE) {
		config_complain(c, at, "everybody can read this %s; run chmod "
		    "o-rwx %s, and make another key if somebody else may have "
		    "read it", secret, path);
		return DDBLOCK_E_BAD_REQUEST;
	} else if (secret != NULL && trust == FILE_TRUST_SHOWN) {
		config_warn(c, at, "everybody can read this %s; mount %s with "
		    "a mode such as 0440", secret, path);
	}
	return 0;
}

int
config_read(struct config *c, const char *path)
{
	const struct config_origin at = { .file = path };
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	char *text;
	size_t length;
	int error, r;

	if (fd < 0) {
		error = errno;
		config_complain(c, at, "%s", strerror(error));
		errno = error;
		return DDBLOCK_E_SYSTEM;
	}
	r = config_load(c, path, fd, &text, &length);
	if (r == 0) {
		r = config_read_text(c, path, text, length);
		if (config_check_secrets(c, path, fd) < 0 && r == 0)
			r = DDBLOCK_E_BAD_REQUEST;
		explicit_bzero(text, length);
		free(text);
	}
	(void)close(fd);
	return r;
}
