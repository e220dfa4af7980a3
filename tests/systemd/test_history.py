#!/usr/bin/env python3
"""What the journal's catalog says of the audit trail, under a real systemd with
its journal.
"""
import os
import re
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, os.pardir, "integration"))
# pylint: disable=wrong-import-position
import harness
import test_unit
from test_unit import HOST

setUpModule = test_unit.setUpModule
TOP = os.path.join(HERE, os.pardir, os.pardir)


class Catalog(test_unit.Case):
    def test_every_line_is_explained(self):
        with open(os.path.join(TOP, "src/common/trail.def"),
                  encoding="utf-8") as f:
            ids = re.findall(r'^TRAIL\(\w+, (\w+), "([0-9a-f]{32})"\)',
                             f.read(), re.M)
        self.assertEqual(len({number for _, number in ids}), len(ids))
        done = HOST.exec("journalctl", "--update-catalog")
        self.assertNotIn("ddblockd.catalog", done.stderr)
        for word, number in ids:
            done = HOST.exec("journalctl", "--dump-catalog", number)
            self.assertIn("Defined-By: ddblockd", done.stdout, word)
        done = HOST.exec("journalctl", "--list-catalog")
        self.assertEqual(done.stdout.count(" ddblockd: "), len(ids))

    def test_it_is_shown(self):
        HOST.exec("journalctl", "--update-catalog")
        self.start()
        self.ddblock("run", "explained", "--", "true")
        text = self.journal("-x", "-o", "short", "-u", "ddblockd")
        self.assertIn("Subject: Lock explained was granted", text)


if __name__ == "__main__":
    harness.main()
