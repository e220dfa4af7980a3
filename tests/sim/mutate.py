#!/usr/bin/env python3
"""Write copies of product sources that hold every mutant of the tables.

    mutate.py SOURCE-DIRECTORY OUTPUT-DIRECTORY --tables T... --sources S...

Which mutant a program is, if any, is decided when it starts (mutant.h). The
product's own sources know nothing of this.

A table (tests/sim/mutants/*.mutants) is text, an entry a paragraph:

    mutant take-ignores-token
            A takeover does not ask whether the token is still what was seen.
            (records.md, take over)
    in src/dialect/native/native_write.c native_write_acquire
    - "#holders = :dead AND #token = :seen"
    + "#holders = :dead"
    - native_value_number(w, ":seen", o->token_seen);
    +

`mutant` must be caught; `equivalent` is one that nobody can ever notice, and
the prose says why. `in FILE [FUNCTION]` says where the texts below it stand;
each must stand there exactly once (spaces and line ends do not count), or
this program fails, so that no entry outlives the code it is about. What ends
in ; or } is a statement, anything else an expression; nothing but `+` takes a
statement out. Several entries may be about the same or nested texts.
`by TEST [CASE]` names what must catch it where that is not the simulator
(tests/mutants).
"""
import os
import re
import sys


class Bad(Exception):
    pass


class Mutant:
    def __init__(self, name, kind, place):
        self.name = name
        self.kind = kind
        self.place = place
        self.prose = []
        self.edits = []
        self.catchers = []  # (test, case or None)

    def symbol(self):
        return "MUTANT_" + self.name.upper().replace("-", "_")


class Edit:
    """A text of a file, and its replacement."""

    def __init__(self, mutant, place, path, function):
        self.mutant = mutant
        self.place = place
        self.path = path
        self.function = function
        self.before = []
        self.after = None

    def is_statement(self):
        return self.before[-1].rstrip()[-1] in ";}"


# ---- reading tables ------------------------------------------------------

def read_edit(edits, mutant, where, place, line):
    """A line that begins with - or +; the edits are the entry's."""
    sign, text = line[0], line[1:].strip()
    last = edits[-1] if edits else None
    if where is None:
        raise Bad(f"{place}: 'in FILE' comes first")
    if sign == "-":
        if last is None or last.after is not None or \
                (last.path, last.function) != where:
            edits.append(Edit(mutant, place, *where))
        edits[-1].before.append(text)
        return
    if last is None:
        raise Bad(f"{place}: + without -")
    if last.after is None:
        last.after = []
    last.after.append(text)


def read_table(path):
    mutants = []
    where = None
    with open(path, encoding="utf-8") as f:
        for number, line in enumerate(f, 1):
            line = line.rstrip("\n")
            place = f"{os.path.basename(path)}:{number}"
            words = line.split()
            if not words or line.startswith("#"):
                continue
            if words[0] in ("mutant", "equivalent") and len(words) == 2:
                mutants.append(Mutant(words[1], words[0], place))
                where = None
            elif not mutants:
                raise Bad(f"{place}: no entry yet")
            elif words[0] == "in" and len(words) in (2, 3):
                where = (words[1], words[2] if len(words) == 3 else None)
            elif words[0] == "by" and len(words) in (2, 3):
                mutants[-1].catchers.append(
                    (words[1], words[2] if len(words) == 3 else None))
            elif line[0] == "\t":
                mutants[-1].prose.append(line.strip())
            elif line[0] in "-+":
                read_edit(mutants[-1].edits, mutants[-1], where, place, line)
            else:
                raise Bad(f"{place}: not understood: {line}")
    return mutants


def read_tables(paths):
    mutants = []
    names = {}
    for path in paths:
        mutants += read_table(path)
    for mutant in mutants:
        if mutant.name in names:
            raise Bad(f"{mutant.place}: {mutant.name} stands at "
                      f"{names[mutant.name]}, too")
        names[mutant.name] = mutant.place
        if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", mutant.name):
            raise Bad(f"{mutant.place}: not a name: {mutant.name}")
        if not mutant.prose or not mutant.edits:
            raise Bad(f"{mutant.place}: {mutant.name}: prose and an edit, "
                      "please")
        for edit in mutant.edits:
            if edit.after is None:
                raise Bad(f"{edit.place}: {mutant.name}: - without +")
    return mutants


# ---- applying them -------------------------------------------------------

def find_function(text, name, edit):
    """Where the body of a function begins and ends."""
    start = re.search(rf"^{re.escape(name)}\(", text, flags=re.M)
    if start is None:
        raise Bad(f"{edit.place}: {edit.mutant.name}: no function {name}() "
                  f"in {edit.path}")
    return start.start(), text.index("\n}\n", start.start()) + 2


def is_whole(code):
    """Something with both its ends, as far as that can be seen."""
    code = re.sub(r'"(?:\\.|[^"\\])*"', '""', code)
    return all(code.count(a) == code.count(b) for a, b in ("()", "[]", "{}")) \
        and not re.search(r"(&&|[|<>=!?:,.+*/(\[{-])$", code) \
        and not re.match(r"(&&|\|\||[<>=?:,.+/)\]}])", code)


def find_edit(text, edit):
    """The place of an edit's text; it must be there exactly once."""
    start, end = 0, len(text)
    if edit.function is not None:
        start, end = find_function(text, edit.function, edit)
    words = " ".join(edit.before).split()
    pattern = r"\s+".join(re.escape(word) for word in words)
    if not is_whole(" ".join(words)):
        raise Bad(f"{edit.place}: {edit.mutant.name}: neither a statement "
                  "nor an expression")
    found = list(re.finditer(pattern, text[start:end]))
    if len(found) != 1:
        raise Bad(f"{edit.place}: {edit.mutant.name}: {len(found)} times in "
                  f"{edit.path}: {' '.join(words)}")
    return start + found[0].start(), start + found[0].end()


def spans_of(text, edits):
    """{(start, end): edits}, each span inside another or apart from it."""
    spans = {}
    for edit in edits:
        spans.setdefault(find_edit(text, edit), []).append(edit)
    ordered = sorted(spans, key=lambda span: (span[0], -span[1]))
    around = []
    for span in ordered:
        while around and around[-1][1] <= span[0]:
            around.pop()
        if around and span[1] > around[-1][1]:
            raise Bad(f"{spans[span][0].place}: overlaps with "
                      f"{spans[around[-1]][0].mutant.name}")
        around.append(span)
    return ordered, spans


def choose(edits, original, chosen):
    """The original, or what the chosen mutant makes of it; @chosen is what
    its name is in C. One line more than the original has would shift the
    messages of the compiler."""
    parts = []
    statement = edits[0].is_statement()
    for edit in edits:
        after = " ".join(edit.after).strip()
        test = f"mutant_is({chosen(edit.mutant)})"
        parts.append(f"if ({test}) {{ {after} }} else " if statement
                     else f"{test} ? ({after}) : ")
    if statement:
        return "{ " + "".join(parts) + "{ " + original + " } }"
    return "(" + "".join(parts) + "(" + original + "))"


def mutate(text, edits, chosen=Mutant.symbol):
    ordered, spans = spans_of(text, edits)

    def render(start, end, inside):
        out = []
        at = start
        while inside:
            span = inside[0]
            nested = [s for s in inside[1:] if s[1] <= span[1]]
            inside = inside[1 + len(nested):]
            out.append(text[at:span[0]])
            out.append(choose(spans[span], render(*span, nested),
                              chosen))
            at = span[1]
        out.append(text[at:end])
        return "".join(out)

    return render(0, len(text), ordered)


# ---- writing -------------------------------------------------------------

def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)


def write_names(out, mutants):
    symbols = "".join(f"\t{m.symbol()},\n" for m in mutants)
    names = "".join(f'\t"{m.name}",\n' for m in mutants)
    write(os.path.join(out, "mutants.h"),
          "/* Made by mutate.py: the mutants that these sources hold. */\n"
          "#ifndef DDBLOCKD_TESTS_MUTANTS_H\n"
          "#define DDBLOCKD_TESTS_MUTANTS_H\n\n"
          "enum {\n\tMUTANT_NONE,\n" + symbols + "\tMUTANTS\n};\n\n"
          "#endif\n")
    write(os.path.join(out, "mutant_names.c"),
          "/* Made by mutate.py: their names, in the same order. */\n"
          '#include "mutant.h"\n\n'
          'const char *const mutant_names[MUTANTS] = {\n\t"",\n' + names +
          "};\n")


def edits_by_path(mutants):
    edits = {}
    for mutant in mutants:
        for edit in mutant.edits:
            edits.setdefault(edit.path, []).append(edit)
    return edits


def mutated(top, source, edits, chosen=Mutant.symbol):
    """The text of a source with these mutants."""
    path = os.path.normpath(os.path.join(top, source))
    with open(path, encoding="utf-8") as f:
        return f'#include "mutant.h"\n#line 1 "{path}"\n' + \
            mutate(f.read(), edits, chosen)


def write_sources(top, out, mutants, sources):
    left = edits_by_path(mutants)
    for source in sources:
        if not source.endswith(".c"):
            continue
        write(os.path.join(out, source),
              mutated(top, source, left.pop(source, [])))
    for path, edits in left.items():
        raise Bad(f"{edits[0].place}: {edits[0].mutant.name}: {path} is not "
                  "among the sources")


def main():
    top, out, *rest = sys.argv[1:]
    at = rest.index("--sources")
    if rest[0] != "--tables":
        raise Bad("--tables comes first")
    mutants = read_tables(rest[1:at])
    write_sources(top, out, mutants, rest[at + 1:])
    write_names(out, mutants)


if __name__ == "__main__":
    try:
        main()
    except Bad as bad:
        sys.exit(f"mutate.py: {bad}")
