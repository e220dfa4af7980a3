"""Who writes a structure of the core: the room that it belongs to.

A structure belongs to the room whose folder declares it; one that state.h
declares is divided among the rooms by its comments. What a room keeps in a
structure of another, by agreement, is in KEPT. Assignments are found in the
text, their structures by the types of variables and members; what a macro of
utlist or uthash does to its first argument is an assignment, too.
"""
import collections
import glob
import re

ROOMS = ("lease", "lock", "client", "reads")
JUDGED_MIN = 700  # there are 870
# A member of one room's structure that another room keeps, or has a part in.
KEPT = {
    # Who holds by a lease, and who asked for its renewal, is known above.
    "lease.grants": "lock", "lease.n_grants": "lock",
    "lease.renewals": "client",
    # A request as the locks see it: what it asks for is set above.
    "waiter": "client reads",
    # Those who look hang what they know on what they look at.
    "lock.watched": "reads", "client.watches": "reads",
    "client.n_watches": "reads", "request.kind": "reads",
    "request.served": "reads",
    # What answers a request is set by the room that serves it.
    "request.reply": "reads", "request.holder": "reads",
    "request.found": "reads",
    # A use is part of a hold, from its making to its end.
    "use.is_multi": "client", "use.lock": "client",
}
MEMBER = re.compile(r"(?:struct (\w+)\s*|enum \w+\s*|[\w ]+?[\s*])"
                    r"(\*?)\s*(\w+)(?:\[[^\]]*\])*(?:\s*:\s*\d+)?$")
CHAIN = r"([A-Za-z_]\w*(?:\[[^\]]*\]|->\w+|\.\w+)+)"
WRITES = (
    re.compile(r"(?<![\w.>])" + CHAIN +
               r"\s*(?:=(?!=)|[-+|&^]=|<<=|>>=|\+\+|--)"),
    re.compile(r"(?:\+\+|--)\s*" + CHAIN),
    re.compile(r"\b(?:[DL]L_(?:APPEND|PREPEND|DELETE|CONCAT)\w*|HASH_DEL)"
               r"\(\s*" + CHAIN),
    re.compile(r"\bHASH_ADD\w*\(hh,\s*" + CHAIN),
)
DECLARED = re.compile(r"(?=\bstruct (\w+)\s+([^;{}()]*))")


class Members:
    """struct -> member -> (the struct that it is or points to, its owner);
    what is part of another has its owner, unless it has one of its own."""

    def __init__(self):
        self.of = collections.defaultdict(dict)

    def add(self, struct, body, owner):
        for line in body.split("\n"):
            group = re.match(r"\s*/\* (\w+)/ \*/", line)
            if group:
                owner = group.group(1)
            line = re.sub(r"/\*.*?(\*/|$)|^\s*\*.*", "", line)
            for declaration in line.split(";"):
                self.add_declared(struct, declaration.strip(), owner)

    def add_declared(self, struct, declaration, owner):
        first, *others = declaration.split(",")
        found = MEMBER.match(first.strip())
        if not found:
            return
        self.of[struct][found.group(3)] = (found.group(1), owner)
        for other in others:
            name = other.strip(" *").split("[")[0].split(":")[0].strip()
            self.of[struct][name] = (found.group(1), owner)

    def written(self, struct, chain):
        """By an assignment to @chain, from a @struct: the member, its struct
        and its owner; None: it cannot be told."""
        written = None
        for access, name in re.findall(r"(->|\.)(\w+)", chain):
            if name not in self.of.get(struct, {}):
                return None
            inner, owner = self.of[struct][name]
            if written is None or access == "->" or owner is not None:
                written = (f"{struct}.{name}", struct, owner)
            struct = inner
        return written


def room_of(path):
    part = path.split("core/")[1].split("/")[0]
    return part if part in ROOMS else None


def members_of(top):
    members = Members()
    for path in glob.glob(f"{top}/src/core/**/*.[ch]", recursive=True):
        with open(path, encoding="utf-8") as f:
            text = f.read()
        for found in re.finditer(r"^struct (\w+) \{\n(.*?)^\}", text,
                                 flags=re.S | re.M):
            members.add(found.group(1), found.group(2), room_of(path))
    return members


def functions_of(text):
    """Head and body of each, with the number of its first line."""
    for found in re.finditer(r"^(\w[^;{}]*?\))\n\{\n(.*?)^\}", text,
                             flags=re.S | re.M):
        yield (text.count("\n", 0, found.start()) + 1, found.group(0))


def variables_of(function):
    types = {}
    for struct, names in DECLARED.findall(function):
        for name in names.split(","):
            name = name.split("=")[0].strip(" *\n\t")
            if not re.fullmatch(r"\w+", name):
                break   # the next parameter, with a type of its own
            types[name] = struct
    return types


def writes_of(function):
    for pattern in WRITES:
        yield from pattern.finditer(function)


def may_write(room, member, struct, owner):
    return owner in (None, room) or \
        room in KEPT.get(member, KEPT.get(struct, "")).split()


def check(top, blank, complain):
    members = members_of(top)
    n_judged = 0
    for path in sorted(glob.glob("src/core/*/*.c", root_dir=top)):
        with open(f"{top}/{path}", encoding="utf-8") as f:
            text = blank(f.read())
        for first, function in functions_of(text):
            types = variables_of(function)
            for found in writes_of(function):
                chain = re.sub(r"\[[^\]]*\]", "", found.group(1))
                root = re.match(r"\w+", chain).group(0)
                known = members.written(types.get(root), chain[len(root):])
                if known is None:
                    continue
                n_judged += 1
                if not may_write(room_of(path), *known):
                    line = first + function.count("\n", 0, found.start())
                    complain(path, line, f"{known[0]} is written by "
                             f"{known[2]}/ alone")
    if n_judged < JUDGED_MIN:
        complain("src/core", 1, f"only {n_judged} assignments were understood")
