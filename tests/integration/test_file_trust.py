#!/usr/bin/env python3
"""Files of credentials that others can read or change, by a real daemon: what
is read, and what the log says."""
import os
import unittest

import harness
from harness import Daemon

CREDENTIALS = """\
[default]
aws_access_key_id = AKIDEXAMPLE
aws_secret_access_key = hush
"""
CONFIG = """\
[namespace default]
store = dynamodb
table = locks
region = us-east-1
endpoint = http://127.0.0.1:1
"""


class Credentials(unittest.TestCase):
    def daemon(self, mode, directory_mode=0o700):
        """One whose credentials file, and its directory, have these modes."""
        daemon = Daemon(CONFIG, log_level="info")
        self.addCleanup(daemon.close)
        place = os.path.join(daemon.directory, "aws")
        os.mkdir(place)
        path = os.path.join(place, "credentials")
        with open(path, "w", encoding="ascii") as f:
            f.write(CREDENTIALS)
        os.chmod(path, mode)
        os.chmod(place, directory_mode)
        for name in list(daemon.env):
            if name.startswith("AWS_"):
                del daemon.env[name]
        daemon.env["AWS_SHARED_CREDENTIALS_FILE"] = path
        daemon.env["AWS_CONFIG_FILE"] = "/nonexistent"
        daemon.env["AWS_EC2_METADATA_DISABLED"] = "true"
        return daemon.start(), path

    def test_private(self):
        daemon, _ = self.daemon(0o640)
        daemon.wait_log("AWS credentials: ")
        self.assertNotIn("everybody", daemon.log())

    def test_others_read_it(self):
        daemon, path = self.daemon(0o644)
        daemon.wait_log("AWS credentials: ")
        daemon.wait_log(f"warning: .*everybody can read {path}, which is for "
                        "secrets; run chmod o-rwx")
        self.assertNotIn("hush", daemon.log())

    def test_others_write_it(self):
        daemon, path = self.daemon(0o602)
        daemon.wait_log(f"{path} could not be read: everybody can write it; "
                        "run chmod o-w")
        self.assertNotIn("AWS credentials: ", daemon.log())

    def test_others_replace_it(self):
        daemon, path = self.daemon(0o600, 0o777)
        daemon.wait_log(f"{path} could not be read: everybody can replace it")
        self.assertNotIn("AWS credentials: ", daemon.log())

    def test_sticky(self):
        """As a kubelet mounts what it projects."""
        daemon, _ = self.daemon(0o640, 0o1777)
        daemon.wait_log("AWS credentials: ")


if __name__ == "__main__":
    harness.main()
