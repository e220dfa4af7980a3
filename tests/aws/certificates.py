"""An authority for tests, and certificates that it should not have given.

Made with openssl(1), which every build of OpenSSL has, in a directory of the
test: nothing of it is kept or trusted outside.
"""
import os
import shutil
import ssl
import subprocess
import unittest

# What is wrong with it: who signs, for which name, for how many days.
KINDS = {"good": ("ca", None, 2), "expired": ("ca", None, -1),
         "name": ("ca", "somebody.else.test", 2),
         "unknown": ("stranger", None, 2)}


def openssl(directory, *args):
    if shutil.which("openssl") is None:
        raise unittest.SkipTest("there is no openssl")
    done = subprocess.run(["openssl", *args], cwd=directory, check=False,
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def make(directory, name):
    """ca.pem, and KIND.pem with KIND.key for each kind, valid for @name."""
    for ca in ("ca", "stranger"):
        openssl(directory, "req", "-x509", "-newkey", "ec", "-pkeyopt",
                "ec_paramgen_curve:prime256v1", "-nodes", "-days", "3650",
                "-subj", f"/CN=ddblockd test {ca}", "-keyout", f"{ca}.key",
                "-out", f"{ca}.pem")
    for kind, (ca, other, days) in KINDS.items():
        with open(os.path.join(directory, "extensions"), "w") as f:
            f.write(f"subjectAltName=DNS:{other or name}\n")
        openssl(directory, "req", "-newkey", "ec", "-pkeyopt",
                "ec_paramgen_curve:prime256v1", "-nodes", "-subj",
                f"/CN={kind}", "-keyout", f"{kind}.key", "-out", "request")
        openssl(directory, "x509", "-req", "-in", "request", "-CA",
                f"{ca}.pem", "-CAkey", f"{ca}.key", "-CAcreateserial",
                "-days", str(days), "-extfile", "extensions", "-out",
                f"{kind}.pem")


def contexts(directory):
    """A server's context for each kind."""
    found = {}
    for kind in KINDS:
        found[kind] = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        found[kind].load_cert_chain(os.path.join(directory, f"{kind}.pem"),
                                    os.path.join(directory, f"{kind}.key"))
    return found
