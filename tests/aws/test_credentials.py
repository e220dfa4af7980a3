#!/usr/bin/env python3
"""The real daemon gets its credentials from each source, and renews them.

A strict fake of AWS gives credentials that last for seconds; DynamoDB Local is
behind a proxy that accepts only what was given and is not over. The daemon
holds a lock through several generations of credentials; then the source is out
of order until they are over, and comes back.
"""
import http.client
import json
import os
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

LIFE_S = 12
GENERATIONS = 3
SSO_SESSION = "d033e22ae348aeb5660fc2140aec35850c4da997"    # "admin"
ROLE = "arn:aws:iam::123456789012:role/one"
PROCESS = """#!/usr/bin/env python3
import urllib.request
print(urllib.request.urlopen({url!r}).read().decode())
"""


def create_table(name):
    url = urllib.parse.urlparse(os.environ["AWS_ENDPOINT_URL_DYNAMODB"])
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
    token = "token-of-the-pod"
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


class Sources(unittest.TestCase):
    def through(self, name):
        """A hold through generations of credentials, an outage, the end."""
        table = f"credentials-{os.getpid()}-{name}"
        create_table(table)
        with tempfile.TemporaryDirectory() as home, \
                Cloud(os.environ["AWS_ENDPOINT_URL_DYNAMODB"]) as cloud:
            cloud.aws.life = dict.fromkeys(cloud.aws.life, LIFE_S)
            place = Place(cloud, home)
            service = SOURCES[name](place)
            environment = {v: None for v in os.environ
                           if v.startswith("AWS_")}
            environment.update(place.environment)
            # An address that is this host and not loopback: for an endpoint
            # there nobody would be asked for a region.
            endpoint = cloud.urls["dynamodb"].replace("127.0.0.1", "0.0.0.0")
            config = ("[namespace default]\nstore = dynamodb\n"
                      f"table = {table}\nlease = 60s\nheartbeat = 4s\n"
                      f"endpoint = {endpoint}\nallow_plain_http = yes\n")
            with Daemon(config, env=environment) as daemon, \
                    Client(daemon) as client:
                self.live(name, service, cloud, client)
            self.assertEqual(cloud.aws.problems, [])
        return len(cloud.accepted)

    def live(self, name, service, cloud, client):
        grant = client.acquire("jobs/nightly")
        self.assertTrue(grant.ok, grant)
        cloud.wait(lambda: len(cloud.accepted) >= GENERATIONS)
        status = self.status(client)
        self.assertEqual(status["credentials_source"], name)
        self.assertEqual(status["region"], "eu-central-1")
        self.assertEqual(status["credentials"], "ok")
        # Nothing new, until what there is is over and not accepted.
        with cloud.lock:
            cloud.fault[service] = "500"
        cloud.wait(lambda: cloud.refused > 0)
        status = self.status(client)
        self.assertEqual(status["credentials"], "stale")
        self.assertTrue(status["credentials_failure"])
        with cloud.lock:
            del cloud.fault[service]
            before = len(cloud.accepted)
        cloud.wait(lambda: len(cloud.accepted) > before)
        # It is still ours: an outage shorter than the lease loses nothing.
        self.assertTrue(client.release(grant).ok)

    def status(self, client):
        return next(row.arguments for row in client.call("STATUS").rows
                    if "credentials" in row.arguments)

    def test_sources(self):
        """All at once, as each spends its time waiting."""
        failed = {}

        def one(name):
            try:
                self.assertGreater(self.through(name), GENERATIONS)
            except BaseException as e:      # of a thread nobody hears
                failed[name] = e
        threads = [threading.Thread(target=one, args=(n,)) for n in SOURCES]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for name, error in failed.items():
            with self.subTest(source=name):
                raise error


if __name__ == "__main__":
    harness.main(dynamodb=True)
