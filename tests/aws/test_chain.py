#!/usr/bin/env python3
"""Credentials come from where botocore has them from: worlds by chance (files
and environment), in which both are asked.

botocore is run as it is, up to the network and to programs, which are replaced:
what it asks of whom, in which order and signed with which keys, and the keys it
ends up with, are what our plan says. Where the answers may differ, and why, is
DIFFERENCES; beside these, two files of the years before 2013 are not looked at
(AWS_CREDENTIAL_FILE and boto.cfg), which no world here has.

    test_chain.py [SEED]
"""
import atexit
import getpass
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import urllib.parse

# botocore asks for both when it is loaded.
HOME = tempfile.mkdtemp()
atexit.register(shutil.rmtree, HOME)
os.environ["HOME"] = HOME
getpass.getpass = lambda prompt: "123456"

import sdk  # noqa: E402

import botocore.session  # noqa: E402
from botocore import credentials as theirs_credentials  # noqa: E402
from botocore.awsrequest import AWSResponse  # noqa: E402
from botocore.httpsession import URLLib3Session  # noqa: E402
from botocore.loaders import Loader  # noqa: E402

import chain_world  # noqa: E402

SEED = 20130510
CASES = 1000

# What we say, when botocore may say something else; and why it is so.
DIFFERENCES = [
    ("a daemon cannot type a code", "botocore asks for the code on a terminal"),
    ("duration_seconds is not a number",
     "botocore takes what is no number for nothing said, and leaves what is "
     "too much for STS to refuse; a lock daemon tells its administrator"),
    ("there is no access key id", "botocore signs with an empty key"),
]
EMPTY_PROFILE = ("an empty AWS_PROFILE is none to us; to botocore it is one "
                 "of that name, which does not exist")
TOKENS = ("no client of botocore can be made, not even for STS with other "
          "keys, where the profile names an sso-session that is not whole")
V1 = "IMDSv1 must be asked for; botocore falls back to it unless told not to"

EXPECTED_ERRORS = {
    "ConfigParseError", "InvalidConfigError", "PartialCredentialsError",
    "InfiniteLoopConfigError", "ProfileNotFound", "CredentialRetrievalError",
    "InvalidIMDSEndpointError", "InvalidIMDSEndpointModeError", "ValueError",
    "FileNotFoundError", "IndexError", "MissingDependencyException", "nothing",
}

STS = """<{0}Response xmlns="https://sts.amazonaws.com/doc/2011-06-15/">
<{0}Result><Credentials><AccessKeyId>{1}</AccessKeyId>
<SecretAccessKey>sts-secret</SecretAccessKey>
<SessionToken>sts-token</SessionToken>
<Expiration>2099-01-01T00:00:00Z</Expiration></Credentials></{0}Result>
<ResponseMetadata><RequestId>1</RequestId></ResponseMetadata></{0}Response>"""
KEYS = {"AccessKeyId": "{0}KEY", "SecretAccessKey": "{0}-secret",
        "Token": "{0}-token", "Expiration": "2099-01-01T00:00:00Z"}


def keys_of(kind):
    return {k: v.format(kind) for k, v in KEYS.items()}


def key_of_role(arn):
    return "ROLE" + arn.rsplit("/", 1)[1].upper()


class Raw:
    def __init__(self, body):
        self.body = body

    def stream(self, *_args, **_kwargs):
        yield self.body


class Network:
    """All that botocore could reach; what it was asked is in self.log."""

    def __init__(self):
        self.log = []
        self.token_asked = False

    def send(self, session, request):
        url = urllib.parse.urlsplit(request.url)
        host = url.hostname
        if host.startswith("sts."):
            body = self.sts(request)
        elif host.startswith("portal.sso."):
            body = self.sso(request, url)
        elif "latest/" in url.path:
            body = self.metadata(session, request)
        else:
            authorization = request.headers.get("Authorization")
            self.log.append(["container", request.url, _text(authorization)])
            body = json.dumps(keys_of("CONTAINER"))
        return AWSResponse(request.url, 200, {}, Raw(body.encode()))

    def metadata(self, session, request):
        base, path = request.url.split("latest/", 1)
        if request.method == "PUT":
            self.token_asked = True
            return "imds-token"
        assert request.headers["x-aws-ec2-metadata-token"]
        if path.endswith("/"):
            return "role"
        self.log.append(["imds", base.rstrip("/"), session._timeout])
        return json.dumps(keys_of("IMDS"))

    def sts(self, request):
        form = {k: v[0] for k, v in urllib.parse.parse_qs(
            _text(request.body), keep_blank_values=True).items()}
        signed = re.search(r"Credential=([^/]*)/[0-9]+/([^/]*)/",
                           _text(request.headers.get("Authorization", "")))
        name = form["RoleSessionName"]
        if name.startswith("botocore-session-"):
            name = None
        self.log.append([
            form["Action"], form["RoleArn"], name, form.get("ExternalId"),
            form.get("DurationSeconds"), form.get("SerialNumber"),
            form.get("WebIdentityToken"), signed and list(signed.groups()),
            _text(request.headers.get("X-Amz-Security-Token")),
            request.url.rstrip("/")])
        return STS.format(form["Action"], key_of_role(form["RoleArn"]))

    def sso(self, request, url):
        query = urllib.parse.parse_qs(url.query)
        self.log.append(["sso", url.hostname, query["account_id"][0],
                         query["role_name"][0],
                         _text(request.headers["x-amz-sso_bearer_token"])])
        return json.dumps({"roleCredentials": {
            "accessKeyId": "SSOKEY", "secretAccessKey": "SSO-secret",
            "sessionToken": "SSO-token", "expiration": 4070908800000}})

    def popen(self, words, **_pipes):
        if not words:
            raise IndexError("list index out of range")
        self.log.append(["process", words])
        answer = {"Version": 1, "AccessKeyId": "PROCESSKEY",
                  "SecretAccessKey": "PROCESS-secret",
                  "SessionToken": "PROCESS-token"}

        class Process:
            returncode = 0

            @staticmethod
            def communicate():
                return json.dumps(answer).encode(), b""
        return Process


def _text(value):
    return value.decode() if isinstance(value, bytes) else value


class Theirs:
    """botocore in a world."""

    def __init__(self, directory):
        self.directory = directory
        self.loader = Loader()

    def enter(self, case):
        sdk.without_environment()
        os.environ.update(case["environment"])
        for key, variable in (("config", "AWS_CONFIG_FILE"),
                              ("credentials", "AWS_SHARED_CREDENTIALS_FILE")):
            path = os.path.join(self.directory, key)
            with open(path, "w", encoding="utf-8") as f:
                f.write(case[key])
            os.environ[variable] = path
        os.environ["BOTO_CONFIG"] = os.path.join(self.directory, "none")

    def ask(self, case):
        """What it does and gets: {"log", "keys", ...}, or {"error"}."""
        self.enter(case)
        network = Network()
        URLLib3Session.send = lambda session, request: network.send(
            session, request)
        theirs_credentials.ProcessProvider.__init__.__defaults__ = (
            network.popen,)
        session = botocore.session.Session(
            profile=case["settings"].get("profile"))
        session.register_component("data_loader", self.loader)
        try:
            resolver = theirs_credentials.create_credential_resolver(session)
            fetcher = resolver.providers[-1]._role_fetcher
            found = resolver.load_credentials()
            if found is None:
                return {"error": "nothing", "text": ""}
            keys = found.get_frozen_credentials()
        except Exception as e:  # whatever it is, it is an answer
            return {"error": type(e).__name__, "text": str(e)}
        return {"log": network.log, "method": found.method,
                "keys": [keys.access_key, keys.secret_key, keys.token or None],
                "account_id": keys.account_id,
                "attempts": fetcher._num_attempts,
                "v1_disabled": fetcher._imds_v1_disabled}


# ---- what our plan comes to ----

def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def role_event(action, role, url, token=None, signer=None):
    duration = role["duration_s"]
    return [action, role["role_arn"], role.get("session_name"),
            role.get("external_id"), str(duration) if duration else None, None,
            token, signer and [signer[0], "eu-central-1"],
            signer and signer[2], url]


def carried_out(ours):
    """The same as Theirs.ask() has, of our plan."""
    source, sts = ours["source"], ours["urls"]["sts"]
    kind, log = source["kind"], []
    keys = [source.get("access_key_id"), source.get("secret_access_key"),
            source.get("session_token")]
    if kind == "process":
        if not source["words"]:
            raise ValueError("no command")
        log.append(["process", source["words"]])
    elif kind == "container":
        token = source.get("token")
        if "token_file" in source:
            token = read(source["token_file"])
        log.append(["container", source["url"], token])
    elif kind == "imds":
        log.append(["imds", source["url"], source["timeout_ms"] / 1000])
    elif kind == "sso":
        name = source.get("sso_session") or source["sso_start_url"]
        log.append(["sso",
                    f"portal.sso.{source['sso_region']}.amazonaws.com",
                    source["account_id"], source["sso_role_name"],
                    f"token for {name}"])
    elif kind == "web_identity":
        log.append(role_event("AssumeRoleWithWebIdentity", source["role"], sts,
                              token=read(source["token_file"])))
        keys = [key_of_role(source["role"]["role_arn"]), "sts-secret",
                "sts-token"]
    if kind in ("process", "container", "imds", "sso"):
        keys = [v.format(kind.upper()) for v in list(KEYS.values())[:3]]
    for role in ours["roles"]:
        log.append(role_event("AssumeRole", role, sts, signer=keys))
        keys = [key_of_role(role["role_arn"]), "sts-secret", "sts-token"]
    return log, keys


class ChainTest(unittest.TestCase):
    seed = SEED

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = directory.name
        chain_world.write_files(self.directory)

    def test_as_botocore_has_them(self):
        world = chain_world.World(random.Random(self.seed), self.directory)
        theirs = Theirs(self.directory)
        cases = [world.next() for _ in range(CASES)]
        out = subprocess.run(
            [sdk.program("aws_endpoints")], check=True, text=True,
            input="".join(json.dumps(case) + "\n" for case in cases),
            stdout=subprocess.PIPE).stdout.split("\n")[:-1]
        self.assertEqual(len(out), CASES)
        self.found, self.refused, self.differences = {}, {}, {}
        self.several = 0  # plans of more than one role
        for number, (case, line) in enumerate(zip(cases, out)):
            self.case = case
            self.compare(json.loads(line), theirs.ask(case),
                         f"seed {self.seed}, case {number}: "
                         f"{json.dumps(case)}\n")
        for name in ("found", "refused", "differences"):
            print(f"{name}: {getattr(self, name)}")
        print(f"through several roles: {self.several}")
        self.assertGreater(sum(self.found.values()), CASES / 4)
        # Each place was the one, and after the others, and in front of roles.
        self.assertGreaterEqual(len(self.found), 13, self.found)
        self.assertGreater(self.several, 20)
        self.assertLessEqual(set(self.refused), EXPECTED_ERRORS)

    def count(self, counts, what):
        counts[what] = counts.get(what, 0) + 1

    def compare(self, ours, theirs, where):
        where += f"theirs {theirs}\nours {ours}"
        if self.is_difference(ours, theirs, where):
            return
        if "error" in theirs or "error" in ours:
            self.assertIn("error", theirs, where)
            self.assert_refused(ours, where)
            self.count(self.refused, theirs["error"])
            return
        log, keys = carried_out(ours)
        self.assertEqual(log, theirs["log"], where)
        self.assertEqual(keys, theirs["keys"], where)
        self.several += len(ours["roles"]) > 1
        kind = ours["source"]["kind"]
        if not ours["roles"] and kind not in ("web_identity", "sso"):
            self.assertEqual(ours["source"].get("account_id"),
                             theirs["account_id"], where)
        if kind == "imds":
            self.assertEqual(ours["source"]["attempts_max"],
                             theirs["attempts"], where)
            self.compare_v1(ours, theirs, where)
        self.count(self.found, f"{theirs['method']} by {kind}"
                   if ours["roles"] else theirs["method"])

    def assert_refused(self, ours, where):
        """Some things are found out when the plan is carried out."""
        if "error" in ours:
            return
        with self.assertRaises((FileNotFoundError, ValueError), msg=where):
            carried_out(ours)

    def compare_v1(self, ours, theirs, where):
        if ours["source"]["v1_allowed"]:
            self.assertFalse(theirs["v1_disabled"], where)
        elif not theirs["v1_disabled"]:
            self.count(self.differences, V1)

    def is_difference(self, ours, theirs, where):
        environment = self.case["environment"]
        if environment.get("AWS_PROFILE") == "" and theirs.get("error") == \
                "ProfileNotFound" and "()" in theirs["text"]:
            self.count(self.differences, EMPTY_PROFILE)
            return True
        if "error" not in ours and \
                "to use the SSO token provider but" in theirs.get("text", ""):
            self.count(self.differences, TOKENS)
            return True
        for text, reason in DIFFERENCES:
            if text in ours.get("error", ""):
                if "error" not in theirs:
                    self.count(self.differences, reason)
                return True
        return False


if __name__ == "__main__":
    sdk.without_environment()
    chain_world.write_sso_tokens(os.path.join(HOME, ".aws/sso/cache"))
    if len(sys.argv) > 1 and sys.argv[1].isdigit():
        ChainTest.seed = int(sys.argv.pop(1))
    sdk.main()
