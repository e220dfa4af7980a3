#!/usr/bin/env python3
"""The examples of test_parity.py that are about a table in DynamoDB.

Each begins without the table, whose names are those of the old document.
"""
import os

import test_parity
from test_parity import LANGUAGES, harness

import fault_proxy  # noqa: E402 (test_parity knows where it is)
from test_daemon_dynamodb import dynamodb  # noqa: E402


class Table(test_parity.Examples):
    """Those of one language."""

    name = None
    keys = {}

    def setUp(self):
        harness.need_dynamodb()
        self.table = (f"{self.name}-{os.getpid()}-{self._testMethodName}"
                      f"-{self.serial}")
        self.endpoint = harness.endpoint()
        self.create()
        super().setUp()

    def start_daemon(self, settings):
        self.proxy = fault_proxy.Proxy()
        self.addCleanup(self.proxy.close)
        self.endpoint = self.proxy.url
        super().start_daemon(settings)

    def end_daemon(self, daemon):
        self.proxy.clear()  # so that it can give back what it has
        super().end_daemon(daemon)

    @property
    def store(self):
        return {"store": "dynamodb", "table": self.table,
                "endpoint": self.endpoint, "region": "us-east-1",
                "access_key_id": "AKIDEXAMPLE", "secret_access_key": "none",
                **self.keys}

    def task(self, option, status):
        daemon = harness.Daemon(config=self.config({}), args=[option])
        self.addCleanup(daemon.close)
        done = daemon.run()
        self.assertEqual(done[0], status, done)

    def create(self):
        self.task("--check-table", os.EX_CONFIG)
        self.task("--init-table", 0)
        self.task("--check-table", 0)

    def described(self):
        return dynamodb("DescribeTable", TableName=self.table)["Table"]

    def check_keys(self, *names):
        self.assertEqual([key["AttributeName"]
                          for key in self.described()["KeySchema"]],
                         list(names))

    def lose(self, kind):
        """The store answers no request of that kind any more."""
        self.proxy.on(kind, fault_proxy.lose_before, times=fault_proxy.EVER)


class Python(Table):
    language = LANGUAGES["python"]
    name = "DynamoDBLockTable"
    keys = {"key_attribute": "lock_key", "sort_attribute": "sort_key",
            "ttl_attribute": "expiry_time", "read_capacity": 5,
            "write_capacity": 5}

    def test_table(self):
        self.check_keys("lock_key", "sort_key")
        units = self.described()["ProvisionedThroughput"]
        self.assertEqual((units["ReadCapacityUnits"],
                          units["WriteCapacityUnits"]), (5, 5))
        self.assertEqual(dynamodb(
            "DescribeTimeToLive", TableName=self.table)
            ["TimeToLiveDescription"]["AttributeName"], "expiry_time")
        self.play("names", "ACQUIRE_TIMEOUT True",
                  "my_key billing True 20.0 True", "True")
        items = dynamodb("Scan", TableName=self.table)["Items"]
        self.assertEqual({"expiry_time" in item for item in items
                          if "holders" not in item}, {True})

    def meddle(self):
        dynamodb("DeleteItem", TableName=self.table,
                 Key={"lock_key": {"S": "lock:my_key"},
                      "sort_key": {"S": "-"}})

    def test_stolen(self):
        self.begin("stolen", "held")
        self.meddle()
        self.take()
        self.go_on()
        self.end("True")

    def take(self):
        """And somebody else has it now."""
        with harness.Daemon(config=self.config({})) as daemon, \
                harness.Client(daemon) as client:
            self.assertTrue(client.acquire("my_key", wait="60s").ok)
            self.assertTrue(client.call("QUIT").ok)

    @test_parity.configured(lease="3s")
    def test_statuses(self):
        self.begin("statuses", "PENDING", "LOCKED")
        self.lose("beat")
        self.end("IN_DANGER", "INVALID", "RELEASED")

    @test_parity.configured(audit="100ms")
    def test_stolen_while_held(self):
        self.begin("callback", "held")
        self.meddle()
        self.end("LOCK_STOLEN True", "LOCK_LOST")

    @test_parity.configured(request_timeout="3s")
    def test_unreachable(self):
        self.begin("unreachable", "held")
        self.lose("release")
        self.go_on()
        self.end("UNREACHABLE")


class Java(Table):
    language = LANGUAGES["java"]
    name = "lockTable"

    def test_table(self):
        self.check_keys("key")
        self.play("usage", "Acquired lock!", "true", "null", "Moe")

    @test_parity.configured(request_timeout="3s")
    def test_unreachable(self):
        self.begin("unreachable", "held")
        self.lose("release")
        self.go_on()
        self.end("false", "UNREACHABLE")


class JavaScript(Table):
    language = LANGUAGES["javascript"]
    name = "distributed-locks-store"
    keys = {"key_attribute": "id"}

    def create(self):
        """As the template does."""
        dynamodb("CreateTable", TableName=self.table,
                 AttributeDefinitions=[{"AttributeName": "id",
                                        "AttributeType": "S"}],
                 KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
                 ProvisionedThroughput={"ReadCapacityUnits": 1,
                                        "WriteCapacityUnits": 1})

    def test_table(self):
        self.begin("failOpen")
        self.hear_number("acquired fail open lock with fencing token")
        self.end("released fail open lock")
        self.play("failClosed", "acquired fail closed lock",
                  "released fail closed lock")


class Go(Table):
    language = LANGUAGES["go"]
    name = "dlock"

    def test_table(self):
        self.check_keys("key")
        self.play("usage", "nyc-street-wallstreet 20s")

    @test_parity.configured(request_timeout="3s")
    def test_no_answer(self):
        self.lose("acquire")
        self.begin("noAnswer", "error UNREACHABLE")


if __name__ == "__main__":
    harness.beside_dynamodb()
    test_parity.main(Go, Java, JavaScript, Python)
