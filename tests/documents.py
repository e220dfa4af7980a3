#!/usr/bin/env python3
"""Check that the documents say what the code has, wherever a table has it.

    tests/documents.py [BUILD-DIRECTORY]

Settings and their defaults, codes and exit statuses, verbs and events,
commands and options, limits, the folders' arrows, the entries of a history, and
the names of files, functions, manual pages and targets. Each check yields what
disagrees. The programs in a build directory (default: the current one) are
asked for their options.

Which verbs there are is taken from the example of HELP in proto/protocol.md,
which tests/integration/proto_replay.py replays against the daemon.
"""
import ast
import fnmatch
import os
import re
import subprocess
import sys

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else ".")
OWN = "tests/documents.py"

# What people read.
DOCUMENTS = ("README.md", "HACKING.md", "CHANGELOG.md", "doc/", "proto/",
             "man/", "proof/README.md", "contrib/aws/README.md",
             "contrib/clients/")
SKIPPED = (".git", "build", "build-aux", "autom4te.cache", "m4",
           "node_modules", "__pycache__", "target")


def read(path):
    with open(os.path.join(TOP, path), encoding="utf-8") as f:
        return f.read()


def tree():
    """All files of the project, without what was built."""
    for where, folders, names in os.walk(TOP):
        folders[:] = [f for f in folders if f not in SKIPPED]
        for name in names:
            yield os.path.relpath(os.path.join(where, name), TOP)


FILES = sorted(tree())


def documents():
    return [path for path in FILES if path.startswith(DOCUMENTS) and
            (path.endswith(".md") or path.startswith("man/"))]


def pages():
    return [path for path in FILES if path.startswith("man/")]


def sources(*endings):
    return [path for path in FILES if path.startswith("src/") and
            path.endswith(endings)]


def differ(what, wanted, had):
    """Two sets of names that should be one."""
    for name in sorted(set(wanted) - set(had)):
        yield f"{what}: {name} is missing"
    for name in sorted(set(had) - set(wanted)):
        yield f"{what}: there is no {name}"


# ---- mdoc ---------------------------------------------------------------

def section(page, title):
    """The lines of a section of a manual page."""
    text = read(page)
    found = re.search(rf"^\.Sh {re.escape(title)}\n(.*?)(?=^\.Sh |\Z)", text,
                      re.M | re.S)
    return found.group(1) if found else ""


def items(text, macro):
    """(the rest of the line, what follows) of each `.It MACRO` of a list.
    Several in a row share what follows."""
    waiting = []
    for head, body in re.findall(rf"^\.It {macro} (.*)\n((?:(?!\.It ).*\n)*)",
                                 text, re.M):
        waiting.append(head)
        if body.strip():
            for each in waiting:
                yield each, body
            waiting = []


def plain(text):
    """The words of a text, without macros and punctuation of their own."""
    words = []
    for line in text.splitlines():
        if line.startswith("."):
            line = re.sub(r"^\.(\w\w )?|\b(Ns|No|Ar|Li|Ic|Cm|Fl)\b|\\&", " ",
                          line)
        words += [word.strip(".,;:()") for word in line.split()]
    return [word for word in words if word]


# ---- settings -----------------------------------------------------------

ARGUMENTS = {"DURATION": "Ar time", "WAIT": "Ar time | Cm forever",
             "PERCENT": "Ar percent", "COUNT": "Ar number",
             "SIZE": "Ar bytes", "MODE": "Ar mode", "BOOLEAN": "Ar switch"}
# Whose default is in the environment or the profile first, and then this.
AFTER_OTHERS = ("fips", "dual_stack")


def settings():
    """{name: (kind, default or None, choices or None)} by section."""
    table = read("src/daemon/config_table.c")
    names = dict(re.findall(r'^#define (\w+) \\?\s*"([^"]*)"',
                            read("src/store/settings.h") +
                            read("src/store/kind.h"), re.M))
    names["config_store_names"] = "|".join(
        re.findall(r"^STORE_KIND\((\w+)", read("src/store/kinds.def"), re.M))
    names["config_format_names"] = "|".join(
        re.findall(r'^FORMAT\(\w+, \w+, "([\w-]+)"',
                   read("src/dialect/formats.def"), re.M))
    rows = [("daemon",) + row for row in re.findall(
        r'\{ "(\w+)", (?:LIVE|START),\s*CONFIG_(\w+),\s*D\(\w+\),'
        r'\s*(\w+|"[^"]*"),'
        r"(.*?)(?=\n\t\{ \"|^\};)", table, re.S | re.M)]
    rows += [("namespace",) + row for row in re.findall(
        r'^(?:NAMESPACE|STORE)\((\w+), (\w+), \w+,\s*(?:LIVE|START),'
        r'\s*(\w+|"[^"]*"),'
        r"(.*?)\)$", read("src/store/settings.def"), re.S | re.M)]
    found = {}
    for title, name, kind, default, rest in rows:
        choices = re.search(
            r'"([\w-]+(?:\|[\w-]+)+)"|(\w+_(?:NAMES|names))', rest)
        found[name] = (
            title, kind, None if default == "NULL" else
            names.get(default, default.strip('"')),
            kind == "CHOICE" and (choices.group(1) or
                                  names[choices.group(2)]))
    return found


def check_settings():
    page = "man/ddblockd.conf.5"
    told = {}
    for title, section_name in (("THE DAEMON", "daemon"),
                                ("NAMESPACES", "namespace")):
        for head, body in items(section(page, title), "Ic"):
            name, _, argument = head.partition(" ")
            told[name] = section_name, argument, body
    have = settings()
    if len(have) < 50:
        yield f"only {len(have)} settings were found"
    yield from differ(page, have, told)
    for name in sorted(set(have) & set(told)):
        section_name, kind, default, choices = have[name]
        told_section, argument, body = told[name]
        if section_name != told_section:
            yield f"{page}: {name} is a setting of the {section_name}"
        wanted = ARGUMENTS.get(kind)
        if kind == "CHOICE":
            wanted = "Li " + choices.replace("|", " | ")
        if wanted and wanted != argument:
            yield f"{page}: {name} takes {wanted!r}, not {argument!r}"
        if default is None:
            continue
        _, _, after = body.partition("Default:")
        words = plain(after) or ["nothing"]
        word = words[-1 if name in AFTER_OTHERS else 0]
        if word != default:
            yield f"{page}: the default of {name} is {default}, not {word}"


# ---- rules of access ----------------------------------------------------

def check_access():
    """Their settings, their rights, and what the error for another word
    lists."""
    page = "man/ddblockd.conf.5"
    text = section(page, "ACCESS")
    source = read("src/daemon/config_access.c")
    table = read("src/ipc/access.def")
    rights = re.findall(r'^ACCESS\(\w+, \d, "([\w-]+)"', table, re.M)
    limits = re.findall(r'^ACCESS_LIMIT\(\w+, "(\w+)"', table, re.M)
    if len(rights) < 5:
        yield f"only {len(rights)} rights were found"
    yield from differ(
        f"{page}, ACCESS",
        re.findall(r'^\t\{ "(\w+)", true', source, re.M) + limits,
        [head.split()[0] for head, _ in items(text, "Ic")])
    yield from differ(f"{page}, ACCESS", rights + ["all", "none"],
                      [head for head, _ in items(text, "Li")])
    yield from differ(
        "proto/protocol.md, Rules of access", rights, re.findall(
            r"^\| `([\w-]+)` \|", read("proto/protocol.md").partition(
                "\n## Rules of access\n")[2].partition("\n## ")[0], re.M))
    if ", ".join(rights) not in re.sub(r'"\s*"', "", source):
        yield "src/daemon/config_access.c: the error lists other rights"


# ---- codes --------------------------------------------------------------

OF_THE_LIBRARY = {"NO_DAEMON", "PROTOCOL"}
# Of ddblock(1), which are no code's.
OTHER_STATUSES = {126, 127}


def codes():
    """[(name, exit status, text)] in the order of the constants."""
    return [(name, int(status), text) for name, status, text in
            re.findall(r'^X\((\w+), (\d+), \w+,\s+"([^"]*)"',
                       read("src/common/err.def"), re.M)]


def statuses(page):
    return {int(head) for head, _ in items(section(page, "EXIT STATUS"), "")
            if head.isdigit()} | {
        int(n) for n in re.findall(r"^\.It (\d+)$",
                                   section(page, "EXIT STATUS"), re.M)}


def check_codes():
    have = codes()
    header = re.findall(r"/\* (.*?) \*/\s*DDBLOCK_E_(\w+) = -(\d+),",
                        read("include/ddblock.h"))
    wanted = [(text, name, str(i)) for i, (name, _, text) in
              enumerate(have, 1)]
    for ours, theirs in zip(wanted, header):
        if ours != theirs:
            yield f"include/ddblock.h: {theirs}, and err.def has {ours}"
    if len(header) != len(have):
        yield f"include/ddblock.h: {len(header)} codes, not {len(have)}"

    names = {name for name, _, _ in have} - OF_THE_LIBRARY
    told = {word for head, _ in
            items(section("man/ddblock-protocol.7", "CODES"), "Er")
            for word in head.replace(",", "").split()}
    yield from differ("man/ddblock-protocol.7, CODES", names, told)

    every = {status for _, status, _ in have}
    shown = statuses("man/ddblock.1") - OTHER_STATUSES
    yield from differ("man/ddblock.1, EXIT STATUS", map(str, every),
                      map(str, shown))
    for status in statuses("man/ddblockd.8") - every - {0}:
        yield f"man/ddblockd.8, EXIT STATUS: no code has {status}"


# ---- the protocol -------------------------------------------------------

def verbs():
    """{verb: [argument]}, by the example of HELP."""
    return {verb: arguments.split(",") if arguments else [] for
            verb, arguments in re.findall(
                r"^S: \+ verb=(\w+)(?: subject=\S+)?(?: arguments=(\S+))?$",
                read("proto/protocol.md"), re.M)}


def check_protocol():
    page = "man/ddblock-protocol.7"
    have = verbs()
    text = section(page, "VERBS")
    told = [head.split()[0] for head, _ in items(text, "Ic")]
    yield from differ(f"{page}, VERBS", have, told)
    for verb, arguments in have.items():
        for argument in arguments:
            if not re.search(rf"\b{re.escape(argument)}\b", text):
                yield f"{page}, VERBS: {verb} has {argument}"

    server = "".join(read(path) for path in sources(".c")
                     if path.startswith("src/ipc/"))
    fields = set(re.findall(r'codec_(?:value|text_value|number|duration|'
                            r'boolean)\(\s*b,\s*"(\w+)"', server))
    fields |= {field for path in sources(".c") if path.startswith("src/store/")
               for field in re.findall(r'status_(?:number|duration|text)\('
                                       r'ret,\s*"(\w+)"', read(path))}
    if len(fields) < 60:
        yield f"only {len(fields)} fields of answers were found"
    for field in sorted(fields):
        if not re.search(rf"`[^`]*\b{field}\b[^`]*`",
                         read("proto/protocol.md")):
            yield f"proto/protocol.md does not say what {field} is"

    seen = {word for path in sources(".c") for word in
            re.findall(r'finding_set\(\s*\w+,\s*"(\w+)"', read(path))}
    told = re.findall(r"^\| (\w+) \| (?:both|DynamoDB|SQLite) \|",
                      read("proto/protocol.md"), re.M)
    if len(seen) < 10:
        yield f"only {len(seen)} things that CHECK looks at were found"
    for word in sorted(seen - set(told)):
        yield f"proto/protocol.md, CHECK: {word} is missing"

    events = set(re.findall(r'"(![A-Z_]+)"', server))
    if len(events) < 8:
        yield f"only {len(events)} events were found"
    told = [head.split()[0] for head, _ in
            items(section(page, "EVENTS"), "Ic")]
    yield from differ(f"{page}, EVENTS", events, told)
    told = re.findall(r"^\| `(![A-Z_]+)` \|", read("proto/protocol.md"), re.M)
    yield from differ("proto/protocol.md, Events", events, told)


# ---- commands and options -----------------------------------------------

def ask(program, *arguments):
    return subprocess.run([os.path.join(BUILD, program), *arguments],
                          check=True, text=True, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE).stdout


def options(*command):
    """{name: (letters, what its value is called)} of a command of ddblock."""
    return {name[2:]: (letters.strip("-"), argument)
            for _, name, letters, _, _, argument, _ in
            (line.split("\t") for line in
             ask("ddblock", *command, "--completion-data").splitlines()
             if line.startswith("option\t"))}


def synopses(page):
    """{command: its lines}"""
    found = {}
    for part in section(page, "SYNOPSIS").split(".Nm\n")[1:]:
        names = re.match(r"\.Cm (.*)\n", part)
        for name in names.group(1).split(" | "):
            found[name] = part
    return found


def aliases(page):
    """The items of options with several names, a line for each name."""
    return "".join(
        f".Fl -{name} Ns = Ns {argument}\n"
        for names, argument in re.findall(
            r"^\.It Fl (.*?) (Ar \w+)(?: \||$)", read(page), re.M)
        for name in re.findall(r"-([a-z][\w-]+)", names))


def check_command(page, command, common, lines):
    """A synopsis has all options of its command, with what their values are
    called, and no other."""
    have = {name: words for name, words in options(command).items()
            if name not in common}
    letters = set("".join(re.findall(r"Fl (\w+)\b", lines)))
    names = set(re.findall(r"(?:Fl|\|) -([a-z][\w-]+)", lines))
    known = set("".join(letters for letters, _ in have.values()))
    for name, (some, argument) in have.items():
        if name not in names and not set(some) & letters:
            yield f"{page}, SYNOPSIS: {command} has --{name}"
        word = argument.lower()
        if re.fullmatch(r"[a-z]+", word) and not re.search(
                rf"^\.(?:Op |Fl )?.*(?:Fl [{some or '-'}]|-{name} Ns = Ns) "
                rf"Ar {word}\b", lines + aliases(page), re.M):
            yield f"{page}: {command} --{name} takes Ar {word}"
        for letter in some:
            if not re.search(rf"^\.(?:It|Pq) Fl (?:\w , )*{letter} , "
                             rf".*-{name}\b", read(page), re.M):
                yield f"{page}: --{name} of {command} is -{letter}, too"
    for name in names - set(have):
        yield f"{page}, SYNOPSIS: {command} has no --{name}"
    for letter in letters - known - set(common.values()):
        yield f"{page}, SYNOPSIS: {command} has no -{letter}"
    described = set(re.findall(r"-([a-z][\w-]+)", "".join(
        re.findall(r"^\.It Fl .*$", read(page), re.M))))
    described |= set(re.findall(r"(?:Fl|,) -([a-z][\w-]+)",
                                section(page, "DESCRIPTION")))
    for name in set(have) - described:
        yield f"{page}: --{name} of {command} is not described"


def check_commands():
    page = "man/ddblock.1"
    listing = ask("ddblock", "--completion-data")
    commands = re.findall(r"^command\t(\S+)\t(.*)\t", listing, re.M)
    common = {"help": "h", "verbose": "v", "json": None, "ns": None,
              "socket": None, "sort": None, "wait-daemon": None}
    told = synopses(page)
    names = [name for name, _ in commands]
    yield from differ(f"{page}, SYNOPSIS", names, told)
    for name, usage in commands:
        if name in told and "-table" not in name:
            yield from check_command(page, name, common, told[name])
            for word in re.findall(r"--([a-z][\w-]+)", usage):
                if word not in options(name):
                    yield f"src/cli/main.c: {name} has no --{word}"
    change = re.search(r"^\* `ddblock`: (.*?)\n\* ", read("CHANGELOG.md"),
                       re.M | re.S).group(1)
    for name in names:
        if not re.search(rf"`{name}\b", change):
            yield f"CHANGELOG.md: ddblock has a command {name}"

    page = "man/ddblockd.8"
    told = set(re.findall(r"Fl Fl ([a-z-]+)", "".join(
        re.findall(r"^\.It Fl .*$", section(page, "OPTIONS"), re.M))))
    text = ask("ddblockd", "--help").split("Settings of the daemon:")[0]
    have = set(re.findall(r"--([a-z-]+)", text))
    yield from differ(f"{page}, OPTIONS", have, told)


# ---- limits -------------------------------------------------------------

# A constant, and the sentences that have it as their number.
LIMITS = (
    ("CORE_LIMIT_MAX", "doc/records.md", r"most shared holders, 1 to ([\d,]+)"),
    ("CORE_LIMIT_MAX", "proto/protocol.md", r"^\| `limit` \| 1 to ([\d,]+) "),
    ("CORE_LIMIT_MAX", "proto/protocol.md", r"`limit=N`, 1 to ([\d,]+)"),
    ("CORE_LIMIT_MAX", "man/ddblock.1", r"at most so many, 1 to ([\d,]+)"),
    ("CORE_LIMIT_MAX", "man/ddblock-protocol.7",
     r"holders in all, 1 to ([\d,]+)"),
    ("CORE_LIMIT_MAX", "include/ddblock.h", r"may hold it, 1 to ([\d,]+)"),
    ("HOLDERS_MAX", "doc/records.md", r"has room for, which is ([\d,]+)"),
    ("HOLDERS_MAX", "doc/records.md", r"with ([\d,]+) elements or"),
    ("TOKENS_MAX", "doc/safety.md", r"block of tokens \(at most ([\d,]+)\)"),
    ("MULTI_MAX", "proto/protocol.md",
     r"^\| keys of an `ACQUIRE` or `TRY` \| (\d+) "),
    ("MULTI_MAX", "doc/records.md", r"keys there are, up to (\d+)"),
    ("ROWS_SORTED_MAX", "man/ddblock.1", r"; more than ([\d,]+) are"),
    ("MULTI_MAX", "man/ddblock.1", r"several times, up to (\d+),"),
    ("MULTI_MAX", "man/libddblock.3", r"acquires up to (\d+) locks"),
    ("MULTI_MAX", "man/ddblock-protocol.7", r"or up to (\d+) as one"),
    ("KEY_LENGTH_MAX", "proto/protocol.md",
     r"^\| a key, a sort value \| ([\d,]+) "),
    ("KEY_LENGTH_MAX", "man/ddblock-protocol.7",
     r"a key is 1 to ([\d,]+) bytes"),
    ("KEY_LENGTH_MAX", "include/ddblock.h", r"UTF-8, 1 to ([\d,]+) bytes"),
    ("CODEC_TAG_MAX", "proto/protocol.md", r"^\| a tag \| (\d+) "),
    ("CODEC_ARGUMENTS_MAX", "proto/protocol.md",
     r"^\| arguments of a line \| (\d+) "),
    ("ARGUMENT_REASON", "proto/protocol.md", r"^\| `reason` \| (\d+) "),
    ("ARGUMENT_REASON", "include/ddblock.h", r"at most (\d+) bytes\)"),
    ("OWNER_LENGTH_MAX", "proto/protocol.md", r"^\| `owner` \| 1 to (\d+) "),
    ("OWNER_LENGTH_MAX", "man/ddblockd.conf.5",
     r"one line of at most (\d+) bytes"),
    ("LINGER_CONNECTIONS_MAX", "proto/protocol.md",
     r"linger or would \| ([\d,]+) "),
    ("CONTENTS_MAX", "proto/protocol.md", r"300 KiB \(([\d,]+) bytes\)"),
    ("ATTRIBUTES_MAX", "proto/protocol.md",
     r"^\| attributes of a lock \| (\d+) "),
    ("CONNECTION_LISTINGS_MAX", "proto/protocol.md",
     r"`WAITING` of a connection \| (\d+) "),
    ("CONNECTION_NAME_MAX", "proto/protocol.md", r"its first (\d+) bytes"),
    ("MARKS_MAX", "doc/safety.md", r"stand\s+beside each other, (\d+) at"),
    ("MARKS_MAX", "man/ddblock-formats.7", r"that waits, (\d+) at most"),
    ("LOOKS_PER_SECOND", "doc/safety.md", r"\(at most (\d+) records a second"),
    ("READ_MANY_MAX", "doc/safety.md", r"up to (\d+) of them in a request"),
    ("SCAN_PAGE_MAX", "doc/records.md", r"in pages of (\d+) items"),
    ("RELEASE_MAX", "doc/records.md", r"all that are dead, (\d+)\s+with one"),
    ("FORMAT_PREFIX_MAX", "man/ddblockd.conf.5",
     r"nowhere else: at most (\d+) bytes"),
    ("CONFIG_NAMESPACE_LENGTH_MAX", "man/ddblockd.conf.5",
     r"A name has 1 to (\d+) of"),
    ("HINT_WINDOW", "proto/hints.md", r"window of ([\d,]+) numbers"),
    ("HINT_DIGESTS_MAX", "proto/hints.md", r"^\| \d \| \w+ \| 1 to (\d+) "),
    ("HINTS_PEERS_MAX", "proto/hints.md", r"^\| peers of all .* \| ([\d,]+);"),
    ("HINTS_PEER_PER_SECOND", "proto/hints.md",
     r"from one peer \| (\d+) a second"),
    ("HINTS_PEER_AT_ONCE", "proto/hints.md", r"from one peer .* (\d+) at once"),
    ("HINTS_UNKNOWN_PER_SECOND", "proto/hints.md",
     r"told of \| (\d+) a second"),
    ("HINTS_UNKNOWN_AT_ONCE", "proto/hints.md", r"told of .* (\d+) at once"),
    ("HINTS_ADDRESS_PER_SECOND", "proto/hints.md",
     r"at most (\d+) datagrams a second"),
    ("HINTS_ADDRESS_PER_SECOND", "proto/hints.md",
     r"one IP address \| (\d+) a second"),
    ("HINTS_ADDRESS_AT_ONCE", "proto/hints.md",
     r"^and (\d+) after a pause"),
    ("HINTS_ADDRESS_AT_ONCE", "proto/hints.md",
     r"one IP address .* (\d+) at once"),
    ("HINTS_ALL_PER_SECOND", "proto/hints.md", r"in all \| ([\d,]+) a second"),
    ("HINT_ROUND_MAX", "proto/hints.md", r"has a contact\. (\d+) at most"),
    ("HINT_ROUND_MAX", "man/ddblock.1", r"hosts of a table, (\d+) at most"),
    ("NATIVE_SESSIONS_PAGE", "proto/protocol.md", r"^(\d+) with each of"),
    ("SESSIONS_PAGES_MAX", "proto/protocol.md", r"with each of (\d+) requests"),
    ("CHECK_AGAIN_MS", "proto/hints.md", r"^after (\d+) ms"),
    ("BEST_KEPT", "man/ddblock.1", r"^([\d,]+) rows of each list"),
    ("FEED_ROWS_MAX", "man/ddblock.1", r"after ([\d,]+) rows a listing"),
    ("REQUESTS_MAX", "include/ddblock.h", r"([\d,]+) requests are unanswered"),
)


def constants():
    """{name: {value}}: a name may be used by several folders. And the most that
    an argument of the protocol may be."""
    found = {}
    for path in sources(".h", ".c"):
        for name, value in re.findall(
                r"^#define (\w+)[ \t]+([\d(][\d *()]*)", read(path), re.M):
            try:
                parsed = ast.parse(value.strip(), mode="eval")
            except SyntaxError:
                continue
            found.setdefault(name, set()).add(
                eval(compile(parsed, path, "eval"), {"__builtins__": {}}))
    for name, most in re.findall(r'^ARGUMENT\((\w+), "\w+", \w+, \d+, (\d+),',
                                 read("src/ipc/protocol.def"), re.M):
        found["ARGUMENT_" + name] = {int(most)}
    return found


def check_limits():
    have = constants()
    for name, path, sentence in LIMITS:
        told = re.findall(sentence, read(path), re.M)
        if name not in have:
            yield f"{OWN}: there is no {name}"
        elif not told:
            yield f"{path}: nothing says {name} as {sentence!r}"
        for number in told:
            if int(number.replace(",", "")) not in have.get(name, ()):
                yield (f"{path}: {number} is not {name}, which is "
                       f"{sorted(have[name])}")


def check_costs():
    """The short table of README.md is a part of the long one."""
    path = "doc/costs.md"
    long = read(path).splitlines()
    short = re.search(r"^## What it costs\n(.*?)^## ", read("README.md"),
                      re.M | re.S).group(1)
    rows = [line for line in short.splitlines() if line.startswith("|")]
    if len(rows) < 5:
        yield f"README.md: only {len(rows)} rows of what it costs"
    for row in rows:
        if row not in long:
            yield f"README.md: {path} has no row {row[:60]}..."


# ---- layers, history ----------------------------------------------------

def check_layers():
    tidy = re.search(r"^ARROWS = (\{.*?^\})", read("tests/tidy.py"),
                     re.M | re.S)
    arrows = {folder: set(allowed) for folder, allowed in
              ast.literal_eval(tidy.group(1)).items() if "/" not in folder}
    path = "doc/architecture.md"
    told = {folder: set(re.findall(r"`([^`]+)`", cell)) for folder, cell in
            re.findall(r"^\| `src/(\w+)/` \|.*\|([^|]*)\|$", read(path), re.M)}
    yield from differ(f"{path}, Layers", arrows, told)
    for folder in set(arrows) & set(told):
        yield from differ(f"{path}, Layers, {folder}", arrows[folder],
                          told[folder])
    pictures = [re.search(r"^    daemon .*?(?=\n\n\S)", read(each),
                          re.M | re.S).group(0)
                for each in (path, "HACKING.md")]
    if pictures[0] != pictures[1]:
        yield f"HACKING.md and {path} have different pictures of the layers"


def check_history():
    page = "man/ddblockd.8"
    text = section(page, "THE HISTORY OF A DAEMON")
    source = "".join(read(path) for path in FILES
                     if fnmatch.fnmatch(path, "src/daemon/history*.c"))
    fields = set(re.findall(r'"(DDBLOCK_[A-Z_]+)"', source))
    events = set(re.findall(
        r'history_(?:begin|client)\(h,(?: &?l,)? "(\w+)"', source))
    events |= set(re.findall(r'\[CORE_\w+\] = "([a-z]+)"', source))
    if len(fields) < 20 or len(events) < 15:
        yield "the entries of a history were not found"
    told = set(re.findall(r"DDBLOCK_[A-Z_]+", text)) - {"DDBLOCK_BOOT_US"}
    yield from differ(f"{page}, history", fields, told)
    told = {word for head, _ in items(text, "Li")
            for word in head.replace(",", "").split()}
    yield from differ(f"{page}, history", events, told)


# ---- names --------------------------------------------------------------

# Functions of others that our comments name and our code does not call.
OTHERS = {"curl_global_init", "strptime", "sqlite3_system_errno"}
# Files of others, and such as a reader is to make.
OTHER_FILES = {"retries/adaptive.py", "bucket.py", "throttling.py",
               "program.c", "config.h", "boto.cfg", "nsswitch.conf",
               "test.conf"}


def exists(name):
    """A path of the tree, from its top or from somewhere, maybe a pattern."""
    pattern = re.sub(r"NAME", "*", name).rstrip("/").removeprefix("./")
    return any(fnmatch.fnmatch(path, pattern) or
               fnmatch.fnmatch(path, pattern + "/*") or
               fnmatch.fnmatch(path, "*/" + pattern) or
               fnmatch.fnmatch(path, "*/" + pattern + "/*") or
               fnmatch.fnmatch(path, "*/" + pattern + ".c") for path in FILES)


def check_names():
    """Files that documents and comments name."""
    file = re.compile(r"(?<![\w.*/%-])((?:[\w*-]+/)*[\w*-]+"
                      r"\.(?:c|h|py|md|def|tla|plan|mutants|conf))(?![\w(.-])")
    folder = re.compile(r"`((?:src|tests|contrib|bench|proof|doc)/[\w./*-]*)`")
    code = [path for path in FILES if path.endswith((".h", ".c")) and
            path.startswith(("src/", "include/", "tests/", "bench/"))]
    for path in documents() + code:
        text = read(path)
        if path in code:
            text = "\n".join(re.findall(r"/\*.*?\*/", text, re.S))
        found = set(file.findall(text)) | set(folder.findall(text))
        for name in sorted(found - OTHER_FILES):
            if path in code or "/" in name or \
                    path.startswith(("doc/", "HACKING", "proof/")):
                if not exists(name):
                    yield f"{path}: there is no {name}"


def check_links():
    """Of Markdown: the file is there, and the title in it."""
    n_links = 0
    for path in FILES:
        if not path.endswith(".md"):
            continue
        for link in re.findall(r"\]\(([^)\s]+)\)", re.sub(
                r"^    .*$|`[^`\n]*`", "", read(path), flags=re.M)):
            name, _, title = link.partition("#")
            if "://" in name:
                continue
            n_links += 1
            target = os.path.normpath(os.path.join(os.path.dirname(path),
                                                   name)) if name else path
            if not os.path.exists(os.path.join(TOP, target)):
                yield f"{path}: the link to {name} leads nowhere"
            elif title and title not in {
                    re.sub(r"[^\w -]", "", line.lower()).replace(" ", "-")
                    for line in re.findall(r"^#+ (.*)$", read(target), re.M)}:
                yield f"{path}: {target} has no title for #{title}"
    if n_links < 30:
        yield f"only {n_links} links were found"


def check_functions():
    """Functions that comments of our code name."""
    texts = {path: read(path) for path in FILES
             if path.endswith((".c", ".h")) and
             path.startswith(("src/", "include/", "tests/"))}
    known = set()
    for text in texts.values():
        known |= set(re.findall(r"\w+", re.sub(r"/\*.*?\*/", "", text,
                                               flags=re.S)))
    for path, text in texts.items():
        if path.startswith("tests/"):
            continue
        for comment in re.findall(r"/\*.*?\*/", text, re.S):
            for name in re.findall(r"\b([a-z_]\w+)\(\)", comment):
                if name not in known | OTHERS:
                    yield f"{path}: there is no {name}()"


def check_targets():
    """Of make, and the stages of scripts/test."""
    targets = set(re.findall(r"^([a-z][\w-]*):", read("Makefile.am"), re.M))
    targets |= {"check", "distcheck", "install", "all", "clean",
                "uninstall"}
    targets |= {"ddblock-sim", "ddblock-sim-mutants"}
    stages = set(re.findall(r"^stage_(\w+)\(\)", read("scripts/test"), re.M))
    stages |= set(re.findall(r"check_stage (\w+) (\w+)",
                             read("scripts/test"))[0][1:])
    stages = {name.replace("_", "-") for name in stages}
    for path in documents():
        text = read(path)
        for name in re.findall(r"\bmake(?: -C [\w/]+)? ([a-z][a-z-]+)\b"
                               r"(?=[`\s][^a-z]|`)", text):
            if name not in targets:
                yield f"{path}: make has no target {name}"
        for words in re.findall(r"`\./scripts/test ([^`]*)`", text):
            for name in words.split():
                if name not in stages:
                    yield f"{path}: scripts/test has no stage {name}"


def check_compatibility():
    """The numbers of doc/compatibility.md are those of the code."""
    info = re.search(r"-version-info (\d+):(\d+):(\d+)", read("Makefile.am"))
    current, _, age = (int(number) for number in info.groups())
    numbers = {f"SONAME `libddblock.so.{current - age}`, "
               f"version-info {':'.join(info.groups())}"}
    for path, pattern, form in (
            ("src/ipc/verbs/verbs.c", r'"this daemon speaks (proto=\d+)"',
             "`{}`"),
            ("src/common/journal.h", r"#define JOURNAL_VERSION (\d+)", "{}"),
            ("src/store/sqlite_file.h", r"#define SQLITE_FILE_VERSION (\d+)",
             "{}"),
            ("src/hints/hint_format.c", r"#define HINT_VERSION (\d+)", "{}")):
        numbers.add((form + " in `{}`").format(
            re.search(pattern, read(path)).group(1), path))
    told = read("doc/compatibility.md")
    found = set()
    for number, place in re.findall(
            r"^\| [^|]+ \| ([^|]*\d[^|]*) \| `([^`|]+)` \|", told, re.M):
        found.add(number if place == "Makefile.am" else
                  f"{number} in `{place}`")
    yield from differ("doc/compatibility.md, The numbers", numbers, found)


def check_ports():
    """The table of what is built and tested where."""
    done = subprocess.run(
        [sys.executable, os.path.join(TOP, "tests/packages/ports.py"),
         "--check"], stdout=subprocess.PIPE, text=True, check=False)
    yield from done.stdout.splitlines()


def check_versions():
    """All places have the version of configure.ac."""
    done = subprocess.run(
        [sys.executable, os.path.join(TOP, "scripts/version"), "--check"],
        check=False, text=True, stdout=subprocess.PIPE)
    if done.returncode != 0:
        yield from done.stdout.splitlines()[:-1]


def check_pages():
    names = {"{}({})".format(*os.path.basename(path).rsplit(".", 1))
             for path in pages()}
    told = re.search(r"^\* Manual pages: (.*?)\.\s*\Z", read("CHANGELOG.md"),
                     re.M | re.S).group(1)
    yield from differ("CHANGELOG.md, manual pages", names,
                      told.replace("\n", " ").replace(",", "").split())
    for path in documents():
        told = set(re.findall(r"\b((?:lib)?ddblock[\w.-]*\(\d\))", read(path)))
        told |= {f"{name}({number})" for name, number in re.findall(
            r"^\.Xr ((?:lib)?ddblock\S*) (\d)", read(path), re.M)}
        for name in sorted(told - names):
            yield f"{path}: there is no page {name}"
    for path in pages():
        name = os.path.basename(path).rsplit(".", 1)[0].upper()
        if not re.search(rf"^\.Dt {re.escape(name)} \d$", read(path), re.M):
            yield f"{path}: .Dt is another page's"
    functions = re.findall(r"^[\w *]*?\b(ddblock_\w+)\((?!\*)", re.sub(
        r"/\*.*?\*/|^typedef .*?;", "", read("include/ddblock.h"),
        flags=re.M | re.S), re.M)
    told = re.findall(r"^\.F[no] (ddblock_\w+)",
                      section("man/libddblock.3", "SYNOPSIS"), re.M)
    yield from differ("man/libddblock.3, SYNOPSIS", functions, told)


CHECKS = (check_settings, check_access, check_codes, check_protocol,
          check_limits, check_costs, check_layers, check_history,
          check_names, check_links, check_functions, check_targets,
          check_ports, check_compatibility, check_versions, check_pages)


def main():
    checks = list(CHECKS)
    programs = all(os.access(os.path.join(BUILD, name), os.X_OK)
                   for name in ("ddblock", "ddblockd"))
    if programs:
        checks.append(check_commands)
    problems = [problem for check in checks for problem in check()]
    for problem in problems:
        print(problem)
    print(f"documents: {len(checks)} checks, {len(documents())} documents, "
          f"{len(problems)} problems")
    if problems:
        return 1
    if not programs:
        print(f"{BUILD} has no ddblock and ddblockd to ask for options")
        return 1 if os.environ.get("DDBLOCK_MUST_RUN") == "1" else 77
    return 0


if __name__ == "__main__":
    sys.exit(main())
