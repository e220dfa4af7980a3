/*
 * The embedded store against the conformance suite, in a directory of its own.
 */
#include "conformance.h"
#include "sqlite_fixture.h"
#include "test.h"

int
main(void)
{
	static const struct conformance_target target = {
		.name = "store_sqlite",
		.host = "web-1",
		.binary_keys = true,
		.sorts = true,
		.open = sqlite_fixture_open,
		.close = sqlite_fixture_close,
	};

	return conformance_main(&target, true, NULL);
}
