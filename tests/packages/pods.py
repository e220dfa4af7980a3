"""A node with pods, as a kubelet makes them of the manifests in
contrib/kubernetes: the users, capabilities, mounts, read-only roots,
namespaces, probes and signals of the containers are those of the YAML, by the
kernel's own means. No cluster, no image: the programs in a container are this
machine's and the build's.

    node = Node(directory, {"REGION": "us-east-1"})
    with node.pod(daemon_set()) as daemon, node.pod(client) as pod:
        pod.exec("ddblock", "list")

It needs root. A pod ends with its first process, and that with the test.
"""
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import unittest

try:
    import yaml
except ImportError:
    yaml = None

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(TOP, "tests", "integration"))
sys.path.insert(0, os.path.join(TOP, "tests", "systemd"))
# pylint: disable=wrong-import-position
import harness
from host import end_with_parent

KUBERNETES = os.path.join(TOP, "contrib", "kubernetes")
CONTAINERFILE = os.path.join(TOP, "contrib", "container", "Containerfile")
# What an engine gives a container of root that drops nothing.
CAPABILITIES = ("chown", "dac_override", "fowner", "fsetid", "kill", "setgid",
                "setuid", "setpcap", "net_bind_service", "net_raw",
                "sys_chroot", "mknod", "audit_write", "setfcap")

# A container's files: $1 is its name, $2 is "ro" or "rw" for its root, $3 is
# "pid" if it has processes of its own; then up to -- come mounts, as SOURCE
# TARGET ro|rw, and what is run. The descriptor $said tells that it begins.
ROOT = r"""
hostname "$1"; root=$2 pids=$3; shift 3
mount -t tmpfs tmpfs /mnt
mkdir /mnt/up /mnt/work /mnt/root
mount -t overlay overlay \
    -o lowerdir=/,upperdir=/mnt/up,workdir=/mnt/work /mnt/root
cd /mnt/root
while [ "$1" != -- ]; do
    mkdir -p ".$2"
    mount --bind "$1" ".$2"
    [ "$3" = rw ] || mount -o remount,bind,ro ".$2"
    shift 3
done
shift
if [ "$pids" = pid ]; then
    mount -t proc proc proc
else
    mount --rbind /proc proc
fi
mount --rbind /dev dev
mkdir -p .before
mount -o "remount,bind,$root" .
pivot_root . .before
umount -l .before
echo >&"$said"
exec {said}>&-
exec "$@"
"""


def documents(name):
    """Those of a manifest."""
    if yaml is None:
        raise unittest.SkipTest("yaml is missing (Debian: python3-yaml)")
    with open(os.path.join(KUBERNETES, name), encoding="utf-8") as f:
        return list(yaml.safe_load_all(f))


def of_kind(name, kind):
    found, = (d for d in documents(name) if d["kind"] == kind)
    return found


def instruction(word):
    """The last one of this name in the Containerfile: its arguments."""
    with open(CONTAINERFILE, encoding="utf-8") as f:
        text = f.read().replace("\\\n", " ")
    return re.findall(rf"^{word} (.*)$", text, re.M)[-1]


def need():
    """Skip by name where there can be no pods."""
    if os.geteuid() != 0:
        raise unittest.SkipTest("a pod needs root")
    for name in ("unshare", "nsenter", "setpriv"):
        if shutil.which(name) is None:
            raise unittest.SkipTest(f"{name} is missing (util-linux)")
    done = subprocess.run(
        ["unshare", "--mount", "--pid", "--uts", "--ipc", "--fork", "bash",
         "-ec", "mount -t tmpfs t /mnt; mkdir /mnt/a /mnt/b /mnt/c; mount -t "
         "overlay o -o lowerdir=/,upperdir=/mnt/a,workdir=/mnt/b /mnt/c"],
        capture_output=True, check=False, text=True)
    if done.returncode != 0:
        raise unittest.SkipTest("there are no namespaces for pods: "
                                + done.stderr.strip())


class Node:
    """@directory has what is on the node; @values are put in the place of the
    words that a user replaces."""

    def __init__(self, directory, values, name="node-1.example"):
        self.directory = directory
        self.values = values
        self.name = name
        self.build = os.path.dirname(os.path.abspath(
            harness.program("ddblockd")))

    def path(self, path):
        """Of the node, as we see it."""
        return self.directory + "/node" + path

    def host_path(self, volume):
        path = self.path(volume["path"])
        if volume["type"] == "DirectoryOrCreate" and not os.path.isdir(path):
            os.makedirs(path, 0o755)
        assert os.path.isdir(path), f"{path} is not on the node"
        return path

    def config_map(self, volume):
        maps = [d for d in documents("ddblockd.yaml")
                if d["kind"] == "ConfigMap"
                and d["metadata"]["name"] == volume["name"]]
        path = self.directory + "/config"
        os.makedirs(path, exist_ok=True)
        for name, text in maps[0]["data"].items():
            with open(os.path.join(path, name), "w", encoding="utf-8") as f:
                f.write(text)
            os.chmod(os.path.join(path, name), 0o644)
        return path

    def volumes(self, spec):
        return {v["name"]: self.host_path(v["hostPath"]) if "hostPath" in v
                else self.config_map(v["configMap"])
                for v in spec.get("volumes", ())}

    def pod(self, workload, name, arguments=(), env=None):
        """Of a DaemonSet or Deployment; @arguments are added to those of its
        only container, @env to its environment."""
        return Pod(self, workload["spec"]["template"]["spec"], name,
                   list(arguments), env or {})


class Container:
    def __init__(self, pod, spec, arguments=(), env=None):
        self.pod, self.spec = pod, spec
        self.env = {"PATH": f"{pod.node.build}:/usr/sbin:/usr/bin:/sbin:/bin",
                    "LANG": "C.UTF-8",
                    **{e["name"]: self.value(e) for e in spec.get("env", ())},
                    **(env or {})}
        self.arguments = [*spec["command"], *spec.get("args", ()), *arguments]
        self.process = self.pid = None

    def value(self, entry):
        if "value" in entry:
            return self.pod.node.values.get(entry["value"], entry["value"])
        path = entry["valueFrom"]["fieldRef"]["fieldPath"]
        return {"spec.nodeName": self.pod.node.name,
                "status.podIP": "192.0.2.1",
                "metadata.name": self.pod.name}[path]

    def expand(self, text):
        return re.sub(r"\$\((\w+)\)", lambda m: self.env[m[1]], text)

    def security(self, name, default=None):
        return self.spec.get("securityContext", {}).get(
            name, self.pod.spec.get("securityContext", {}).get(name, default))

    def user(self):
        """setpriv's arguments for who it is."""
        uid = self.security("runAsUser", 0)
        gid = self.security("runAsGroup", 0)
        assert uid != 0 or not self.security("runAsNonRoot", False)
        groups = [gid, *self.security("supplementalGroups", ())]
        has = list(CAPABILITIES)
        changes = self.security("capabilities", {})
        if "ALL" in changes.get("drop", ()):
            has = []
        has += [c.lower() for c in changes.get("add", ())]
        own = [] if self.security("allowPrivilegeEscalation", True) \
            else ["--no-new-privs"]
        return ["setpriv", f"--reuid={uid}", f"--regid={gid}",
                "--groups=" + ",".join(map(str, groups)), *own,
                "--inh-caps=-all",
                # Another user would not end with its parent otherwise.
                "--pdeathsig=KILL",
                "--bounding-set=" + ",".join(["-all", *("+" + c for c in has)])]

    def mounts(self):
        folders = self.pod.node.volumes(self.pod.spec)
        for mount in self.spec.get("volumeMounts", ()):
            yield folders[mount["name"]], mount["mountPath"], \
                "ro" if mount.get("readOnly") else "rw"

    def start(self, **more):
        shares_pids = self.pod.spec.get("hostPID", False)
        own = [] if shares_pids else ["--pid", "--fork", "--kill-child"]
        root = "ro" if self.security("readOnlyRootFilesystem", False) else "rw"
        reader, writer = os.pipe()
        mounts = [word for mount in self.mounts() for word in mount]
        build = self.pod.node.build
        self.process = subprocess.Popen(
            ["unshare", "--mount", "--propagation", "private", "--uts", "--ipc",
             *own, "bash", "-euc", f"said={writer}\n{ROOT}", "container",
             self.pod.name, root, "shared" if shares_pids else "pid",
             *mounts, build, build, "ro", "--", *self.user(), "env", "-i",
             *(f"{k}={v}" for k, v in self.env.items()),
             *map(self.expand, self.arguments)],
            pass_fds=[writer], preexec_fn=end_with_parent, **more)
        os.close(writer)
        with os.fdopen(reader, "rb") as said:
            if not select.select([said], [], [], harness.TIMEOUT_S)[0] \
                    or said.readline() != b"\n":
                raise AssertionError(f"no container: {self.process.wait()}")
        self.pid = self.process.pid if shares_pids else self.first()
        return self

    def first(self):
        """Its first process, as we know it; None: it has ended."""
        number = self.process.pid
        with open(f"/proc/{number}/task/{number}/children",
                  encoding="ascii") as f:
            return int(f.read() or 0) or None

    def exec(self, *command, timeout=harness.TIMEOUT_S, user=None, **more):
        """As kubectl exec, and as a probe: a CompletedProcess."""
        return subprocess.run(
            ["nsenter", f"--target={self.pid}", "--mount", "--uts", "--ipc",
             "--pid", "--", *(user or self.user()), "env", "-i",
             *(f"{k}={v}" for k, v in self.env.items()), *command],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, timeout=timeout, check=False, text=True,
            **more)

    def probe(self, name):
        """Does it succeed in its time?"""
        probe = self.spec[name]
        try:
            return self.exec(*probe["exec"]["command"], timeout=probe.get(
                "timeoutSeconds", 1)).returncode == 0
        except subprocess.TimeoutExpired:
            return False

    def stop(self, number, grace_s):
        """The signal, and after its time the end: its status."""
        os.kill(self.pid, number)
        try:
            return self.process.wait(grace_s)
        except subprocess.TimeoutExpired:
            self.kill()
            return self.process.wait(harness.TIMEOUT_S)

    def kill(self):
        """It may have ended just now."""
        try:
            os.kill(self.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


class Pod:
    def __init__(self, node, spec, name, arguments, env):
        self.node, self.spec, self.name = node, spec, name
        only, = spec["containers"]
        self.container = Container(self, only, arguments, env)

    def start(self, **more):
        for spec in self.spec.get("initContainers", ()):
            first = Container(self, spec).start(stderr=subprocess.PIPE)
            error = first.process.communicate(timeout=harness.TIMEOUT_S)[1]
            assert first.process.returncode == 0, error
        self.container.start(stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                             text=True, **more)
        return self

    def exec(self, *command, **more):
        return self.container.exec(*command, **more)

    def line(self):
        return self.container.process.stdout.readline().rstrip("\n")

    def say(self, text):
        self.container.process.stdin.write(text + "\n")
        self.container.process.stdin.flush()

    def wait(self):
        return self.container.process.wait(harness.TIMEOUT_S)

    def stop(self, number=None):
        """As the kubelet ends a pod: with the image's signal."""
        return self.container.stop(
            number or getattr(signal, instruction("STOPSIGNAL")),
            self.spec.get("terminationGracePeriodSeconds", 30))

    def kill(self):
        self.container.kill()
        return self.wait()

    def close(self):
        process = self.container.process
        if process is None:
            return
        if process.poll() is None:
            self.container.kill()
            process.wait(harness.TIMEOUT_S)
        for stream in process.stdin, process.stdout:
            stream.close()

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        self.close()
