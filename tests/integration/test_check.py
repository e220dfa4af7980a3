#!/usr/bin/env python3
"""CHECK, `ddblock check` and `ddblockd --check`: the findings, and that a
check changes nothing and delays no other client."""
import json
import os
import pty
import shutil
import socket
import ssl
import subprocess
import tempfile
import threading
import unittest

import fault_proxy
import harness
from harness import Client, Daemon
from test_daemon_dynamodb import SECRET, TOKEN, config, create_table, dynamodb
from users import STRANGER, ask_as

WAY = ["configuration", "credentials", "dns", "connection", "tls", "clock",
       "signature"]
TABLE = ["table", "billing", "protection", "regions", "ttl"]
NATIVE = ["GetItem", "BatchGetItem", "Scan", "PutItem", "UpdateItem",
          "TransactWriteItems"]


def ddblock(daemon, *args):
    done = subprocess.run(
        [harness.program("ddblock"), f"--socket={daemon.socket}", *args],
        capture_output=True, text=True, timeout=harness.TIMEOUT_S,
        check=False)
    return done.returncode, done.stdout, done.stderr


def checks(reply):
    return [row["check"] for row in reply.rows]


def found(reply, check):
    """The rows of this check."""
    return [row for row in reply.rows if row["check"] == check]


async def not_known(exchange, _rule):
    """As an emulator answers what it does not have."""
    await exchange.reply(400, json.dumps({
        "__type": "com.amazon.coral.service#UnknownOperationException"})
                         .encode())


async def deny(exchange, _rule):
    operation = exchange.request.operation
    body = json.dumps({
        "__type": "com.amazon.coral.service#AccessDeniedException",
        "Message": "User: arn:aws:sts::123456789012:assumed-role/r/i is not "
                   f"authorized to perform: dynamodb:{operation}"}).encode()
    await exchange.reply(400, body)


class File(unittest.TestCase):
    """Of a namespace with a file."""

    def test_all_is_well(self):
        with Daemon() as daemon:
            status, out, err = ddblock(daemon, "check")
            self.assertEqual((status, err), (0, ""))
            lines = out.split("\n")
            self.assertEqual(lines[0], "default")
            self.assertEqual([line.split()[1] for line in lines
                              if line.startswith(("  ok", "  warning"))],
                             ["configuration", "file", "disk", "integrity"])
            self.assertLess(max(map(len, lines)), 80)
            self.assertRegex(lines[-2], r"^4 findings: 0 errors, \d warning")

    def test_json(self):
        with Daemon() as daemon:
            status, out, _ = ddblock(daemon, "check", "--json")
            told = json.loads(out)
            self.assertEqual(status, 0)
            self.assertEqual([row["check"] for row in told["findings"]],
                             ["configuration", "file", "disk", "integrity"])
            self.assertEqual(told["findings"][1]["state"], "ok")
            self.assertEqual((told["sums"]["rows"], told["sums"]["errors"]),
                             (4, 0))

    def test_at_a_terminal(self):
        """A user who watches sees the progress; at the end the line is
        gone."""
        with Daemon() as daemon:
            ours, theirs = pty.openpty()
            process = subprocess.Popen(
                [harness.program("ddblock"), f"--socket={daemon.socket}",
                 "check"], stdout=theirs, stderr=theirs)
            os.close(theirs)
            said = b""
            try:
                while part := os.read(ours, 65536):
                    said += part
            except OSError:  # its end
                pass
            os.close(ours)
            self.assertEqual(process.wait(harness.TIMEOUT_S), 0)
            self.assertEqual(said.count(b"checking..."),
                             said.count(b"checking...\r\x1b[K"))
            self.assertEqual(said.count(b"checking..."), 5)
            self.assertIn(b"\r\x1b[K  ok       integrity", said)

    def test_others_may_write_it(self):
        with Daemon() as daemon, Client(daemon) as client:
            path = os.path.join(daemon.directory, "default.db")
            os.chmod(path, 0o666)
            row = found(client.call("CHECK"), "file")[0]
            self.assertEqual(row["state"], "warning")
            self.assertIn("mode 0666", row["text"])
            self.assertIn("0600", row["advice"])
            self.assertEqual(ddblock(daemon, "check")[0], 0)

    def test_it_is_gone(self):
        with Daemon() as daemon:
            os.unlink(os.path.join(daemon.directory, "default.db"))
            status, out, _ = ddblock(daemon, "check")
            self.assertEqual(status, 1)
            self.assertIn("  error    file", out)
            self.assertIn("-> find out why it is gone", out)

    def test_namespaces(self):
        text = "".join(f"[namespace {name}]\nfile = {{dir}}/{name}.db\n"
                       for name in ("default", "other"))
        with Daemon(text) as daemon, Client(daemon) as client:
            reply = client.call("CHECK")
            self.assertEqual([row["ns"] for row in reply.rows],
                             ["default"] * 4 + ["other"] * 4)
            reply = client.call("CHECK ns=other")
            self.assertEqual({row["ns"] for row in reply.rows}, {"other"})
            self.assertEqual(client.call("CHECK ns=no").code,
                             "UNKNOWN_NAMESPACE")
            self.assertEqual(client.call("CHECK ns=other,other").code,
                             "BAD_REQUEST")
            status, out, _ = ddblock(daemon, "--ns=other", "check")
            self.assertEqual((status, out.split("\n")[0]), (0, "other"))

    def test_one_at_a_time(self):
        with Daemon() as daemon, Client(daemon) as client:
            # The first may have ended when it is the second line's turn.
            for _ in range(100):
                client.send_raw(b"#a CHECK\n#b CHECK\n")
                refused = client.reply("b")
                if refused.code == "LIMIT":
                    break
                self.assertTrue(client.reply("a").ok)
            self.assertEqual(refused.code, "LIMIT")
            self.assertIn("being checked already", str(refused))
            self.assertEqual(len(client.reply("a").rows), 4)
            self.assertTrue(client.call("CHECK").ok)

    def test_nobody_listens_any_more(self):
        with Daemon() as daemon:
            with Client(daemon) as client:
                client.send_raw(b"CHECK\n")
            with Client(daemon) as client:
                while True:
                    reply = client.call("CHECK")
                    if reply.code != "LIMIT":
                        break
                self.assertEqual(len(reply.rows), 4)

    @unittest.skipUnless(os.geteuid() == 0,
                         "only root can be somebody else")
    def test_a_stranger(self):
        with Daemon() as daemon:
            reply = ask_as(daemon, "CHECK", STRANGER, STRANGER)
            self.assertIn(" ERR DENIED ", reply)
            daemon.wait_log("may not say CHECK")

    def test_no_daemon(self):
        daemon = Daemon()
        try:
            status, out, err = ddblock(daemon, "check")
            self.assertEqual((status, out), (69, ""))
            self.assertIn("ddblockd --check", err)
        finally:
            daemon.close()

    def test_without_a_daemon(self):
        daemon = Daemon(args=["--check"])
        try:
            status, out, _ = daemon.run()
            self.assertEqual(status, 1)
            self.assertIn("  error    configuration  namespace default: "
                          "there is no database", out)
            with Daemon(directory=daemon.directory) as running:
                status, out, _ = daemon.run()
                self.assertEqual(status, 1)
                self.assertIn(f"(process {running.pid})",
                              " ".join(out.split()))
            status, out, _ = daemon.run()
            self.assertEqual(status, 0)
            self.assertIn("  ok       integrity", out)
        finally:
            daemon.close()


class Table(unittest.TestCase):
    """Of a namespace with a table."""

    def setUp(self):
        harness.need_dynamodb()
        self.table = f"t-{os.getpid()}-{self._testMethodName}"

    def make(self, more=""):
        # Not every format has leases.
        daemon = Daemon(config(self.table).replace("lease = 20s\n", "")
                        + more, args=["--init-table"])
        try:
            self.assertEqual(daemon.run()[0], 0)
        finally:
            daemon.close()

    def items(self):
        return sorted(json.dumps(item, sort_keys=True) for item in dynamodb(
            "Scan", TableName=self.table, ConsistentRead=True)["Items"])

    def test_all_is_well(self):
        self.make()
        with Daemon(config(self.table)) as daemon, Client(daemon) as client:
            reply = client.call("CHECK")
            self.assertTrue(reply.ok, reply)
            self.assertEqual(
                checks(reply), WAY + TABLE + ["permission"] * len(NATIVE)
                + ["latency"])
            self.assertEqual(
                [row["text"] for row in found(reply, "permission")],
                [f"{name} is allowed" for name in NATIVE])
            self.assertEqual(int(reply["errors"]), 0)
            self.assertEqual(int(reply["rows"]), len(reply.rows))
            self.assertEqual(found(reply, "table")[0]["text"],
                             f'{self.table} is ACTIVE; partition key "key" '
                             '(S)')
            for row in reply.rows:
                self.assertNotIn("hush", row.raw)

    def test_nothing_changes(self):
        self.make()
        with fault_proxy.Proxy() as proxy:
            daemon = Daemon(config(self.table, endpoint=proxy.url),
                            args=["--check"])
            try:
                before = self.items()
                status, out, err = daemon.run()
                self.assertEqual((status, err), (0, ""))
                self.assertEqual(self.items(), before)
            finally:
                daemon.close()
            written = [r for r in proxy.seen() if r.operation.startswith(
                ("Put", "Update", "Delete", "Transact"))]
            self.assertEqual(
                [(r.operation, r.status) for r in written],
                [("PutItem", 400), ("UpdateItem", 400),
                 ("TransactWriteItems", 400)])
            for planted in (SECRET, TOKEN):
                self.assertNotIn(planted, out)

    def test_denied(self):
        self.make()
        with fault_proxy.Proxy() as proxy, \
                Daemon(config(self.table, endpoint=proxy.url)) as daemon, \
                Client(daemon) as client:
            self.assertTrue(client.acquire("a", wait="60s").ok)
            for kind, operation, state in (
                    ("list", "Scan", "warning"),
                    ("PutItem", "PutItem", "error"),
                    ("UpdateItem", "UpdateItem", "error"),
                    ("together", "TransactWriteItems", "error")):
                if kind == "PutItem":
                    kind = "open"  # what a PutItem looks like to the proxy
                rule = proxy.on(kind, deny)
                reply = client.call("CHECK")
                rule.stop()
                bad = [row for row in found(reply, "permission")
                       if row["state"] != "ok"]
                self.assertEqual(len(bad), 1, reply.rows)
                self.assertEqual(bad[0]["state"], state)
                self.assertIn(f"{operation} is denied", bad[0]["text"])
                self.assertIn("assumed-role/r/i", bad[0]["text"])
                self.assertIn("allow dynamodb:", bad[0]["advice"])
                # Others are looked at all the same.
                self.assertEqual(checks(reply)[-1], "latency")

    def test_it_cannot_be_described(self):
        self.make()
        with fault_proxy.Proxy() as proxy, \
                Daemon(config(self.table, endpoint=proxy.url)) as daemon, \
                Client(daemon) as client:
            self.assertTrue(client.acquire("a", wait="60s").ok)
            proxy.on(("table", "DescribeTimeToLive"), deny, times=2)
            reply = client.call("CHECK")
            self.assertEqual(checks(reply), WAY + ["table", "ttl"]
                             + ["permission"] * len(NATIVE) + ["latency"])
            for check in ("table", "ttl"):
                row = found(reply, check)[0]
                self.assertEqual(row["state"], "warning")
                self.assertIn("allow dynamodb:Describe", row["advice"])

    def test_time_to_live_is_off(self):
        """A fault, unless the endpoint has none. Asking changes nothing."""
        create_table(self.table, "key")
        with fault_proxy.Proxy() as proxy, \
                Daemon(config(self.table, endpoint=proxy.url)) as daemon, \
                Client(daemon) as client:
            self.assertTrue(client.acquire("a", wait="60s").ok)
            row = found(client.call("CHECK"), "ttl")[0]
            self.assertEqual(row["state"], "warning")
            self.assertIn("ddblock init-table", row["advice"])
            proxy.on("UpdateTimeToLive", not_known)
            reply = client.call("CHECK")
            self.assertEqual(found(reply, "ttl")[0]["state"], "ok")
            self.assertEqual(checks(reply)[-1], "latency")
            self.assertEqual(dynamodb(
                "DescribeTimeToLive", TableName=self.table)
                             ["TimeToLiveDescription"]["TimeToLiveStatus"],
                             "DISABLED")

    def test_no_table(self):
        daemon = Daemon(config(self.table), args=["--check"])
        try:
            status, out, _ = daemon.run()
        finally:
            daemon.close()
        self.assertEqual(status, 1)
        self.assertIn(f"there is no table {self.table}",
                      " ".join(out.split()))
        self.assertIn("ddblockd --init-table", " ".join(out.split()))
        self.assertNotIn("permission", out)

    def test_another_table(self):
        create_table(self.table, "other")
        with Daemon(config(self.table)) as daemon, Client(daemon) as client:
            reply = client.call("CHECK")
            self.assertEqual(checks(reply), WAY + ["table"])
            self.assertEqual(reply.rows[-1]["state"], "error")
            self.assertIn('has partition key "other" (S), but needed is '
                          'partition key "key" (S)', reply.rows[-1]["text"])

    def test_nobody_there(self):
        self.make()
        with fault_proxy.Proxy() as proxy:
            with Daemon(config(self.table, endpoint=proxy.url)) as daemon, \
                    Client(daemon) as client:
                proxy.down()
                reply = client.call("CHECK")
                self.assertEqual(checks(reply), WAY[:4])
                self.assertEqual([row["state"] for row in reply.rows],
                                 ["ok"] * 3 + ["error"])
                proxy.up()
                self.assertEqual(int(client.call("CHECK")["errors"]), 0)

    def test_locks_go_on(self):
        """While a request of a check has no answer, no other client waits."""
        self.make()
        with fault_proxy.Proxy() as proxy, \
                Daemon(config(self.table, endpoint=proxy.url)) as daemon, \
                Client(daemon) as admin, Client(daemon) as client:
            self.assertTrue(client.acquire("a", wait="60s").ok)
            rule = proxy.on("list", fault_proxy.hold)
            tag = admin.send("CHECK")
            rule.wait_hit()
            self.assertEqual(client.call("CHECK").code, "LIMIT")
            grant = client.acquire("b", wait="60s")
            self.assertTrue(grant.ok, grant)
            self.assertTrue(client.release(grant).ok)
            rule.go()
            self.assertEqual(int(admin.reply(tag)["errors"]), 0)

    def test_it_ends_in_the_middle(self):
        self.make()
        with fault_proxy.Proxy() as proxy, \
                Daemon(config(self.table, endpoint=proxy.url)) as daemon, \
                Client(daemon) as admin:
            rule = proxy.on("list", fault_proxy.hold)
            admin.send("CHECK")
            rule.wait_hit()
            self.assertEqual(daemon.stop(), 0)
            rule.go()

    def test_older_formats(self):
        """Each sends what its format needs, and all of it is allowed."""
        for form, without in (("awslabs", ()), ("python", ()),
                              ("js-fail-open", ("PutItem", "DeleteItem")),
                              ("js-fail-closed", ("PutItem",))):
            self.table = f"t-{os.getpid()}-{form}"
            more = f"format = {form}\n" + (
                "key_attribute = mylocks\n" if form.startswith("js") else "")
            self.make(more)
            daemon = Daemon(config(self.table).replace(
                "lease = 20s\n", "") + more, args=["--check"])
            try:
                status, out, _ = daemon.run()
            finally:
                daemon.close()
            names = [line.split()[2] for line in out.split("\n")
                     if line.startswith("  ok       permission")]
            self.assertEqual(status, 0, out)
            self.assertEqual(
                names, [n for n in (*NATIVE[:-1], "DeleteItem")
                        if n not in without], form)


class Tls(unittest.TestCase):
    """An endpoint with a certificate, and no table behind it."""

    def setUp(self):
        if shutil.which("openssl") is None:
            self.skipTest("there is no openssl")
        self.daemon = Daemon(config("tab"), args=["--check"])
        self.addCleanup(self.daemon.close)
        self.certificate = os.path.join(self.daemon.directory, "own.crt")
        key = os.path.join(self.daemon.directory, "own.key")
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes",
             "-keyout", key, "-out", self.certificate, "-days", "90",
             "-subj", "/CN=tests", "-addext", "subjectAltName=IP:127.0.0.1"],
            check=True, capture_output=True)
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(self.certificate, key)
        self.server = socket.create_server(("127.0.0.1", 0))
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()
        self.addCleanup(self.end)

    def end(self):
        self.server.shutdown(socket.SHUT_RDWR)
        self.server.close()
        self.thread.join()

    def serve(self):
        while True:
            try:
                plain, _ = self.server.accept()
            except OSError:
                return
            try:
                with self.context.wrap_socket(plain,
                                              server_side=True) as stream:
                    while stream.recv(65536):
                        body = b'{"__type":"x#ResourceNotFoundException"}'
                        stream.sendall(fault_proxy.head_of(400, len(body))
                                       + body)
            except OSError:  # an SSLError is one
                pass

    def check(self, more=""):
        port = self.server.getsockname()[1]
        self.daemon.write_config(config(
            "tab", endpoint=f"https://127.0.0.1:{port}") + more)
        status, out, err = self.daemon.run()
        self.assertEqual((status, err), (1, ""))
        return out, " ".join(out.split())

    def test_nobody_trusts_it(self):
        out, words = self.check()
        self.assertIn("  error    tls", out)
        self.assertIn("self-signed certificate", words)
        self.assertIn("ca_file", words)
        self.assertNotIn("signature", out)

    def test_it_is_trusted(self):
        out, words = self.check(f"ca_file = {self.certificate}\n")
        self.assertRegex(words, r"ok tls TLSv1\.[23]( / \S+)+ in \d+ ms; "
                                r"certificate by CN ?= ?tests; valid for "
                                r"\d\d days")
        self.assertIn("  ok       signature", out)
        self.assertIn("error table there is no table tab", words)


class Credentials(unittest.TestCase):
    """Without tokens the finding says only that."""

    CONFIG = ("[namespace default]\nstore = dynamodb\ntable = tab\n"
              "endpoint = http://127.0.0.1:1\n")
    NOWHERE = {"AWS_EC2_METADATA_DISABLED": "true", "AWS_PROFILE": None,
               "AWS_ACCESS_KEY_ID": None, "AWS_SECRET_ACCESS_KEY": None,
               "AWS_SESSION_TOKEN": None, "AWS_REGION": "eu-west-1",
               "AWS_ENDPOINT_URL_DYNAMODB": None,
               "AWS_CONFIG_FILE": "/dev/null",
               "AWS_SHARED_CREDENTIALS_FILE": "/dev/null"}

    def environment(self, **more):
        # Only existing rights can be removed.
        return {name: value for name, value in (self.NOWHERE | more).items()
                if value is not None or name in os.environ}

    def check_without_endpoint(self, environment):
        """The answer if the configuration names no endpoint."""
        text = self.CONFIG.replace("endpoint = http://127.0.0.1:1\n", "")
        with Daemon(text, env=environment) as daemon, \
                Client(daemon) as client:
            return client.call("CHECK")

    def test_none(self):
        with Daemon(self.CONFIG, env=self.environment()) as daemon, \
                Client(daemon) as client:
            reply = client.call("CHECK")
            # The way there can be seen without them.
            self.assertEqual(checks(reply), WAY[:4])
            self.assertEqual([row["state"] for row in reply.rows],
                             ["ok", "error", "ok", "error"])
            self.assertIn("table tab in eu-west-1", reply.rows[0]["text"])
            self.assertIn("AWS_EC2_METADATA_DISABLED",
                          reply.rows[1]["text"])
            self.assertIn("ddblockd-aws(7)", reply.rows[1]["advice"])

    def test_no_region(self):
        environment = self.environment(AWS_ACCESS_KEY_ID="A" * 20,
                                       AWS_SECRET_ACCESS_KEY=SECRET)
        del environment["AWS_REGION"]
        for name in ("AWS_REGION", "AWS_DEFAULT_REGION"):
            if name in os.environ:
                environment[name] = None
        # At an endpoint on this host no region is needed.
        reply = self.check_without_endpoint(environment)
        self.assertEqual(checks(reply), WAY[:1])
        self.assertEqual(reply.rows[0]["state"], "error")
        self.assertIn("no region", reply.rows[0]["text"])

    def test_no_section_of_services(self):
        """With an endpoint from elsewhere it needs none."""
        with tempfile.NamedTemporaryFile("w") as file:
            file.write("[default]\nservices = there\n")
            file.flush()
            environment = self.environment(
                AWS_ACCESS_KEY_ID="A" * 20, AWS_SECRET_ACCESS_KEY=SECRET,
                AWS_CONFIG_FILE=file.name)
            with Daemon(self.CONFIG, env=environment) as daemon, \
                    Client(daemon) as client:
                reply = client.call("CHECK")
                self.assertEqual(reply.rows[0]["state"], "ok", reply)
            reply = self.check_without_endpoint(environment)
            self.assertEqual(reply.rows[0]["state"], "error", reply)
            self.assertIn("no section [services there]",
                          reply.rows[0]["text"])

    def test_no_endpoint_of_ours(self):
        """The environment names an endpoint that refuses all requests: that is
        an answer; do not wait."""
        environment = self.environment(
            AWS_ACCESS_KEY_ID="A" * 20, AWS_SECRET_ACCESS_KEY=SECRET,
            AWS_ENDPOINT_URL_DYNAMODB="http://192.0.2.1:8000")
        reply = self.check_without_endpoint(environment)
        self.assertEqual(checks(reply), WAY[:1])
        self.assertEqual(reply.rows[0]["state"], "error")
        self.assertIn("http://192.0.2.1:8000", reply.rows[0]["text"])
        self.assertIn("allow_plain_http", reply.rows[0]["text"])

    def test_no_url_and_nobody(self):
        reply = self.check_without_endpoint(self.environment(
            AWS_ENDPOINT_URL_DYNAMODB="dynamodb"))
        self.assertEqual(checks(reply), WAY[:3])
        self.assertEqual([row["state"] for row in reply.rows],
                         ["ok", "error", "error"])
        self.assertIn("no URL", reply.rows[2]["text"])

    def test_of_a_profile(self):
        daemon = Daemon(self.CONFIG, args=["--check"])
        try:
            path = os.path.join(daemon.directory, "credentials")
            with open(path, "w", encoding="utf-8") as f:
                f.write(f"[dev]\naws_access_key_id = AKIAEXAMPLE\n"
                        f"aws_secret_access_key = {SECRET}\n")
            for name, value in self.environment(
                    AWS_PROFILE="dev",
                    AWS_SHARED_CREDENTIALS_FILE=path).items():
                daemon.env.pop(name, None)
                if value is not None:
                    daemon.env[name] = value
            _, out, _ = daemon.run()
            self.assertIn("keys of profile dev, key ...MPLE; they do not "
                          "expire", " ".join(out.split()))
            self.assertNotIn(SECRET, out)
        finally:
            daemon.close()


if __name__ == "__main__":
    harness.main(dynamodb=True)
