"""The daemon's life: configurations, starts that must fail, and its end."""
import json
import os
import re
import signal
import socket
import stat
import time
import unittest

import harness
from harness import Client, Daemon

EX_USAGE = 64
EX_NOPERM = 77
EX_CONFIG = 78


class Configuration(unittest.TestCase):
    def refuse(self, config, *wanted, args=(), status=EX_CONFIG, env=None):
        daemon = Daemon(config, args=args, env=env)
        try:
            got, out, err = daemon.run()
        finally:
            daemon.close()
        self.assertEqual(got, status, err)
        self.assertEqual(out, "")
        for text in wanted:
            self.assertIn(text.replace("{file}", daemon.config or ""), err)
        return err

    def test_errors_name_file_line_value_and_rule(self):
        self.refuse("[daemon]\nsokcet = /x\n[namespace default]\n"
                    "lease = soon\nheartbeat\n",
                    "{file}:2: there is no setting sokcet; did you mean "
                    "socket?",
                    "{file}:4: lease = soon: must be a time such as",
                    "{file}:5: this is not a setting")

    def test_times_are_judged_together(self):
        self.refuse("[namespace default]\nlease = 10s\nheartbeat = 6s\n",
                    "{file}:3: namespace default: heartbeat (6000 ms) x 2 "
                    "must be at most lease (10000 ms)")

    def test_flags_are_judged_too(self):
        self.refuse(None, "--lease: lease = 1parsec: must be a time",
                    args=["--lease=1parsec"])
        self.refuse(None, "--set: there is no setting leese; did you mean "
                    "lease?", args=["--set=default.leese=3s"])

    def test_usage(self):
        for args in (["--frobnicate"], ["now"], ["--set=x"],
                     ["--lease"], ["--set=default.session_token=hush"]):
            err = self.refuse(None, args=args, status=EX_USAGE)
            self.assertNotIn("hush", err)

    def test_missing_file(self):
        self.refuse(None, "/nonexistent/ddblockd.conf: No such file",
                    args=["--config=/nonexistent/ddblockd.conf"])

    NOBODY = {"AWS_ACCESS_KEY_ID": None, "AWS_SECRET_ACCESS_KEY": None,
              "AWS_EC2_METADATA_DISABLED": "true"}

    def test_no_credentials(self):
        """A file may still be written: the daemon starts and says so."""
        daemon = Daemon("[namespace default]\nstore = dynamodb\n"
                        "table = tab\nregion = eu-central-1\n"
                        "request_timeout = 1s\n", env=self.NOBODY)
        self.addCleanup(daemon.close)
        daemon.start()
        with Client(daemon) as client:
            # At first it is not known whether the network is up.
            while client.call("TRY jobs/nightly").code != "NO_CREDENTIALS":
                pass
            row = client.call("STATUS").rows[0]
            self.assertEqual(row["credentials"], "none")
            self.assertEqual(row["cause"], "NO_CREDENTIALS")

    def test_no_credentials_for_one_question(self):
        self.refuse("[namespace default]\nstore = dynamodb\ntable = tab\n"
                    "region = eu-central-1\n",
                    "there are no usable AWS credentials",
                    args=["--check-table"], env=self.NOBODY,
                    status=EX_NOPERM)

    def test_capacities_go_together(self):
        self.refuse("[namespace default]\nstore = dynamodb\ntable = tab\n"
                    "region = r\naccess_key_id = a\nsecret_access_key = s\n"
                    "read_capacity = 5\n", "read_capacity and "
                    "write_capacity go together: both are 0, or neither")

    def test_no_name_of_a_region(self):
        for more in "", "endpoint = http://127.0.0.1:1\n":
            self.refuse("[namespace default]\nstore = dynamodb\n"
                        "table = tab\nregion = Eu West\n" + more,
                        'namespace default: "Eu West" is not the name of a '
                        "region")

    def test_environment_for_one_question(self):
        """An error there is an error of the configuration, too."""
        for name, value, wanted in (
                ("AWS_REGION", "Eu West",
                 'AWS_REGION is "Eu West", which is not the name'),
                ("AWS_ENDPOINT_URL_DYNAMODB", "http://192.0.2.1:8000",
                 'endpoint "http://192.0.2.1:8000": plain http')):
            for task in "--check-table", "--init-table":
                self.refuse("[namespace default]\nstore = dynamodb\n"
                            "table = tab\n", wanted, args=[task], env={
                                "AWS_ACCESS_KEY_ID": "A" * 20,
                                "AWS_SECRET_ACCESS_KEY": "s",
                                "AWS_REGION": "eu-west-1", name: value})

    def test_check_config(self):
        daemon = Daemon("[namespace default]\nstore = dynamodb\n"
                        "table = tab\nregion = r\naccess_key_id = AKID\n"
                        "secret_access_key = hush\nsession_token = hush2\n",
                        args=["--check-config"])
        self.addCleanup(daemon.close)
        for mode, wanted in (
                (0o644, "everybody can read this secret_access_key"),
                (0o602, "secret_access_key is a secret in a file that is not "
                        "safe: everybody can write it; run chmod o-w")):
            os.chmod(daemon.config, mode)
            status, out, err = daemon.run()
            self.assertEqual(status, 78, err)
            self.assertIn(wanted, err)
            self.assertNotIn("hush", out + err)
        os.chmod(daemon.config, 0o640)
        status, out, err = daemon.run()
        self.assertEqual((status, err), (0, ""))
        self.assertTrue(out.startswith(f"{daemon.config}: ok\n"), out)
        self.assertIn("heartbeat = 5s\t; default\n", out)
        self.assertNotIn("hush", out + err)
        # Its output is a configuration again, without the secrets.
        again = out.split("\n", 1)[1].replace(" (not shown)", " hush")
        daemon.write_config(again)
        os.chmod(daemon.config, 0o600)
        self.assertEqual(daemon.run()[0::2], (0, ""))

    def test_example(self):
        """The example for older clients: it is valid, and has all of them."""
        here = os.path.dirname(os.path.abspath(__file__))
        daemon = Daemon(raw=True, args=[
            "--check-config", "--config=" + os.path.join(
                here, "../../contrib/examples/older-clients.conf")],
            env={"AWS_REGION": "eu-central-1", "AWS_ACCESS_KEY_ID": "a",
                 "AWS_SECRET_ACCESS_KEY": "s"})
        self.addCleanup(daemon.close)
        status, out, err = daemon.run()
        self.assertEqual((status, err), (0, ""))
        self.assertEqual(
            set(re.findall(r"^format = (\S+)", out, re.M)),
            {"native", "awslabs", "python", "js-fail-open", "js-fail-closed",
             "dlock"})

    def test_example_of_access(self):
        here = os.path.dirname(os.path.abspath(__file__))
        with open(os.path.join(here, "../../contrib/examples/access.conf"),
                  encoding="utf-8") as f:
            text = f.read()
        # Its users and groups are of another host.
        for name, number in (("www-data", 33), ("backup", 34),
                             ("deploy", 1234)):
            text = re.sub(rf"(?<== ){name}$", str(number), text, flags=re.M)
        daemon = Daemon(text, raw=True, args=["--check-config"],
                        env={"AWS_REGION": "eu-central-1",
                             "AWS_ACCESS_KEY_ID": "a",
                             "AWS_SECRET_ACCESS_KEY": "s"})
        self.addCleanup(daemon.close)
        status, out, err = daemon.run()
        self.assertEqual((status, err), (0, ""))
        self.assertEqual(out.count("[access "), 6)

    def test_help_and_version(self):
        for args in (["--help"], ["--version"]):
            daemon = Daemon(args=args, raw=True)
            self.addCleanup(daemon.close)
            status, out, err = daemon.run()
            self.assertEqual((status, err), (0, ""))
            self.assertIn("ddblockd", out)


    def test_manual_has_every_setting(self):
        here = os.path.dirname(os.path.abspath(__file__))
        with open(os.path.join(here, "../../man/ddblockd.conf.5")) as f:
            text = re.sub(r"^\.Sh ACCESS\n.*?^\.Sh ", "", f.read(),
                          flags=re.M | re.S)  # rules have no flags
        manual = set(re.findall(r"^\.It Ic (\w+)", text, re.M))
        daemon = Daemon(args=["--help"], raw=True)
        self.addCleanup(daemon.close)
        flags = daemon.run()[1].partition("Settings of the daemon")[2]
        known = {name.replace("-", "_")
                 for name in re.findall(r"^  --([a-z-]+)=", flags, re.M)}
        self.assertEqual(known | {"secret_access_key", "session_token"},
                         manual)


class Start(unittest.TestCase):
    def test_socket(self):
        with Daemon(args=["--socket-mode=0600"]) as daemon:
            mode = os.stat(daemon.socket).st_mode
            self.assertTrue(stat.S_ISSOCK(mode))
            self.assertEqual(stat.S_IMODE(mode), 0o600)
            self.assertEqual(daemon.stop(), 0)
            self.assertFalse(os.path.exists(daemon.socket))

    def test_second_daemon_on_the_socket(self):
        with Daemon() as first, Client(first) as client:
            second = Daemon(directory=first.directory,
                            args=["--file={dir}/other.db"])
            status, _, err = second.run()
            self.assertNotEqual(status, 0)
            self.assertIn(first.socket, err)
            self.assertTrue(client.try_("k").ok)
            with Client(first) as other:
                self.assertTrue(other.call("PING").ok)

    def test_second_daemon_on_the_database(self):
        with Daemon() as first, Client(first) as client:
            second = Daemon(args=[f"--file={first.directory}/default.db"])
            self.addCleanup(second.close)
            status, _, err = second.run()
            self.assertNotEqual(status, 0)
            self.assertIn("default.db", err)
            self.assertFalse(os.path.exists(second.socket))
            self.assertTrue(client.try_("k").ok)

    def test_no_directory(self):
        daemon = Daemon(args=["--file={dir}/no/such/default.db"])
        self.addCleanup(daemon.close)
        status, _, err = daemon.run()
        self.assertNotEqual(status, 0)
        self.assertIn("no/such", err)

    def test_corrupt_database(self):
        daemon = Daemon()
        self.addCleanup(daemon.close)
        with open(os.path.join(daemon.directory, "default.db"), "wb") as f:
            f.write(b"this is not a database at all, " * 1000)
        status, _, err = daemon.run()
        self.assertNotEqual(status, 0)
        self.assertIn("default.db", err)
        daemon.args.append("--check-table")
        status, _, err = daemon.run()
        self.assertEqual(status, 74)
        self.assertEqual(err.count("namespace default"), 1, err)

    def test_after_kill(self):
        """A new life takes over the socket file and goes on counting."""
        daemon = Daemon("[namespace default]\nfile = {dir}/d.db\n"
                        "lease = 1s\n")
        with daemon:
            with Client(daemon) as client:
                first = client.try_("k")
                self.assertTrue(first.ok, first)
                daemon.kill()
                client.wait_end()
            daemon.start()
            with Client(daemon) as client:
                second = client.acquire("k", wait="60s")
                self.assertTrue(second.ok, second)
                self.assertGreater(int(second["token"]), int(first["token"]))

    def test_namespaces(self):
        config = ("[namespace other]\nfile = {dir}/o.db\n"
                  "[namespace default]\nfile = {dir}/d.db\n")
        with Daemon(config) as daemon, Client(daemon) as client:
            self.assertEqual(client.hello()["namespaces"], "default,other")
            self.assertTrue(client.try_("k").ok)
            self.assertTrue(client.try_("k", ns="other").ok)
            self.assertEqual(client.try_("k", ns="none").code,
                             "UNKNOWN_NAMESPACE")
            rows = client.call("STATUS").rows
            self.assertEqual([r["scope"] for r in rows], ["host", "host"])
            self.assertIn("scope=host", daemon.log())


class Log(unittest.TestCase):
    def test_an_outage_does_not_flood(self):
        config = "[namespace default]\nfile = {dir}/d.db\nlease = 5s\n"
        with Daemon(config) as daemon, Client(daemon) as client:
            client.hello(renewed="yes")
            for i in range(200):
                self.assertTrue(client.try_(f"k{i}").ok)
            daemon.freeze()
            harness.pass_boot_ms(harness.boot_ms() + 5000)
            daemon.thaw()
            for _ in range(200):
                client.event("LOCK_LOST")
            # It serves on, under a new session.
            self.assertTrue(client.acquire("k0", wait="60s").ok)
            client.close()
            self.assertEqual(daemon.stop(), 0)
            log = daemon.log()
            self.assertIn("the session is lost", log)
            self.assertEqual(log.count(" is lost: expired"), 30)
            self.assertIn('170 more messages about "lost" of user '
                          f'{os.getuid()} were not shown', log)

    def test_keys_cannot_forge_lines(self):
        config = "[namespace default]\nfile = {dir}/d.db\nlease = 1s\n"
        with Daemon(config) as daemon, Client(daemon) as client:
            self.assertTrue(client.try_("k\n2026 error: no\x1b[31m").ok)
            daemon.freeze()
            harness.pass_boot_ms(harness.boot_ms() + 1000)
            daemon.thaw()
            client.event("LOCK_LOST")
            line = daemon.wait_log("is lost: expired")
            self.assertIn("k?2026 error: no?[31m", line)


class End(unittest.TestCase):
    def test_idle(self):
        with Daemon() as daemon, Client(daemon) as client:
            self.assertTrue(client.call("PING").ok)
            self.assertEqual(daemon.stop(), 0)
            self.assertTrue(client.event("SHUTDOWN"))
            client.wait_end()

    def test_waits_for_holders(self):
        with Daemon() as daemon, Client(daemon) as holder, \
                Client(daemon) as waiter:
            grant = holder.try_("k")
            waiting = waiter.send("ACQUIRE k")
            self.assertTrue(waiter.call("PING").ok)
            daemon.signal(signal.SIGTERM)
            daemon.wait_notice("STOPPING=1")
            self.assertEqual(holder.event("SHUTDOWN")["in"], "30s")
            self.assertEqual(waiter.reply(waiting).code, "SHUTTING_DOWN")
            self.assertEqual(waiter.try_("other").code, "SHUTTING_DOWN")
            with self.assertRaises(OSError), Client(daemon):
                pass
            # The hold is as good as before.
            self.assertTrue(holder.call(f"RENEW id={grant['id']}").ok)
            self.assertTrue(holder.release(grant).ok)
            self.assertEqual(daemon.wait(), 0)

    def test_leaves_what_is_held_to_its_lease(self):
        config = "[daemon]\nstop_wait = 100ms\n[namespace default]\n" \
            "file = {dir}/d.db\nlease = 2s\n"
        with Daemon(config) as daemon, Client(daemon) as holder:
            first = holder.try_("k")
            self.assertTrue(first.ok)
            self.assertEqual(daemon.stop(), 0)
            daemon.wait_log("1 locks are still held; leaving them")
            daemon.start()
            with Client(daemon) as client:
                self.assertEqual(client.try_("k").code, "LOCK_BUSY")
                second = client.acquire("k", wait="60s")
                self.assertGreater(int(second["token"]), int(first["token"]))

    def test_releases_on_request(self):
        config = "[daemon]\nstop_wait = 100ms\nrelease_on_stop = yes\n" \
            "[namespace default]\nfile = {dir}/d.db\nlease = 5m\n" \
            "margin = 3s\ndrift = 0.1%\n"
        with Daemon(config) as daemon, Client(daemon) as holder:
            self.assertTrue(holder.try_("k").ok)
            self.assertEqual(daemon.stop(), 0)
            daemon.wait_log("1 locks are still held; releasing")
            daemon.start()
            with Client(daemon) as client:
                grant = client.try_("k")
                self.assertTrue(grant.ok, grant)

    def test_second_signal(self):
        with Daemon(args=["--stop-wait=1h"]) as daemon, \
                Client(daemon) as holder:
            self.assertTrue(holder.try_("k").ok)
            daemon.signal(signal.SIGTERM)
            daemon.wait_notice("STOPPING=1")
            daemon.signal(signal.SIGINT)
            self.assertEqual(daemon.wait(), 0)
            daemon.wait_log("a second signal; ending now")

    def test_store_that_never_answers(self):
        """No lock was held, so it does not wait."""
        with socket.create_server(("127.0.0.1", 0)) as endpoint:
            port = endpoint.getsockname()[1]
            config = "[daemon]\nstop_wait = 1h\n[namespace default]\n" \
                "store = dynamodb\ntable = tab\nregion = r\n" \
                "access_key_id = k\nsecret_access_key = s\n" \
                f"endpoint = http://127.0.0.1:{port}\n" \
                "request_timeout = 5m\nlease = 1h\n"
            with Daemon(config) as daemon, Client(daemon) as client:
                waiting = client.send("ACQUIRE k")
                asked = endpoint.accept()[0]
                with asked:
                    self.assertEqual(daemon.stop(), 0)
                self.assertEqual(client.reply(waiting).code, "SHUTTING_DOWN")

    def test_hangup(self):
        with Daemon() as daemon, Client(daemon) as client:
            daemon.signal(signal.SIGHUP)
            daemon.wait_log("was read again")
            self.assertTrue(client.call("PING").ok)


class History(unittest.TestCase):
    """Requests, answers and events, in the log."""

    def entries(self, daemon):
        """The lines of the history, without their stamps."""
        entries = [json.loads(line) for line in daemon.lines]
        found = [e for e in entries if "DDBLOCK_EVENT" in e]
        self.assertEqual([e["DDBLOCK_SERIAL"] for e in found],
                         [str(n + 1) for n in range(len(found))])
        times = [int(e["DDBLOCK_BOOT_US"]) for e in entries]
        self.assertEqual(times, sorted(times))
        self.assertEqual({e["_PID"] for e in entries}, {str(self.pid)})
        return found

    def test_a_grant(self):
        daemon = Daemon(args=["--log=json", "--log-level=error",
                              "--history=yes"])
        self.addCleanup(daemon.close)
        daemon.start()
        self.pid = daemon.pid
        before = int(time.clock_gettime(time.CLOCK_BOOTTIME) * 1e6)
        with Client(daemon) as client:
            grant = client.acquire('a "key"/\xe9', wait="3s")
            self.assertEqual(client.try_('a "key"/\xe9').code,
                             "ALREADY_HELD")
            self.assertTrue(client.release(grant).ok)
        self.assertEqual(daemon.stop(), 0)
        entries = self.entries(daemon)
        events = [e["DDBLOCK_EVENT"] for e in entries]
        self.assertEqual(events[:2], ["started", "namespace"])
        self.assertEqual(entries[1]["DDBLOCK_LEASE_MS"], "20000")
        self.assertEqual(events[-1], "ended")
        self.assertEqual([e for e in events[2:-1] if e != "session"],
                         ["asked", "answered"] * 3 + ["left"])
        asked, answered = [[e for e in entries if e["DDBLOCK_EVENT"] == event]
                           for event in ("asked", "answered")]
        self.assertEqual([e["DDBLOCK_VERB"] for e in asked],
                         ["ACQUIRE", "ACQUIRE", "RELEASE"])
        self.assertEqual([e["DDBLOCK_CODE"] for e in answered],
                         ["OK", "ALREADY_HELD", "OK"])
        self.assertEqual(asked[0]["DDBLOCK_KEY"], 'a%20"key"/\xe9')
        self.assertEqual(asked[0]["DDBLOCK_WAIT_MS"], "3000")
        for entry in (asked[0], answered[0]):
            self.assertEqual(entry["DDBLOCK_MODE"], "exclusive")
            self.assertNotIn("DDBLOCK_LIMIT", entry)
        self.assertNotIn("DDBLOCK_MODE", answered[1])
        self.assertEqual(answered[0]["DDBLOCK_TOKEN"], grant["token"])
        self.assertEqual(answered[0]["DDBLOCK_UNTIL_BOOT_MS"],
                         grant["until_boot_ms"])
        self.assertEqual(answered[0]["DDBLOCK_HOLD"],
                         asked[2]["DDBLOCK_HOLD"])
        self.assertGreater(int(asked[0]["DDBLOCK_BOOT_US"]), before)

    def test_a_client_that_leaves(self):
        """Its end is told before the grant that it makes possible."""
        daemon = Daemon(args=["--log=json", "--history=yes"])
        self.addCleanup(daemon.close)
        daemon.start()
        self.pid = daemon.pid
        one = Client(daemon)
        self.assertTrue(one.acquire("k").ok)
        with Client(daemon) as two:
            tag = two.send("ACQUIRE k")
            one.close()
            self.assertTrue(two.reply(tag).ok)
            # It was written before the reply came.
            daemon.wait_log('"left".*"DDBLOCK_CLIENT"')
            daemon.wait_log('"answered".*"OK"')
        self.assertEqual(daemon.stop(), 0)
        self.entries(daemon)

    def test_how_it_is_used(self):
        daemon = Daemon(args=["--log=json", "--log-level=error",
                              "--history=yes"])
        self.addCleanup(daemon.close)
        daemon.start()
        self.pid = daemon.pid
        with Client(daemon) as client:
            for words in ({}, {"limit": 7}):
                grant = client.acquire("k", mode="shared", **words)
                self.assertTrue(client.release(grant).ok)
        self.assertEqual(daemon.stop(), 0)
        used = [(e["DDBLOCK_EVENT"], e["DDBLOCK_MODE"], e.get("DDBLOCK_LIMIT"))
                for e in self.entries(daemon) if "DDBLOCK_MODE" in e]
        self.assertEqual(used, [(event, "shared", limit)
                                for limit in (None, "7")
                                for event in ("asked", "answered")])

    def test_quiet_without_the_switch(self):
        daemon = Daemon(args=["--log=json"])
        self.addCleanup(daemon.close)
        daemon.start()
        self.pid = daemon.pid
        with Client(daemon) as client:
            self.assertTrue(client.acquire("k").ok)
        self.assertEqual(daemon.stop(), 0)
        self.assertEqual(self.entries(daemon), [])
        self.assertIn("ready on", daemon.log())


if __name__ == "__main__":
    harness.main()
