/*
 * Which source is for what.
 */
#include "identity/source_internal.h"

const struct source_methods *
source_of(enum chain_kind kind)
{
	static const struct source_methods *const table[] = {
		[CHAIN_SETTINGS] = &source_settings,
		[CHAIN_ENVIRONMENT] = &source_environment,
		[CHAIN_PROFILE] = &source_profile,
		[CHAIN_PROCESS] = &source_process,
		[CHAIN_WEB_IDENTITY] = &source_web_identity,
		[CHAIN_SSO] = &source_sso,
		[CHAIN_CONTAINER] = &source_container,
		[CHAIN_IMDS] = &source_imds,
	};

	return table[kind];
}
