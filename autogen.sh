#!/bin/sh
# Make ./configure from configure.ac and the lists of sources. Needs autoconf,
# autoconf-archive, automake, libtool, pkg-config and python3.
set -e
cd "$(dirname "$0")"
mkdir -p m4 build-aux
python3 scripts/sources
exec autoreconf --install --warnings=all
