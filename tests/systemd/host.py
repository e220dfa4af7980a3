#!/usr/bin/env python3
"""A host with a real systemd as its first process, in namespaces of its own.

    tests/systemd/host.py [--root=DIR] [COMMAND [ARGUMENT...]]

boots it, runs COMMAND (by default a shell) there and powers it off. For tests:

    with Host() as host:
        host.exec("systemctl", "start", "ddblockd")

Its files are an overlay of a root directory, by default of this machine's, and
of the folders that it is given: nothing that is written there stays.
Processes, mounts, users, host name, journal and cgroups are its own; the
network is shared. It boots in about a second and needs root.

Its namespaces end with their first process, and that ends with this one, also
by SIGKILL. Then a cgroup without processes is left; the next host removes it.
"""
import ctypes
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import time
import unittest

BOOT_S = 60
PR_SET_PDEATHSIG = 1
LIBC = ctypes.CDLL(None, use_errno=True)
CGROUP = "ddblock-host-"  # and the process that runs the host
SYSTEMD = "/lib/systemd/systemd"
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
NAMESPACES = ("--mount", "--pid", "--uts", "--ipc", "--cgroup")

# Its first process, before it is systemd: $1 is the root, $2 the cgroup, $3 the
# name, $4 PIVOT, and then come the folders. Its mounts are in memory, and
# private. Two systemds cannot share a cgroup: so it gets one of its own, which
# looks like a whole hierarchy there, because it is the root of a namespace.
BOOT = r"""
root=$1 cgroup=$2 name=$3
mount -t tmpfs tmpfs /run
mkdir /run/cgroup /run/up /run/work /run/root
mount -t cgroup2 cgroup2 /run/cgroup
mkdir "/run/cgroup/$cgroup"
echo 0 >"/run/cgroup/$cgroup/cgroup.procs"
exec unshare --cgroup bash -euc "$4" boot "$root" "$name" "${@:5}"
"""
# The overlay becomes the root, with the mounts that systemd expects.
PIVOT = r"""
hostname "$2"
mount -t overlay overlay \
    -o "lowerdir=$1,upperdir=/run/up,workdir=/run/work" /run/root
cd /run/root
mount -t proc proc proc
mount --rbind /sys sys
umount -l sys/fs/cgroup 2>/dev/null || true
mount -t cgroup2 cgroup2 sys/fs/cgroup
mount --rbind /dev dev
mount -t tmpfs -o mode=755 tmpfs run
mkdir run/lock
mount -t tmpfs -o mode=1777 tmpfs tmp
n=0
for folder in "${@:3}"; do # each may be on a file system of its own
    n=$((n + 1))
    mkdir -p "/run/up-$n" "/run/work-$n" ".$folder"
    mount -t overlay overlay -o \
        "lowerdir=$folder,upperdir=/run/up-$n,workdir=/run/work-$n" ".$folder"
done
echo "$2" >etc/hostname
rm -rf var/log/journal
: >etc/machine-id
mkdir -p .before
pivot_root . .before
umount -l .before
rmdir .before
mount --make-rshared / # as on any host: LoadCredential= needs it
export container=other
exec /lib/systemd/systemd --system --unit=basic.target \
    --log-target=journal-or-kmsg --show-status=no
"""


def end_with_parent():
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def remove_cgroups(gone):
    """Those whose numbers @gone(NUMBER) says of that their host has ended."""
    script = "mount -t cgroup2 cgroup2 /run && cd /run && ls -d {0}* " \
        "2>/dev/null || true".format(CGROUP)
    private = ["unshare", "--mount", "--propagation", "private", "bash", "-c"]
    names = subprocess.run([*private, script], stdout=subprocess.PIPE,
                           check=False, text=True).stdout.split()
    names = [name for name in names if gone(int(name[len(CGROUP):]))]
    if names:
        script = "mount -t cgroup2 cgroup2 /run && cd /run && find \"$@\" " \
            "-depth -type d -exec rmdir {} + 2>/dev/null"
        subprocess.run([*private, script, "find", *names], check=False)


def is_gone(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


class Host:
    """@root: the directory whose overlay it boots. @folders: of this machine,
    which are there, too, under the same names."""

    def __init__(self, root="/", name="ddblock-test", folders=()):
        self.root = root
        self.folders = folders
        self.name = name
        self.process = None  # unshare(1), whose end ends all
        self.pid = self.pidfd = None  # its systemd, as we know it

    def need(self):
        """Skip by name where there can be no such host."""
        if os.geteuid() != 0:
            raise unittest.SkipTest("a host of its own needs root")
        for name in ("unshare", "nsenter"):
            if shutil.which(name) is None:
                raise unittest.SkipTest(f"{name} is missing (util-linux)")
        if not os.access(self.root + SYSTEMD, os.X_OK):
            raise unittest.SkipTest(f"{SYSTEMD} is missing (systemd)")
        done = subprocess.run(
            ["unshare", *NAMESPACES, "--propagation", "private", "--fork",
             "--kill-child", "sh", "-c", "mount -t tmpfs tmpfs /run && "
             "mkdir /run/c && mount -t cgroup2 cgroup2 /run/c"],
            capture_output=True, check=False, text=True)
        if done.returncode != 0:
            raise unittest.SkipTest("there are no namespaces for a host: "
                                    + done.stderr.strip())

    def start(self):
        self.need()
        remove_cgroups(is_gone)
        address = f"\0{CGROUP}{os.getpid()}-{id(self)}"
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notices:
            notices.bind(address)
            self.process = subprocess.Popen(
                ["unshare", *NAMESPACES[:-1], "--propagation", "private",
                 "--fork", "--kill-child", "bash", "-euc", BOOT, "boot",
                 self.root, f"{CGROUP}{os.getpid()}", self.name, PIVOT,
                 *self.folders],
                env={"PATH": PATH, "NOTIFY_SOCKET": "@" + address[1:]},
                stdin=subprocess.DEVNULL, preexec_fn=end_with_parent,
                start_new_session=True)
            try:
                self._wait_ready(notices)
            except BaseException:
                self.stop()
                raise
        return self

    def _wait_ready(self, notices):
        """systemd says when it has booted, as any service does."""
        ended = os.pidfd_open(self.process.pid)
        end = time.monotonic() + BOOT_S
        try:
            while True:
                ready = select.select([notices, ended], [], [],
                                      max(end - time.monotonic(), 0))[0]
                if notices in ready:
                    if b"READY=1" in notices.recv(65536).split(b"\n"):
                        break
                else:
                    raise AssertionError("the host did not boot" if not ready
                                         else "the host ended as it booted")
        finally:
            os.close(ended)
        with open(f"/proc/{self.process.pid}/task/{self.process.pid}/children",
                  encoding="ascii") as f:
            self.pid = int(f.read())
        self.pidfd = os.pidfd_open(self.pid)

    def stop(self):
        """Power it off: every process there is killed, its files go."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
        if self.pidfd is not None:  # the end of its last process
            select.select([self.pidfd], [], [], BOOT_S)
            os.close(self.pidfd)
        remove_cgroups(lambda pid: pid == os.getpid() or is_gone(pid))
        self.process = self.pid = self.pidfd = None

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        self.stop()

    def command(self, *command, user=None):
        """The command that runs @command there."""
        before = ["nsenter", f"--target={self.pid}", *NAMESPACES, "--"]
        if user is not None:
            before += ["setpriv", f"--reuid={user}", f"--regid={user}",
                       "--init-groups", "--"]
        return before + list(command)

    def exec(self, *command, user=None, check=True, **more):
        """Run it there to its end: a CompletedProcess, with its output."""
        more = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE,
                "stderr": subprocess.PIPE, "text": True, "timeout": BOOT_S,
                "env": {"PATH": PATH, "LANG": "C.UTF-8"}, **more}
        done = subprocess.run(self.command(*command, user=user), check=False,
                              **more)
        if check and done.returncode != 0:
            raise AssertionError(f"{' '.join(command)}: {done.returncode}\n"
                                 f"{done.stdout}{done.stderr}")
        return done

    def path(self, path):
        """A file of the host, as we see it."""
        return f"/proc/{self.pid}/root{path}"

    def write(self, path, text, mode=0o644):
        os.makedirs(os.path.dirname(self.path(path)), exist_ok=True)
        with open(self.path(path), "w", encoding="utf-8") as f:
            f.write(text)
        os.chmod(self.path(path), mode)


def main():
    arguments = sys.argv[1:]
    root = "/"
    if arguments and arguments[0].startswith("--root="):
        root = arguments.pop(0)[len("--root="):]
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: sys.exit(1))
    with Host(root) as host:
        sys.exit(subprocess.run(host.command(*(arguments or ["bash"])),
                                check=False).returncode)


if __name__ == "__main__":
    main()
