#!/usr/bin/env python3
"""What contrib/ has for other systems fits the rest: what the RPM spec
needs, and in the manifests and the Containerfile each name, folder and user
that stands in two places. The daemon itself reads the configuration in the
ConfigMap.
"""
import json
import os
import re
import subprocess
import tempfile
import unittest

import pods
import harness  # pods knows where it is
from pods import instruction, of_kind

TOP = pods.TOP
USER = 10001


def read(path):
    with open(os.path.join(TOP, path), encoding="utf-8") as f:
        return f.read()


class Spec(unittest.TestCase):
    def test_what_it_needs_is_what_configure_asks_for(self):
        asked = re.findall(r"PKG_CHECK_MODULES\(\[\w+\], \[([^\]]*)\]",
                           read("configure.ac"))
        wanted = set(re.findall(r"([\w-]+)(?: >= ([\d.]+))?", " ".join(asked)))
        spec = read("contrib/rpm/ddblockd.spec")
        self.assertEqual(set(re.findall(
            r"pkgconfig\(([\w-]+)\)(?: >= ([\d.]+))?", spec)), wanted)


class Manifests(unittest.TestCase):
    def setUp(self):
        self.daemons = of_kind("ddblockd.yaml", "DaemonSet")
        self.pod = self.daemons["spec"]["template"]["spec"]
        self.container, = self.pod["containers"]
        self.client = of_kind("client.yaml", "Deployment")

    def settings(self, section=""):
        """Those in effect, of the ConfigMap and the arguments."""
        text = of_kind("ddblockd.yaml", "ConfigMap")["data"]["ddblockd.conf"]
        arguments = [a.replace("$(NODE_NAME)", "node").replace(
            "$(POD_IP)", "192.0.2.1") for a in self.container["args"][1:]]
        with tempfile.NamedTemporaryFile("w", suffix=".conf") as f:
            f.write(text)
            f.flush()
            done = subprocess.run(
                [harness.program("ddblockd"), "--check-config",
                 f"--config={f.name}", *arguments],
                env={"AWS_REGION": "eu-central-1"}, capture_output=True,
                text=True, check=False, timeout=harness.TIMEOUT_S)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        part = done.stdout.split(f"[{section}]")[1].split("\n[")[0]
        return dict(line.split("\t")[0].strip().split(" = ", 1)
                    for line in part.splitlines() if " = " in line)

    def test_names(self):
        for workload in self.daemons, self.client:
            template = workload["spec"]["template"]
            self.assertEqual(workload["spec"]["selector"]["matchLabels"],
                             template["metadata"]["labels"])
            spec = template["spec"]
            volumes = {v["name"] for v in spec["volumes"]}
            self.assertEqual(volumes, {
                mount["name"] for c in spec["containers"]
                for mount in c["volumeMounts"]})
        account = of_kind("ddblockd.yaml", "ServiceAccount")
        self.assertEqual(self.pod["serviceAccountName"],
                         account["metadata"]["name"])
        maps = of_kind("ddblockd.yaml", "ConfigMap")["metadata"]["name"]
        self.assertIn({"name": "config", "configMap": {"name": maps}},
                      self.pod["volumes"])
        spaces = {d["metadata"]["namespace"] for name in
                  ("ddblockd.yaml", "client.yaml") for d in
                  pods.documents(name) if d["kind"] != "Namespace"}
        self.assertEqual(spaces, {of_kind("ddblockd.yaml", "Namespace")
                                  ["metadata"]["name"]})

    def test_folders(self):
        mounts = {m["mountPath"]: m for m in self.container["volumeMounts"]}
        volumes = {v["name"]: v for v in self.pod["volumes"]}
        daemon = self.settings("daemon")
        for path in (daemon["socket"], daemon["journal"],
                     self.settings("namespace node")["file"]):
            folder = os.path.dirname(path)
            self.assertEqual(volumes[mounts[folder]["name"]]["hostPath"], {
                "path": folder, "type": "DirectoryOrCreate"})
        # The same as in the image, where they are the user's.
        self.assertEqual(set(mounts), {"/etc/ddblockd", *json.loads(
            instruction("VOLUME"))})
        first, = self.pod["initContainers"]
        self.assertEqual({m["mountPath"] for m in first["volumeMounts"]},
                         set(first["command"][2:]))
        self.assertEqual(self.container["args"][0],
                         "--config=/etc/ddblockd/ddblockd.conf")
        client = self.client["spec"]["template"]["spec"]
        mount, = client["containers"][0]["volumeMounts"]
        self.assertTrue(mount["readOnly"])
        self.assertEqual(mount["mountPath"], os.path.dirname(daemon["socket"]))
        self.assertEqual(client["volumes"][0]["hostPath"]["path"],
                         os.path.dirname(daemon["socket"]))

    def test_users(self):
        context = self.pod["securityContext"]
        self.assertEqual([context["runAsUser"], context["runAsGroup"]],
                         [USER, USER])
        self.assertEqual(instruction("USER"), f"{USER}:{USER}")
        self.assertEqual(self.pod["initContainers"][0]["command"][1],
                         f"{USER}:{USER}")
        client = self.client["spec"]["template"]["spec"]["securityContext"]
        self.assertIn(USER, client["supplementalGroups"])
        self.assertIn(f"user = {USER}\n", of_kind(
            "ddblockd.yaml", "ConfigMap")["data"]["ddblockd.conf"])

    def test_ends(self):
        self.assertEqual(instruction("STOPSIGNAL"), "SIGUSR2")
        wait = self.settings("daemon")["stop_wait"]
        self.assertGreater(self.pod["terminationGracePeriodSeconds"],
                           int(wait.removesuffix("s")))
        journal = self.settings("daemon")["journal"]
        self.assertEqual(json.loads(instruction("ENTRYPOINT")),
                         ["ddblockd", f"--journal={journal}"])
        ports, = self.container["ports"]
        self.assertTrue(self.settings("daemon")["hints"].endswith(
            f":{ports['containerPort']}"))

    def test_confinement(self):
        for container in self.pod["containers"] + self.pod["initContainers"]:
            context = container["securityContext"]
            self.assertTrue(context["readOnlyRootFilesystem"])
            self.assertFalse(context["allowPrivilegeEscalation"])
            self.assertEqual(context["capabilities"]["drop"], ["ALL"])
        self.assertNotIn("hostNetwork", self.pod)


if __name__ == "__main__":
    harness.main()
