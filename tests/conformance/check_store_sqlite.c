/*
 * The embedded store against the conformance suite, in a directory of its own.
 */
#include "conformance.h"
#include "sqlite_place.h"

int
main(void)
{
	static const struct conformance_target target = {
		.name = "store_sqlite",
		.host = "web-1",
		.binary_keys = true,
		.sorts = true,
		.open = sqlite_place_open,
		.close = sqlite_place_close,
	};

	return conformance_run(conformance_suite(&target));
}
