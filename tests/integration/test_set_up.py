"""The scripts with which somebody new begins, in a tree of their own.

What they would install or compile is played by programs that say that they were
called; the daemon and the clients are real.
"""
import os
import shutil
import subprocess
import tempfile
import unittest

import harness

TOP = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
# What autogen.sh and configure leave: targets that only say their names.
AUTOGEN = r"""#!/bin/sh
touch sources.am
printf '%s\n' '#!/bin/sh' 'touch config.status' \
    'printf "%%:\n\t@echo target \$@\n" >Makefile' >configure
chmod +x configure
"""


class Tree(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.mkdtemp(prefix="ddblock-set-up-")
        self.addCleanup(shutil.rmtree, self.directory)

    def write(self, name, text):
        path = os.path.join(self.directory, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        os.chmod(path, 0o700)

    def script(self, name):
        with open(os.path.join(TOP, name), encoding="utf-8") as f:
            self.write(name, f.read())

    def run_script(self, *command):
        env = {"PATH": f"{self.directory}/bin:{os.environ['PATH']}",
               "HOME": self.directory, "TMPDIR": self.directory}
        return subprocess.run(command, cwd=self.directory, env=env, text=True,
                              capture_output=True, check=False,
                              stdin=subprocess.DEVNULL,
                              timeout=harness.TIMEOUT_S)


class Packages(Tree):
    """Somebody who is not root."""

    def setUp(self):
        super().setUp()
        self.script("scripts/install-deps")
        self.write("bin/id", "#!/bin/sh\necho 1000\n")
        # uthash-dev is not there until somebody has installed it.
        self.write("bin/dpkg-query", '#!/bin/sh\n[ "$3" != uthash-dev ] ||'
                   ' [ -e installed ] && echo install ok installed\n')
        self.write("bin/apt-get", '#!/bin/sh\n[ "$1" = update ] ||'
                   ' echo "$*" >installed\n')

    def look(self):
        done = self.run_script("bash", "scripts/install-deps")
        self.assertEqual(done.returncode, 1, done)
        lines = [line.strip() for line in done.stderr.splitlines()
                 if line.startswith("    ")]
        self.assertEqual(lines, [
            "apt-get update && apt-get install -y --no-install-recommends"
            " uthash-dev"])
        self.assertFalse(os.path.exists(f"{self.directory}/installed"))
        # The administrator pastes it.
        self.assertEqual(self.run_script("sh", "-c", lines[0]).returncode, 0)
        done = self.run_script("bash", "scripts/install-deps")
        self.assertEqual((done.returncode, done.stdout, done.stderr),
                         (0, "", ""))

    def test_a_sudo_that_asks_for_a_password(self):
        self.write("bin/sudo", "#!/bin/sh\n"
                   "echo sudo: a password is required >&2\nexit 1\n")
        self.look()

    def test_no_right_to_use_sudo(self):
        self.write("bin/sudo", "#!/bin/sh\nexit 127\n")
        self.look()

    def test_a_sudo_that_does_not_ask(self):
        self.write("bin/sudo", '#!/bin/sh\nshift\nexec "$@"\n')
        done = self.run_script("bash", "scripts/install-deps")
        self.assertEqual((done.returncode, done.stdout, done.stderr),
                         (0, "installing: uthash-dev\n", ""))
        with open(f"{self.directory}/installed", encoding="utf-8") as f:
            self.assertIn("uthash-dev", f.read())


class Try(Tree):
    def setUp(self):
        super().setUp()
        self.script("scripts/try")
        self.write("scripts/install-deps", "echo packages >>order\n")
        self.write("bin/socat", "#!/bin/sh\nexit 127\n")

    def test_says_what_it_does_and_does_it(self):
        self.write("scripts/build", "#!/bin/sh\necho build >>order\n"
                   f"ln -s {os.path.dirname(harness.program('ddblockd'))}"
                   " $1\n")
        done = self.run_script("bash", "scripts/try")
        self.assertEqual(done.returncode, 0, done)
        self.assertNotIn("not found", done.stderr)
        with open(f"{self.directory}/order", encoding="utf-8") as f:
            self.assertEqual(f.read(), "packages\nbuild\n")
        begin, _, rest = done.stdout.partition("\n1. ")
        self.assertIn("packages", begin)
        self.assertIn("build/default", begin)
        self.assertIn("build/try.log", begin)
        fifth = rest.partition("\n5. ")[2]
        self.assertRegex(fifth, r"\nOK id=\d+ token=\d+ ")
        self.assertIn("\nDone.", fifth)

    def test_says_where_a_failure_is(self):
        self.write("scripts/build", "#!/bin/sh\necho error: no such header\n"
                   "exit 2\n")
        done = self.run_script("bash", "scripts/try")
        self.assertEqual(done.returncode, 1)
        self.assertIn("error: no such header", done.stdout)
        self.assertIn("build/try.log", done.stderr)


class Stages(Tree):
    """scripts/test NAME in a fresh clone."""

    def setUp(self):
        super().setUp()
        self.script("scripts/test")
        self.write("scripts/install-deps",
                   "#!/bin/sh\necho packages for ${1:-build}\n")
        self.write("autogen.sh", AUTOGEN)

    def stages(self, *names):
        """Which were performed, and the words after each."""
        done = self.run_script("bash", "scripts/test", *names)
        lines = [line.split() for line in done.stdout.splitlines()]
        return done, [line[0] for line in lines if line[1:2] == ["ok"]]

    def test_a_stage_brings_what_it_needs(self):
        for name, needed in (
                ("sim", ["packages", "autogen", "build-gcc"]),
                ("build-fuzz", ["packages", "autogen"]),
                ("check-threads", ["packages", "autogen",
                                   "configure-threads"])):
            done, performed = self.stages(name)
            self.assertEqual(performed, needed + [name], done)
            self.assertEqual(done.returncode, 0, done)
        with open(f"{self.directory}/build/log/sim.log",
                  encoding="utf-8") as f:
            self.assertIn("target sim", f.read())

    def test_a_need_that_fails_is_the_end(self):
        self.write("scripts/install-deps", "echo no; exit 1\n")
        done, performed = self.stages("sim")
        self.assertEqual((done.returncode, performed), (1, []), done)
        self.assertRegex(done.stdout, "packages +FAILED")

    def test_a_name_that_is_none(self):
        done, performed = self.stages("simm")
        self.assertEqual((done.returncode, performed), (2, []))
        self.assertIn("there is no stage simm", done.stderr)
        listed = self.run_script("bash", "scripts/test", "--list")
        self.assertIn("sim", listed.stdout.split())


if __name__ == "__main__":
    harness.main()
