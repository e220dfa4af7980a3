#!/bin/sh
# Make ./configure from configure.ac. Needs autoconf, autoconf-archive,
# automake, libtool and pkg-config.
set -e
cd "$(dirname "$0")"
mkdir -p m4 build-aux
exec autoreconf --install --warnings=all
