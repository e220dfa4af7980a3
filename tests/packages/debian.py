"""A bare Debian to install packages in: its folder, and its apt in a host."""
import os
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
ENV = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8",
       "DEBIAN_FRONTEND": "noninteractive"}


def bare(release):
    """The folder that `root` has made; a host boots an overlay of it."""
    return subprocess.run([os.path.join(HERE, "root"), release], check=True,
                          stdout=subprocess.PIPE, text=True).stdout.strip()


def apt(host, timeout_s, *arguments):
    return host.exec("apt-get", "-qq", "-y", "-o", "Dpkg::Use-Pty=0",
                     "--no-install-recommends", *arguments, timeout=timeout_s,
                     env=ENV)
