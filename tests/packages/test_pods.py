#!/usr/bin/env python3
"""The pods of contrib/kubernetes on one node (pods.py), with a table: who is
who in other namespaces, what a pod's death and a rollout of the daemon mean
for holders and waiters, and who may do what. doc/containers.md says what is
seen here.
"""
import copy
import json
import os
import shutil
import signal
import tempfile
import unittest

import pods
import harness  # pods knows where it is

LOCK = ["ddblock", "run", "--wait-daemon", "-v", "-w", "60"]
SHELL = ["--", "sh", "-c", "echo held $DDBLOCK_TOKEN; read line; echo over"]
BREAK = ["ddblock", "break", "--reason=test"]
ROOT = {"runAsNonRoot": False, "runAsUser": 0, "runAsGroup": 0}
KEY = "jobs/nightly"


def setUpModule():
    pods.need()
    harness.need_dynamodb()


class Case(unittest.TestCase):
    def setUp(self):
        directory = tempfile.mkdtemp(prefix="ddblock-pods-")
        self.addCleanup(shutil.rmtree, directory)
        os.chmod(directory, 0o755)
        self.table = f"locks-pods-{os.getpid()}-{self._testMethodName}"[:200]
        self.node = pods.Node(directory, {"REGION": "us-east-1"})
        self.daemons = pods.of_kind("ddblockd.yaml", "DaemonSet")
        self.client = pods.of_kind("client.yaml", "Deployment")
        self.aws = {name: value for name, value in os.environ.items()
                    if name.startswith("AWS_") and name != "AWS_REGION"}
        self.serial = 0

    def daemon(self):
        """The pod, when its start-up probe has had success."""
        self.serial += 1
        pod = self.node.pod(self.daemons, f"ddblockd-{self.serial}",
                            # Tests run beside each other.
                            [f"--table={self.table}", "--hints=0.0.0.0:0"],
                            self.aws)
        if self.serial == 1:
            self.init(pod)
        self.addCleanup(pod.close)
        pod.start()
        done = pod.exec("ddblock", "status", "--wait-daemon=60s")
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertTrue(pod.container.probe("startupProbe"))
        return pod

    def init(self, pod):
        """The table, by the same configuration."""
        arguments = pod.container.arguments
        pod.container.arguments = [*arguments, "--init-table"]
        pod.start()
        self.assertEqual(pod.wait(), 0)
        pod.close()
        pod.container.arguments = arguments

    def pod(self, *command, name="report-1", security=None, **spec):
        """One of the clients, which runs something else."""
        workload = copy.deepcopy(self.client)
        of_pod = workload["spec"]["template"]["spec"]
        of_pod.update(spec)
        of_pod["securityContext"].update(security or {})
        if command:
            of_pod["containers"][0]["command"] = list(command)
        pod = self.node.pod(workload, name)
        self.addCleanup(pod.close)
        return pod.start()

    def holder(self, key=KEY, **more):
        """A pod that has the lock until it is told to end; and its token."""
        pod = self.pod(*LOCK, key, *SHELL, **more)
        word, token = pod.line().split()
        self.assertEqual(word, "held")
        return pod, token

    def waiter(self, daemon, key=KEY, **more):
        """One that stands in line."""
        pod = self.pod(*LOCK, key, *SHELL, name="report-2", **more)
        self.await_waiting(daemon)
        return pod

    def await_waiting(self, daemon):
        while not json.loads(
                daemon.exec("ddblock", "waiting", "--json").stdout):
            self.assertIsNone(daemon.container.process.poll())

    def ends(self, pod):
        pod.say("")
        self.assertEqual(pod.line(), "over")
        self.assertEqual(pod.wait(), 0)

    def held(self, daemon):
        return daemon.exec("ddblock", "held").stdout


class Names(Case):
    def test_who_is_who(self):
        daemon = self.daemon()
        pod, token = self.holder()
        held = self.held(daemon)
        self.assertIn(KEY, held)
        self.assertIn("node-1.example/", held)
        self.assertIn("20001", held)
        status = daemon.exec("ddblock", "status").stdout
        self.assertIn("node-1.example", status)
        waiter = self.waiter(daemon)
        # A pod dies: all its processes do, and so its connection ends.
        pod.kill()
        word, later = waiter.line().split()
        self.assertEqual(word, "held")
        self.assertGreater(int(later), int(token))
        self.ends(waiter)
        self.assertNotIn(KEY, self.held(daemon))

    def test_processes_of_the_node(self):
        """With hostPID the daemon knows its clients' processes, and a lock can
        be held for one; without, it cannot see them."""
        command = ["sh", "-c", "ddblock acquire --wait-daemon "
                   f"{KEY} --for-pid $$ >/dev/null && echo held || echo no; "
                   "read line"]
        for shared, said in ((False, "no"), (True, "held")):
            self.daemons["spec"]["template"]["spec"]["hostPID"] = shared
            daemon = self.daemon()
            pod = self.pod(*command)
            self.assertEqual(pod.line(), said)
            if shared:
                self.assertIn(KEY, self.held(daemon))
            pod.close()
            self.assertEqual(daemon.stop(), 0)

    def test_what_a_client_sees_of_the_node(self):
        """The socket, and nothing of the daemon's own; and it changes neither,
        also as root of its container."""
        self.daemon()
        for security in ({}, ROOT):
            done = self.pod("sh", "-c", "ls -A /run/ddblockd; "
                            "! touch /run/ddblockd/mine 2>/dev/null; "
                            "! rm /run/ddblockd/ddblockd.sock 2>/dev/null; "
                            "! ls /run/ddblockd-journal 2>/dev/null",
                            security=security)
            self.assertEqual(done.line(), "ddblockd.sock")
            self.assertEqual(done.wait(), 0)

    def test_who_may_do_what(self):
        daemon = self.daemon()
        pod, token = self.holder()
        # A user without the group of the socket.
        none = self.pod(*LOCK, KEY, "--", "true",
                        security={"supplementalGroups": []})
        self.assertEqual(none.wait(), 77)
        # Root of a container is user 0, and no administrator.
        for command, status in (
                (["ddblock", "run", "-n", "other", "--", "true"], 77),
                (["ddblock", "get", KEY], 0),
                ([*BREAK, f"--token={token}", KEY], 77),
                (["ddblock", "drain"], 77)):
            done = self.pod(*command, security=ROOT)
            self.assertEqual(done.wait(), status, command)
        # The daemon's own user, by kubectl exec.
        done = daemon.exec(*BREAK, f"--token={token}", KEY)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertEqual(pod.wait(), 4)


class Rollout(Case):
    def roll(self, daemon, number=None):
        """Another pod in its place, as maxSurge = 0 has it."""
        daemon.stop(number)
        return self.daemon()

    def test_the_image_s_signal(self):
        daemon = self.daemon()
        holder, token = self.holder()
        waiter = self.waiter(daemon)
        for _ in range(2):
            daemon = self.roll(daemon)
            self.await_waiting(daemon)
            self.assertIn(KEY, self.held(daemon))
        self.ends(holder)
        word, later = waiter.line().split()
        self.assertEqual(word, "held")
        self.assertGreater(int(later), int(token))
        self.ends(waiter)

    def test_sigterm_sends_waiters_away(self):
        """It waits for holders, who go on; but not for those that wait."""
        daemon = self.daemon()
        holder, _ = self.holder()
        waiter = self.waiter(daemon)
        os.kill(daemon.container.pid, signal.SIGTERM)
        self.assertEqual(waiter.wait(), 75)
        self.assertIsNone(daemon.container.process.poll())
        self.ends(holder)
        self.assertEqual(daemon.wait(), 0)

    def test_a_death_and_a_failed_probe(self):
        """The kubelet starts the container again, in the same pod."""
        daemon = self.daemon()
        holder, _ = self.holder()
        daemon.kill()
        daemon = self.daemon()
        self.assertTrue(daemon.container.probe("livenessProbe"))
        os.kill(daemon.container.pid, signal.SIGSTOP)
        self.assertFalse(daemon.container.probe("livenessProbe"))
        probe = daemon.container.spec["livenessProbe"]
        daemon.container.stop(
            getattr(signal, pods.instruction("STOPSIGNAL")),
            probe["terminationGracePeriodSeconds"])
        daemon = self.daemon()
        self.assertTrue(daemon.container.probe("readinessProbe"))
        self.assertIn(KEY, self.held(daemon))
        self.ends(holder)

    def test_both_namespaces_and_a_reboot(self):
        """What is locked on this node only goes on, too; and the journal of
        another boot is of no use, but does no harm."""
        daemon = self.daemon()
        holder, _ = self.holder()
        local = self.pod(*LOCK, "--ns=node", "disk", *SHELL)
        self.assertTrue(local.line().startswith("held"))
        daemon = self.roll(daemon)
        for pod in holder, local:
            self.ends(pod)
        self.assertEqual(daemon.stop(), 0)
        shutil.rmtree(self.node.path("/run/ddblockd"))
        shutil.rmtree(self.node.path("/run/ddblockd-journal"))
        self.daemon()
        pod, _ = self.holder()
        self.ends(pod)


if __name__ == "__main__":
    harness.main()
