#!/usr/bin/env python3
"""The same sources make the same packages, byte by byte: built twice, the
second time in another folder, time zone and locale, with another umask, home
and number of jobs.

    tests/packages/reproducible.py TARBALL

Says which packages differ, and which of their files; with diffoscope, if it is
there, how.
"""
import filecmp
import glob
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
DEB = os.path.join(HERE, os.pardir, os.pardir, "scripts", "deb")
COMMON = {"DEB_BUILD_OPTIONS": "nocheck parallel=2", "LC_ALL": "C.UTF-8",
          "TZ": "UTC"}
# And without ccache, which would know what the first has compiled.
OTHER = {"DEB_BUILD_OPTIONS": "nocheck parallel=3", "LC_ALL": "C",
         "LANG": "de_DE.UTF-8", "LANGUAGE": "de", "TZ": "Asia/Kathmandu",
         "HOME": "/nonexistent", "USER": "somebody", "CCACHE_DISABLE": "1"}


def build(tarball, folder, more, umask):
    done = subprocess.run([DEB, tarball, folder], env={**os.environ, **more},
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          check=False, text=True, errors="replace",
                          preexec_fn=lambda: os.umask(umask))
    if done.returncode != 0:
        sys.exit(f"{done.stdout[-4000:]}\nthe build in {folder} failed")


def unpacked(path, folder):
    """All files of a package below @folder: {name: path}."""
    if path.endswith(".deb"):
        subprocess.run(["dpkg-deb", "-R", path, folder], check=True)
    elif ".tar." in path:
        os.mkdir(folder)
        subprocess.run(["tar", "-C", folder, "-xf", path], check=True)
    return {os.path.relpath(os.path.join(where, name), folder):
            os.path.join(where, name)
            for where, _, names in os.walk(folder) for name in names}


def tell(one, other, scratch):
    print(f"{os.path.basename(one)} differs:")
    name = os.path.basename(one)
    first = unpacked(one, os.path.join(scratch, name + ".1"))
    second = unpacked(other, os.path.join(scratch, name + ".2"))
    for file in sorted(set(first) | set(second)):
        if file not in first or file not in second:
            print(f"    {file}: only in one")
        elif not os.path.islink(first[file]) and \
                not filecmp.cmp(first[file], second[file], shallow=False):
            print(f"    {file}")
    if shutil.which("diffoscope"):
        subprocess.run(["diffoscope", one, other], check=False)


def main():
    tarball = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory(dir=os.getcwd()) as scratch:
        first = os.path.join(scratch, "a")
        second = os.path.join(scratch, "another", "folder with a long name"
                              .replace(" ", "-"))
        build(tarball, first, COMMON, 0o022)
        build(tarball, second, OTHER, 0o027)
        names = sorted(os.path.basename(path) for path in
                       glob.glob(first + "/*.deb") + glob.glob(first + "/*.xz")
                       + glob.glob(first + "/*.dsc"))
        if not any(name.endswith(".deb") for name in names):
            sys.exit("there are no packages")
        differ = [name for name in names if not filecmp.cmp(
            os.path.join(first, name), os.path.join(second, name), False)]
        for name in differ:
            tell(os.path.join(first, name), os.path.join(second, name), scratch)
    print(f"{len(names)} files, {len(differ)} differ")
    sys.exit(bool(differ))


if __name__ == "__main__":
    main()
