"""A service manager in the test's own process: it listens for the daemon, keeps
its descriptors (sd_notify(3), FDSTORE) and hands them to the next daemon.

    with Managed() as daemon, Client(daemon) as client:
        ...
        daemon.restart()    # kill -9, and the next one
"""
import array
import os
import select
import socket
import sys
import threading

from harness import Daemon, TIMEOUT_S

# Put descriptors where sd_listen_fds(3) looks for them, and become the daemon.
STARTER = """
import fcntl, os, sys
given = [item.split(":", 1) for item in sys.argv[1].split(",")]
made = [fcntl.fcntl(int(fd), fcntl.F_DUPFD, 3 + 2 * len(given))
        for fd, _ in given]
for fd, _ in given:
    os.close(int(fd))
for i, fd in enumerate(made):
    os.dup2(fd, 3 + i)
    os.close(fd)
os.environ.update(LISTEN_FDS=str(len(made)), LISTEN_PID=str(os.getpid()),
                  LISTEN_FDNAMES=":".join(name for _, name in given))
os.execv(sys.argv[2], sys.argv[2:])
"""


class Managed(Daemon):
    """@store_max: how many descriptors are kept; @deaf: no notice is read."""

    def __init__(self, store_max=4096, **more):
        super().__init__(**more)
        self.store_max = store_max
        self.store = []  # (descriptor, name)
        self.lock = threading.Lock()
        self.reading = threading.Event()
        self.reading.set()
        self.read_all = threading.Event()
        self.listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.listening.bind(self.socket)
        self.listening.listen(4096)
        self.manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.manager.bind(os.path.join(self.directory, "manager"))
        self.told = None  # the other end of self.notices
        threading.Thread(target=self._manage, daemon=True).start()

    def command(self):
        self._read_all()
        with self.lock:
            self._drop_ended()
            self.handed = [(self.listening.fileno(), "ddblockd.socket"),
                           *self.store]
        given = ",".join(f"{fd}:{name}" for fd, name in self.handed)
        return [sys.executable, "-c", STARTER, given, *super().command()]

    def pass_fds(self):
        return [fd for fd, _ in self.handed]

    def listen_to_notices(self):
        self.notices, told = socket.socketpair(socket.AF_UNIX,
                                               socket.SOCK_DGRAM)
        with self.lock:
            self.told = told
        return os.path.join(self.directory, "manager")

    def close(self, check=True):
        try:
            super().close(check)
        finally:
            with self.lock:
                for fd, _ in self.store:
                    os.close(fd)
                self.store = []
            self.listening.close()

    def restart(self):
        """kill -9, and the next one, which is ready."""
        self.kill()
        return self.start()

    def kept(self, name="c"):
        with self.lock:
            self._drop_ended()
            return sum(own == name for _, own in self.store)

    # -- what a service manager does ----------------------------------------

    def _read_all(self):
        """systemd, too, reads what a service told it before it starts the
        service again."""
        if not self.reading.is_set():
            return
        self.read_all.clear()
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as own:
            own.sendto(b"X_LAST=1", self.manager.getsockname())
        if not self.read_all.wait(TIMEOUT_S):
            raise TimeoutError("the manager does not read its notices")

    def _drop_ended(self):
        poll = select.poll()
        for fd, _ in self.store:
            poll.register(fd, 0)
        ended = {fd for fd, _ in poll.poll(0)}
        for fd in ended:
            os.close(fd)
        self.store = [item for item in self.store if item[0] not in ended]

    def _keep(self, fds, name):
        for fd in fds:
            self._drop_ended()
            if len(self.store) < self.store_max:
                self.store.append((fd, name))
            else:
                os.close(fd)

    def _manage(self):
        size = socket.CMSG_SPACE(253 * array.array("i").itemsize)
        while True:
            try:
                text, more, _, _ = self.manager.recvmsg(1 << 16, size)
            except OSError:
                return
            self.reading.wait()
            fds = array.array("i")
            for _, _, data in more:
                fds.frombytes(data[:len(data) - len(data) % fds.itemsize])
            lines = text.decode().split("\n")
            if lines == ["X_LAST=1"]:
                self.read_all.set()
                continue
            with self.lock:
                if "FDSTORE=1" in lines:
                    names = [line[len("FDNAME="):] for line in lines
                             if line.startswith("FDNAME=")]
                    self._keep(fds, names[0])
                else:  # a barrier, too: it is over now
                    for fd in fds:
                        os.close(fd)
                    try:
                        self.told.send(text, socket.MSG_DONTWAIT)
                    except OSError:
                        pass
