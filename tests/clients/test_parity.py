#!/usr/bin/env python3
"""Programs that were written for the four older clients do here what they did.

old.py, old.js, old.go and Old.java have the examples of their documents, by
the old names, over the client of contrib/clients in that language. Here is the
daemon, configured as the example was, what happens to it, and what the example
must say. doc/parity.md names a test for each name of those documents, and
tests/parity.py sees to that.
"""
import concurrent.futures
import grp
import io
import os
import resource
import shutil
import sys
import tempfile
import unittest

import test_clients
from test_clients import harness, undisturbed
from undisturbed import Undisturbed

LANGUAGES = {language.name: language for language in test_clients.LANGUAGES}
# For what happens when renewals fail: warned early, and lost soon.
WARNED = {"lease": "10s", "heartbeat": "200ms", "danger": "1s"}
LOST = {"lease": "2s"}
DANGER_MS = 1000


def configured(**settings):
    """Other settings than those of the document's example, for one test."""
    def set_on(test):
        test.settings = settings
        return test
    return set_on


class Examples(Undisturbed, test_clients.WithDaemon):
    """Of one language. Each has a daemon of its own, all have one driver."""

    LEASE_MS = 1000
    language = None
    settings = {}
    store = {"file": "{dir}/default.db"}

    def config(self, settings):
        lines = [f"{name} = {value}"
                 for name, value in {**self.store, **settings}.items()]
        return "\n".join(
            ["[daemon]", f"admin_group = {grp.getgrgid(os.getgid()).gr_name}",
             "[namespace default]", *lines, ""])

    @classmethod
    def setUpClass(cls):
        cls.missing = cls.language.missing()
        if not cls.missing:
            cls.language.build()
        cls.directory = tempfile.mkdtemp(prefix="ddblock-parity-")
        cls.addClassCleanup(shutil.rmtree, cls.directory)
        cls.driver = None
        cls.addClassCleanup(cls.end_driver)

    @classmethod
    def end_driver(cls):
        if cls.driver is not None:
            cls.driver.close()
            cls.driver = None

    def setUp(self):
        test_clients.need(self, self.language.name, self.missing)
        test = getattr(self, self._testMethodName)
        self.start_daemon(getattr(test, "settings", self.settings))
        if self.driver is None:
            type(self).driver = test_clients.Driver(
                self.language, self.daemon.socket)

    def start_daemon(self, settings):
        self.daemon = harness.Daemon(config=self.config(settings),
                                     directory=self.directory,
                                     log_level="info")
        self.addCleanup(self.end_daemon, self.daemon)
        self.daemon.start()

    def end_daemon(self, daemon):
        daemon.close()
        for name in os.listdir(self.directory):
            if name.startswith("default.db"):
                os.unlink(os.path.join(self.directory, name))

    def play(self, example, *lines):
        """An example from its beginning to its end says these lines."""
        self.begin(example, *lines)
        self.end()

    def begin(self, example, *lines):
        self.driver.tell(f"old {example}")
        self.hear(*lines)

    def hear(self, *lines):
        for line in lines:
            said = self.driver.says()
            if said != line:
                # What it says later belongs to no other test.
                errors = self.driver.errors()
                self.end_driver()
                self.fail(f"expected {line!r}, got {said!r}\n{errors}")

    def hear_number(self, word):
        """A line that ends in a number, which is returned."""
        said = self.driver.says()
        self.assertRegex(said, rf"^{word} \d+$")
        return int(said.split()[-1])

    def end(self, *lines):
        self.hear(*lines, "done")

    def go_on(self):
        self.driver.tell("")

    def stand_still(self, time_ms):
        """Not one renewal in that time, but then."""
        self.daemon.freeze()
        harness.pass_boot_ms(harness.boot_ms() + time_ms)
        self.daemon.thaw()

    def restart(self):
        """The connection ends; there is a daemon again when the driver goes
        on."""
        self.daemon.kill()
        self.daemon.start()
        self.go_on()

    def outlive_restarts(self):
        """With a lock, and without one."""
        self.begin("restart", "held")
        self.restart()
        self.hear("true true", "free")
        self.restart()
        self.hear("true", "error NO_DAEMON")

    def check_config(self, **settings):
        """They are what the daemon takes for its own."""
        daemon = harness.Daemon(config=self.config(self.settings),
                                args=["--check-config"])
        self.addCleanup(daemon.close)
        status, out, err = daemon.run()
        self.assertEqual((status, err), (0, ""))
        for name, value in settings.items():
            self.assertRegex(out, rf"(?m)^{name} = {value}$")


class Python(Examples):
    """python_dynamodb_lock."""

    language = LANGUAGES["python"]
    settings = {"heartbeat": "5s", "danger": "20s", "lease": "30s",
                "retention": "1h"}

    def test_basic_usage(self):
        self.play("basic_usage", "held", "free")
        self.check_config(heartbeat="5s", danger="20s", retention="1h")

    def test_context(self):
        self.play("context_management", "held", "free", "the body",
                  "the body")

    def test_names(self):
        self.play("names", "ACQUIRE_TIMEOUT True",
                  "my_key billing True 30.0 True", "True")

    def test_attributes(self):
        self.play("attributes", "True True")

    def test_timeout(self):
        self.play("timeout",
                  "True the lock did not become free in time", "held")

    def test_errors(self):
        self.play("errors", "BAD_REQUEST True", "True LOCKED",
                  "NO_SUCH_LOCK", "free")

    def test_shutdown(self):
        self.play("shutdown", "held", "True")

    @configured(**LOST)
    def test_heartbeats(self):
        self.begin("heartbeats")
        harness.pass_boot_ms(self.hear_number("held"))
        self.go_on()
        self.end("LOCKED True True")

    @configured(**WARNED)
    def test_danger(self):
        self.begin("callback", "held")
        self.stand_still(DANGER_MS + 200)
        self.end("LOCK_IN_DANGER True")

    @configured(**LOST)
    def test_lost(self):
        self.begin("callback", "held")
        self.daemon.freeze()
        self.hear("LOCK_LOST True")
        self.daemon.thaw()
        self.end("LOCK_LOST")

    def test_taken_away(self):
        """Somebody meddles; here by a request for that."""
        self.begin("callback", "held")
        self.take_away("my_key")
        self.end("LOCK_STOLEN True", "LOCK_LOST")

    @configured(**LOST)
    def test_one_heartbeat_for_all(self):
        """However many locks a host has, their renewal is one."""
        with harness.Client(self.daemon) as client:
            client.hello(renewed="yes")
            grants = [client.try_(f"key/{i}") for i in range(100)]
            last = max(int(grant["until_boot_ms"]) for grant in grants)
            while int(client.event("RENEWED")["until_boot_ms"]) <= last:
                pass
            harness.pass_boot_ms(last)
            states = [row["state"] for row in client.call("HELD").rows]
            self.assertEqual(states, ["held"] * len(grants))

    def test_restarted(self):
        self.begin("restarted", "released")
        self.daemon.kill()
        self.go_on()
        self.hear("NO_DAEMON")
        self.daemon.start()
        self.go_on()
        self.end("LOCKED")

    def test_termination(self):
        self.begin("termination", "held")
        self.end_driver()
        with harness.Client(self.daemon) as client:
            self.assertTrue(client.acquire("my_key").ok)


class Java(Examples):
    """amazon-dynamodb-lock-client."""

    language = LANGUAGES["java"]
    settings = {"lease": "10s", "heartbeat": "3s"}

    def test_usage(self):
        self.play("usage", "Acquired lock!", "true", "null", "Moe")
        self.check_config(lease="10s", heartbeat="3s")

    @configured(lease="1s", heartbeat="100ms")
    def test_timeout(self):
        self.play("timeout", "ACQUIRE_TIMEOUT", "true", "false",
                  "ALREADY_HELD", "true")

    def test_non_blocking(self):
        self.play("nonBlocking", "LOCK_BUSY", "false")

    def test_get_lock(self):
        self.play("getLock", "null", "Test Data {stage=first} false")

    def test_sort_key(self):
        self.play("sortKey", "a", "null")

    def test_deletion(self):
        self.play("deletion", "null", "two two", "null")

    @configured(**LOST)
    def test_heartbeats(self):
        self.begin("heartbeat")
        harness.pass_boot_ms(self.hear_number("held"))
        self.go_on()
        self.end("false true true")

    @configured(**LOST)
    def test_heartbeats_without_descriptors(self):
        """That a program has too many files open is no loss."""
        self.begin("heartbeat")
        until = self.hear_number("held")
        driver = self.driver.process.pid
        limits = resource.prlimit(driver, resource.RLIMIT_NOFILE)
        resource.prlimit(driver, resource.RLIMIT_NOFILE, (0, limits[1]))
        harness.pass_boot_ms(until)
        resource.prlimit(driver, resource.RLIMIT_NOFILE, limits)
        self.go_on()
        self.end("false true true")

    @configured(**LOST)
    def test_heartbeats_off(self):
        self.play("manual", "true false", "true", "expired", "true")

    @configured(**WARNED)
    def test_danger(self):
        self.begin("monitor", "held")
        self.stand_still(DANGER_MS + 200)
        self.end("danger", "true")

    @configured(**LOST)
    def test_lost(self):
        self.begin("monitor", "held")
        self.daemon.freeze()
        self.hear("lost", "false")
        self.daemon.thaw()
        self.end()

    def test_release(self):
        self.begin("release", "held")
        self.take_away("Moe")
        self.end("broken", "false", "true")

    def test_close_lost(self):
        self.begin("closeLost", "held")
        self.take_away("Moe")
        self.end("broken", "true", "null")

    def test_own_item(self):
        self.play("ownItem", "false", "LOCK_NOT_OWNED", "false", "true",
                  "true true", "null")

    def test_restart(self):
        self.outlive_restarts()

    def test_refused(self):
        self.play("refused", "BAD_REQUEST", "true", "false")

    @configured(lease="10s", heartbeat="200ms", danger="9s")
    def test_safe_time(self):
        self.begin("safeTime", "held")
        self.stand_still(DANGER_MS + 200)
        self.end("true true")

    @configured(**WARNED)
    def test_monitors(self):
        self.begin("monitors", "held")
        self.stand_still(DANGER_MS + 200)
        self.end("true")


class JavaScript(Examples):
    """dynamodb-lock-client."""

    language = LANGUAGES["javascript"]
    settings = {"lease": "10s", "heartbeat": "3s"}

    def test_fail_open(self):
        self.begin("failOpen")
        self.hear_number("acquired fail open lock with fencing token")
        self.end("released fail open lock")
        self.check_config(lease="10s", heartbeat="3s")

    def test_fail_closed(self):
        self.play("failClosed", "acquired fail closed lock",
                  "released fail closed lock")

    def test_not_released(self):
        self.begin("notReleased", "ACQUIRE_TIMEOUT true")
        self.take_away("id")
        self.go_on()
        self.end("true ")

    def test_locking(self):
        self.play("locking", "ACQUIRE_TIMEOUT  true", "LOCK_BUSY  true", "",
                  "true")

    def test_read_lock(self):
        self.play("readLock", "ACQUIRE_TIMEOUT", " ", "")

    def test_ids(self):
        self.play("ids", "text ACQUIRE_TIMEOUT", "7 ACQUIRE_TIMEOUT",
                  "00ff ACQUIRE_TIMEOUT")

    def test_heartbeats_off(self):
        self.play("heartbeatsOff", "false true", "LOCK_LOST")

    @configured(**LOST)
    def test_heartbeats(self):
        self.begin("heartbeats")
        harness.pass_boot_ms(self.hear_number("held"))
        self.go_on()
        self.end("true true", "")

    @configured(**WARNED)
    def test_danger(self):
        self.begin("errorEvent", "held")
        self.stand_still(DANGER_MS + 200)
        self.end("LOCK_IN_DANGER", "")

    @configured(**LOST)
    def test_lost(self):
        self.begin("errorEvent", "held")
        self.daemon.freeze()
        self.hear("LOCK_LOST", "LOCK_LOST")
        self.daemon.thaw()
        self.end()

    def test_restarted(self):
        self.begin("restarted", "")
        self.daemon.kill()
        self.go_on()
        self.hear("NO_DAEMON", "NO_DAEMON")
        self.daemon.start()
        self.go_on()
        self.end(" ", "NO_DAEMON", " ", "NO_DAEMON")

    @configured(**LOST)
    def test_dead_holder(self):
        with harness.Client(self.daemon) as client:
            self.assertTrue(client.try_("one").ok)
            self.assertTrue(client.try_("two").ok)
            self.daemon.kill()
        self.daemon.start()
        self.play("deadHolder", "LOCK_BUSY", "", "")


class Go(Examples):
    """scailio-oss/dlock."""

    language = LANGUAGES["go"]
    settings = {"lease": "10s", "heartbeat": "2s", "danger": "9s",
                "request_timeout": "900ms", "drift": "5%"}

    def test_usage(self):
        self.play("usage", "nyc-street-wallstreet 10s")
        self.check_config(lease="10s", heartbeat="2s", danger="9s",
                          request_timeout="900ms", drift="5%")

    def test_try_lock(self):
        self.play("tryLock", "LOCK_BUSY true", "true true")

    def test_close(self):
        self.play("close", "true")

    def test_restart(self):
        self.outlive_restarts()

    def test_warnings_end(self):
        self.play("closeWarned", "false true false true", "true true")

    @configured(**LOST)
    def test_lost_meanwhile(self):
        self.begin("waiting", "held")
        self.daemon.freeze()
        self.go_on()
        self.hear("warned false", "true")
        self.daemon.thaw()
        self.end()

    @configured(**LOST)
    def test_heartbeats(self):
        self.begin("heartbeats")
        harness.pass_boot_ms(self.hear_number("held"))
        self.go_on()
        self.end("true true")

    @configured(lease="10s", heartbeat="200ms", danger="9s")
    def test_warn_after(self):
        self.begin("warnAfter", "held")
        self.stand_still(DANGER_MS + 200)
        self.end("warned true")

    @configured(**LOST)
    def test_lost(self):
        self.begin("warned", "held")
        self.daemon.freeze()
        self.hear("warned false", "LOCK_LOST")
        self.daemon.thaw()
        self.end()

    @configured(**WARNED)
    def test_warn_disabled(self):
        self.begin("warnDisabled", "no channel")
        self.stand_still(DANGER_MS + 200)
        self.go_on()
        self.end("true")


def run(language):
    """(the result, what to print)"""
    stream = io.StringIO()
    tests = unittest.defaultTestLoader.loadTestsFromTestCase(language)
    result = unittest.TextTestRunner(stream, verbosity=2).run(tests)
    return result, stream.getvalue()


def main(*languages):
    """All languages at a time, for they mostly wait; or those named."""
    if len(sys.argv) > 1:
        harness.main()
    results = []
    with concurrent.futures.ThreadPoolExecutor(len(languages)) as pool:
        for result, text in pool.map(run, languages):
            print(text)
            results.append(result)
    harness.end(results)


if __name__ == "__main__":
    main(Go, Java, JavaScript, Python)
