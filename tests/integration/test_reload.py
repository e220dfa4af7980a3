#!/usr/bin/env python3
"""SIGHUP: the configuration is read again, and nobody loses anything by it."""
import os
import signal
import subprocess
import tempfile
import threading
import unittest

import fault_proxy
import harness
from harness import Client, Daemon
from test_break import some_group
from users import STRANGER, ask_as

TOP = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))

MEMORY = "[namespace default]\nstore = memory\n"


def conf(daemon="", default="", more=""):
    return f"[daemon]\n{daemon}{MEMORY}{default}{more}"


def reload(daemon, text):
    """True: it was taken."""
    daemon.write_config(text)
    daemon.signal(signal.SIGHUP)
    daemon.wait_notice("RELOADING=1")
    daemon.wait_notice("READY=1")
    return not daemon.status_text.startswith("the configuration cannot")


class Reload(unittest.TestCase):
    def test_log_level(self):
        with Daemon(conf(), log_level="info") as daemon:
            # Flags go before the file, at a reload as at the start.
            self.assertTrue(reload(daemon, conf("log_level = debug\n")))
            daemon.wait_log("was read again")

    def test_an_invalid_file(self):
        with Daemon(conf()) as daemon, Client(daemon) as client:
            self.assertFalse(reload(daemon, conf(
                "locks_max = 1\n", "poll = soon\nlaese = 3s\n")))
            daemon.wait_log(r"ddblockd.conf:5: poll = soon")
            daemon.wait_log(r"ddblockd.conf:6: .*did you mean lease")
            daemon.wait_log("nothing changes")
            self.assertTrue(client.call("TRY a").ok)
            self.assertTrue(client.call("TRY b").ok)
            os.unlink(daemon.config)
            daemon.signal(signal.SIGHUP)
            daemon.wait_notice("RELOADING=1")
            daemon.wait_notice("READY=1")
            self.assertIn("cannot be used", daemon.status_text)
            self.assertTrue(reload(daemon, conf()))

    def test_what_stays(self):
        with Daemon(conf("", "lease = 20s\n")) as daemon:
            self.assertTrue(reload(daemon, conf("history = yes\n",
                                                "lease = 40s\n")))
            daemon.wait_log(r"ddblockd.conf:2: history stays no: it changes "
                            "with the next start")
            daemon.wait_log(r"ddblockd.conf:5: lease of namespace default "
                            "stays 20s: it changes with the next start")

    def test_limits(self):
        with Daemon(conf("", "idle = 0s\n")) as daemon, \
                Client(daemon) as client, Client(daemon) as other:
            held = [client.call(f"TRY k{i}") for i in range(4)]
            self.assertTrue(reload(daemon, conf(
                "locks_max = 2\nholds_per_connection_max = 2\n"
                "connections_max = 2\nwatches_max = 1\n"
                "requests_per_connection_max = 1\n", "idle = 0s\n")))
            self.assertEqual(client.call("TRY x").code, "LIMIT")
            self.assertEqual(other.call("TRY x").code, "LIMIT")
            self.assertEqual(len(client.call("HELD").rows), 4)
            with Client(daemon) as third:
                self.assertEqual(third.reply().code, "LIMIT")
            for grant in held[:3]:
                self.assertTrue(client.call(f"RELEASE id={grant['id']}").ok)
            self.assertTrue(other.call("TRY x").ok)
            self.assertEqual(client.call("HELLO")["requests_max"], "1")
            self.assertTrue(reload(daemon, conf()))
            self.assertTrue(client.call("TRY y").ok)

    def test_queued_bytes(self):
        """A larger limit is for those who are there, too."""
        small = "queued_bytes_max = 2M\n"
        with Daemon(conf(small)) as daemon, Client(daemon) as client:
            self.assertTrue(reload(daemon, conf("queued_bytes_max = 16M\n")))
            for i in range(2000):
                client.call(f"TRY {'k' * 900}{i}")
            self.assertEqual(len(client.call("HELD").rows), 2000)
            self.assertTrue(reload(daemon, conf(small)))
            self.assertEqual(len(client.call("HELD").rows), 2000)

    def test_wait_and_owner(self):
        with Daemon(conf()) as daemon, Client(daemon) as one, \
                Client(daemon) as two:
            self.assertTrue(one.call("TRY k").ok)
            self.assertTrue(reload(daemon, conf(
                "", "wait = 0s\nowner = somebody\n")))
            self.assertEqual(two.call("ACQUIRE k").code, "LOCK_BUSY")
            self.assertEqual(two.call("GET k")["owner"], "somebody")

    @unittest.skipUnless(os.geteuid() == 0,
                         "only root can be somebody else")
    def test_administrators(self):
        group = some_group()
        with Daemon(conf()) as daemon:
            self.assertIn(" ERR DENIED ", ask_as(
                daemon, "UNDRAIN", STRANGER, group.gr_gid))
            self.assertTrue(reload(daemon, conf(
                f"admin_group = {group.gr_name}\n")))
            self.assertIn("OK", ask_as(
                daemon, "UNDRAIN", STRANGER, group.gr_gid))

    @unittest.skipUnless(os.geteuid() == 0, "needs a pid namespace")
    def test_root_of_another_namespace(self):
        def drains(daemon):
            return subprocess.run(
                ["unshare", "-pf", "--mount-proc", harness.program("ddblock"),
                 f"--socket={daemon.socket}", "undrain"], check=False,
                capture_output=True, timeout=harness.TIMEOUT_S).returncode == 0

        with Daemon(conf()) as daemon:
            self.assertFalse(drains(daemon))
            self.assertTrue(reload(daemon, conf("admin = any\n")))
            self.assertTrue(drains(daemon))

    def test_namespaces(self):
        more = "[namespace more]\nstore = memory\n"
        with Daemon(conf()) as daemon, Client(daemon) as client:
            client.call("HELLO renewed=yes")
            self.assertTrue(client.call("TRY k").ok)
            self.assertEqual(client.call("TRY k ns=more").code,
                             "UNKNOWN_NAMESPACE")
            self.assertTrue(reload(daemon, conf(more=more)))
            held = client.call("ACQUIRE k ns=more")
            self.assertTrue(held.ok, held)
            with Client(daemon) as other:
                waiting = other.send("ACQUIRE k ns=more")
                while client.call("STATUS").rows[1]["waiting"] != "1":
                    pass
                self.assertTrue(reload(daemon, conf()))
                self.assertEqual(other.reply(waiting).code,
                                 "UNKNOWN_NAMESPACE")
            daemon.wait_log("namespace more is gone")
            self.assertEqual(client.call("STATUS").rows[1]["removed"], "yes")
            self.assertEqual(client.call("TRY x ns=more").code,
                             "UNKNOWN_NAMESPACE")
            self.assertEqual(len(client.call("HELD ns=more").rows), 1)
            self.assertTrue(reload(daemon, conf(more=more)))
            self.assertTrue(client.call("TRY x ns=more").ok)
            self.assertTrue(client.call(f"RELEASE id={held['id']}").ok)

    def test_a_new_namespace_that_cannot_be(self):
        """Its file is a directory: nothing of the new settings counts."""
        with Daemon(conf()) as daemon, Client(daemon) as client:
            self.assertFalse(reload(daemon, conf(
                "locks_max = 1\n", "",
                "[namespace more]\nstore = sqlite\nfile = {dir}\n")))
            daemon.wait_log("nothing changes")
            self.assertEqual(len(client.call("STATUS").rows), 1)
            self.assertTrue(client.call("TRY a").ok)
            self.assertTrue(client.call("TRY b").ok)

    def test_stop_wait(self):
        with Daemon(conf("stop_wait = 1h\n")) as daemon, \
                Client(daemon) as client:
            self.assertTrue(client.call("TRY k").ok)
            self.assertTrue(reload(daemon, conf("stop_wait = 0s\n")))
            self.assertEqual(daemon.stop(), 0)

    def test_too_late(self):
        with Daemon(conf()) as daemon, Client(daemon) as client:
            self.assertTrue(client.call("TRY k").ok)
            daemon.signal(signal.SIGTERM)
            daemon.wait_log("SIGTERM")
            daemon.signal(signal.SIGHUP)
            daemon.wait_log("too late")

    def test_under_load(self):
        """Fifty clients that lock and wait, and a reload all the time."""
        plain = "[namespace default]\nfile = {dir}/default.db\n"
        with Daemon(f"[daemon]\n{plain}") as daemon:
            stop = threading.Event()
            failed = []
            counts = [0] * 50

            def work(i):
                try:
                    with Client(daemon) as client:
                        while not stop.is_set():
                            held = client.call(f"ACQUIRE k{i % 20}")
                            if not held.ok:
                                failed.append(str(held))
                                return
                            done = client.call(f"RELEASE id={held['id']}")
                            if not done.ok:
                                failed.append(str(done))
                                return
                            counts[i] += 1
                except Exception as error:  # pylint: disable=broad-except
                    failed.append(repr(error))

            with Client(daemon) as steady:
                held = steady.call("TRY steady")
                threads = [threading.Thread(target=work, args=(i,))
                           for i in range(50)]
                for thread in threads:
                    thread.start()
                for i in range(20):
                    self.assertTrue(reload(
                        daemon, f"[daemon]\nlocks_max = {100 + i}\n{plain}"
                        f"poll = {i + 1}s\nhandover_max = {i + 1}\n"
                        f"idle = {i % 3}s\n"))
                stop.set()
                for thread in threads:
                    thread.join()
                self.assertEqual(failed, [])
                self.assertTrue(all(counts), counts)
                self.assertTrue(
                    steady.call(f"RELEASE id={held['id']}").ok)


class Credentials(unittest.TestCase):
    """Each request is signed with the keys of the newest configuration that has
    any, and what is held goes on."""

    def setUp(self):
        harness.need_dynamodb()
        self.proxy = fault_proxy.Proxy()
        self.addCleanup(self.proxy.close)
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)
        self.profiles = os.path.join(self.directory.name, "credentials")
        self.table = f"reload-{os.getpid()}-{self._testMethodName}"
        env = {name: None for name in os.environ if name.startswith("AWS_")}
        self.daemon = Daemon(self.conf(""), env={
            **env, "AWS_SHARED_CREDENTIALS_FILE": self.profiles,
            "AWS_CONFIG_FILE": "/dev/null", "AWS_EC2_METADATA_DISABLED":
            "true"})
        self.addCleanup(self.daemon.close)
        self.write_profile("first", "AKIDONE")

    def conf(self, *lines, more=""):
        return "\n".join([
            "[namespace default]", "store = dynamodb",
            f"table = {self.table}", "region = us-east-1",
            f"endpoint = {self.proxy.url}", "heartbeat = 500ms", *lines,
            more, ""])

    def keys(self, name):
        return self.conf(f"access_key_id = {name}",
                         "secret_access_key = not-a-secret")

    def write_profile(self, profile, name):
        with open(self.profiles, "w", encoding="ascii") as f:
            f.write(f"[{profile}]\naws_access_key_id = {name}\n"
                    "aws_secret_access_key = not-a-secret\n")

    def start(self, text, namespaces=("default",)):
        self.daemon.write_config(text)
        args = self.daemon.args
        for name in namespaces:
            self.daemon.args = [*args, f"--namespace={name}", "--init-table"]
            status, _, said = self.daemon.run()
            self.assertEqual(status, 0, said)
        self.daemon.args = args
        self.daemon.start()
        return Client(self.daemon)

    def signers(self, since):
        return {r.headers["authorization"].split("Credential=")[1]
                .split("/")[0] for r in self.proxy.seen(since=since)}

    def wait_signer(self, name):
        """Until a request is signed so; from then on all are."""
        self.proxy.wait(lambda: name in self.signers(since=-1), name)
        since = self.proxy.mark()
        self.proxy.wait_seen("beat", 2, since=since)
        self.assertEqual(self.signers(since), {name})

    def test_keys(self):
        with self.start(self.keys("AKIDONE")) as client:
            held = client.call("ACQUIRE k")
            self.assertTrue(held.ok, held)
            self.assertTrue(reload(self.daemon, self.keys("AKIDTWO")))
            self.wait_signer("AKIDTWO")
            self.assertFalse(reload(self.daemon, self.keys("AKID\x7fTHREE")))
            self.daemon.wait_log(r"ddblockd.conf:\d+: .*the access key id has")
            self.wait_signer("AKIDTWO")
            self.assertEqual(client.call("HELD").rows[0]["token"],
                             held["token"])
            self.assertTrue(client.call(f"RELEASE id={held['id']}").ok)

    def test_profiles(self):
        with self.start(self.conf("profile = first")) as client:
            held = client.call("ACQUIRE k")
            self.assertTrue(held.ok, held)
            self.assertTrue(reload(self.daemon,
                                   self.conf("profile = second")))
            # There are none: those before are used.
            self.daemon.wait_log(r"no AWS credentials yet: .*second")
            self.wait_signer("AKIDONE")
            self.write_profile("third", "AKIDTWO")
            self.assertTrue(reload(self.daemon, self.conf("profile = third")))
            self.wait_signer("AKIDTWO")
            self.assertTrue(client.call(f"RELEASE id={held['id']}").ok)

    def test_of_one_namespace(self):
        """Two namespaces had one provider; the other keeps it."""
        other = "[namespace other]\n" + "\n".join(
            self.keys("AKIDONE").replace(self.table, self.table + "-other")
            .split("\n")[1:])
        with self.start(self.keys("AKIDONE") + other,
                        ("default", "other")) as client:
            self.assertTrue(client.call("ACQUIRE k").ok)
            held = client.call("ACQUIRE k ns=other")
            self.assertTrue(held.ok, held)
            for name in "AKIDTWO", "AKIDTHREE", "AKIDTWO":
                self.assertTrue(reload(self.daemon, self.keys(name) + other))
                self.proxy.wait(lambda: name in self.signers(-1), name)
            since = self.proxy.mark()
            self.proxy.wait_seen("beat", 8, since=since)
            self.assertEqual(self.signers(since), {"AKIDONE", "AKIDTWO"})
            self.assertEqual(len(client.call("HELD").rows), 2)


class Manual(unittest.TestCase):
    """What the manual says of each setting is what the table says."""

    def test_settings_of_the_manual(self):
        script = os.path.join(TOP, "scripts/settings-reference")
        done = subprocess.run([script, "--check"], capture_output=True,
                              text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    harness.main(dynamodb=True)
