#!/bin/sh
# Run the benches from a build directory, beside DynamoDB Local if it is there.
# Where only others are named it is not started: to start costs it seconds of
# both processors, beside what is measured.
#
#     bench/run.sh [NAME...]
#
# A program that libtool built for running in place is a script around the real
# one; the real program is measured, as it would be installed.
here=$(cd "$(dirname "$0")" && pwd)
build=$PWD
real() {
	if [ -x "$build/.libs/$1" ]; then
		echo "$build/.libs/$1"
	else
		echo "$build/$1"
	fi
}
DDBLOCKD=$(real ddblockd)
DDBLOCK=$(real ddblock)
LD_LIBRARY_PATH=$build/.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export DDBLOCKD DDBLOCK LD_LIBRARY_PATH
beside="$here/../tests/integration/dynamodb-local $build/bench.d"
mkdir -p bench.d
asks_dynamodb() {
	[ $# -eq 0 ] && return
	option=
	for word; do
		case $option$word in
		--attack | --store) option=of: ;;
		again | dynamodb | freed | hop | list | noise | turns) return ;;
		*) option= ;;
		esac
	done
	return 1
}
# shellcheck disable=SC2086 # a command and its argument
asks_dynamodb "$@" && $beside true || beside=
# shellcheck disable=SC2086
exec $beside "$build/ddblock-bench" bench.d "$@"
