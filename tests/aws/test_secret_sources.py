#!/usr/bin/env python3
"""Secrets of every place that credentials come from appear nowhere.

The strict fake of AWS gives them, and then turns hostile: a service that is
sent a secret (a token for the container's endpoint, of the instance's metadata,
of SSO or of a cluster, a session token with a signature) recites it in errors
of every form, together with the keys it gave before. All that the daemon then
writes and says is searched; and when there are new credentials, its memory for
the old ones.
"""
import json
import os
import re
import socket
import sys
import tempfile
import time
import unittest
import urllib.parse
from xml.sax.saxutils import escape

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, os.pardir, "integration"))

# pylint: disable=wrong-import-position
import certificates                                     # noqa: E402
import harness                                          # noqa: E402
from fake_aws import web_token                          # noqa: E402
from fake_aws_server import Cloud                       # noqa: E402
from harness import Daemon                              # noqa: E402
from planted import (Journalled, all_at_once, leaks,    # noqa: E402
                     talk, wait_forgotten)
from test_credentials import ROLE, SOURCES, Place       # noqa: E402

LIFE_S = 8
THROTTLED = json.dumps({
    "__type": "com.amazonaws.dynamodb.v20120810#ThrottlingException",
    "message": "slow down"})


# ---- how a secret is recited --------------------------------------------
#
# Each gets the secrets, and gives a status and a body: bytes for all of the
# answer, as they go over the wire.

def in_json(secrets):
    text = "the token " + " ".join(secrets) + " is not known"
    return 403, json.dumps({"Code": "AccessDenied", "code": "AccessDenied",
                            "Message": text, "message": text})


def as_code(secrets):
    return 400, json.dumps({"Code": secrets[0], "Message": secrets[-1]})


def escaped(secrets):
    """Each character by its number."""
    return 403, '{"message":"%s"}' % "".join(
        f"\\u{ord(c):04x}" for c in " ".join(secrets))


def in_xml(secrets):
    return 403, ("<ErrorResponse><Error><Code>AccessDenied</Code><Message>"
                 f"{escape(' '.join(secrets))} is not known</Message></Error>"
                 "</ErrorResponse>")


def as_xml_code(secrets):
    return 400, (f"<ErrorResponse><Error><Code>{escape(secrets[0])}</Code>"
                 f"<Message>{''.join(f'&#{ord(c)};' for c in secrets[-1])}"
                 "</Message></Error></ErrorResponse>")


def cut_short(secrets):
    """Where the text is as long as it can be shown, amid a secret."""
    return 403, json.dumps({"message": "x" * 130 + secrets[0]})


def quoted(secrets):
    return 400, json.dumps({"message": urllib.parse.quote(
        " ".join(secrets), safe="")})


def in_html(secrets):
    return 502, " ".join(secrets) + "<html>"


def as_success(secrets):
    return 200, " ".join(secrets)


def as_credentials(secrets):
    return 200, json.dumps({"Code": "Failed", "Message": " ".join(secrets),
                            "Expiration": secrets[0]})


def no_http(secrets):
    return None, secrets[0].encode() + b"\r\n\r\n"


def bad_header(secrets):
    return None, (b"HTTP/1.1 200 OK\r\nContent-Length: "
                  + secrets[0].encode() + b"\r\n\r\n")


def bad_status(secrets):
    return None, b"HTTP/1.1 " + secrets[0].encode() + b" OK\r\n\r\n"


def moved(secrets):
    return None, (b"HTTP/1.1 301 Moved\r\nLocation: http://127.0.0.1:1/"
                  + secrets[0].encode() + b"\r\nContent-Length: 0\r\n\r\n")


RECITALS = [in_json, as_code, escaped, in_xml, as_xml_code, cut_short, quoted,
            in_html, as_success, as_credentials, no_http, bad_header,
            bad_status, moved]


class Reciter(Cloud):
    """The fake behind servers; and a DynamoDB that never has the time."""

    def __init__(self):
        super().__init__("http://127.0.0.1:1")
        self.recital = None
        self.recited = 0
        self.sent = set()       # secrets that came with requests

    def secrets_of(self, request, service):
        """What came with a request, in the form it has without quoting."""
        names = ("authorization", "x-aws-ec2-metadata-token",
                 "x-amz-sso_bearer_token", "x-amz-security-token")
        values = [request.headers[n] for n in names if n in request.headers]
        if service == "sts":
            form = dict(urllib.parse.parse_qsl(request.body.decode()))
            values += [form[n] for n in ("WebIdentityToken",) if n in form]
            values = [v for v in values if not v.startswith("AWS4-")]
        if service == "oidc":
            asked = json.loads(request.body)
            values += [asked["clientSecret"], asked["refreshToken"]]
        return values

    def answer(self, request, service):
        if service == "dynamodb":
            return self.throttle(request)
        answer = super().answer(request, service)
        with self.lock:
            secrets = self.secrets_of(request, service)
            self.sent.update(secrets)
            if self.recital is None or not secrets:
                return answer
            self.recited += 1
            self.lock.notify_all()
            before = [self.aws.issued[i] for i in self.accepted[-1:]]
            return self.recital(secrets + [
                t for made in before for t in (made.secret, made.token)])

    def throttle(self, request):
        found = re.search("Credential=([^/]+)/",
                          request.headers["authorization"])
        with self.lock:
            if found[1] not in self.accepted[-1:]:
                self.accepted.append(found[1])
            self.lock.notify_all()
        return 400, THROTTLED

    def client_secrets(self):
        return {c["clientSecret"] for c in self.aws.sso_refresh.values()}

    def planted(self):
        """All that must be nowhere."""
        with self.lock:
            aws = self.aws
            values = {*aws.imds_given, *aws.container_tokens,
                      *aws.web_tokens, *aws.sso_tokens, *aws.sso_refresh,
                      *self.sent}
            values.update(self.client_secrets())
            for made in aws.issued.values():
                values.update({made.secret, made.token} - {None})
        return dict(enumerate(values))


# ---- where credentials come from ----------------------------------------

def container_environment(place):
    """The token in the environment, and not in a file."""
    service = SOURCES["container"](place)
    del place.environment["AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"]
    place.environment["AWS_CONTAINER_AUTHORIZATION_TOKEN"] = \
        place.aws.container_tokens[0]
    return service


def role(place):
    """Assumed by keys that are temporary themselves."""
    made = place.aws.issue("process", "user")
    place.config(f"[default]\nrole_arn = {ROLE}\nsource_profile = keys\n"
                 "[profile keys]\n"
                 f"aws_access_key_id = {made.access_key_id}\n"
                 f"aws_secret_access_key = {made.secret}\n"
                 f"aws_session_token = {made.token}\n")
    return "sts"


def web_identity_over_tls(place):
    """What libcurl and libssl had is theirs to forget as well."""
    certificates.make(place.home, "localhost")
    context = certificates.contexts(place.home)["good"]
    listening = socket.create_server(("127.0.0.1", 0))
    place.environment["AWS_ENDPOINT_URL_STS"] = \
        f"https://localhost:{listening.getsockname()[1]}"
    place.environment["AWS_CA_BUNDLE"] = os.path.join(place.home, "ca.pem")
    place.cloud.move("sts", context.wrap_socket(listening, server_side=True))
    return SOURCES["web-identity"](place)


PLACES = {**SOURCES, "container-environment": container_environment,
          "profile": role, "web-identity-over-tls": web_identity_over_tls}
STS = ("profile", "web-identity", "web-identity-over-tls")
ASKED = [name for name in PLACES
         if name not in ("process", "web-identity-over-tls")]


class Base(unittest.TestCase):
    def begin(self, name):
        """A host with such a source, and the environment of its daemon."""
        cloud = Reciter()
        self.addCleanup(cloud.__exit__)
        home = tempfile.TemporaryDirectory()
        self.addCleanup(home.cleanup)
        place = Place(cloud, home.name)
        PLACES[name](place)
        environment = {v: None for v in os.environ if v.startswith("AWS_")}
        environment.update(place.environment)
        return cloud, place, environment

    def config(self, cloud):
        # An address that is this host and not loopback: for an endpoint
        # there nobody would be asked for a region.
        endpoint = cloud.urls["dynamodb"].replace("127.0.0.1", "0.0.0.0")
        return ("[namespace default]\nstore = dynamodb\ntable = secrets\n"
                f"endpoint = {endpoint}\nallow_plain_http = yes\n"
                "request_timeout = 200ms\n")

    def assert_none(self, cloud, text, where):
        secrets = cloud.planted()
        self.assertTrue(secrets)
        self.assertEqual(leaks(text, secrets), [], where)


class Refusals(Base):
    """From the beginning nobody gives anything but recitals."""

    def refused(self, name, recital, kind=Daemon, log="stderr"):
        cloud, _, environment = self.begin(name)
        cloud.recital = recital
        with kind(self.config(cloud), env=environment,
                  args=[f"--log={log}"]) as daemon:
            if kind is Journalled:
                self.addCleanup(daemon.entries.close)
            cloud.wait(lambda: cloud.recited > 0)
            end = time.monotonic() + harness.TIMEOUT_S
            while b"no AWS credentials" not in self.log(daemon):
                self.assertLess(time.monotonic(), end, self.log(daemon))
            told = talk(daemon, *[["check"]] * (recital is in_json))
            with open(f"/proc/{daemon.pid}/cmdline", "rb") as f:
                told += f.read()
            self.assert_none(cloud, told, (name, recital, "told"))
            # It says what it was told, but for the secrets.
            if recital in (in_json, in_xml) and b"AccessDenied" in told:
                self.assertIn(b"*** is not known", told)
            log = self.log(daemon)
            self.assert_none(cloud, log, (name, recital, "log"))
        return told + log

    @staticmethod
    def log(daemon):
        return daemon.log().encode() + (
            daemon.read_journal() if isinstance(daemon, Journalled) else b"")

    def test_sources(self):
        def one(name):
            told = b"".join(
                self.refused(name, recital, log=("stderr", "json")[i % 2])
                for i, recital in enumerate(RECITALS))
            self.assertIn(b"AccessDenied", told)
        all_at_once(self, ASKED, one)

    def test_journal(self):
        told = self.refused("container", in_json, Journalled, "journal")
        self.assertIn(b"AccessDenied", told)


class Rotation(Base):
    """Who has new credentials forgets the old ones."""

    def renew(self, name, cloud, place):
        """What vouches for it is another: (the old, that is over)."""
        aws = cloud.aws
        with cloud.lock:
            if name == "container":
                old = list(aws.container_tokens)
                aws.container_tokens.append(aws.text(60))
                place.write("token", aws.container_tokens[-1])
                return old
            if name.startswith("web-identity"):
                old = list(aws.web_tokens)
                place.write("token", web_token(aws, 3600))
                return old
            if name == "sso":   # it was renewed at once
                return [list(aws.sso_tokens)[0],
                        *cloud.sent - set(aws.sso_tokens)
                        - set(aws.sso_refresh) - cloud.client_secrets()]
        return []

    def rotates(self, name):
        cloud, place, environment = self.begin(name)
        cloud.aws.life = dict.fromkeys(cloud.aws.life, LIFE_S)
        with Daemon(self.config(cloud), env=environment) as daemon:
            cloud.wait(lambda: cloud.accepted)
            # A file that is read each time is not kept in between.
            if name == "container" or name.startswith("web-identity"):
                wait_forgotten(daemon.pid, list(cloud.sent),
                               cloud.aws.issued[cloud.accepted[-1]].secret)
            old = self.renew(name, cloud, place)
            self.assertEqual(len(old), {
                "container": 1, "web-identity": 1, "web-identity-over-tls": 1,
                "sso": 2}.get(name, 0))
            cloud.wait(lambda: len(cloud.accepted) > 1)
            # Nothing else is given any more.
            cloud.recital = in_xml if name in STS else in_json
            first = cloud.aws.issued[cloud.accepted[0]]
            wait_forgotten(daemon.pid, [first.secret, first.token, *old],
                           cloud.aws.issued[cloud.accepted[-1]].secret)
            told = b""
            if name != "process":
                log = daemon.wait_log("could not be renewed: ")
                self.assertIn("AccessDenied: ", log)
                self.assertIn("*** is not known", log)
                told = talk(daemon)
                self.assertIn(b"*** is not known", told)
            self.assert_none(cloud, told, name)
            self.assert_none(cloud, daemon.log().encode(), name)

    def test_sources(self):
        all_at_once(self, PLACES, self.rotates)


if __name__ == "__main__":
    harness.main()
