"""The blocks of commands and settings in README.md, man/ and contrib/: what
people copy from there.

In Markdown they are what is indented, in a manual page the displays, and in
other files what is indented in a comment.
"""
import os
import re

TOP = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
# Programs: the scenarios of tests/clients play what they show.
PROGRAMS = (".go", ".java", ".js", ".py", ".rs")
ROFF = (("\\e", "\\"), ("\\-", "-"), ("\\&", ""), ("\\(dq", '"'))


def read(path):
    with open(os.path.join(TOP, path), encoding="utf-8") as f:
        return f.read()


def of_markdown(text):
    """Its blank lines are in it, if what follows is indented, too."""
    for block in re.findall(r"(?<=\n\n)    .*\n(?:\n*    .*\n)*", text):
        yield re.sub("^    ", "", block, flags=re.M)


def of_manual(text):
    for block, line in re.findall(
            r"^\.Bd -literal[^\n]*\n(.*?)^\.Ed$|^\.Dl ([^\n]*\n)", text,
            re.M | re.S):
        block = block or line
        for sign, plain in ROFF:
            block = block.replace(sign, plain)
        yield block


def of_comments(text):
    for block in re.findall(r"(?:^[#;](?:\t|   (?! )).*\n(?:^[#;]\t.*\n"
                            r"|^[#;]   .*\n)*)", text, re.M):
        yield re.sub(r"^[#;](?:\t|   )", "", block, flags=re.M)


def of(path):
    text = read(path)
    if path.endswith(".md"):
        return list(of_markdown(text))
    return list((of_manual if path.startswith("man/") else of_comments)(text))


def paths():
    yield "README.md"
    for folder in "man", "contrib":
        for where, folders, names in os.walk(os.path.join(TOP, folder)):
            folders[:] = [f for f in folders
                          if f not in ("__pycache__", "target")]
            for name in names:
                if not name.endswith(PROGRAMS):
                    yield os.path.relpath(os.path.join(where, name), TOP)


def blocks():
    """(the file, a block) of each, in the order of the files."""
    return [(path, block) for path in sorted(paths()) for block in of(path)]
