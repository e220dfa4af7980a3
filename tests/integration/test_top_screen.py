"""ddblock top on a terminal: what its screen shows, and what its keys do."""
import os
import re
import shutil
import signal
import unittest

import harness
from harness import Client, Daemon, WithDaemon
from runner import environment
from screen import OnTerminal, read_some, wait_pid
from tmux import Tmux


def rows(lines):
    """The keys of the list, from top to bottom."""
    start = next((i for i, line in enumerate(lines)
                  if line.startswith("KEY ")), len(lines))
    return [line.split()[0] for line in lines[start + 1:-2] if line]


@unittest.skipUnless(shutil.which("tmux"), "tmux is missing (Debian: tmux)")
class Screen(WithDaemon, unittest.TestCase):
    def setUp(self):
        self.daemon = Daemon().start()
        self.addCleanup(self.daemon.close)

    def top(self, *args, **more):
        screen = Tmux(self.daemon.directory, [
            harness.program("ddblock"), f"--socket={self.daemon.socket}",
            "top", "--interval=200ms", *args], **more)
        self.addCleanup(screen.__exit__)
        return screen

    def three(self):
        """Two holds and three waits; the one that holds, its grants."""
        holder = self.client()
        holder.hello(name="nightly")
        grants = {key: holder.acquire(key) for key in ("alpha", "beta")}
        for name, keys in (("first", ("alpha", "beta")),
                           ("second", ("beta",))):
            waiter = self.client()
            waiter.hello(name=name)
            waiter.send_all([f"ACQUIRE {key}" for key in keys])
            self.assertTrue(waiter.call("PING").ok)
        return holder, grants

    def test_lists_order_and_filter(self):
        self.three()
        top = self.top()
        top.until_shown(f"pid {self.daemon.pid}", "default", "1*Keys",
                        "by WAITERS", "nightly")
        self.assertEqual(top.until(rows), ["beta", "alpha"])
        for title in ("GRANTS/S", "LONGEST", "HELD", "HOLDER", "KEY"):
            top.press("s")
            top.until_shown(f"by {title}")
        top.until(lambda lines: rows(lines) == ["alpha", "beta"])
        top.press("r")
        top.until(lambda lines: rows(lines) == ["beta", "alpha"])
        top.press("2")
        top.until_shown("2*Holds", "by HELD", "SINCE")
        top.until(lambda lines: rows(lines) == ["alpha", "beta"])
        top.press("Tab")
        top.until_shown("3*Waits", "first", "second")
        top.press("/")
        top.until_shown("Show rows with:")
        top.type("alph")
        top.press("Enter")
        top.until_shown('with "alph"')
        top.until(lambda lines: rows(lines) == ["alpha"])
        top.press("Escape")
        top.until(lambda lines: len(rows(lines)) == 3)
        top.press("h")
        top.until_shown("any key goes back")
        top.press("x")
        top.until_shown("3*Waits")
        top.press("q")
        top.until_shown("ended 0")

    def test_what_comes_and_goes(self):
        holder, grants = self.three()
        top = self.top()
        top.until(lambda lines: rows(lines) == ["beta", "alpha"])
        holder.acquire("gamma")
        top.until(lambda lines: rows(lines) == ["beta", "alpha", "gamma"])
        holder.release(grants["beta"])
        top.until(lambda lines: any(re.match("beta +1 .*/first:", line)
                                    for line in lines))

    def test_look_into_a_lock(self):
        holder, grants = self.three()
        holder.call(f"RENEW id={grants['beta']['id']} data=a%1Bb attr.url=x")
        top = self.top()
        top.until_shown("beta")
        top.press("Enter")
        top.until_shown("beta  in namespace default", "held",
                        f"token {grants['beta']['token']}",
                        "Waiters of this host, in order: 2",
                        "data       a\\x1bb", "url        x")
        order = top.until(lambda lines: [
            line for line in lines if re.match(r" +\d\. ", line)])
        self.assertEqual([line.split(",")[0].split()[-1] for line in order],
                         ["first", "second"])
        holder.release(grants["beta"])
        top.until_shown("in order: 1")
        top.press("Escape")
        top.until_shown("1*Keys")

    def test_break(self):
        """After a yes and a reason, and then really."""
        holder, grants = self.three()
        token = grants["beta"]["token"]
        top = self.top()
        top.until_shown("beta")
        top.press("b")
        top.until_shown(f"Break token {token}? Its holder would go on")
        top.press("n")
        top.until_shown("not broken")
        top.press("b")
        top.until_shown(f"Break token {token}?")
        top.press("y")
        top.until_shown("Why?")
        top.type("hängt seit gestern")
        top.press("Enter")
        lost = holder.event()
        self.assertEqual((lost.word, lost["id"], lost["reason"]),
                         ("LOCK_LOST", grants["beta"]["id"], "broken"))
        self.assertIn("hängt seit gestern",
                      self.daemon.wait_log("was broken by"))
        top.until_shown("broken: beta")
        top.until_shown("in order: 1")

    def test_a_newer_holder_is_not_broken(self):
        """What is broken is what was seen when it was asked for."""
        holder, grants = self.three()
        top = self.top()
        top.until_shown("beta")
        top.press("b")
        top.until_shown("Break token")
        holder.release(grants["beta"])
        top.until_shown("in order: 1")
        top.press("y")
        top.until_shown("Why?")
        top.type("hangs")
        top.press("Enter")
        top.until_shown("not broken: WRONG_TOKEN")
        with Client(self.daemon) as client:
            self.assertEqual(client.call("GET beta")["state"], "held")
        self.assertNotIn("was broken by", self.daemon.log())

    def test_sizes(self):
        self.three()
        top = self.top(columns=120, lines=40)
        top.until_shown("q quit")
        self.assertEqual(len(top.lines()), 41)
        for columns, lines in ((80, 24), (40, 10), (30, 7)):
            top.resize(columns, lines)
            top.until(lambda seen: seen[lines - 1].startswith("q quit")
                      and rows(seen) == ["beta", "alpha"])
        top.resize(20, 4)
        top.until(lambda seen: seen[:2] == ["too small", "30x7 at least"])
        top.resize(80, 24)
        top.until(lambda seen: seen[23].startswith("q quit"))

    def test_restart_of_the_daemon(self):
        self.three()
        top = self.top()
        top.until_shown(f"pid {self.daemon.pid},", "beta")
        self.daemon.kill()
        top.until_shown("reconnecting: ")
        self.daemon.start()
        top.until_gone("reconnecting")
        top.until_shown(f"pid {self.daemon.pid},", "default")

    def test_colours(self):
        """Only where they are wanted, and where there are some."""
        self.three()
        for more, coloured in (({}, True), ({"NO_COLOR": "1"}, False),
                               ({"TERM": "vt100"}, False)):
            with Tmux(self.daemon.directory, [
                    "env", *[f"{k}={v}" for k, v in more.items()],
                    harness.program("ddblock"),
                    f"--socket={self.daemon.socket}", "top"]) as top:
                top.until_shown("beta")
                colour = re.search(r"\x1b\[[\d;]*[34][0-7]m",
                                   "\n".join(top.lines("-e")))
                self.assertEqual(bool(colour), coloured, more)


class Terminal(WithDaemon, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon().start()
        cls.addClassCleanup(cls.daemon.close)

    def on(self, **more):
        return OnTerminal([harness.program("ddblock"), "top"],
                          environment(self.daemon, **more))

    def test_unknown(self):
        for name in ("no-such-terminal", ""):
            with self.on(TERM=name) as terminal:
                self.assertEqual(wait_pid(terminal.pid), 64)
                terminal.status = 64

    def test_stopped_and_continued(self):
        """^Z gives the terminal back, and the end does."""
        def drawn():
            said = b""
            while b"q quit" not in said:
                said += read_some(terminal.terminal)
            self.assertFalse(terminal.cooked())

        with self.on(TERM="vt100") as terminal:
            drawn()
            terminal.type("\x1a")
            terminal.stopped()
            self.assertTrue(terminal.cooked())
            os.kill(terminal.pid, signal.SIGCONT)
            drawn()
            terminal.type("q")
            self.assertEqual(wait_pid(terminal.pid), 0)
            self.assertTrue(terminal.cooked())
            terminal.status = 0


if __name__ == "__main__":
    harness.main()
