/* Lines of the log with many fields. See log_line.h. */
#include <config.h>	/* the build's */

#include "daemon/log_line.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void
log_line_text(struct log_line *l, const char *name, const char *value)
{
	assert(l->n_fields < LOG_FIELDS_MAX);
	l->fields[l->n_fields++] = (struct log_field){ name, value };
}

void
log_line_number(struct log_line *l, const char *name, uint64_t value)
{
	char *text = l->numbers[l->n_fields];

	(void)snprintf(text, sizeof(l->numbers[0]), "%" PRIu64, value);
	log_line_text(l, name, text);
}

void
log_line_trail(struct log_line *l, enum trail_kind kind)
{
	log_line_text(l, "DDBLOCK_TRAIL", trail_kind_word(kind));
	log_line_text(l, "MESSAGE_ID", trail_kind_message_id(kind));
}

void
log_line_lock(struct log_line *l, struct key name, struct log_line_lock *lock)
{
	/* What was refused may be no name of a lock. */
	if (name.length > KEY_BYTES_MAX)
		name.length = KEY_BYTES_MAX;
	lock->sort = NULL;
	if (name.length > 0)
		memcpy(lock->key, name.bytes, name.length);
	lock->key[name.length] = '\0';
	/* The NUL between the two parts ends the first. */
	if (strlen(lock->key) < name.length)
		lock->sort = lock->key + strlen(lock->key) + 1;
	(void)snprintf(lock->name, sizeof(lock->name), "\"%.*s\"%s%.*s%s",
	    LOG_LINE_PART_MAX, lock->key, lock->sort == NULL ? "" : " \"",
	    LOG_LINE_PART_MAX, lock->sort == NULL ? "" : lock->sort,
	    lock->sort == NULL ? "" : "\"");
	log_line_text(l, "DDBLOCK_KEY", lock->key);
	log_line_text(l, "DDBLOCK_SORT", lock->sort);
}

void
log_line_client(struct log_line *l, uint64_t client,
    const struct server_client *who)
{
	if (client != 0)
		log_line_number(l, "DDBLOCK_CLIENT", client);
	if (who == NULL)
		return;
	log_line_text(l, "DDBLOCK_NAME", who->name);
	log_line_number(l, "DDBLOCK_USER", who->uid);
	log_line_number(l, "DDBLOCK_PID", (uint64_t)who->pid);
}

const char *
log_line_who(uint64_t client, const struct server_client *who,
    char ret[LOG_LINE_WHO_MAX])
{
	if (who == NULL)
		(void)snprintf(ret, LOG_LINE_WHO_MAX,
		    "client %" PRIu64 ", which has left", client);
	else
		(void)snprintf(ret, LOG_LINE_WHO_MAX, "%s (pid %ld, uid %ld)",
		    who->name, (long)who->pid, (long)who->uid);
	return ret;
}

int64_t
log_line_user(const struct server_client *who)
{
	return who == NULL ? LOG_NO_USER : (int64_t)who->uid;
}
