#!/bin/sh
# The manual pages, by both of their renderers: mandoc, and groff, which is what
# man(1) runs. Neither has anything to say about a page, both show the same
# words, and no quotation begins within another of its kind: that is how a macro
# looks that took more of its line than was meant.
set -u
top=$(cd "$(dirname "$0")/.." && pwd)
export LC_ALL=C.UTF-8
failed=0

for renderer in mandoc groff; do
	command -v "$renderer" >/dev/null && continue
	echo "$renderer is missing (Debian: mandoc, groff-base)"
	[ "${DDBLOCK_MUST_RUN:-}" = 1 ] && exit 1
	exit 77
done

# Lines so long that nothing need be hyphenated, and for groff 1.23 nothing is.
# Bold is a character struck twice.
by_mandoc() {
	mandoc -T utf8 -O width=1000 "$1" | sed 's/.\x08//g'
}
by_groff() {
	groff -mdoc -T utf8 -r LL=1000n -r HY=0 -P -c "$1" 2>/dev/null |
	    sed 's/.\x08//g'
}

# One a line, but for those that the renderers add by themselves: at the top and
# the bottom, and quotes around the name of a section from groff 1.23 on.
words() {
	tr -s ' \n' '\n\n' | sed 's/[“”]//g; s/^UNIX-/Unix-/' |
	    grep -vxE 'BSD|Debian|—|–|[A-Z.-]+\([1-9]\)'
}

complain() {
	echo "$1: $2"
	failed=1
}

# "style" also complains of a date that is not mdoc's and of other systems'
# conventions; "warning" is what readers can see.
mandoc -T lint -W warning "$top"/man/*.[1-9] || failed=1

shown=$(mktemp -d) || exit 1
trap 'rm -rf "$shown"' EXIT
for page in "$top"/man/*.[1-9]; do
	name=$(basename "$page")
	said=$(groff -mdoc -T utf8 -ww "$page" 2>&1 >/dev/null |
	    grep -v 'cannot adjust line')
	[ -z "$said" ] || complain "$name" "$said"

	by_mandoc "$page" >"$shown/mandoc"
	by_groff "$page" >"$shown/groff"
	[ "$(wc -w <"$shown/groff")" -gt 100 ] || complain "$name" "is empty"
	words <"$shown/mandoc" >"$shown/mandoc.words"
	words <"$shown/groff" >"$shown/groff.words"
	diff "$shown/mandoc.words" "$shown/groff.words" ||
	    complain "$name" "mandoc (<) and groff (>) show different words"

	for renderer in mandoc groff; do
		nested=$(tr '\n' ' ' <"$shown/$renderer" |
		    grep -oE '‘[^’]{0,80}‘|“[^”]{0,80}“')
		[ -z "$nested" ] ||
		    complain "$name" "$renderer: quotes in quotes: $nested"
	done
done
exit $failed
