/*
 * The command line. The flags of the settings are made from their table; a
 * secret has none, because everybody can read a command line.
 */
#include <config.h>	/* the build's */

#include "daemon/options.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ddblock.h"

#define OPTIONS_NAME_MAX 40
#define OPTIONS_COLUMN 34	/* of the help's texts */
#define OPTIONS_WIDTH 79

enum {
	OPTIONS_SET = 256,
	OPTIONS_TASK,				/* + enum options_task */
	OPTIONS_SETTING = OPTIONS_TASK + 16,	/* + number of the flag */
};

struct options_flag {
	const char *name;	/* as written, for messages: "--lease" */
	const char *namespace_name;	/* NULL: of the daemon */
	const char *setting;
	const char *value;
};

/* One flag per setting: those of the daemon, then those of the default
 * namespace. */
struct options_row {
	char name[OPTIONS_NAME_MAX];	/* "--socket-mode" */
	const struct config_setting *setting;
	enum config_section section;
};

struct options_table {
	struct options_row rows[2 * CONFIG_SETTINGS_MAX];
	size_t n_rows;
	struct option options[2 * CONFIG_SETTINGS_MAX + 16];
};

static struct options_table options_table;

static const struct option options_tasks[] = {
	{ "config", required_argument, NULL, 'c' },
	{ "set", required_argument, NULL, OPTIONS_SET },
	{ "check-config", no_argument, NULL,
	    OPTIONS_TASK + OPTIONS_CHECK_CONFIG },
	{ "init-table", no_argument, NULL, OPTIONS_TASK + OPTIONS_INIT_TABLE },
	{ "check-table", no_argument, NULL,
	    OPTIONS_TASK + OPTIONS_CHECK_TABLE },
	{ "check", no_argument, NULL, OPTIONS_TASK + OPTIONS_CHECK },
	{ "replace", no_argument, NULL, OPTIONS_TASK + OPTIONS_REPLACE },
	{ "namespace", required_argument, NULL, 'n' },
	{ "version", no_argument, NULL, 'V' },
	{ "help", no_argument, NULL, 'h' },
};

#define OPTIONS_TASKS (sizeof(options_tasks) / sizeof(options_tasks[0]))

static void
options_add_section(struct options_table *t, enum config_section section)
{
	size_t n;
	const struct config_setting *s = config_settings(section, &n);

	for (size_t i = 0; i < n; i++) {
		struct options_row *row = &t->rows[t->n_rows];

		if (s[i].kind == CONFIG_SECRET)
			continue;
		row->setting = &s[i];
		row->section = section;
		(void)snprintf(row->name, sizeof(row->name), "--%s",
		    s[i].name);
		for (char *p = row->name; *p != '\0'; p++) {
			if (*p == '_')
				*p = '-';
		}
		t->options[OPTIONS_TASKS + t->n_rows] = (struct option){
			.name = row->name + 2,
			.has_arg = required_argument,
			.val = OPTIONS_SETTING + (int)t->n_rows,
		};
		t->n_rows++;
	}
}

static void
options_fill_table(struct options_table *t)
{
	memset(t, 0, sizeof(*t));
	memcpy(t->options, options_tasks, sizeof(options_tasks));
	options_add_section(t, CONFIG_DAEMON);
	options_add_section(t, CONFIG_NAMESPACE);
}

/* NAMESPACE.SETTING=VALUE, cut in place. */
static int
options_parse_set(struct options_flag *flag, char *text)
{
	char *value = strchr(text, '=');
	char *setting = strchr(text, '.');

	if (value == NULL || setting == NULL || setting > value) {
		fprintf(stderr, "ddblockd: --set=%s: write "
		    "--set=NAMESPACE.SETTING=VALUE\n", text);
		return DDBLOCK_E_BAD_REQUEST;
	}
	*setting++ = '\0';
	*value++ = '\0';
	for (char *p = setting; *p != '\0'; p++) {
		if (*p == '-')
			*p = '_';
	}
	if (strcmp(setting, "secret_access_key") == 0 ||
	    strcmp(setting, "session_token") == 0) {
		fprintf(stderr, "ddblockd: --set=%s.%s: everybody can read a "
		    "command line; use the file or the environment\n", text,
		    setting);
		return DDBLOCK_E_BAD_REQUEST;
	}
	*flag = (struct options_flag){ "--set", text, setting, value };
	return 0;
}

static int
options_take(struct options *o, int option)
{
	const struct options_row *row;

	switch (option) {
	case 'c':
		o->config = optarg;
		return 0;
	case 'n':
		o->namespace_name = optarg;
		return 0;
	case 'h':
		o->task = OPTIONS_HELP;
		return 0;
	case 'V':
		o->task = OPTIONS_VERSION;
		return 0;
	case '?':
		fprintf(stderr, "ddblockd --help lists the options\n");
		return DDBLOCK_E_BAD_REQUEST;
	case OPTIONS_SET:
		return options_parse_set(&o->flags[o->n_flags++], optarg);
	default:
		break;
	}
	if (option < OPTIONS_SETTING) {
		o->task = (enum options_task)(option - OPTIONS_TASK);
		return 0;
	}
	row = &options_table.rows[option - OPTIONS_SETTING];
	o->flags[o->n_flags++] = (struct options_flag){ row->name,
		row->section == CONFIG_DAEMON ? NULL : "default",
		row->setting->name, optarg };
	return 0;
}

int
options_parse(struct options *ret, int argc, char **argv)
{
	struct options o = { 0 };
	int option, r;

	options_fill_table(&options_table);
	o.flags = calloc((size_t)argc + 1, sizeof(*o.flags));
	if (o.flags == NULL)
		return DDBLOCK_E_NOMEM;
	while ((option = getopt_long(argc, argv, "c:n:hV",
	    options_table.options, NULL)) != -1) {
		r = options_take(&o, option);
		if (r < 0) {
			options_done(&o);
			return r;
		}
	}
	if (optind < argc) {
		fprintf(stderr, "ddblockd: %s: there are only options; "
		    "ddblockd --help lists them\n", argv[optind]);
		options_done(&o);
		return DDBLOCK_E_BAD_REQUEST;
	}
	*ret = o;
	return 0;
}

void
options_done(struct options *o)
{
	free(o->flags);
	o->flags = NULL;
}

int
options_apply(const struct options *o, struct config *config)
{
	int error = 0;

	for (size_t i = 0; i < o->n_flags; i++) {
		const struct options_flag *f = &o->flags[i];
		const struct config_origin origin = { .file = f->name };
		int r = config_set(config, f->namespace_name, f->setting,
		    f->value, origin);

		if (r < 0 && error == 0)
			error = r;
	}
	return error;
}

/* Print @text from the column on, which the cursor is at or left of. */
static void
options_help_text(size_t cursor, const char *text)
{
	size_t length;

	if (cursor + 2 > OPTIONS_COLUMN) {
		printf("\n");
		cursor = 0;
	}
	printf("%*s", (int)(OPTIONS_COLUMN - cursor), "");
	cursor = OPTIONS_COLUMN;
	for (; *text != '\0'; text += length) {
		bool first = cursor == OPTIONS_COLUMN;

		text += strspn(text, " ");
		length = strcspn(text, " ");
		if (cursor + 1 + length > OPTIONS_WIDTH) {
			printf("\n%*s", OPTIONS_COLUMN, "");
			cursor = OPTIONS_COLUMN;
			first = true;
		}
		cursor += length + (first ? 0 : 1);
		printf("%s%.*s", first ? "" : " ", (int)length, text);
	}
	printf("\n");
}

static void
options_help_row(const struct options_row *row)
{
	const struct config_setting *s = row->setting;
	char text[256];
	int n = printf("  %s=%s", row->name,
	    s->argument == NULL ? s->choices : s->argument);

	(void)snprintf(text, sizeof(text), "%s%s%s%s", s->help,
	    s->standard == NULL ? "" : " (",
	    s->standard == NULL ? "" : s->standard,
	    s->standard == NULL ? "" : ")");
	options_help_text(n < 0 ? 0 : (size_t)n, text);
}

void
options_help(void)
{
	enum config_section section = CONFIG_DAEMON;

	options_fill_table(&options_table);
	printf("usage: ddblockd [OPTION...]\n"
	    "Serves distributed locks to the programs of this host.\n\n"
	    "  -c, --config=FILE               the configuration\n"
	    "                                  (" CONFIG_PATH ")\n"
	    "      --check-config              read it, say what is wrong, "
	    "end\n"
	    "      --init-table                make the table of a namespace, "
	    "end\n"
	    "      --check-table               compare it with what is "
	    "needed, end\n"
	    "      --check                     check all that the stores "
	    "need, end\n"
	    "      --replace                   take the place of the daemon "
	    "that runs\n"
	    "  -n, --namespace=NAME            whose table (default), or which "
	    "to check\n"
	    "                                  (all)\n"
	    "      --set=NAME.SETTING=VALUE    a setting of any namespace\n"
	    "  -V, --version\n"
	    "  -h, --help\n"
	    "\nSettings of the daemon:\n");
	for (size_t i = 0; i < options_table.n_rows; i++) {
		const struct options_row *row = &options_table.rows[i];

		if (row->section != section)
			printf("\nSettings of the default namespace:\n");
		section = row->section;
		options_help_row(row);
	}
	printf("\nWhat each means, and the settings that are secret, is in "
	    "ddblockd.conf(5).\n");
}
