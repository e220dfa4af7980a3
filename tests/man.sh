#!/bin/sh
# The manual pages: mandoc has nothing to say about them.
top=$(cd "$(dirname "$0")/.." && pwd)
if ! command -v mandoc >/dev/null; then
	echo "mandoc is missing (Debian: mandoc)"
	[ "${DDBLOCK_MUST_RUN:-}" = 1 ] && exit 1
	exit 77
fi
# "style" also complains of a date that is not mdoc's and of other systems'
# conventions; "warning" is what readers can see.
mandoc -T lint -W warning "$top"/man/*.[1-9]
