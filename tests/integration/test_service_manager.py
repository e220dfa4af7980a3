#!/usr/bin/env python3
"""What the service manager hands over and is told, without one.

What a real systemd makes of it is in tests/systemd/.
"""
import os
import signal
import socket
import sys
import unittest

import harness
from harness import Client, Daemon

# Make sockets as told, hand them over as sd_listen_fds(3) has it, and become
# the daemon.
MAKER = """
import os, socket, sys
made = []
for kind, address in eval(sys.argv[1]):
    s = socket.socket(socket.AF_INET if kind == "tcp" else socket.AF_UNIX,
                      socket.SOCK_DGRAM if kind == "datagrams"
                      else socket.SOCK_STREAM)
    s.bind(address)
    if kind not in ("datagrams", "deaf"):
        s.listen()
    made.append(s)
made = [os.dup2(s.fileno(), 100 + i) for i, s in enumerate(made)]
for i, fd in enumerate(made):
    os.dup2(fd, 3 + i)
    os.close(fd)
os.environ.update(LISTEN_FDS=str(len(made)), LISTEN_PID=str(os.getpid()))
os.execv(sys.argv[2], sys.argv[2:])
"""


class Activated(Daemon):
    """@sockets: of what kind, and where in its directory, by default one."""

    def __init__(self, *sockets, **more):
        super().__init__(**more)
        self.sockets = sockets or (("stream", self.socket),)

    def command(self):
        sockets = repr([(kind, address.replace("{dir}", self.directory)
                         if isinstance(address, str) else address)
                        for kind, address in self.sockets])
        return [sys.executable, "-c", MAKER, sockets, *super().command()]


class Activation(unittest.TestCase):
    def test_it_serves(self):
        with Activated() as daemon, Client(daemon) as client:
            self.assertTrue(client.try_("k").ok)
            daemon.wait_log(f"ready on {daemon.socket}")

    def test_its_maker_keeps_the_file(self):
        with Activated() as daemon:
            before = os.stat(daemon.socket).st_ino
            self.assertEqual(daemon.stop(), 0)
            self.assertEqual(os.stat(daemon.socket).st_ino, before)

    @unittest.skipUnless(os.geteuid() == 0, "only root may look")
    def test_it_is_not_passed_on(self):
        with Activated() as daemon:
            with open(f"/proc/{daemon.pid}/fdinfo/3", encoding="ascii") as f:
                flags = next(int(line.split()[1], 8) for line in f
                             if line.startswith("flags:"))
            self.assertTrue(flags & os.O_CLOEXEC)
            self.assertTrue(flags & os.O_NONBLOCK)

    def test_settings_that_have_no_effect(self):
        """Only those that say something else are named."""
        with Activated(("stream", "{dir}/other"),
                       args=["--socket-mode=0600"]) as daemon:
            said = daemon.wait_log("socket has no effect")
            self.assertIn(f"with the path {daemon.directory}/other; set "
                          "ListenStream= in ddblockd.socket", said)
            daemon.wait_log("socket_mode has no effect.*SocketMode=")
            self.assertNotIn("socket_group", daemon.log())
            daemon.socket = os.path.join(daemon.directory, "other")
            with Client(daemon) as client:
                self.assertTrue(client.try_("k").ok)
        with Activated() as daemon:
            self.assertNotIn("no effect", daemon.log())

    def test_settings_of_a_file_are_named_with_their_line(self):
        with Activated(config="[daemon]\n\nsocket_mode = 0600\n"
                       "[namespace default]\nstore = memory\n") as daemon:
            self.assertIn(f"{daemon.config}:3: socket_mode has no effect",
                          daemon.wait_log("no effect"))

    def refused(self, *sockets):
        daemon = Activated(*sockets)
        self.addCleanup(daemon.close)
        status, _, err = daemon.run()
        self.assertEqual(status, 78, err)
        return err

    def test_several_sockets(self):
        self.assertIn("hands over 2 sockets; leave one ListenStream=",
                      self.refused(("stream", "{dir}/a"),
                                   ("stream", "{dir}/b")))

    def test_other_sockets(self):
        for kind, address in (("datagrams", "{dir}/s"), ("deaf", "{dir}/s"),
                              ("tcp", ("127.0.0.1", 0)),
                              ("stream", f"\0ddblock-{os.getpid()}")):
            self.assertIn("is not a Unix socket with a path that listens; "
                          "set ListenStream=/PATH",
                          self.refused((kind, address)), kind)


def fill(address):
    """Fill the queue of that socket: one sender alone has not the bytes."""
    for _ in range(100):
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as other:
            other.setblocking(False)
            other.connect(address)
            try:
                while True:
                    other.send(b"X_OTHERS=1")
            except BlockingIOError:
                pass


class Notices(unittest.TestCase):
    def test_watchdog(self):
        with Daemon(env={"WATCHDOG_USEC": "60000"}) as daemon:
            for _ in range(5):
                daemon.wait_notice("WATCHDOG=1")

    def test_no_watchdog(self):
        with Daemon() as daemon:
            daemon.signal(signal.SIGTERM)
            heard = []
            daemon.wait_notice("STOPPING=1", heard=heard.append)
            self.assertNotIn("WATCHDOG=1", heard)

    def test_a_queue_that_is_full(self):
        """What the manager has to hear comes when there is room."""
        with Daemon("[namespace default]\nstore = memory\n") as daemon:
            fill(daemon.notices.getsockname())
            daemon.signal(signal.SIGHUP)
            daemon.wait_log("was read again")
            heard = []
            daemon.wait_notice("READY=1", heard=heard.append)
            self.assertIn("RELOADING=1", heard)

    def test_time_to_stop(self):
        """As long as holders may take, and a release."""
        for args, least_s, most_s in (([], 30, 60),
                                      (["--stop-wait=10m"], 600, 660)):
            with Daemon(args=args) as daemon:
                daemon.signal(signal.SIGTERM)
                heard = []
                daemon.wait_notice("EXTEND_TIMEOUT_USEC=", heard=heard.append)
                asked = dict(line.split("=", 1) for line in heard if line)
                asked_s = int(asked["EXTEND_TIMEOUT_USEC"]) / 1000000
                self.assertGreater(asked_s, least_s)
                self.assertLess(asked_s, most_s)


if __name__ == "__main__":
    harness.main()
