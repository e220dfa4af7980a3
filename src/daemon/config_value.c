/*
 * Values of each kind: text to value and back. The sentence of a rule ends in
 * what to write instead, because that is what its reader needs next.
 */
#include "daemon/config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ddblock.h"
#include "ipc/codec.h"

#define DAY_MS (UINT64_C(24) * 3600 * 1000)

static int
config_value_refuse(char *text, size_t size, const char *rule)
{
	(void)snprintf(text, size, "%s", rule);
	return DDBLOCK_E_BAD_REQUEST;
}

/* As on the wire. */
static int
config_parse_duration(const char *value, uint64_t *ret)
{
	return codec_parse_duration(value, strlen(value), ret) ? 0 :
	    DDBLOCK_E_BAD_REQUEST;
}

static int
config_parse_wait(const char *value, uint64_t *ret)
{
	if (strcmp(value, "forever") != 0)
		return config_parse_duration(value, ret);
	*ret = CONFIG_FOREVER;
	return 0;
}

static int
config_parse_percent(const char *value, uint64_t *ret)
{
	uint64_t ppm = 0;
	uint64_t unit = 10000;
	unsigned digits = 0;
	bool point = false;

	for (; *value != '\0' && *value != '%' && *value != ' '; value++) {
		if (*value == '.' && !point) {
			point = true;
			continue;
		}
		if (*value < '0' || *value > '9' || ++digits > 7)
			return DDBLOCK_E_BAD_REQUEST;
		if (point) {
			unit /= 10;
			ppm += (uint64_t)(*value - '0') * unit;
		} else {
			ppm = ppm * 10 + (uint64_t)(*value - '0') * 10000;
		}
	}
	while (*value == ' ')
		value++;
	if (digits == 0 || strcmp(value, "%") != 0)
		return DDBLOCK_E_BAD_REQUEST;
	*ret = ppm;
	return 0;
}

static int
config_parse_size(const char *value, uint64_t *ret)
{
	size_t length = strlen(value);
	uint64_t unit = 1;

	if (length > 1) {
		switch (value[length - 1]) {
		case 'K':
			unit = UINT64_C(1) << 10;
			break;
		case 'M':
			unit = UINT64_C(1) << 20;
			break;
		case 'G':
			unit = UINT64_C(1) << 30;
			break;
		default:
			break;
		}
		if (unit > 1)
			length--;
	}
	if (!codec_parse_number(value, length, ret) ||
	    __builtin_mul_overflow(*ret, unit, ret))
		return DDBLOCK_E_BAD_REQUEST;
	return 0;
}

static int
config_parse_mode(const char *value, uint64_t *ret)
{
	uint64_t mode = 0;

	if (*value == '\0' || strlen(value) > 5)
		return DDBLOCK_E_BAD_REQUEST;
	for (; *value != '\0'; value++) {
		if (*value < '0' || *value > '7')
			return DDBLOCK_E_BAD_REQUEST;
		mode = mode * 8 + (uint64_t)(*value - '0');
	}
	*ret = mode;
	return 0;
}

static int
config_parse_choice(const char *choices, const char *value, uint64_t *ret)
{
	size_t length = strlen(value);

	for (uint64_t i = 0; length > 0; i++) {
		size_t n = strcspn(choices, "|");

		if (n == length && memcmp(choices, value, n) == 0) {
			*ret = i;
			return 0;
		}
		if (choices[n] == '\0')
			break;
		choices += n + 1;
	}
	return DDBLOCK_E_BAD_REQUEST;
}

static void
config_print_number(enum config_kind kind, uint64_t n, char *text,
    size_t size)
{
	static const struct {
		uint64_t ms;
		const char *unit;
	} units[] = { { DAY_MS, "d" }, { 3600000, "h" }, { 60000, "m" },
		{ 1000, "s" }, { 1, "ms" } };
	size_t i = 0;

	if (kind == CONFIG_WAIT && n == CONFIG_FOREVER) {
		(void)snprintf(text, size, "forever");
		return;
	}
	switch (kind) {
	case CONFIG_DURATION:
	case CONFIG_WAIT:
		while (units[i].ms > 1 && (n == 0 || n % units[i].ms != 0))
			i++;
		(void)snprintf(text, size, "%" PRIu64 "%s", n / units[i].ms,
		    units[i].unit);
		break;
	case CONFIG_PERCENT:
		if (n % 10000 == 0)
			(void)snprintf(text, size, "%" PRIu64 "%%", n / 10000);
		else
			(void)snprintf(text, size, "%" PRIu64 ".%04" PRIu64
			    "%%", n / 10000, n % 10000);
		break;
	case CONFIG_SIZE:
		if (n > 0 && n % (1 << 20) == 0)
			(void)snprintf(text, size, "%" PRIu64 "M", n >> 20);
		else
			(void)snprintf(text, size, "%" PRIu64, n);
		break;
	case CONFIG_MODE:
		(void)snprintf(text, size, "%04" PRIo64, n);
		break;
	default:
		(void)snprintf(text, size, "%" PRIu64, n);
		break;
	}
}

/* The rule of form; NULL: any text will do. */
static const char *
config_value_rule(enum config_kind kind)
{
	switch (kind) {
	case CONFIG_DURATION:
		return "must be a time such as 500ms, 20s, 5m, 1h or 7d";
	case CONFIG_WAIT:
		return "must be forever, or a time such as 500ms, 20s or 5m";
	case CONFIG_PERCENT:
		return "must be a percentage such as 1% or 0.5%";
	case CONFIG_COUNT:
		return "must be a whole number";
	case CONFIG_SIZE:
		return "must be a number of bytes such as 4194304, 512K or 4M";
	case CONFIG_MODE:
		return "must be an octal mode such as 0660";
	case CONFIG_BOOLEAN:
		return "must be yes or no";
	default:
		return NULL;
	}
}

static int
config_parse_number(const struct config_setting *s, const char *value,
    uint64_t *ret, char *text, size_t size)
{
	switch (s->kind) {
	case CONFIG_DURATION:
		return config_parse_duration(value, ret);
	case CONFIG_WAIT:
		return config_parse_wait(value, ret);
	case CONFIG_PERCENT:
		return config_parse_percent(value, ret);
	case CONFIG_COUNT:
		return codec_parse_number(value, strlen(value), ret) ? 0 :
		    DDBLOCK_E_BAD_REQUEST;
	case CONFIG_SIZE:
		return config_parse_size(value, ret);
	case CONFIG_MODE:
		return config_parse_mode(value, ret);
	case CONFIG_BOOLEAN:
		return config_parse_choice("no|yes", value, ret);
	default:
		(void)snprintf(text, size, "must be one of %s", s->choices);
		return config_parse_choice(s->choices, value, ret);
	}
}

static int
config_parse_text(const char *value, char **ret, char *text, size_t size)
{
	char *copy;

	if (*value == '\0')
		return config_value_refuse(text, size, "must not be empty");
	if (!codec_is_text(value, strlen(value)))
		return config_value_refuse(text, size, "must be UTF-8");
	copy = strdup(value);
	if (copy == NULL)
		return DDBLOCK_E_NOMEM;
	*ret = copy;
	return 0;
}

int
config_value_parse(const struct config_setting *s, const char *value,
    void *target, char *text, size_t size)
{
	const char *rule = config_value_rule(s->kind);
	char least[32], most[32];
	uint64_t n = 0;
	int r;

	if (s->kind == CONFIG_TEXT || s->kind == CONFIG_SECRET) {
		char *copy = NULL;

		r = config_parse_text(value, &copy, text, size);
		if (r < 0)
			return r;
		config_value_clear(s, target);
		*(char **)target = copy;
		return 0;
	}
	r = config_parse_number(s, value, &n, text, size);
	if (r < 0)
		return rule == NULL ? r :
		    config_value_refuse(text, size, rule);
	if (s->kind != CONFIG_CHOICE && (n < s->least || n > s->most)) {
		config_print_number(s->kind, s->least, least, sizeof(least));
		config_print_number(s->kind, s->most, most, sizeof(most));
		(void)snprintf(text, size, "must be from %s to %s", least,
		    most);
		return DDBLOCK_E_BAD_REQUEST;
	}
	*(uint64_t *)target = n;
	return 0;
}

void
config_value_print(const struct config_setting *s, const void *target,
    struct buffer *buffer)
{
	const char *choice = s->choices;
	char text[32];
	uint64_t n;

	switch (s->kind) {
	case CONFIG_TEXT:
		(void)buffer_append_text(buffer, *(char *const *)target);
		return;
	case CONFIG_SECRET:
		(void)buffer_append_text(buffer, "(not shown)");
		return;
	case CONFIG_BOOLEAN:
		choice = "no|yes";
		break;
	case CONFIG_CHOICE:
		break;
	default:
		config_print_number(s->kind, *(const uint64_t *)target, text,
		    sizeof(text));
		(void)buffer_append_text(buffer, text);
		return;
	}
	for (n = *(const uint64_t *)target; n > 0; n--)
		choice += strcspn(choice, "|") + 1;
	(void)buffer_append(buffer, choice, strcspn(choice, "|"));
}

void
config_value_clear(const struct config_setting *s, void *target)
{
	char **text = target;

	if (s->kind != CONFIG_TEXT && s->kind != CONFIG_SECRET)
		return;
	if (*text != NULL && s->kind == CONFIG_SECRET)
		explicit_bzero(*text, strlen(*text));
	free(*text);
	*text = NULL;
}
