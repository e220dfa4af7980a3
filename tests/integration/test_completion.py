"""Completion of ddblock(1) in the shells, by the shells themselves."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import harness
from harness import Client, Daemon
from runner import ddblock, environment
from screen import OnTerminal

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
COMPLETIONS = os.path.join(TOP, "contrib", "completion")
CONFIG = ("[namespace default]\nfile = {dir}/db\n"
          "[namespace depot]\nfile = {dir}/depot\n")

# What bash does when a user presses the tabulator, without the keys.
BASH = """
. "$1"; COMP_LINE=$2; COMP_POINT=${#2}; COMP_WORDS=($2); COMP_CWORD=1
COMP_WORDBREAKS=${3-$COMP_WORDBREAKS}
_ddblock "$DDBLOCK" && printf '%s\\n' "${COMPREPLY[@]}"
"""


# A person at the tabulator waits for a second; this machine may stand still.
PATIENCE = '#!/bin/sh\n[ "$1" = 1 ] && shift && exec "$@"\n'


def shell(name):
    path = shutil.which(name)
    if path is None:
        raise unittest.SkipTest(f"{name} is missing (Debian: {name})")
    return path


def commands():
    """As ddblock itself lists them."""
    return re.findall(r"^  ([a-z]\S+) ", ddblock(None, "help").stdout, re.M)


# Whose options are not those of ddblockd.
OWN = [name for name in commands() if not name.endswith("-table")]
# Letters, names, what the value is called, and the explanation, which stands on
# the next line if there is no room.
HELP_LINE = re.compile(r"^ +((?:-\w, )*)(--[a-z-]+(?:, --[a-z-]+)*)"
                       r"(?:=(\S+?)|\[=(\S+?)\])?"
                       r"(?: {2,}|\n {30})(\S.*)$", re.M)
# Of options, by what they are called.
VALUES = {"COUNT": ["1"], "LIMIT": ["2"], "PID": ["1"], "NAME=TEXT": ["a=b"],
          "SIGNAL": ["TERM"], "STATUS": ["3"], "TOKEN": ["7"],
          "TIME": ["2", "500ms", "1.5s", "5m", "1h", "7d"], "USER": ["root"],
          "WHEN": ["02:00", "2026-11-28 02:00", "yesterday", "1h"]}


class Case(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        place = cls.enterClassContext(tempfile.TemporaryDirectory())
        with open(os.path.join(place, "timeout"), "w", encoding="utf-8") as f:
            f.write(PATIENCE)
        os.chmod(f.name, 0o755)
        cls.path = os.pathsep.join((
            place, os.path.dirname(harness.program("ddblock")),
            os.environ["PATH"]))
        cls.daemon = Daemon(CONFIG).start()
        cls.addClassCleanup(cls.daemon.close)
        cls.holder = Client(cls.daemon)
        cls.addClassCleanup(cls.holder.close)
        for key in ("jobs/nightly", "jobs/odd key", "jobs:colon", "other"):
            assert cls.holder.acquire(key).ok
        waiter = Client(cls.daemon)
        cls.addClassCleanup(waiter.close)
        waiter.send("ACQUIRE jobs/nightly")
        assert cls.holder.try_("depot/only", ns="depot").ok


class Data(Case):
    """The requests of the shells."""

    def rows(self, *args):
        done = ddblock(None, *args, "--completion-data")
        self.assertEqual([done.returncode, done.stderr], [0, ""])
        return [line.split("\t") for line in done.stdout.splitlines()]

    def test_commands(self):
        self.assertEqual([row[1] for row in self.rows()
                          if row[0] == "command"], commands())

    def test_a_line_of_help_for_each(self):
        """The same options, with the same words, as --help has."""
        for command in [], *([name] for name in OWN):
            text = ddblock(None, *command, "--help").stdout
            self.assertTrue(all(len(line) < 80 for line in text.splitlines()))
            told = {}
            for letters, names, must, may, explained in HELP_LINE.findall(text):
                for name in names.split(", "):
                    told[name] = (re.sub("[-, ]", "", letters) or "-",
                                  must or may, explained)
            self.assertEqual(told, {
                row[1]: (row[2], row[5], row[6])
                for row in self.rows(*command) if row[0] == "option"})
            self.assertIn("--help", told)

    def test_the_parser_takes_each(self):
        """In every form, and no other option; all times have the same
        units."""
        for command in OWN:
            for _, name, letters, needs, _, argument, _ in self.rows(command):
                forms = []
                for value in (value for part in argument.split("|") for value
                              in VALUES.get(part, [part] if part.islower()
                                            else ["x"])):
                    forms.append([f"{name}={value}"] if argument else [name])
                    if needs == "yes":
                        forms.append([name, value])
                    for letter in letters.strip("-"):
                        forms.append([f"-{letter}"] +
                                     [value] * (needs == "yes"))
                for form in forms:
                    done = ddblock(None, command, *form, "--help")
                    self.assertEqual([done.returncode, done.stderr], [0, ""],
                                     (command, form))
                if needs == "yes":
                    done = ddblock(None, command, name)
                    self.assertEqual(done.returncode, 64)
                    self.assertIn(f"{name} needs a value", done.stderr)
            done = ddblock(None, command, "--nothing", "--help")
            self.assertEqual([done.returncode, done.stdout], [64, ""])

    def test_times_for_a_daemon(self):
        """These are read when it connects."""
        for time in *VALUES["TIME"], "forever", "yes":
            done = ddblock(self.daemon, "held", f"--wait-daemon={time}")
            self.assertEqual(done.returncode, 0, done.stderr)

    def test_words_of_arguments(self):
        """The values that the completions know themselves are right."""
        with open(os.path.join(COMPLETIONS, "ddblock.bash"),
                  encoding="utf-8") as f:
            text = f.read().replace("\\\n", " ")
        words = {row[1]: row[4] for row in self.rows("list")}
        done = ddblock(self.daemon, "list",
                       "--state=" + words["--state"].replace("|", ","))
        self.assertEqual(done.returncode, 0, done.stderr)
        words = {row[1]: row[4] for row in self.rows("run")}
        self.assertEqual(words["--wait"], "forever")
        self.assertEqual(words["--replace-data"], "yes|no")
        self.assertEqual(words["--owner"], "")
        signals = re.search(r"SIGNAL\) printf '%s.n' (.*?) ;;", text)[1]
        self.assertGreater(len(signals.split()), 5)
        for name in signals.split():
            done = ddblock(self.daemon, "run", f"--on-danger={name}",
                           "signals", "--", "true")
            self.assertEqual(done.returncode, 0, done.stderr)
        with open(os.path.join(COMPLETIONS, "_ddblock"),
                  encoding="utf-8") as f:
            zsh = " ".join(f.read().replace("\\\n", " ").split())
        self.assertIn(" ".join(signals.split()), zsh)


class Bash(Case):
    def complete(self, line, daemon=None, *more):
        env = environment(daemon or self.daemon, PATH=self.path,
                          DDBLOCK=harness.program("ddblock"))
        done = subprocess.run(
            [shell("bash"), "--norc", "-c", BASH, "bash",
             os.path.join(COMPLETIONS, "ddblock.bash"), line, *more],
            env=env, capture_output=True, text=True, check=False,
            timeout=harness.TIMEOUT_S)
        self.assertEqual([done.returncode, done.stderr], [0, ""])
        return sorted(word for word in done.stdout.splitlines() if word)

    def test_commands(self):
        self.assertEqual(self.complete("ddblock "), sorted(commands()))
        some = sorted(word for word in commands() if word.startswith("he"))
        self.assertIn("held", some)
        for line in ("ddblock he", "ddblock --json --ns depot he",
                     "ddblock help he"):
            self.assertEqual(self.complete(line), some)
        self.assertEqual(self.complete("ddblock help wai"), ["waiting"])

    def test_options(self):
        self.assertEqual(self.complete("ddblock --js"), ["--json"])
        self.assertEqual(self.complete("ddblock run --on-d"),
                         ["--on-danger="])
        self.assertEqual(self.complete("ddblock acquire --on-l"),
                         ["--on-lost="])
        self.assertEqual(self.complete("ddblock run k -- --on-"), [])
        self.assertIn("--table=", self.complete("ddblock init-table --t"))

    def test_keys(self):
        """Of the daemon's holders and waiters; not of the store's."""
        self.assertEqual(self.complete("ddblock get jobs/"),
                         ["jobs/nightly", "jobs/odd\\ key"])
        self.assertEqual(self.complete("ddblock run -w 5 -n ot"), ["other"])
        self.assertEqual(self.complete("ddblock run -nw 5 ot"), ["other"])
        self.assertEqual(self.complete("ddblock get one ot"), [])
        # After a word break of readline, only the rest.
        self.assertEqual(self.complete("ddblock get jobs:"), ["colon"])
        self.assertEqual(self.complete("ddblock get jobs:", None, " "),
                         ["jobs:colon"])

    def test_namespaces(self):
        for line in ("ddblock --ns de", "ddblock --ns=de",
                     "ddblock get --ns de"):
            self.assertEqual(self.complete(line), ["default", "depot"])
        self.assertEqual(self.complete("ddblock --ns=dep", None, " "),
                         ["--ns=depot"])

    def test_arguments(self):
        self.assertEqual(self.complete("ddblock list --state de"), ["dead"])
        self.assertEqual(self.complete("ddblock run --on-danger=US"),
                         ["USR1", "USR2"])
        self.assertIn(str(os.getpid()),
                      self.complete(f"ddblock release --for-pid={os.getpid()}"
                                    ))
        self.assertIn("printf", self.complete("ddblock run k -- print"))
        self.assertIn("printf", self.complete("ddblock run k print"))

    def test_users(self):
        self.assertIn("daemon", "".join(
            self.complete("ddblock check --access=daemo")))

    def test_keys_by_options(self):
        """What follows them is no key any more."""
        for line in ("-k", "-nk", "--key", "-k a -n -k"):
            self.assertEqual(self.complete(f"ddblock run {line} ot"),
                             ["other"])
        for line in ("-k a", "-ka", "-kow", "-nsk a", "--key a", "--key=a",
                     "-k a --key=b -w 5"):
            for rest in ("print", "-- print"):
                words = self.complete(f"ddblock run {line} {rest}")
                self.assertIn("printf", words, line)
            self.assertEqual(self.complete(f"ddblock run {line} --on-d"),
                             ["--on-danger="])
        self.assertEqual(self.complete("ddblock run -k a -- --on-d"), [])

    def test_which_daemon(self):
        """The daemon that the line names; an absent one is no error."""
        with Daemon() as another, Client(another) as client:
            self.assertTrue(client.try_("elsewhere").ok)
            self.assertEqual(self.complete(
                f"ddblock --socket {another.socket} get "), ["elsewhere"])
            self.assertEqual(self.complete(
                f"ddblock get --socket={another.socket} els"), ["elsewhere"])
        self.assertEqual(self.complete("ddblock --socket=/none get "), [])

    def test_by_the_keys(self):
        with tempfile.TemporaryDirectory() as home:
            env = environment(self.daemon, HOME=home, TERM="xterm", PS1="> ",
                              PATH=self.path)
            with OnTerminal([shell("bash"), "--norc"], env) as bash:
                bash.until_line(">")
                bash.type(f". {COMPLETIONS}/ddblock.bash\n")
                bash.until(lambda lines: lines.count(">") == 1
                           and len(lines) > 1)
                bash.type("ddblock ge\tjobs/ni\t--ns=depo\t--js\t#")
                bash.until_line("> ddblock get jobs/nightly --ns=depot "
                                "--json #")

    def test_found_by_its_name(self):
        """By bash-completion, which loads it when it is wanted."""
        loader = "/usr/share/bash-completion/bash_completion"
        if not os.path.exists(loader):
            raise unittest.SkipTest("bash-completion is missing")
        with tempfile.TemporaryDirectory() as home:
            place = os.path.join(home, "completions")
            os.mkdir(place)
            shutil.copy(os.path.join(COMPLETIONS, "ddblock.bash"), place)
            done = subprocess.run(
                [shell("bash"), "--norc", "-i", "-c",
                 f". {loader}; _completion_loader ddblock; complete -p "
                 "ddblock"], stdin=subprocess.DEVNULL,
                env=dict(os.environ, BASH_COMPLETION_USER_DIR=home),
                capture_output=True, text=True, check=False,
                timeout=harness.TIMEOUT_S)
            self.assertIn("-F _ddblock ddblock", done.stdout)


class Zsh(Case):
    """By its keys: nothing else can call a completion of zsh."""

    # The prompt comes when the line editor has the terminal.
    START = ("PS1= fpath=({} $fpath); unsetopt prompt_sp; LISTMAX=1000; "
             "autoload -Uz compinit; compinit -u -D; "
             "zle-line-init() {{ PS1='> '; zle reset-prompt }}; "
             "zle -N zle-line-init; clear\n")

    def setUp(self):
        home = tempfile.TemporaryDirectory()
        self.addCleanup(home.cleanup)
        env = environment(self.daemon, HOME=home.name, TERM="xterm",
                          ZDOTDIR=home.name, PATH=self.path)
        self.zsh = OnTerminal([shell("zsh"), "-f", "-i"], env, columns=100)
        self.addCleanup(self.zsh.__exit__)
        self.zsh.type(self.START.format(COMPLETIONS))
        self.zsh.until(lambda lines: lines == [">"])

    def typed(self, text, becomes):
        """Type it, and see it become that; then give the line up."""
        self.zsh.type(text)
        self.zsh.until(lambda lines: lines[self.zsh.screen.row]
                       == f"> {becomes}")
        self.zsh.type("\x15")
        self.zsh.until(lambda lines: lines[self.zsh.screen.row] == ">")

    def test_words(self):
        for text, becomes in (
                ("ddblock wai\t#", "ddblock waiting #"),
                ("ddblock help sta\t#", "ddblock help status #"),
                ("ddblock run --on-d\tUSR1", "ddblock run --on-danger=USR1"),
                ("ddblock run --on-danger=TE\t#",
                 "ddblock run --on-danger=TERM #"),
                ("ddblock get jobs/ni\t#", "ddblock get jobs/nightly #"),
                ("ddblock get jobs/od\t#", "ddblock get jobs/odd\\ key #"),
                ("ddblock run -w 5 -n ot\t#", "ddblock run -w 5 -n other #"),
                ("ddblock --ns=depo\t#", "ddblock --ns=depot #"),
                ("ddblock get --ns depo\t#", "ddblock get --ns depot #"),
                ("ddblock list --state fr\t#", "ddblock list --state free #"),
                ("ddblock init-table --tab\tx",
                 "ddblock init-table --table=x"),
                ("ddblock run other -- ddblock wai\t#",
                 "ddblock run other -- ddblock waiting #"),
                ("ddblock run other ddblock wai\t#",
                 "ddblock run other ddblock waiting #"),
                ("ddblock run -nk ot\t#", "ddblock run -nk other #"),
                ("ddblock run -ka -k b ddblock wai\t#",
                 "ddblock run -ka -k b ddblock waiting #"),
                ("ddblock run --key=a -w 5 -- ddblock wai\t#",
                 "ddblock run --key=a -w 5 -- ddblock waiting #"),
                ("ddblock run --key a -n ddblock wai\t#",
                 "ddblock run --key a -n ddblock waiting #"),
                ("ddblock --socket=/none get ot\t#",
                 "ddblock --socket=/none get ot#")):
            with self.subTest(text=text):
                self.typed(text, becomes)

    def test_lists(self):
        self.zsh.type("ddblock \t")
        for command in commands():
            self.zsh.until_shown(rf"^{command} +-- \w")


if __name__ == "__main__":
    sys.exit(harness.main())
