#!/usr/bin/env python3
"""Check what a compiler does not: the style and the layers of HACKING.md.

    tests/tidy.py [BUILD-DIRECTORY]

Sizes, forbidden calls, file heads, the arrows between the folders, who writes
the structures of the core (writers.py), and, in a build directory (default: the
current one), that the pure folders were really compiled without a clock, a
socket, a file, a log or a variable of their own. Prints FILE:LINE: what is
wrong; the status is 1 if anything is.
"""
import glob
import os
import re
import subprocess
import sys

import writers

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

FILE_LINES_MAX = 600
ONE_HEADER = "include/ddblock.h"  # all that a program includes
FUNCTION_LINES_MAX = 70
NESTING_MAX = 4
COLUMNS_MAX = 80
TAB = 8

# Where to look, by the ending of the name.
FOLDERS = ("include", "src", "tests", "bench", "contrib", "proof", "scripts",
           "man", "doc", "proto", ".ci")
# Whose lines have an end, beside those of C.
NARROW = (".go", ".java", ".js", ".py", ".rs", ".sh")
SKIP = (".git", "__pycache__", "node_modules", "autom4te.cache", "build",
        "build-aux", "m4", "corpus", "target")

# Calls that may not appear, and what to use.
BANNED = {
    "strcpy": "a struct buffer, or memcpy with a length",
    "strncpy": "memcpy with a length",
    "strcat": "a struct buffer",
    "strncat": "a struct buffer",
    "sprintf": "snprintf",
    "vsprintf": "vsnprintf",
    "gets": "a bounded read",
    "atoi": "codec_parse_number or strtoull with checks",
    "atol": "strtoull with checks",
    "strtok": "an explicit loop",
    "sleep": "an event",
    "usleep": "an event",
    "nanosleep": "an event",
    "rand": "getrandom in the daemon; the core has its seed",
    "random": "getrandom in the daemon; the core has its seed",
    "srand": "getrandom",
    "time": "common/clock.h",
    "gettimeofday": "common/clock.h",
    "alloca": "the heap, with a check",
    "system": "posix_spawn",
    "tmpnam": "mkstemp",
}
BANNED_ELSEWHERE = {
    "clock_gettime": ("src/common/clock.c", "tests/fuzz/clock.c")}

# Pure: no clock, no socket, no file, no log, no variable of their own.
PURE = re.compile(r"src/(core/.*|dialect/.*|identity/(?!provider).*"
                  r"|hints/(?!hint_socket).*"
                  r"|cli/top/(best|detail|head|inside|lists|model|page|row"
                  r"|screen|table|tally|view)\.[ch]"
                  r"|common/(base64|fair_queue|histogram|json_quote|json_shape"
                  r"|siphash|time_text|utf8)\.[ch]"
                  r"|cli/(history/(entry|intervals)|why/(advice|verdict))\.[ch]"
                  r"|ipc/(access\w*|codec\w*|nearest|protocol\w*)\.[ch]"
                  r"|aws/(answer|answer_room|credentials|errors|health|hedge"
                  r"|loopback|patience|rate_limit|region|retry|retry_budget"
                  r"|sigv4|skew)\.[ch]"
                  r"|store/(attempts|consumed|translation(_\w+)?"
                  r"|dynamodb_(findings(_table)?|requests|schema))\.[ch])$")
PURE_HEADERS = re.compile(
    r"(time|sys/time|sys/socket|sys/un|netdb|netinet/.*|arpa/.*|fcntl|unistd"
    r"|poll|sys/e?poll|sys/stat|sys/random|syslog|systemd/.*|event2/.*"
    r"|curl/.*|pthread|signal|sys/wait|sqlite3|threads|locale)\.h$")
PURE_CALLS = re.compile(
    r"(?<!format\()\b(printf|vprintf|fprintf|vfprintf|puts|fputs|putchar|fopen"
    r"|FILE|stdout|stderr|getenv|secure_getenv|syslog|exit|abort)\b")
PURE_SYMBOLS = re.compile(
    r"^(time|gettimeofday|clock.*|timer_.*|nanosleep|u?sleep|socket.*|connect"
    r"|bind|listen|accept4?|send(to|msg)?|recv(from|msg)?|read|write|p(read"
    r"|write)(64)?|readv|writev|open(64|at|at64)?|creat|f(d|re)?open(64)?"
    r"|fputs|fwrite|fputc|puts|putchar|printf|__v?f?printf_chk|v?fprintf"
    r"|vprintf|syslog|sd_.*|curl_.*|event_.*|evbuffer_.*|sqlite3_.*|s?random?"
    r"|(rand|random)_r|getrandom|getentropy|arc4random.*|(secure_)?getenv"
    r"|pthread_.*|fork|exec.*|posix_spawn.*|system|p?poll|p?select|epoll_.*"
    r"|__(p?read|recv(from)?|p?poll|open(at)?)(64)?_(chk|2)"
    r"|localtime(_r)?|mktime|stdout|stderr|stdin|strtok|ctime|asctime"
    r"|clock_boot_.s|clock_wall_ms)$")
# Who may include what of src/. A name with a slash is one header.
ARROWS = {
    "common": (),
    "core": ("common",),
    "dialect": ("core", "common"),
    "aws": ("common",),
    "identity": ("aws", "common"),
    "store": ("core", "dialect", "identity", "aws", "common"),
    "hints": ("common",),
    "ipc": ("core", "common", "store/store.h"),
    "daemon": ("ipc", "hints", "store/kind.h", "store/kinds.def",
               "store/store.h", "store/settings.def", "dialect/formats.def",
               "aws/scrub.h", "core", "common"),
    "lib": ("ipc/codec.h", "ipc/protocol.h", "common"),
    "cli": ("ipc/codec.h", "ipc/protocol.h", "common"),
}
PROTOCOL = ("ipc/codec.h", "ipc/protocol.h", "ipc/protocol.def",
            "ipc/nearest.h", "common")
# The rooms of a folder, from the lowest: a file includes and calls its own room
# and those below it. What is in none of them is beneath all, but for TOPS.
ROOMS = {
    "core": ("lease", "lock", "client", "reads"),
    "ipc": ("connection", "answer", "verbs", "server"),
    "cli": ("base", "acquire", "hold", "why", "command", "shell", "top",
            "history"),
}
TOPS = ("core/core.c", "core/core.o", "core/configure.c",
        "core/configure.o", "core/succession.c", "core/succession.o",
        "cli/main.c", "cli/ddblock-main.o")
CIRCLE_FILES_MAX = 8
ARROWS_OF_FILES = {  # stricter than their folder
    "src/ipc/access.h": ("core/key.h", "ipc/access.def"),
    "src/ipc/access.c": ("ipc/access.h", "ipc/access.def", "common"),
    "src/ipc/access_unit.c": ("ipc/access.h",),
    "src/ipc/codec.c": ("ipc/codec.h", "common"),
    "src/ipc/codec_value.c": ("ipc/codec.h", "common"),
    "src/ipc/codec_write.c": ("ipc/codec.h", "common"),
    "src/ipc/codec.h": ("common",),
    "src/ipc/nearest.c": ("ipc/nearest.h",),
    "src/ipc/protocol.c": PROTOCOL,
    "src/ipc/protocol.h": PROTOCOL,
    "src/ipc/protocol_request.c": PROTOCOL,
    "src/ipc/protocol_value.c": PROTOCOL,
    "src/ipc/protocol_write.c": PROTOCOL,
    "src/common/utf8.c": ("common/utf8.h",),
    "src/store/attempts.h": ("store/translation.h", "core", "common",
                             "aws/answer.h", "aws/errors.h", "aws/retry.h",
                             "aws/retry_budget.h", "aws/rate_limit.h",
                             "aws/health.h", "aws/hedge.h",
                             "aws/patience.h"),
    "src/store/attempts.c": ("store/attempts.h", "store/consumed.h", "dialect",
                             "core", "common", "aws/answer.h", "aws/errors.h",
                             "aws/retry.h"),
    "src/store/translation.h": ("dialect", "core", "common", "aws/answer.h",
                                "aws/errors.h"),
    "src/store/translation_internal.h": ("store/translation.h",),
    "src/store/translation.c": ("store/translation_internal.h", "core",
                                "common"),
    "src/store/translation_parts.c": ("store/translation_internal.h", "core"),
    "src/store/translation_read.c": ("store/translation.h",),
}

# Who may know which stores there are: they themselves, and their table (to AWS
# one of the words is a service). All others read a store's row.
STORES_KNOWN = re.compile(r"src/(store|dialect|aws|identity)/")
STORES = re.compile(r"^STORE_KIND\((\w+),", flags=re.M)

# What a reader must not meet. Put together here, so as not to be met here.
WORDS = re.compile(
    "|".join([r"\b(FIX" + r"ME|TO" + r"DO|XX" + r"X)\b",
              r"\bissue\s+#?\d",
              r"(?<![\w.:/])/(work|root)/",
              r"(?<![\w.:/])/home/(?!USER|you)\w"]))

# Words that a reader stumbles over, and what to write instead (HACKING.md,
# English). Not in names, and not between backticks.
ENGLISH = {
    "whoever": "the client that, the holder, any waiter",
    "whomever": "a noun",
    "anew": "again, start again, a new one",
    "is had": "is held, is acquired",
    "are had": "are held, are acquired",
    "be had": "be held, be acquired",
    "was had": "was held",
    "were had": "were held",
    "not had": "not held, not acquired",
    "of very many": "of more than fit, of many",
    "as ever": "as usual, as before",
    "be it": "also, even, or a sentence with if",
    "nobody but": "only",
    "who would have it": "a waiter",
    "heeded": "used, or reacts to",
    "stays as it was": "does not change",
    "stay as they are": "do not change",
}
# The same where users and authors of the product read, and not yet in tests.
ENGLISH_OF_THE_PRODUCT = ENGLISH | {
    "those who": "a noun: waiters, holders, watchers, clients that",
    "the one who": "a noun",
    "whom": "a noun: the user that, hosts of which",
    "nobody else": "no other client, no other host",
    "nobody's": "free, of no client",
    "somebody's": "of another client",
    "what becomes of": "the fate of, the end of",
    "lest": "so that not",
    "in vain": "without effect",
}
ENGLISH_OF_TESTS = re.compile(r"tests/")
# The page that has these words as examples, and texts that are not ours.
ENGLISH_SHOWN = re.compile(r"HACKING\.md$|tests/tidy\.py$|.*\.json$|.*killers$")


def english(words):
    """Their regular expression: also over the end of a line of a comment."""
    gap = r"\\s+(?:(?:[*#]|//)\\s+)?"
    return re.compile(r"(?<![\w`-])(" + "|".join(
        re.sub(" ", gap, each) for each in sorted(words, key=len)[::-1]) +
        r")(?![\w`-])", re.I)


ENGLISH_WORDS = english(ENGLISH)
ENGLISH_WORDS_OF_THE_PRODUCT = english(ENGLISH_OF_THE_PRODUCT)

# The end of a line whose statement goes on in the next.
GOES_ON = re.compile(r"([,=+\-*/&|?<>(]|\?.*:|\b(return|else if))\s*$")

problems = []


def complain(path, line, text):
    problems.append(f"{path}:{line}: {text}")


def files():
    """All files of the project that people write."""
    names = [n for n in os.listdir(TOP)
             if os.path.isfile(os.path.join(TOP, n))
             and n.endswith((".md", ".am", ".ac", ".sh"))
             # An unpacked release has generated files beside ours.
             and not n.startswith("aclocal")]
    for folder in FOLDERS:
        for where, folders, found in os.walk(os.path.join(TOP, folder)):
            folders[:] = [f for f in folders if f not in SKIP]
            names += [os.path.relpath(os.path.join(where, f), TOP)
                      # A build in the source's folder has its own there.
                      for f in found if not f.endswith((".log", ".trs"))]
    return sorted(names)


def is_code(path):
    return path.endswith((".c", ".h", ".def"))


def blank(text):
    """C without the content of comments and strings; lines stay lines."""
    def hide(match):
        found = match.group(0)
        if found[0] in "\"'":
            return found[0] + found[0]
        return " " + "\n" * found.count("\n")
    return re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"'
                  r"|'(?:\\.|[^'\\\n])*'", hide, text, flags=re.S)


def check_lines(path, lines):
    code = is_code(path)
    for number, line in enumerate(lines, 1):
        found = WORDS.search(line)
        if found:
            complain(path, number, f"'{found.group(0)}' stays out of the tree")
        if line != line.rstrip() and not path.endswith(".md"):
            complain(path, number, "space at the end of the line")
        if (code or path.endswith(NARROW)) and \
                len(line.expandtabs(TAB)) > COLUMNS_MAX:
            complain(path, number, f"longer than {COLUMNS_MAX} columns")
    if code and len(lines) > FILE_LINES_MAX and path != ONE_HEADER:
        complain(path, len(lines), f"longer than {FILE_LINES_MAX} lines: "
                 "which two things does it do?")


def check_english(path, text):
    if ENGLISH_SHOWN.match(path):
        return
    words = ENGLISH_WORDS if ENGLISH_OF_TESTS.match(path) else \
        ENGLISH_WORDS_OF_THE_PRODUCT
    for match in words.finditer(text):
        found = re.sub(r"\s+(?:(?:[*#]|//)\s+)?", " ", match.group(0))
        complain(path, text.count("\n", 0, match.start()) + 1, f"'{found}': "
                 f"write {ENGLISH_OF_THE_PRODUCT[found.lower()]}")


def check_functions(path, lines):
    """Their length and depth. They open and close in the first column."""
    start = None
    for number, line in enumerate(lines, 1):
        if line == "{":
            start = number
        elif line == "}" and start is not None:
            if number - start - 1 >= FUNCTION_LINES_MAX:
                complain(path, start, f"a function of {number - start - 1} "
                         f"lines; fewer than {FUNCTION_LINES_MAX}")
            start = None
        elif start is not None:
            depth = len(line) - len(line.lstrip("\t")) - 1
            if depth > NESTING_MAX and not GOES_ON.search(lines[number - 2]):
                complain(path, number, f"nested {depth} deep; at most "
                         f"{NESTING_MAX}")


def check_calls(path, lines):
    for number, line in enumerate(lines, 1):
        for name in re.findall(r"(?<![\w.>])(\w+)\s*\(", line):
            if name in BANNED:
                complain(path, number, f"{name}(): use {BANNED[name]}")
            elif path not in BANNED_ELSEWHERE.get(name, (path,)):
                complain(path, number, f"{name}(): only in "
                         f"{BANNED_ELSEWHERE[name][0]}")
        if re.match(r"typedef\s+(struct|enum|union|u?int|unsigned)\b", line) \
                and "(" not in line:
            complain(path, number, "typedef only for types of functions")


def check_includes(path, text):
    parts = path.split("/")
    own = parts[1] if parts[0] == "src" else None
    for match in re.finditer(r'^[ \t]*#[ \t]*include[ \t]+([<"])([^>"]+)',
                             text, flags=re.M):
        number = text.count("\n", 0, match.start()) + 1
        bracket, name = match.groups()
        if bracket == "<":
            if PURE.match(path) and PURE_HEADERS.match(name):
                complain(path, number, f"<{name}> in a pure file")
            continue
        if own not in ARROWS or name in ("ddblock.h", "config.h"):
            continue
        allowed = ARROWS_OF_FILES.get(path, ARROWS[own] + (own,))
        if name not in allowed and name.split("/")[0] not in allowed:
            complain(path, number, f'"{name}": no arrow leads there '
                     "from here (HACKING.md, Layers)")


def stores():
    with open(os.path.join(TOP, "src/store/kinds.def"),
              encoding="utf-8") as f:
        return "|".join(STORES.findall(f.read()))


def check_stores(path, text, code, names):
    """Nobody asks which store it is."""
    if not path.startswith("src/") or STORES_KNOWN.match(path):
        return
    asks = [(code, r"\bstore(\.kind)?\s*[!=]=(?!\s*NULL\b)"),
            (code, rf"(?i)\b\w*store_({names})\w*"),
            (text, rf'"({names})"')]
    for where, what in asks:
        for match in re.finditer(what, where):
            complain(path, where.count("\n", 0, match.start()) + 1,
                     f"'{match.group(0)}' asks which store it is: its row "
                     "says what it can (src/store/kind.h)")


def room(path):
    """How high this file of a folder with rooms stands; else None."""
    parts = path.split("/")
    rooms = ROOMS.get(parts[1]) if parts[0] == "src" else None
    if rooms is None:
        return None
    if parts[2] in rooms:
        return 1 + rooms.index(parts[2])
    return 1 + len(rooms) if "/".join(parts[1:]) in TOPS else 0


def check_rooms(path, text):
    own = room(path)
    if own is None:
        return
    folder = path.split("/")[1]
    for match in re.finditer(rf'^#include "({folder}/[^"]+)"', text,
                             flags=re.M):
        if room("src/" + match.group(1)) > own:
            complain(path, text.count("\n", 0, match.start()) + 1,
                     f'"{match.group(1)}" is of a room above this one '
                     "(doc/architecture.md, Its rooms)")


def check_head(path, text):
    if not text.startswith("/*\n * ") and not text.startswith("/* "):
        complain(path, 1, "it opens with a comment: its job, then why")


def check_code(path, text, names):
    code = blank(text)
    lines = code.split("\n")
    check_head(path, text)
    check_includes(path, text)
    check_stores(path, text, code, names)
    check_rooms(path, text)
    if path.startswith(("src/", "include/", "bench/", "tests/")):
        check_calls(path, lines)
    check_functions(path, lines)
    if PURE.match(path):
        for number, line in enumerate(lines, 1):
            found = PURE_CALLS.search(line)
            if found:
                complain(path, number, f"{found.group(0)} in a pure file")


def objects(build):
    """Of the pure sources: LIBRARY-NAME.o, or NAME.o, is what became of
    NAME.c."""
    for path in glob.glob(os.path.join(build, "src/**/*.o"), recursive=True):
        folder, name = os.path.relpath(path, build).rsplit("/", 1)
        source = f"{folder}/{name[:-2].rsplit('-', 1)[-1]}.c"
        if PURE.match(source) and os.path.exists(os.path.join(TOP, source)):
            yield path


def check_objects(build):
    found = sorted(set(objects(build)))
    if not found:
        return
    listing = subprocess.run(["objdump", "-t"] + found, check=True, text=True,
                             stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE).stdout
    instrumented = "__asan_" in listing
    path = None
    for line in listing.splitlines():
        if ":     file format" in line:
            path = os.path.relpath(line.split(":")[0], build)
        match = re.match(r"[0-9a-f]{8,} .{7} (\S+)\s+[0-9a-f]+ +"
                         r"(?:\.hidden )?(\S+)$", line)
        if not match:
            continue
        section, name = match.groups()
        if section == "*UND*" and PURE_SYMBOLS.match(name):
            complain(path, 1, f"{name} in a pure object")
        elif re.match(r"(\.data|\.bss|\*COM\*)$", section) and \
                not instrumented and not name.startswith("."):
            complain(path, 1, f"{name} is a variable in a pure object")


def has_source(path, build):
    """An object may outlive its source in a build directory."""
    folder, name = os.path.split(os.path.relpath(path, build))
    source = re.sub(r"^.*-", "", name)[:-2] + ".c"
    return os.path.exists(os.path.join(TOP, folder, source))


def calls(build, folder):
    """By object: what it refers to of the folder's other objects."""
    found = [path for path in glob.glob(f"{build}/src/{folder}/**/*.o",
                                        recursive=True)
             if "/.libs/" not in path and has_source(path, build)]
    listing = subprocess.run(["nm", "-A"] + found, check=True, text=True,
                             stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE).stdout if found else ""
    defined, wanted = {}, []
    for line in listing.splitlines():
        path, rest = line.split(":", 1)
        kind, name = rest.split()[-2:]
        path = os.path.relpath(path, build)
        if kind in "TDRB":
            defined[name] = path
        elif kind == "U":
            wanted.append((path, name))
    arrows = {os.path.relpath(path, build): set() for path in found}
    for path, name in wanted:
        if defined.get(name, path) != path:
            arrows[path].add((defined[name], name))
    return arrows


def circles(arrows):
    """The largest sets of objects of which each reaches every other."""
    def reach(start, step):
        seen, todo = {start}, [start]
        while todo:
            new = step.get(todo.pop(), set()) - seen
            seen |= new
            todo += new
        return seen
    down = {path: {other for other, _ in out}
            for path, out in arrows.items()}
    up = {path: {other for other in down if path in down[other]}
          for path in down}
    left = set(down)
    while left:
        path = left.pop()
        circle = reach(path, down) & reach(path, up)
        left -= circle
        yield sorted(circle)


def includes(folder):
    """By module, a header with its source: whose headers it includes. What is
    at the top is not one with a header that is beneath all."""
    arrows = {}
    for path in glob.glob(f"src/{folder}/**/*.[ch]", root_dir=TOP,
                          recursive=True):
        with open(os.path.join(TOP, path), encoding="utf-8") as f:
            found = re.findall(r'^#include "([^"]+)\.h"', f.read(),
                               flags=re.M)
        top = path.removeprefix("src/") in TOPS
        here = path if top else os.path.splitext(path)[0]
        arrows.setdefault(here, set()).update(
            (f"src/{name}", name) for name in found
            if os.path.exists(os.path.join(TOP, f"src/{name}.h"))
            and f"src/{name}" != here)
    return {here: {(other, name) for other, name in out if other in arrows}
            for here, out in arrows.items()}


def check_circles(arrows, what):
    for circle in circles(arrows):
        if len(circle) > CIRCLE_FILES_MAX:
            complain(circle[0], 1, f"a circle of {what} of {len(circle)} "
                     "files: " + " ".join(circle))


def check_calls_of(build, folder):
    arrows = calls(build, folder)
    for path, out in sorted(arrows.items()):
        for other, name in sorted(out):
            if folder in ROOMS and room(other) > room(path):
                complain(path, 1, f"{name}() is of a room above this one "
                         "(doc/architecture.md, Its rooms)")
    check_circles(arrows, "calls")
    check_circles(includes(folder), "includes")


def main():
    names = files()
    stored = stores()
    for path in names:
        try:
            with open(os.path.join(TOP, path), encoding="utf-8") as f:
                text = f.read()
        except UnicodeDecodeError:
            continue  # a corpus, a picture
        if os.path.basename(path) in ("LICENSE", "copyright"):
            continue
        check_lines(path, text.split("\n"))
        check_english(path, text)
        if is_code(path):
            check_code(path, text, stored)
    build = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else ".")
    check_objects(build)
    for folder in ARROWS:
        check_calls_of(build, folder)
    writers.check(TOP, blank, complain)
    for problem in problems:
        print(problem)
    print(f"tidy: {len(names)} files, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
