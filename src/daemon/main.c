/*
 * ddblockd(8): reads its command line, and runs what it says.
 */
#include <config.h>	/* the build's */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <syslog.h>
#include <unistd.h>

#include "common/log.h"
#include "daemon/config.h"
#include "daemon/daemon.h"
#include "daemon/options.h"
#include "daemon/config_reload.h"
#include "ddblock.h"

/* NULL: there is none. One that may not be looked at is an error, as any other
 * that cannot be read: what it says would be left out. */
static const char *
main_path(const struct options *options)
{
	if (options->config != NULL)
		return options->config;
	return access(CONFIG_PATH, F_OK) == 0 ||
	    (errno != ENOENT && errno != ENOTDIR) ? CONFIG_PATH : NULL;
}

/* The file, and the flags that go before it. */
static int
main_read(void *arg, struct config *config)
{
	const struct options *options = arg;
	const char *path = main_path(options);
	int r = 0;

	if (path != NULL)
		r = config_read(config, path);
	if (options_apply(options, config) < 0 && r == 0)
		r = DDBLOCK_E_BAD_REQUEST;
	return r;
}

/* 0, or an exit status after everything wrong has been said. */
static int
main_configure(struct config *config, struct options *options)
{
	int r = main_read(options, config);

	if (r == 0)
		r = config_finish(config);
	if (config->warnings.length > 0)
		fputs(config->warnings.data, stderr);
	if (config->errors.length > 0)
		fputs(config->errors.data, stderr);
	/* No system call fails here but those that read it. */
	return r == DDBLOCK_E_SYSTEM ? EX_CONFIG : daemon_exit_status(r);
}

static int
main_check_config(const struct config *config, const char *path)
{
	struct buffer text;
	int status = EX_OK;

	buffer_init(&text, 1024 * 1024);
	if (config_describe(config, &text) < 0) {
		status = EX_OSERR;
	} else {
		printf("%s: ok\n\n%s", path == NULL ? "(no file)" : path,
		    text.data);
		if (fflush(stdout) != 0)
			status = EX_IOERR;
	}
	buffer_done(&text);
	return status;
}

static int
main_perform(struct options *options)
{
	const struct reload_source source = {
		.read = main_read,
		.arg = options,
		.name = main_path(options),
	};
	const char *name = options->namespace_name == NULL ? "default" :
	    options->namespace_name;
	struct config *config;
	int status;

	daemon_harden();
	if (config_new(&config) < 0)
		return EX_OSERR;
	status = main_configure(config, options);
	if (status == EX_OK) {
		/* One question has its answer on the terminal. */
		log_init((enum log_target)config->daemon.log,
		    options->task == OPTIONS_SERVE ||
		    options->task == OPTIONS_REPLACE ?
		    daemon_log_level(config) : LOG_CRIT);
		switch (options->task) {
		case OPTIONS_CHECK_CONFIG:
			status = main_check_config(config, source.name);
			break;
		case OPTIONS_INIT_TABLE:
		case OPTIONS_CHECK_TABLE:
			status = daemon_table(config, name,
			    options->task == OPTIONS_INIT_TABLE);
			break;
		case OPTIONS_CHECK:
			status = daemon_check(config,
			    options->namespace_name);
			break;
		default:
			status = daemon_run(config, &source,
			    options->task == OPTIONS_REPLACE);
			break;
		}
	}
	config_free(config);
	return status;
}

int
main(int argc, char **argv)
{
	struct options options;
	int status;
	int r;

	/* Files of stores are private. */
	(void)umask(S_IRWXG | S_IRWXO);
	r = options_parse(&options, argc, argv);
	if (r < 0)
		return r == DDBLOCK_E_NOMEM ? EX_OSERR : EX_USAGE;
	switch (options.task) {
	case OPTIONS_HELP:
		options_help();
		status = EX_OK;
		break;
	case OPTIONS_VERSION:
		printf("ddblockd %s\n", PACKAGE_VERSION);
		status = EX_OK;
		break;
	default:
		status = main_perform(&options);
		break;
	}
	options_done(&options);
	return status;
}
