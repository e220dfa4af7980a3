/*
 * What a store has to say about its settings.
 */
#include "store/settings.h"

#include <stdarg.h>
#include <stdio.h>

#define SETTINGS_TEXT_MAX 5120	/* the longest value is among it */

void
store_complain(const struct store_judge *judge, const char *setting,
    const char *format, ...)
{
	char text[SETTINGS_TEXT_MAX];
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	judge->complain(judge->arg, setting, text);
}

void
store_warn(const struct store_judge *judge, const char *setting,
    const char *format, ...)
{
	char text[SETTINGS_TEXT_MAX];
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	judge->warn(judge->arg, setting, text);
}
