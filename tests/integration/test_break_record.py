#!/usr/bin/env python3
"""The holder of a lock without a token renews it while a user is asked to
break it.

The holder is an older client, whose records this test writes.
"""
import os
import unittest
import uuid

import harness
from harness import Client, Daemon
from test_break import at_terminal
from test_daemon_dynamodb import dynamodb
from test_formats_settings import config


class Records(unittest.TestCase):
    def setUp(self):
        harness.need_dynamodb()
        self.table = f"t-{os.getpid()}-{self.id().split('.')[-1]}"
        text = config(self.table, "format = awslabs\n")
        task = Daemon(text, args=["--init-table"])
        self.addCleanup(task.close)
        self.assertEqual(task.run()[0::2], (0, ""))
        self.daemon = self.enterContext(Daemon(text))
        self.client = self.enterContext(Client(self.daemon))

    def renew(self, owner="theirs"):
        dynamodb("PutItem", TableName=self.table, Item={
            "key": {"S": "x"}, "ownerName": {"S": owner},
            "leaseDuration": {"S": "600000"},
            "recordVersionNumber": {"S": str(uuid.uuid4())}})

    def test_it_goes_on_to_renew(self):
        self.renew()
        status, said = at_terminal(self.daemon, "x", "yes", self.renew)
        self.assertEqual(status, 0, said)
        self.assertEqual(self.client.call("GET x")["state"], "free")

    def test_it_is_named_and_renewed(self):
        self.renew()
        record = self.client.call("GET x")["record"]
        self.renew()
        reply = self.client.call(f"BREAK x record={record} reason=hangs")
        self.assertEqual(reply.code, "WRONG_TOKEN")
        self.assertEqual(self.client.call("GET x")["state"], "held")

    def test_it_is_anothers_by_now(self):
        self.renew()
        status, said = at_terminal(self.daemon, "x", "yes",
                                   lambda: self.renew("others"))
        self.assertEqual(status, 5, said)
        self.assertIn("it has another holder now: held by others", said)
        self.assertEqual(self.client.call("GET x")["state"], "held")


if __name__ == "__main__":
    harness.main(dynamodb=True)
