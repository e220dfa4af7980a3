/*
 * The files of profiles, and their content.
 */
#include "identity/identity_files.h"

#include <errno.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"

#define IDENTITY_FILES_TIMEOUT_MS 5000

struct identity_files_row {
	const char *variable;
	const char *credential;	/* in systemd's directory */
	const char *home;	/* below the home directory */
};

static const struct identity_files_row identity_files_table[PROFILE_FILES] = {
	[PROFILE_CONFIG] = { "AWS_CONFIG_FILE", "aws_config",
	    ".aws/config" },
	[PROFILE_CREDENTIALS] = { "AWS_SHARED_CREDENTIALS_FILE",
	    "aws_credentials", ".aws/credentials" },
};

/* ---- which ---- */

/* "DIRECTORY/REST"; NULL: no memory. */
static char *
identity_files_join(const char *directory, const char *rest)
{
	size_t before = strlen(directory), after = strlen(rest);
	char *path = malloc(before + after + 2);

	if (path == NULL)
		return NULL;
	memcpy(path, directory, before);
	path[before] = '/';
	memcpy(path + before + 1, rest, after + 1);
	return path;
}

static bool
identity_files_set(const char *value)
{
	return value != NULL && value[0] != '\0';
}

static int
identity_files_place(struct identity_file *f,
    const struct identity_files_row *row, chain_variable_fn variable,
    void *arg, const char *home)
{
	const char *named = variable(arg, row->variable);
	const char *directory = variable(arg, "CREDENTIALS_DIRECTORY");
	size_t n = 0, wanted = 0;

	if (identity_files_set(named)) {
		f->named = true;
		wanted = 1;
		f->paths[n] = named[0] == '~' && named[1] == '/' &&
		    home != NULL ? identity_files_join(home, named + 2) :
		    strdup(named);
		n += f->paths[n] != NULL;
		return n == wanted ? 0 : DDBLOCK_E_NOMEM;
	}
	if (identity_files_set(directory)) {
		wanted++;
		f->paths[n] = identity_files_join(directory, row->credential);
		n += f->paths[n] != NULL;
	}
	if (identity_files_set(home)) {
		wanted++;
		f->paths[n] = identity_files_join(home, row->home);
		n += f->paths[n] != NULL;
	}
	return n == wanted ? 0 : DDBLOCK_E_NOMEM;
}

int
identity_files_init(struct identity_files *s, chain_variable_fn variable,
    void *variable_arg, const char *home)
{
	int r = 0;

	*s = (struct identity_files){ .file = 0 };
	for (size_t i = 0; i < PROFILE_FILES; i++)
		buffer_init_secret(&s->files[i].text, PROFILE_TEXT_MAX);
	for (size_t i = 0; i < PROFILE_FILES && r == 0; i++)
		r = identity_files_place(&s->files[i],
		    &identity_files_table[i], variable, variable_arg, home);
	return r;
}

void
identity_files_forget(struct identity_files *s)
{
	for (size_t i = 0; i < PROFILE_FILES; i++)
		buffer_done(&s->files[i].text);
}

void
identity_files_suspect(struct identity_files *s)
{
	s->digested = false;
}

void
identity_files_done(struct identity_files *s)
{
	identity_files_forget(s);
	for (size_t i = 0; i < PROFILE_FILES; i++)
		for (size_t j = 0; j < IDENTITY_FILES_PLACES; j++) {
			free(s->files[i].paths[j]);
			s->files[i].paths[j] = NULL;
		}
}

/* ---- what is in them ---- */

static bool
identity_files_hash(const struct identity_files *s, unsigned char *digest)
{
	EVP_MD_CTX *context = EVP_MD_CTX_new();
	bool good = context != NULL &&
	    EVP_DigestInit_ex(context, EVP_sha256(), NULL) == 1;

	for (size_t i = 0; good && i < PROFILE_FILES; i++) {
		const struct identity_file *f = &s->files[i];
		/* Each path is its own; texts end where the length says. */
		uintptr_t head[2] = { (uintptr_t)f->found, f->text.length };

		good = EVP_DigestUpdate(context, head, sizeof(head)) == 1 &&
		    (f->text.length == 0 || EVP_DigestUpdate(context,
		    f->text.data, f->text.length) == 1);
	}
	good = good && EVP_DigestFinal_ex(context, digest, NULL) == 1;
	EVP_MD_CTX_free(context);
	return good;
}

static enum identity_files_verdict
identity_files_finish(struct identity_files *s)
{
	unsigned char digest[EVP_MAX_MD_SIZE] = { 0 };

	/* Without a digest they count as changed, which is right as well. */
	s->changed = !identity_files_hash(s, digest) || !s->digested ||
	    memcmp(digest, s->digest, sizeof(s->digest)) != 0;
	memcpy(s->digest, digest, sizeof(s->digest));
	s->digested = true;
	return IDENTITY_FILES_READ;
}

/* The next that may be there. */
static enum identity_files_verdict
identity_files_next(struct identity_files *s)
{
	for (; s->file < PROFILE_FILES; s->file++, s->place = 0) {
		const char *path = s->place < IDENTITY_FILES_PLACES ?
		    s->files[s->file].paths[s->place] : NULL;

		if (path == NULL)
			continue;
		s->errand = (struct errand){
			.kind = ERRAND_READ,
			.timeout_ms = IDENTITY_FILES_TIMEOUT_MS,
			.answer_max = PROFILE_TEXT_MAX,
			.path = path,
		};
		return IDENTITY_FILES_WAIT;
	}
	return identity_files_finish(s);
}

enum identity_files_verdict
identity_files_start(struct identity_files *s)
{
	identity_files_forget(s);
	for (size_t i = 0; i < PROFILE_FILES; i++)
		s->files[i].found = NULL;
	s->file = 0;
	s->place = 0;
	s->error[0] = '\0';
	return identity_files_next(s);
}

/* A home directory that is not ours to look into is as good as none. */
static bool
identity_files_absent(const struct identity_file *f,
    const struct errand_answer *a)
{
	return a->code == DDBLOCK_E_SYSTEM && (a->error == ENOENT ||
	    a->error == ENOTDIR ||
	    (!f->named && (a->error == EACCES || a->error == EPERM)));
}

enum identity_files_verdict
identity_files_answer(struct identity_files *s,
    const struct errand_answer *a)
{
	struct identity_file *f = &s->files[s->file];

	if (a->code == 0) {
		f->found = f->paths[s->place];
		f->is_exposed = a->is_exposed;
		if (buffer_append(&f->text, a->body, a->body_length) < 0) {
			(void)snprintf(s->error, sizeof(s->error), "%s",
			    error_text(buffer_failed(&f->text)));
			return IDENTITY_FILES_FAILED;
		}
		s->file++;
		s->place = 0;
	} else if (identity_files_absent(f, a)) {
		s->place++;
	} else {
		(void)snprintf(s->error, sizeof(s->error),
		    "%.300s could not be read: %.160s", f->paths[s->place],
		    a->text != NULL ? a->text : error_text(a->code));
		return IDENTITY_FILES_FAILED;
	}
	return identity_files_next(s);
}

const char *
identity_files_exposed(const struct identity_files *s)
{
	const struct identity_file *f = &s->files[PROFILE_CREDENTIALS];

	return f->found != NULL && f->is_exposed ? f->found : NULL;
}

int
identity_files_parse(struct identity_files *s, struct profiles *profiles)
{
	int r = 0;

	for (size_t i = 0; i < PROFILE_FILES && r == 0; i++) {
		const struct identity_file *f = &s->files[i];

		if (f->found != NULL)
			r = profiles_read(profiles, (enum profile_file)i,
			    f->found, f->text.data != NULL ? f->text.data :
			    "", f->text.length, s->error, sizeof(s->error));
	}
	return r;
}
