/*
 * ddblockd(8): reads what it is asked to do, and does it.
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
#include "ddblock.h"

/* 0, or an exit status after everything wrong has been said. */
static int
main_configure(struct config *config, const struct options *options,
    const char **ret_path)
{
	const char *path = options->config;
	int r = 0;

	if (path == NULL && access(CONFIG_PATH, F_OK) == 0)
		path = CONFIG_PATH;
	if (path != NULL)
		r = config_read(config, path);
	if (options_apply(options, config) < 0 && r == 0)
		r = DDBLOCK_E_BAD_REQUEST;
	if (r == 0)
		r = config_finish(config);
	if (config->warnings.length > 0)
		fputs(config->warnings.data, stderr);
	if (config->errors.length > 0)
		fputs(config->errors.data, stderr);
	*ret_path = path;
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
main_perform(const struct options *options)
{
	static const int levels[] = { LOG_ERR, LOG_WARNING, LOG_INFO,
		LOG_DEBUG };
	const char *name = options->namespace_name == NULL ? "default" :
	    options->namespace_name;
	struct config *config;
	const char *path;
	int status;

	daemon_harden();
	if (config_new(&config) < 0)
		return EX_OSERR;
	status = main_configure(config, options, &path);
	if (status == EX_OK) {
		/* One question has its answer on the terminal. */
		log_init((enum log_target)config->daemon.log,
		    options->task == OPTIONS_SERVE ?
		    levels[config->daemon.log_level] : LOG_CRIT);
		switch (options->task) {
		case OPTIONS_CHECK_CONFIG:
			status = main_check_config(config, path);
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
			status = daemon_run(config);
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

	/* Files that stores make are nobody else's business. */
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
