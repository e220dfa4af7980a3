"""Other users: children with another user id, for which a test must be root."""
import os
import select
import socket

from harness import Client

STRANGER = 65534  # a user and a group that root is not


def become(user, group, others=()):
    os.setgroups(others)
    os.setresgid(group, group, group)
    os.setresuid(user, user, user)


def as_user(daemon, task, user, group, others=()):
    """Do that with a client of this user; what it returns, as text. From a
    child without a new program, which that user might not be allowed to
    run."""
    for path in (daemon.directory, daemon.socket):
        os.chmod(path, 0o777)
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            become(user, group, others)
            with Client(daemon) as client:
                os.write(writer, str(task(client)).encode())
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as answer:
        said = answer.read()
    os.waitpid(child, 0)
    return said


def ask_as(daemon, line, user, group, others=(), times=1):
    """The last reply to a line of another user."""
    def ask(client):
        for _ in range(times):
            reply = client.call(line)
        return reply.raw
    return as_user(daemon, ask, user, group, others)


def relay(listening, path, user, group, others=(), leaves=False):
    """A child that is another user: it connects to @path, and passes on what
    the one client says that connects to @listening. Returns its pid. @leaves:
    it ends when it has connected, and its own child goes on."""
    child = os.fork()
    if child > 0:
        return child
    try:
        become(user, group, others)
        near, _ = listening.accept()
        far = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        far.connect(path)
        if leaves and os.fork() > 0:
            os._exit(0)
        poll = select.poll()
        ways = {near.fileno(): (near, far), far.fileno(): (far, near)}
        for fd in ways:
            poll.register(fd, select.POLLIN)
        while True:
            for fd, _ in poll.poll():
                here, there = ways[fd]
                data = here.recv(1 << 16)
                if not data:
                    os._exit(0)
                there.sendall(data)
    finally:
        os._exit(1)
