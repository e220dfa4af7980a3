/*
 * A log entry as one line of JSON, in the shape that journalctl(1) exports:
 * an object whose values are all text.
 */
#ifndef DDBLOCKD_COMMON_LOG_JSON_H
#define DDBLOCKD_COMMON_LOG_JSON_H

#include "common/buffer.h"

/* Between these, any number of fields. Failures stick in the buffer. */
void log_json_begin(struct buffer *);
/* What is no UTF-8 in @value is shown as U+FFFD. */
void log_json_field(struct buffer *, const char *name, const char *value);
void log_json_end(struct buffer *);

#endif
