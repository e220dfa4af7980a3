#!/usr/bin/env python3
"""The templates of contrib/aws are sound, and make what `--init-table` makes.

cfn-lint looks at the one for CloudFormation; that for Terraform is read as HCL.
What they make is compared with the requests that the daemon's program sends.
"""
import http.server
import json
import os
import subprocess
import tempfile
import threading
import unittest

import sdk

import cfnlint.decode
import hcl2
import yaml

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
CONTRIB = os.path.join(TOP, "contrib", "aws")
REGIONS = ["us-east-1", "eu-central-1", "ap-southeast-2"]
DEFAULT = "locks"


def policy():
    """Sid and actions of each statement."""
    with open(os.path.join(CONTRIB, "policy-daemon.json"),
              encoding="utf-8") as f:
        return [(s["Sid"], sorted(s["Action"]))
                for s in json.load(f)["Statement"]]


class Endpoint(http.server.ThreadingHTTPServer):
    """No table at first; then the one that was asked for."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked = {}

    def reply(self, operation, body):
        self.asked[operation] = body
        made = self.asked.get("CreateTable")
        if operation == "DescribeTable" and made is None:
            return 400, {"__type": "x#ResourceNotFoundException"}
        if operation == "DescribeTable":
            return 200, {"Table": dict(made, TableStatus="ACTIVE")}
        if operation == "DescribeTimeToLive":
            ttl = self.asked.get("UpdateTimeToLive")
            return 200, {"TimeToLiveDescription": {
                "TimeToLiveStatus": "ENABLED" if ttl else "DISABLED",
                **({"AttributeName": ttl["TimeToLiveSpecification"]
                    ["AttributeName"]} if ttl else {})}}
        return 200, {}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = json.loads(self.rfile.read(
            int(self.headers["Content-Length"])))
        status, answer = self.server.reply(
            self.headers["X-Amz-Target"].split(".")[1], body)
        data = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/x-amz-json-1.0")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


def asked_for():
    """What --init-table asks for: CreateTable and UpdateTimeToLive."""
    server = Endpoint()
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "ddblockd.conf")
            with open(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), "w",
                      encoding="utf-8") as f:
                f.write("[namespace default]\nstore = dynamodb\n"
                        f"table = {DEFAULT}\nregion = us-east-1\n"
                        f"endpoint = http://127.0.0.1:{server.server_port}\n"
                        "access_key_id = A\nsecret_access_key = S\n")
            subprocess.run([sdk.program("ddblockd"), "-c", path,
                            "--init-table"], check=True, timeout=60,
                           stdout=subprocess.DEVNULL)
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
    return server.asked["CreateTable"], server.asked["UpdateTimeToLive"]


def lint(path):
    done = subprocess.run(
        [os.path.join(os.environ["DDBLOCK_AWS"], "venv/bin/cfn-lint"),
         "--regions", *REGIONS, "--", path], capture_output=True, text=True,
        timeout=120, check=False)
    return done.returncode, done.stdout + done.stderr


class CloudFormation(unittest.TestCase):
    PATH = os.path.join(CONTRIB, "cloudformation.yaml")

    def setUp(self):
        self.template, wrong = cfnlint.decode.decode(self.PATH)
        self.assertFalse(wrong)

    def test_sound(self):
        self.assertEqual(lint(self.PATH), (0, ""))

    def test_unsound_is_noticed(self):
        with open(self.PATH, encoding="utf-8") as f:
            text = f.read().replace("KeyType: HASH", "KeyType: MIDDLE")
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as f:
            f.write(text)
            f.flush()
            status, said = lint(f.name)
        self.assertNotEqual(status, 0)
        self.assertIn("MIDDLE", said)

    def test_table(self):
        create, ttl = asked_for()
        table = self.template["Resources"]["Table"]["Properties"]
        for name in ("KeySchema", "AttributeDefinitions", "BillingMode"):
            self.assertEqual(table[name], create[name], name)
        self.assertEqual(table["TimeToLiveSpecification"],
                         ttl["TimeToLiveSpecification"])
        self.assertEqual(set(create), {"TableName", "KeySchema",
                                       "AttributeDefinitions",
                                       "BillingMode"})
        parameters = self.template["Parameters"]
        self.assertEqual(parameters["TableName"]["Default"], DEFAULT)
        self.assertEqual(table["DeletionProtectionEnabled"],
                         {"Ref": "DeletionProtection"})
        self.assertEqual(table["PointInTimeRecoverySpecification"],
                         {"PointInTimeRecoveryEnabled":
                          {"Ref": "PointInTimeRecovery"}})

    def test_policy(self):
        document = self.template["Resources"]["Policy"]["Properties"][
            "PolicyDocument"]
        self.assertEqual([(s["Sid"], sorted(s["Action"]))
                          for s in document["Statement"]], policy())
        for statement in document["Statement"]:
            self.assertEqual(statement["Resource"],
                             {"Fn::GetAtt": ["Table", "Arn"]})


def bare(value):
    """A literal without its quotes; the parser keeps them."""
    if isinstance(value, str):
        return value.strip('"')
    if isinstance(value, list):
        return [bare(v) for v in value]
    if isinstance(value, dict):
        return {bare(k): bare(v) for k, v in value.items()}
    return value


class Terraform(unittest.TestCase):
    def setUp(self):
        self.blocks = {}
        for name in ("main", "variables", "outputs"):
            path = os.path.join(CONTRIB, "terraform", name + ".tf")
            with open(path, encoding="utf-8") as f:
                for kind, found in bare(hcl2.load(f)).items():
                    self.blocks.setdefault(kind, []).extend(found)

    def resource(self, kind):
        found = [block[kind] for block in self.blocks["resource"]
                 if kind in block]
        self.assertEqual(len(found), 1)
        return next(iter(found[0].values()))

    def test_table(self):
        create, ttl = asked_for()
        table = self.resource("aws_dynamodb_table")
        self.assertEqual(table["billing_mode"], create["BillingMode"])
        self.assertEqual([{"AttributeName": table["hash_key"],
                           "KeyType": "HASH"}], create["KeySchema"])
        self.assertEqual([{"AttributeName": a["name"],
                           "AttributeType": a["type"]}
                          for a in table["attribute"]],
                         create["AttributeDefinitions"])
        self.assertEqual([{"AttributeName": t["attribute_name"],
                           "Enabled": t["enabled"]} for t in table["ttl"]],
                         [ttl["TimeToLiveSpecification"]])
        self.assertEqual(table["deletion_protection_enabled"],
                         "${var.deletion_protection}")
        self.assertEqual(table["point_in_time_recovery"][0]["enabled"],
                         "${var.point_in_time_recovery}")

    def test_variables(self):
        defaults = {name: body["default"]
                    for block in self.blocks["variable"]
                    for name, body in block.items()}
        self.assertEqual(
            {name: defaults[name] for name in defaults if name != "tags"},
            {"table_name": DEFAULT, "deletion_protection": True,
             "point_in_time_recovery": False,
             "principal": "ec2.amazonaws.com"})

    def test_policy(self):
        documents = [block["aws_iam_policy_document"]
                     for block in self.blocks["data"]]
        daemon = next(d["daemon"] for d in documents if "daemon" in d)
        self.assertEqual([(s["sid"], sorted(s["actions"]))
                          for s in daemon["statement"]], policy())
        for statement in daemon["statement"]:
            self.assertEqual(statement["resources"],
                             ["${aws_dynamodb_table.locks.arn}"])


def example(name):
    """The documents in it."""
    with open(os.path.join(CONTRIB, "examples", name), encoding="utf-8") as f:
        return [json.load(f)] if name.endswith(".json") else \
            list(yaml.safe_load_all(f))


class Examples(unittest.TestCase):
    def setUp(self):
        self.task, = example("ecs-task-definition.json")

    def assert_runs(self, args, environment, check, stop_s):
        """What a container of the daemon is told, and how it is asked. Its
        image's entry point names the journal, in a folder of its own."""
        self.assertEqual(environment, {"AWS_REGION": "REGION"})
        done = subprocess.run(
            [sdk.program("ddblockd"), *args, "--check-config"],
            env={"PATH": os.environ["PATH"], "AWS_REGION": "eu-central-1"},
            capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        settings = dict(line.split("\t")[0].split(" = ", 1)
                        for line in done.stdout.splitlines() if " = " in line)
        self.assertEqual(settings["table"], DEFAULT)
        self.assertEqual(check, ["ddblock", "--socket=" + settings["socket"],
                                 "status"])
        self.assertLess(int(settings["stop_wait"].removesuffix("s")), stop_s)
        return os.path.dirname(settings["socket"])

    def test_irsa_trusts_the_service_account(self):
        statement, = example("trust-irsa.json")[0]["Statement"]
        self.assertEqual(statement["Action"], "sts:AssumeRoleWithWebIdentity")
        provider = statement["Principal"]["Federated"].split(
            "oidc-provider/")[1]
        with open(os.path.join(TOP, "contrib", "kubernetes", "ddblockd.yaml"),
                  encoding="utf-8") as f:
            account, = (d for d in yaml.safe_load_all(f)
                        if d["kind"] == "ServiceAccount")
        metadata = account["metadata"]
        self.assertEqual(list(metadata["annotations"]),
                         ["eks.amazonaws.com/role-arn"])
        self.assertEqual(statement["Condition"], {"StringEquals": {
            f"{provider}:aud": "sts.amazonaws.com",
            f"{provider}:sub": "system:serviceaccount:"
            f"{metadata['namespace']}:{metadata['name']}"}})

    def test_ecs(self):
        daemon, worker = self.task["containerDefinitions"]
        kind, *check = daemon["healthCheck"]["command"]
        self.assertEqual(kind, "CMD")
        directory = self.assert_runs(
            daemon["command"],
            {v["name"]: v["value"] for v in daemon["environment"]}, check,
            daemon["stopTimeout"])
        self.assertEqual(daemon["mountPoints"], [{
            "sourceVolume": self.task["volumes"][0]["name"],
            "containerPath": directory}])
        self.assertNotIn("entryPoint", daemon)
        # Who may write there could give the worker another socket.
        mount, = daemon["mountPoints"]
        self.assertEqual(worker["mountPoints"], [{**mount, "readOnly": True}])
        self.assertEqual(worker["dependsOn"], [
            {"containerName": daemon["name"], "condition": "HEALTHY"}])

    def test_the_configuration_is_one(self):
        """It names neither credentials nor a place to find them."""
        path = os.path.join(CONTRIB, "examples", "ddblockd.conf")
        done = subprocess.run(
            [sdk.program("ddblockd"), "-c", path, "--check-config"],
            env={"PATH": os.environ["PATH"], "AWS_REGION": "eu-central-1",
                 "AWS_ACCESS_KEY_ID": "A", "AWS_SECRET_ACCESS_KEY": "S"},
            capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        with open(path, encoding="utf-8") as f:
            self.assertNotIn("_key", f.read())


if __name__ == "__main__":
    sdk.main()
