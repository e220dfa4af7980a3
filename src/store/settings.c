/*
 * What a store has to say about its settings.
 */
#include "store/settings.h"

#include <stdarg.h>
#include <stdio.h>

#define SETTINGS_TEXT_MAX 5120	/* the longest value is among it */

__attribute__((format(printf, 4, 0)))
static void
settings_tell(void (*tell)(void *, const char *setting, const char *text),
    void *arg, const char *setting, const char *format, va_list arguments)
{
	char text[SETTINGS_TEXT_MAX];

	(void)vsnprintf(text, sizeof(text), format, arguments);
	tell(arg, setting, text);
}

void
store_complain(const struct store_judge *judge, const char *setting,
    const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	settings_tell(judge->complain, judge->arg, setting, format, arguments);
	va_end(arguments);
}

void
store_warn(const struct store_judge *judge, const char *setting,
    const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	settings_tell(judge->warn, judge->arg, setting, format, arguments);
	va_end(arguments);
}
