#!/usr/bin/env python3
"""Secrets appear nowhere.

A daemon with a secret key and a session token that are easy to recognise meets
errors of every kind, among them answers that recite the request with its token,
as AWS does when a signature is wrong. Then all that it wrote is searched: logs
of each kind, the journal's, what clients and people were told, the command
line; and what it holds is looked into: no dump of its memory is ever made.
"""
import base64
import http.server
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import unittest
import urllib.parse

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, os.pardir, "integration"))

import harness  # noqa: E402
from harness import Daemon  # noqa: E402
from planted import (Journalled, leaks, planted, talk,  # noqa: E402
                     wait_forgotten)

KEY_ID = "AKIAPLANTEDPLANTED00"
SECRET = planted("secret", 40)
TOKEN = planted("token", 400) + "=="
SECRETS = {"secret key": SECRET, "session token": TOKEN}


# ---- an endpoint that recites -------------------------------------------

def recited(request):
    """The canonical request, as AWS writes it into an error."""
    names = sorted(n.lower() for n in request.headers)
    return "\n".join(["POST", "/", ""] + [f"{n}:{request.headers[n]}"
                                          for n in names])


def wrong_signature(request):
    return 400, {"__type": "com.amazon.coral.service#InvalidSignatureException",
                 "message": "The request signature we calculated does not "
                 "match the signature you provided. Check your AWS Secret "
                 "Access Key and signing method. Consult the service "
                 "documentation for details.\n\nThe Canonical String for this "
                 f"request should have been\n'{recited(request)}'\n"}


def wrong_signature_xml(request):
    return 403, ("<ErrorResponse><Error><Code>SignatureDoesNotMatch</Code>"
                 "<Message>It does not match. The canonical string should have "
                 f"been\n{recited(request)}</Message></Error></ErrorResponse>")


def token_in_message(request):
    return 400, {"__type": "UnrecognizedClientException", "Message":
                 "the token " + request.headers["x-amz-security-token"]
                 + " is not known"}


def token_escaped(request):
    token = request.headers["x-amz-security-token"]
    return 400, ('{"__type":"ExpiredTokenException","message":"'
                 + token.replace("/", "\\/") + ' has expired"}')


def token_as_type(request):
    return 400, {"__type": request.headers["x-amz-security-token"],
                 "message": "?"}


def headers_in_html(request):
    return 502, request.headers["x-amz-security-token"] + "<html>"


def headers_quoted(request):
    return 503, urllib.parse.quote(request.headers["x-amz-security-token"],
                                   safe="")


def token_in_ok(request):
    return 200, {"Item": {"key": {"S": request.headers[
        "x-amz-security-token"]}}, "Attributes": {"token": {
            "S": request.headers["x-amz-security-token"]}}}


def broken_json(request):
    return 200, '{"Item": "' + request.headers["x-amz-security-token"]


def cut_off(request):
    return None, b"HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n" + \
        request.headers["x-amz-security-token"].encode()


def no_http(request):
    return None, request.headers["x-amz-security-token"].encode() + b"\r\n\r\n"


def bad_header(request):
    return None, b"HTTP/1.1 200 OK\r\nContent-Length: " + \
        request.headers["x-amz-security-token"].encode() + b"\r\n\r\n"


def moved(request):
    return None, (b"HTTP/1.1 301 Moved\r\nLocation: http://127.0.0.1:1/"
                  + request.headers["x-amz-security-token"].encode()
                  + b"\r\nContent-Length: 0\r\n\r\n")


RECITALS = [wrong_signature, wrong_signature_xml, token_in_message,
            token_escaped, token_as_type, headers_in_html, headers_quoted,
            token_in_ok, broken_json, cut_off, no_http, bad_header, moved]


class Reciter(http.server.ThreadingHTTPServer):
    """Answers every request by @recital."""

    daemon_threads = True
    recital = staticmethod(wrong_signature)

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Recital)
        self.asked = threading.Condition()
        self.tokens = []
        threading.Thread(target=self.serve_forever, daemon=True).start()


class Recital(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        status, body = self.server.recital(self)
        with self.server.asked:
            self.server.tokens.append(self.headers["x-amz-security-token"])
            self.server.asked.notify_all()
        if status is None:
            self.wfile.write(body)
            self.close_connection = True
            return
        if not isinstance(body, str):
            body = json.dumps(body)
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def handle(self):
        try:
            super().handle()
        except ConnectionError:
            pass  # who asked has gone

    def log_message(self, *args):
        pass


class Base(unittest.TestCase):
    def setUp(self):
        self.server = Reciter()
        self.addCleanup(self.server.server_close)
        self.addCleanup(self.server.shutdown)
        self.endpoint = f"http://127.0.0.1:{self.server.server_port}"

    def config(self, more=""):
        return ("[namespace default]\nstore = dynamodb\ntable = secrets\n"
                f"region = us-east-1\nendpoint = {self.endpoint}\n"
                "request_timeout = 1s\n" + more)

    ENVIRONMENT = {"AWS_ACCESS_KEY_ID": KEY_ID,
                   "AWS_SECRET_ACCESS_KEY": SECRET,
                   "AWS_SESSION_TOKEN": TOKEN}
    SETTINGS = (f"access_key_id = {KEY_ID}\nsecret_access_key = {SECRET}\n"
                f"session_token = {TOKEN}\n")

    def assert_none(self, text, where):
        if isinstance(text, str):
            text = text.encode()
        self.assertEqual(leaks(text, SECRETS), [], where)


class Errors(Base):
    """Whatever the endpoint says."""

    def check(self, daemon, recitals=tuple(RECITALS[:3])):
        told = b""
        for recital in recitals:
            self.server.recital = recital
            with self.subTest(recital.__name__):
                asked = len(self.server.tokens)
                text = talk(daemon)
                self.assertGreater(len(self.server.tokens), asked)
                self.assert_none(text, recital.__name__)
                told += text
        self.assertEqual(set(self.server.tokens), {TOKEN})
        self.assertIn(b"SignatureDoesNotMatch", told)
        with open(f"/proc/{daemon.pid}/cmdline", "rb") as f:
            self.assert_none(f.read(), "the command line")
        daemon.signal(signal.SIGTERM)
        self.assertEqual(daemon.wait(), 0)
        self.assert_none(daemon.log(), "the log")
        return daemon.log()

    def test_log(self):
        with Daemon(self.config(self.SETTINGS)) as daemon:
            log = self.check(daemon, RECITALS)
            self.assertIn("InvalidSignatureException", log)

    def test_json(self):
        with Daemon(self.config(), env=self.ENVIRONMENT,
                    args=["--log=json"]) as daemon:
            log = self.check(daemon)
            self.assertIn("InvalidSignatureException", log)
            self.assertTrue(json.loads(log.split("\n", 1)[0]))

    def test_journal(self):
        with Journalled(self.config(), env=self.ENVIRONMENT,
                        args=["--log=journal"]) as daemon:
            self.addCleanup(daemon.entries.close)
            self.check(daemon)
            journal = daemon.read_journal()
            self.assertIn(b"InvalidSignatureException", journal)
            self.assert_none(journal, "the journal")


class Settings(Base):
    """Whatever is wrong in the configuration."""

    WRONG = {
        "no equals sign": "secret_access_key {secret}\n",
        "a colon in a word": "secret_access_key:{secret} {token}\n",
        "a wrong name": "secret_acess_key = {secret}\n",
        "a name of another section": "sesion_token = {token}\n",
        "a blank in it": "secret_access_key = {secret} {token}\n",
        "a tab in it": "session_token = {token}\t{secret}\n",
        "a control character in it": "session_token = {token}\x01\n",
        "no ASCII in it": "session_token = \u00e4{token}\n",
        "twice": "secret_access_key = {secret}\nsecret_access_key = {token}\n",
        "too long": "session_token = " + "{token}" * 200 + "\n",
        "a line too long": "session_token = " + "{token}" * 3000 + "\n",
        "no key id": "secret_access_key = {secret}\n",
        "no secret": "access_key_id = AKIA\nsession_token = {token}\n",
        "a line that goes on": "secret_access_key =\n  {secret}\n",
        "a wrong place": "[daemon]\nsecret_access_key = {secret}\n",
        "quotes": "secret_access_key = \"{secret}\"\nlease = {lease}\n",
        "nothing wrong": "access_key_id = AKIA\nsecret_access_key = {secret}\n"
                         "session_token = {token}\n",
    }

    def ended(self, config, args, env=None):
        """Its status and all that it said; it has nothing to stay for."""
        daemon = Daemon(config, args=args, env=env)
        try:
            status, out, err = daemon.run()
            return status, out + err
        finally:
            daemon.close()

    def test_check_config(self):
        for name, lines in self.WRONG.items():
            more = lines.format(secret=SECRET, token=TOKEN, lease="no time")
            for args in (["--check-config"], []):
                if name == "nothing wrong" and not args:
                    continue
                with self.subTest(name, args=args):
                    status, text = self.ended(self.config(more), args)
                    self.assert_none(text, name)
                    if name == "nothing wrong":
                        self.assertEqual(status, 0, text)
                        self.assertIn("session_token", text)
                    else:
                        self.assertNotEqual(text, "")

    def test_environment(self):
        for name, value in (("AWS_SECRET_ACCESS_KEY", SECRET + "\x01"),
                            ("AWS_SESSION_TOKEN", TOKEN + "\n"),
                            ("AWS_SECRET_ACCESS_KEY", TOKEN * 40)):
            environment = {**self.ENVIRONMENT, name: value}
            with self.subTest(name):
                _, text = self.ended(self.config(), ["--check-config"],
                                     environment)
                self.assert_none(text, name)


class Process(Base):
    """What others can see of the process."""

    def test_no_dump(self):
        with Daemon(self.config(), env=self.ENVIRONMENT) as daemon:
            with open(f"/proc/{daemon.pid}/limits", encoding="ascii") as f:
                core = next(line for line in f if "core file" in line)
            self.assertEqual(core.split()[4:6], ["0", "0"], core)
            with open(f"/proc/{daemon.pid}/cmdline", "rb") as f:
                self.assert_none(f.read(), "the command line")

    def test_not_dumpable(self):
        """Linux gives the files of such a process to root."""
        if os.geteuid() == 0 and shutil.which("setpriv") is None:
            self.skipTest("there is no setpriv")
        nobody = ["setpriv", "--reuid=65534", "--regid=65534",
                  "--clear-groups"] if os.geteuid() == 0 else []

        class Nobodys(Daemon):
            def command(self):
                return nobody + super().command()

        place = tempfile.mkdtemp(prefix="ddblockd-secrets-")
        self.addCleanup(shutil.rmtree, place)
        daemon = Nobodys(self.config(), env=self.ENVIRONMENT, directory=place)
        self.addCleanup(daemon.close)
        if nobody:
            for path in place, daemon.config:
                os.chown(path, 65534, 65534)
        self.addCleanup(os.umask, os.umask(0))  # of the socket for notices
        daemon.start()
        process = f"/proc/{daemon.pid}"
        with open(f"{process}/status", encoding="ascii") as f:
            uid = next(line.split()[1] for line in f
                       if line.startswith("Uid:"))
        self.assertNotEqual(uid, "0")
        self.assertEqual(os.stat(f"{process}/environ").st_uid, 0)
        # Not even its own user looks into it.
        done = subprocess.run([*nobody, "cat", f"{process}/environ"],
                              check=False, capture_output=True, text=True)
        self.assertIn("Permission denied", done.stderr)
        self.assertEqual(done.stdout, "")


class Rotation(Base):
    """Who has new credentials forgets the old ones."""

    # Prints the next credentials each time, and writes down what it was given.
    PROCESS = """\
import json, os, sys
here = sys.argv[1]
n = len(os.listdir(here + "/asked"))
os.chdir("/proc/self/fd")
fds = [fd for fd in os.listdir() if int(fd) > 2 and os.path.exists(fd)]
with open(f"{here}/asked/{n}", "w") as f:
    f.write("\\0".join(f"{k}={v}" for k, v in os.environ.items()))
    f.write("".join(f"\\0fd {fd} {os.readlink(fd)}" for fd in fds))
with open(f"{here}/credentials") as f:
    found = json.load(f)
print(json.dumps(found[min(n, len(found) - 1)]))
"""

    def setUp(self):
        super().setUp()
        self.place = tempfile.mkdtemp(prefix="ddblockd-secrets-")
        self.addCleanup(shutil.rmtree, self.place)
        os.mkdir(os.path.join(self.place, "asked"))
        self.given = [(planted(f"secret {n}", 40), planted(f"token {n}", 400))
                      for n in range(2)]
        self.write("credentials", json.dumps([
            {"Version": 1, "AccessKeyId": KEY_ID, "SecretAccessKey": secret,
             "SessionToken": token, "Expiration": "2099-01-01T00:00:00Z"}
            for secret, token in self.given]))
        self.write("process.py", self.PROCESS)
        self.write("config", "[default]\nregion = us-east-1\n"
                   f"credential_process = {sys.executable} "
                   f"{self.place}/process.py {self.place}\n")

    def write(self, name, text):
        with open(os.path.join(self.place, name), "w") as f:
            f.write(text)

    def test_old_ones_are_wiped(self):
        old, new = self.given
        refused = self.server.recital = token_escaped

        def until_new(request):
            if request.headers["x-amz-security-token"] == old[1]:
                return refused(request)
            return 400, {"__type": "ThrottlingException", "message": "slow"}

        self.server.recital = until_new
        environment = {name: None for name in os.environ
                       if name.startswith("AWS_")}
        with Daemon(self.config(), env={
                **environment, "AWS_CONFIG_FILE": f"{self.place}/config",
                "AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
                "AWS_EC2_METADATA_DISABLED": "true"}) as daemon:
            # Until requests are signed by the new ones, and by no others.
            with self.server.asked:
                self.assertTrue(self.server.asked.wait_for(
                    lambda: self.server.tokens.count(new[1]) > 2,
                    harness.TIMEOUT_S), daemon.log())
            self.assertEqual({old[1], new[1]}, set(self.server.tokens))
            wait_forgotten(daemon.pid, old, new[0])
            said = daemon.log()
        self.assertEqual(leaks(said.encode(), dict(zip("abcd", old + new))),
                         [])
        for n in range(2):
            with open(f"{self.place}/asked/{n}", encoding="utf-8") as f:
                given = f.read()
            # It may look around as those of the SDKs do, but has nothing open
            # and is told nothing.
            self.assertEqual([v for v in given.split("\0")
                              if v.startswith("fd ")], [])
            self.assertEqual(leaks(given.encode(),
                                   dict(zip("abcd", old + new))), [])


class Search(unittest.TestCase):
    """The search itself finds what it should."""

    def test_finds(self):
        for text in (SECRET, "x" + SECRET[5:30] + "y",
                     json.dumps("a" + TOKEN), urllib.parse.quote(TOKEN),
                     base64.b64encode(b"a:" + SECRET.encode()).decode(),
                     SECRET.encode().hex(), TOKEN.replace("/", "\\/")):
            self.assertNotEqual(leaks(text.encode(), SECRETS), [], text)
        self.assertEqual(leaks(KEY_ID.encode() + SECRET[:8].encode(),
                               SECRETS), [])


if __name__ == "__main__":
    harness.main()
