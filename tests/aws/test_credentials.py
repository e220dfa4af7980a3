#!/usr/bin/env python3
"""The real daemon gets its credentials from each source, and renews them.

A strict fake of AWS gives credentials that last for seconds; DynamoDB Local is
behind a proxy that accepts only what was given and is not over. The daemon
holds a lock through several generations of credentials; then the source is out
of order until they are over, and comes back.
"""
import ctypes
import http.client
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import unittest
import urllib.parse

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "integration"))

# pylint: disable=wrong-import-position
import harness                                          # noqa: E402
from fake_aws import ACCOUNT, EXTERNAL_ID, KEYS, web_token  # noqa: E402
from fake_aws_server import SOMEBODY, Cloud             # noqa: E402
from harness import Client, Daemon                      # noqa: E402
from planted import (all_at_once, leaks, talk,          # noqa: E402
                     wait_forgotten)

LIFE_S = 12
METADATA = "fd00:ec2::254"
CLONE_NEWNET = 0x40000000
GENERATIONS = 3
SSO_SESSION = "d033e22ae348aeb5660fc2140aec35850c4da997"    # "admin"
ROLE = "arn:aws:iam::123456789012:role/one"
PROCESS = """#!/usr/bin/env python3
import urllib.request
print(urllib.request.urlopen({url!r}).read().decode())
"""


def create_table(name):
    url = urllib.parse.urlparse(harness.endpoint())
    connection = http.client.HTTPConnection(url.hostname, url.port, timeout=60)
    connection.request("POST", "/", json.dumps({
        "TableName": name, "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [{"AttributeName": "key",
                                  "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "key", "KeyType": "HASH"}]}), {
            "X-Amz-Target": "DynamoDB_20120810.CreateTable",
            "Content-Type": "application/x-amz-json-1.0",
            "Authorization": SOMEBODY})
    answer = connection.getresponse()
    text = answer.read()
    connection.close()
    if answer.status != 200:
        raise AssertionError(text)


def alone():
    """The command before one that gets a network of its own."""
    command = ["unshare", "--net"] + (
        ["--map-root-user"] if os.geteuid() != 0 else [])
    if not shutil.which("ip") or not shutil.which("unshare") or \
            subprocess.run([*command, "ip", "link", "set", "lo", "up"],
                           check=False, capture_output=True).returncode:
        raise unittest.SkipTest("unshare --net does not work here")
    return command


def listen_beside(pid, host, port):
    """A socket that listens in the network of a process: a thread goes there
    for it."""
    made = []

    def listen():
        libc = ctypes.CDLL(None, use_errno=True)
        with open(f"/proc/{pid}/ns/net", "rb") as network:
            if libc.setns(network.fileno(), CLONE_NEWNET) == 0:
                made.append(socket.create_server(
                    (host, port), family=socket.AF_INET6))
    thread = threading.Thread(target=listen)
    thread.start()
    thread.join()
    if not made:
        raise unittest.SkipTest("the other network cannot be entered")
    return made[0]


class Place:
    """A host's files and environment for one source."""
    def __init__(self, cloud, directory):
        self.cloud = cloud
        self.aws = cloud.aws
        self.home = directory
        self.environment = {
            "HOME": directory,
            "AWS_REGION": "eu-central-1",
            "AWS_EC2_METADATA_SERVICE_ENDPOINT": cloud.urls["imds"],
            "AWS_ENDPOINT_URL_STS": cloud.urls["sts"],
            "AWS_ENDPOINT_URL_SSO": cloud.urls["portal"],
            "AWS_ENDPOINT_URL_SSO_OIDC": cloud.urls["oidc"],
        }

    def write(self, path, text):
        path = os.path.join(self.home, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        # As kubelet and the AWS CLI do it, at one stroke.
        with open(path + ".new", "w", encoding="utf-8") as f:
            f.write(text)
        os.rename(path + ".new", path)
        return path

    def config(self, text):
        self.environment["AWS_CONFIG_FILE"] = self.write("config", text)


def imds(place):
    place.aws.rotate_before = LIFE_S / 2
    del place.environment["AWS_REGION"]
    return "imds"


def container(place):
    token = place.aws.text(60)
    place.aws.container_tokens = [token]
    place.environment["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = \
        place.cloud.urls["container"] + place.aws.container_path
    place.environment["AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"] = \
        place.write("token", token)
    return "container"


def web_identity(place):
    place.environment["AWS_WEB_IDENTITY_TOKEN_FILE"] = \
        place.write("token", web_token(place.aws, 3600))
    place.environment["AWS_ROLE_ARN"] = ROLE
    place.environment["AWS_ROLE_SESSION_NAME"] = "pod"
    place.aws.session_name = "pod"
    return "sts"


def role(place):
    place.aws.external_id = EXTERNAL_ID
    place.config("[default]\n"
                 f"role_arn = {ROLE}\nsource_profile = keys\n"
                 f"external_id = {EXTERNAL_ID}\n"
                 "[profile keys]\n"
                 f"aws_access_key_id = {KEYS[0]}\n"
                 f"aws_secret_access_key = {KEYS[1]}\n")
    return "sts"


def process(place):
    path = place.write("get keys", PROCESS.format(
        url=place.cloud.urls["process"]))
    os.chmod(path, 0o700)
    place.config(f"[default]\ncredential_process = \"{path}\"\n")
    return "process"


def sso(place):
    place.aws.sso_life = 3600
    place.write(f".aws/sso/cache/{SSO_SESSION}.json",
                place.aws.login(life=60))
    place.config("[default]\nsso_session = admin\n"
                 f"sso_account_id = {ACCOUNT}\nsso_role_name = Locks\n"
                 "[sso-session admin]\nsso_region = eu-west-3\n"
                 "sso_start_url = https://x.awsapps.com/start\n")
    return "portal"


SOURCES = {"imds": imds, "container": container, "process": process,
           "web-identity": web_identity, "profile": role, "sso": sso}


def config(cloud, table):
    # An address that is this host and not loopback: for an endpoint there
    # nobody would be asked for a region.
    endpoint = cloud.urls["dynamodb"].replace("127.0.0.1", "0.0.0.0")
    return ("[namespace default]\nstore = dynamodb\n"
            f"table = {table}\nlease = 60s\nheartbeat = 4s\n"
            f"endpoint = {endpoint}\nallow_plain_http = yes\n")


def status_of(client):
    return next(row.arguments for row in client.call("STATUS").rows
                if "credentials" in row.arguments)


class Sources(unittest.TestCase):
    def through(self, name):
        """A hold through generations of credentials, an outage, the end."""
        table = f"credentials-{os.getpid()}-{name}"
        create_table(table)
        with tempfile.TemporaryDirectory() as home, \
                Cloud(harness.endpoint()) as cloud:
            cloud.aws.life = dict.fromkeys(cloud.aws.life, LIFE_S)
            place = Place(cloud, home)
            service = SOURCES[name](place)
            environment = {v: None for v in os.environ
                           if v.startswith("AWS_")}
            environment.update(place.environment)
            with Daemon(config(cloud, table), env=environment) as daemon, \
                    Client(daemon) as client:
                self.live(name, service, cloud, client)
            self.assertEqual(cloud.aws.problems, [])
        return len(cloud.accepted)

    def live(self, name, service, cloud, client):
        grant = client.acquire("jobs/nightly")
        self.assertTrue(grant.ok, grant)
        cloud.wait(lambda: len(cloud.accepted) >= GENERATIONS)
        status = status_of(client)
        self.assertEqual(status["credentials_source"], name)
        self.assertEqual(status["region"], "eu-central-1")
        self.assertEqual(status["credentials"], "ok")
        # Nothing new, until what there is is over and not accepted.
        with cloud.lock:
            cloud.fault[service] = "500"
        cloud.wait(lambda: cloud.refused > 0)
        status = status_of(client)
        self.assertEqual(status["credentials"], "stale")
        self.assertTrue(status["credentials_failure"])
        with cloud.lock:
            del cloud.fault[service]
            before = len(cloud.accepted)
        cloud.wait(lambda: len(cloud.accepted) > before)
        # It is still ours: an outage shorter than the lease loses nothing.
        self.assertTrue(client.release(grant).ok)

    def test_sources(self):
        def one(name):
            self.assertGreater(self.through(name), GENERATIONS)
        all_at_once(self, SOURCES, one)


class Host(unittest.TestCase):
    """What a host has that is in no variable of the SDKs'."""

    def setUp(self):
        home = tempfile.TemporaryDirectory()
        self.addCleanup(home.cleanup)
        self.cloud = Cloud(harness.endpoint())
        self.addCleanup(self.cloud.__exit__)
        self.place = Place(self.cloud, home.name)
        self.environment = {v: None for v in os.environ
                            if v.startswith("AWS_")}
        self.environment["HOME"] = home.name
        self.table = f"credentials-{os.getpid()}-{self.id().split('.')[-1]}"

    def daemon(self, kind=Daemon):
        return kind(config(self.cloud, self.table), env=self.environment)

    def keys(self, made):
        """The file as systemd makes it: there is never half of one."""
        path = self.place.write(
            "run/aws_credentials",
            f"[default]\naws_access_key_id = {made.access_key_id}\n"
            f"aws_secret_access_key = {made.secret}\n"
            f"aws_session_token = {made.token}\n")
        os.chmod(path, 0o400)

    def test_systemd_credentials(self):
        """LoadCredential=aws_credentials and aws_config; and others of them
        when the first are over."""
        aws = self.cloud.aws
        old, new = (aws.issue("process", "host") for _ in range(2))
        self.keys(old)
        self.place.write("run/aws_config",
                         "[default]\nregion = eu-central-1\n")
        # The home directory is asked after systemd's.
        self.place.write(".aws/credentials", "[default]\n"
                         "aws_access_key_id = AKIAOTHER\n"
                         "aws_secret_access_key = none\n")
        self.place.write(".aws/config", "[default]\nregion = eu-west-9\n")
        self.environment["CREDENTIALS_DIRECTORY"] = f"{self.place.home}/run"
        create_table(self.table)
        with self.daemon() as daemon, Client(daemon) as client:
            grant = client.acquire("jobs/nightly")
            self.assertTrue(grant.ok, grant)
            self.assertEqual(self.cloud.accepted, [old.access_key_id])
            status = status_of(client)
            self.assertEqual(status["credentials_source"], "profile")
            self.assertEqual(status["region"], "eu-central-1")
            with self.cloud.lock:
                self.keys(new)
                old.expires = 0
            # The next heartbeat is refused, and then the file is read again.
            self.cloud.wait(lambda: len(self.cloud.accepted) > 1)
            self.assertEqual(self.cloud.accepted[1], new.access_key_id)
            wait_forgotten(daemon.pid, [old.secret, old.token], new.secret)
            told = talk(daemon)
            self.assertTrue(client.release(grant).ok)
            said = told + daemon.log().encode()
        self.assertEqual(leaks(said, {k: v for m in (old, new) for k, v in (
            (m.secret, m.secret), (m.token, m.token))}), [])
        self.assertEqual(aws.problems, [])

    def test_metadata_on_ipv6(self):
        """Keys and region, from an address that was named."""
        listening = socket.create_server(("::1", 0),
                                         family=socket.AF_INET6)
        self.cloud.move("imds", listening)
        self.environment["AWS_EC2_METADATA_SERVICE_ENDPOINT"] = \
            f"http://[::1]:{listening.getsockname()[1]}/"
        create_table(self.table)
        with self.daemon() as daemon, Client(daemon) as client:
            grant = client.acquire("jobs/nightly")
            self.assertTrue(grant.ok, grant)
            status = status_of(client)
            self.assertEqual(status["credentials_source"], "imds")
            self.assertEqual(status["region"], "eu-central-1")
            self.assertTrue(client.release(grant).ok)
        self.assertEqual(self.cloud.aws.problems, [])

    def test_metadata_at_its_ipv6_address(self):
        """The address that AWS has for it, in a network of our own."""
        class Alone(Daemon):
            def command(self):
                return [*alone(), "sh", "-c", "ip link set lo up && "
                        f"ip -6 addr add {METADATA}/128 dev lo nodad && "
                        "exec \"$@\"", "sh", *super().command()]

        self.environment["AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE"] = "IPv6"
        with self.daemon(Alone) as daemon, Client(daemon) as client:
            self.cloud.move("imds", listen_beside(daemon.pid, METADATA, 80))
            daemon.wait_log("AWS credentials: the instance's metadata; "
                            "region eu-central-1")
            status = status_of(client)
            self.assertEqual(status["credentials_source"], "imds")
            self.assertEqual(status["region"], "eu-central-1")
            self.assertEqual(status["credentials"], "ok")
        self.assertEqual(self.cloud.aws.problems, [])


if __name__ == "__main__":
    harness.main(dynamodb=True)
