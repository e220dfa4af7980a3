"""Prometheus for the tests of this folder: its programs, its parser, and a
metrics text read by that.

They are in $DDBLOCK_PROMETHEUS (tests/metrics/setup), or installed.
"""
import os
import re
import shutil
import socket
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
ROOT = os.path.join(os.environ.get(
    "DDBLOCK_PROMETHEUS", os.path.join(TOP, "build", "prometheus")), "root")
PACKAGES = "usr/lib/python3/dist-packages"
# Another Python than Debian's has not got its packages.
sys.path += [os.path.join(ROOT, PACKAGES), os.path.join("/", PACKAGES)]
sys.path.insert(0, os.path.join(TOP, "tests", "integration"))

try:
    from prometheus_client.openmetrics import parser
except ImportError:
    parser = None


def tool(name):
    """The path of prometheus or promtool."""
    path = os.path.join(ROOT, "usr", "bin", name)
    path = path if os.access(path, os.X_OK) else shutil.which(name)
    if path is None:
        raise unittest.SkipTest(f"there is no {name} (tests/metrics/setup)")
    return path


class Metrics:
    """A metrics text, which the parser has found to be right."""

    def __init__(self, text):
        if parser is None:
            raise unittest.SkipTest("there is no prometheus_client "
                                    "(tests/metrics/setup)")
        self.text = text
        self.families = {f.name: f for f in
                         parser.text_string_to_metric_families(text)}

    def samples(self, name, **labels):
        return [s for f in self.families.values() for s in f.samples
                if s.name == name and labels.items() <= s.labels.items()]

    def get(self, name, **labels):
        """The sum of these samples, of which there must be some."""
        found = self.samples(name, **labels)
        if not found:
            raise AssertionError(f"no {name} {labels} in\n{self.text}")
        return sum(s.value for s in found)


def by_verb(client):
    """What METRICS says."""
    reply = client.call("METRICS")
    if not reply.ok or int(reply["rows"]) != len(reply.rows):
        raise AssertionError(reply.raw)
    return Metrics("".join(row["text"] + "\n" for row in reply.rows))


def connect(listen):
    """To what metrics_listen names."""
    if listen.startswith("/"):
        s = socket.socket(socket.AF_UNIX)
        s.connect(listen)
        return s
    host, _, port = listen.rpartition(":")
    return socket.create_connection((host.strip("[]"), int(port)))


def say(listen, request):
    """(status line, headers, body) of what is answered until the end."""
    with connect(listen) as s:
        s.settimeout(30)
        s.sendall(request)
        answer = b""
        while True:
            try:
                data = s.recv(1 << 16)
            except ConnectionResetError:
                break
            if not data:
                break
            answer += data
    head, _, body = answer.decode().partition("\r\n\r\n")
    status, *headers = head.split("\r\n")
    return status, dict(h.split(": ", 1) for h in headers), body


def by_http(listen):
    """What GET /metrics says."""
    status, headers, body = say(
        listen, b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
    kind = "application/openmetrics-text; version=1.0.0; charset=utf-8"
    if (status, headers.get("Content-Type")) != ("HTTP/1.1 200 OK", kind):
        raise AssertionError((status, headers))
    return Metrics(body)


def free_port():
    """One that nobody listened at a moment ago."""
    with socket.create_server(("127.0.0.1", 0)) as s:
        return s.getsockname()[1]


def promtool(*arguments, given=None):
    """What it says; it must be content."""
    done = subprocess.run([tool("promtool"), *arguments], input=given,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          check=False, text=True)
    if done.returncode != 0:
        raise AssertionError(f"promtool {arguments}:\n{done.stdout}")
    return done.stdout


# ---- what contrib/ has for it ---------------------------------------------

RULES = os.path.join(TOP, "contrib", "prometheus", "ddblockd.rules.yml")
BOARD = os.path.join(TOP, "contrib", "grafana", "ddblockd.json")
ENDS = {"COUNTER": ("_total",), "INFO": ("_info",), "GAUGE": ("",),
        "HISTOGRAM": ("_bucket", "_count", "_sum")}


def table():
    """name -> kind, of each row of the table of metrics."""
    with open(os.path.join(TOP, "src", "daemon", "metrics.def"),
              encoding="utf-8") as f:
        return dict(re.findall(r"^(?:VALUE|FAMILY)\((\w+), (\w+),", f.read(),
                               re.M))


def samples():
    """The names of all samples."""
    return {name + end for name, kind in table().items()
            for end in ENDS[kind]}


def queries(board, interval="1m"):
    """(panel, expression) of all queries of a board, as Grafana fills them
    in when everything is chosen."""
    for panel in board["panels"]:
        for target in panel.get("targets", []):
            yield panel["title"], fill(target["expr"], interval)


def fill(expression, interval):
    return expression.replace("$__rate_interval", interval) \
        .replace("$instance", ".*").replace("$namespace", ".*")
