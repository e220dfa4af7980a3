/*
 * The words of a plan's line, and the settings that are made of them.
 */
#include "plan_reader.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "ipc/codec.h"

int
reader_fail(struct reader *r, const char *format, ...)
{
	va_list arguments;
	int n = snprintf(r->text, r->size, "line %u: ", r->line);

	if (n > 0 && (size_t)n < r->size) {
		va_start(arguments, format);
		(void)vsnprintf(r->text + n, r->size - (size_t)n, format,
		    arguments);
		va_end(arguments);
	}
	return -1;
}

/* The next word; at the end of the line, an empty word. */
const char *
reader_take(struct reader *r)
{
	return r->words[r->next] == NULL ? "" : r->words[r->next++];
}

const char *
reader_look(const struct reader *r)
{
	return r->words[r->next] == NULL ? "" : r->words[r->next];
}

/* ---- words ------------------------------------------------------------ */

int
reader_number(struct reader *r, const char *word, uint64_t most, uint64_t *ret)
{
	uint64_t n = 0;

	if (!codec_parse_number(word, strlen(word), &n) || n > most)
		return reader_fail(r, "'%s' should be a number up to %" PRIu64,
		    word, most);
	*ret = n;
	return 0;
}

int
reader_count(struct reader *r, const char *word, uint32_t *ret)
{
	uint64_t n = 0;

	if (reader_number(r, word, UINT32_MAX, &n) < 0)
		return -1;
	*ret = (uint32_t)n;
	return 0;
}

/* As on the wire, without fractions. */
int
reader_duration(struct reader *r, const char *word, uint64_t *ret)
{
	size_t n = strlen(word);

	if (n > 1 && word[n - 1] > '9' && strchr(word, '.') == NULL &&
	    codec_parse_duration(word, n, ret))
		return 0;
	return reader_fail(r, "'%s' should be a duration such as 250ms, 5s, "
	    "2m, 3h or 365d", word);
}

int
reader_shift(struct reader *r, const char *word, int64_t *ret)
{
	uint64_t ms;

	if (word[0] != '+' && word[0] != '-')
		return reader_fail(r, "'%s' should be a shift such as +5s or "
		    "-365d", word);
	if (reader_duration(r, word + 1, &ms) < 0)
		return -1;
	*ret = word[0] == '+' ? (int64_t)ms : -(int64_t)ms;
	return 0;
}

static int
reader_ppm(struct reader *r, const char *word, uint64_t *ret)
{
	size_t n = strlen(word);

	if (n > 3 && strcmp(word + n - 3, "ppm") == 0 &&
	    codec_parse_number(word, n - 3, ret) && *ret <= 1000000)
		return 0;
	return reader_fail(r, "'%s' should be a rate such as 5000ppm", word);
}

int
reader_host(struct reader *r, const char *word, unsigned *ret)
{
	for (unsigned i = 0; i < PLAN_MACHINES_MAX; i++) {
		if ((!plan_is_peer(i) && i >= PLAN_HOSTS_MAX) ||
		    word[0] != plan_machine_name(i) || word[1] != '\0')
			continue;
		*ret = i;
		return plan_has_machine(r->plan, i) ? 0 :
		    reader_fail(r, "there is no host %s", word);
	}
	return reader_fail(r, "'%s' should be a host, from A to %c", word,
	    plan_machine_name(PLAN_HOSTS_MAX - 1));
}

int
reader_phase(struct reader *r, const char *word, enum plan_phase *ret)
{
	for (enum plan_phase p = PHASE_OLD; p < PHASES; p++)
		if (strcmp(plan_phase_name(p), word) == 0) {
			*ret = p;
			return 0;
		}
	return reader_fail(r, "'%s' should be old, bridge or native", word);
}

int
reader_key(struct reader *r, const char *word, char *ret)
{
	size_t n = strlen(word);

	if (n == 0 || n >= PLAN_KEY_MAX || strchr(word, '=') != NULL)
		return reader_fail(r, "'%s' should be a key of up to %d bytes, "
		    "without =", word, PLAN_KEY_MAX - 1);
	memcpy(ret, word, n + 1);
	return 0;
}

int
reader_namespace(struct reader *r, const char *word, uint32_t *ret)
{
	if (reader_count(r, word, ret) < 0)
		return -1;
	if (*ret >= r->plan->n_namespaces)
		return reader_fail(r, "there is no namespace %" PRIu32, *ret);
	return 0;
}

/* ---- settings --------------------------------------------------------- */

static int
reader_rate(struct reader *r, const char *word, int32_t *ret)
{
	uint64_t ppm = 0;

	if (word[0] != '+' && word[0] != '-')
		return reader_fail(r, "'%s' should be a rate such as +5000ppm",
		    word);
	if (reader_ppm(r, word + 1, &ppm) < 0)
		return -1;
	*ret = word[0] == '+' ? (int32_t)ppm : -(int32_t)ppm;
	return 0;
}

static int
reader_end(struct reader *r, const char *word, enum plan_end *ret)
{
	for (enum plan_end e = END_RELEASE; e <= END_CUT_OFF; e++)
		if (strcmp(plan_end_name(e), word) == 0) {
			*ret = e;
			return 0;
		}
	return reader_fail(r, "'%s' should be release, close, drain or never",
	    word);
}

static int
reader_long(struct reader *r, const char *word, uint64_t *ret)
{
	if (strcmp(word, "forever") == 0) {
		*ret = PLAN_FOREVER;
		return 0;
	}
	return reader_duration(r, word, ret);
}

static int
reader_mode(struct reader *r, const char *word, bool *ret)
{
	*ret = strcmp(word, "shared") == 0;
	return *ret || strcmp(word, "exclusive") == 0 ? 0 :
	    reader_fail(r, "'%s' should be shared or exclusive", word);
}

/* "2ms..8ms", or "5ms" for both. */
static int
reader_range(struct reader *r, char *word, uint64_t *ret)
{
	char *dots = strstr(word, "..");

	if (dots != NULL)
		*dots = '\0';
	if (reader_duration(r, word, &ret[0]) < 0)
		return -1;
	if (dots != NULL)
		return reader_duration(r, dots + 2, &ret[1]);
	ret[1] = ret[0];
	return 0;
}

static int
reader_value(struct reader *r, const struct setting *s, char *value,
    void *member)
{
	uint64_t n = 0;

	switch (s->form) {
	case SETTING_DURATION:
		return reader_duration(r, value, member);
	case SETTING_LONG:
		return reader_long(r, value, member);
	case SETTING_SECONDS:
		if (reader_duration(r, value, &n) < 0)
			return -1;
		if (n % 1000 != 0)
			return reader_fail(r, "%s is in whole seconds",
			    s->name);
		*(uint64_t *)member = n / 1000;
		return 0;
	case SETTING_SHIFT:
		return reader_shift(r, value, member);
	case SETTING_PPM:
		if (reader_ppm(r, value, &n) < 0)
			return -1;
		*(uint32_t *)member = (uint32_t)n;
		return 0;
	case SETTING_RATE:
		return reader_rate(r, value, member);
	case SETTING_COUNT:
		return reader_count(r, value, member);
	case SETTING_NUMBER:
		return reader_number(r, value, UINT64_MAX, member);
	case SETTING_RANGE:
		return reader_range(r, value, member);
	case SETTING_MODE:
		return reader_mode(r, value, member);
	case SETTING_END:
		return reader_end(r, value, member);
	case SETTING_PHASE:
		return reader_phase(r, value, member);
	case SETTING_OF:
		if (reader_host(r, value, member) < 0)
			return -1;
		++*(unsigned *)member;
		return 0;
	case SETTING_NAMESPACE:
		return reader_namespace(r, value, member);
	default:
		return reader_fail(r, "%s has no value", s->name);
	}
}

/* The rest of the line: settings of @object. */
int
reader_settings(struct reader *r, const struct setting *table, void *object,
    uint64_t *said)
{
	while (*reader_look(r) != '\0') {
		char *word = r->words[r->next++];
		char *value = strchr(word, '=');
		const struct setting *s = table;
		void *member;

		if (value != NULL)
			*value++ = '\0';
		while (s->name != NULL && strcmp(s->name, word) != 0)
			s++;
		if (s->name == NULL)
			return reader_fail(r, "there is no setting '%s' here",
			    word);
		if (*said & UINT64_C(1) << (s - table))
			return reader_fail(r, "%s is said twice", word);
		*said |= UINT64_C(1) << (s - table);
		member = (char *)object + s->offset;
		if (value == NULL && s->form == SETTING_FLAG)
			*(bool *)member = true;
		else if (value == NULL)
			return reader_fail(r, "%s needs a value", word);
		else if (reader_value(r, s, value, member) < 0)
			return -1;
	}
	return 0;
}
