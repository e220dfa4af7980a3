#!/usr/bin/env python3
"""Endpoints are those that botocore's rules give: in every region it knows, for
every service we ask, with and without FIPS and dual stack, for accounts; and
what decides about them is found where a client of botocore finds it.

    test_endpoints.py [SEED]
"""
import itertools
import json
import os
import random
import subprocess
import sys
import tempfile
import unittest

import sdk

import botocore.session
from botocore import UNSIGNED
from botocore.config import Config
from botocore.endpoint_provider import EndpointProvider
from botocore.exceptions import (BotoCoreError, InvalidConfigError,
                                 NoRegionError)
from botocore.loaders import Loader

SEED = 20120810
SETTINGS_CASES = 300
SERVICES = {"dynamodb": "dynamodb", "sts": "sts", "sso": "sso",
            "oidc": "sso-oidc"}
ACCOUNT = "123456789012"
MODES = ("preferred", "required", "disabled")
# Not in any list, but of a form that the rules know; or of none.
OTHER_REGIONS = ["eu-moon-7", "cn-moon-1", "us-gov-moon-1", "us-isob-moon-1",
                 "eusc-de-moon-1", "xx-moon-1", "us-east", "local",
                 "us-east-1-wl1-bos-wlz-1", "us-iso-1"]

# Where ours is another answer, and why.
GLOBAL_STS = ("the pseudo region aws-global has an STS of its own name, and no "
              "DynamoDB: nobody configures it here")
NO_DYNAMODB = ("where a profile's services miss DynamoDB's endpoint we ask "
               "none of the others")
MODE = "account_id_endpoint_mode is"
UNSIGNED_MODE = ("what is not signed is for no account, so botocore does not "
                 "look there whether the mode is one; ours is one for all")


def ask(cases):
    """What ours says to each of the cases."""
    lines = "".join(json.dumps(case) + "\n" for case in cases)
    out = subprocess.run([sdk.program("aws_endpoints")], input=lines,
                         check=True, text=True, stdout=subprocess.PIPE).stdout
    return [json.loads(line) for line in out.splitlines()]


def with_place(region, fips=False, dual_stack=False, mode=None, endpoint=None,
               account=None):
    environment = {"AWS_REGION": region} if region else {}
    if mode is not None:
        environment["AWS_ACCOUNT_ID_ENDPOINT_MODE"] = mode
    if endpoint is not None:
        environment["AWS_ENDPOINT_URL"] = endpoint
    case = {"environment": environment,
            "settings": {"fips": fips, "dual_stack": dual_stack}}
    if account is not None:
        case["account_id"] = account
    return case


class Rules:
    """botocore's, for our four services."""

    def __init__(self):
        loader = Loader()
        partitions = loader.load_data("partitions")
        self.regions = sorted(
            {r for p in partitions["partitions"] for r in p["regions"]} |
            {r for p in loader.load_data("endpoints")["partitions"]
             for r in p["regions"]})
        self.providers = {
            ours: EndpointProvider(loader.load_service_model(
                theirs, "endpoint-rule-set-1"), partitions)
            for ours, theirs in SERVICES.items()}

    def url(self, service, region, fips, dual_stack, mode, endpoint, account):
        """The URL and the region to sign for; None: an error."""
        if endpoint is not None:  # so does every client of theirs
            fips = dual_stack = False
        wanted = {"Region": region, "UseFIPS": fips,
                  "UseDualStack": dual_stack, "Endpoint": endpoint}
        if service == "dynamodb":
            wanted["AccountIdEndpointMode"] = mode
            wanted["AccountId"] = account
        if service == "sts":
            wanted["UseGlobalEndpoint"] = False
        wanted = {k: v for k, v in wanted.items() if v is not None}
        try:
            found = self.providers[service].resolve_endpoint(**wanted)
        except BotoCoreError:
            return None
        schemes = found.properties.get("authSchemes", [{}])
        return found.url, schemes[0].get("signingRegion", region)


class EndpointsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.rules = Rules()

    def compare(self, combinations):
        """The number of URLs that were the same, and of differences."""
        ours = ask([with_place(*c) for c in combinations])
        urls, differences = 0, []
        for combination, mine in zip(combinations, ours):
            region, fips, dual_stack, mode, endpoint, account = combination
            for service in SERVICES:
                theirs = self.rules.url(service, region, fips, dual_stack,
                                        mode or "preferred", endpoint, account)
                url = mine["urls"].get(service)
                answer = url and (url, mine["signed_for"][service])
                if answer == theirs:
                    urls += url is not None
                elif region == "aws-global" and service == "sts":
                    differences.append(GLOBAL_STS)
                else:
                    self.fail(f"{service} {combination}: {answer}, not "
                              f"{theirs}: {mine}")
        return urls, differences

    def test_every_region(self):
        self.assertGreaterEqual(len(self.rules.regions), 50)
        urls, differences = self.compare(list(itertools.product(
            self.rules.regions + OTHER_REGIONS, (False, True), (False, True),
            MODES, (None,), (None, ACCOUNT))))
        print(f"{len(self.rules.regions)} regions, {urls} URLs the same; "
              f"{len(differences)} other: {set(differences)}")
        self.assertGreater(urls, 2000)

    def test_endpoints_that_are_wished_for(self):
        endpoints = ["http://localhost:8000", "https://x.example/",
                     "https://dynamodb.eu-west-1.api.aws",
                     "https://DynamoDB.eu-west-1.api.aws/path",
                     "https://dynamodb.eu-west-1.api.aws:443",
                     "https://dynamodb.cn-north-1.api.amazonwebservices.com.cn",
                     "https://dynamodb.eu-west-1.amazonaws.com"]
        urls, differences = self.compare(list(itertools.product(
            ["eu-west-1", "cn-north-1", "local"], (False, True), (False, True),
            MODES, endpoints, (None, ACCOUNT))))
        self.assertGreater(urls, 100)
        self.assertEqual(differences, [])

    def test_the_table_is_theirs(self):
        here = os.path.dirname(os.path.abspath(__file__))
        made = subprocess.run(
            [sys.executable, os.path.join(here, "partitions.py")], check=True,
            text=True, stdout=subprocess.PIPE).stdout
        with open(os.path.join(here, "../../src/identity/partitions.c"),
                  encoding="utf-8") as f:
            self.assertEqual(f.read(), made)


# ---- settings ----

BOOLEANS = ["true", "True", "false", "no", ""]
URLS = ["http://one.example", "http://two.example", "https://three.example",
        ""]
REGIONS = ["eu-west-1", "us-gov-west-1", "fips-us-east-1", "us-east-1-fips",
           "local", "cn-north-1", "us-iso-east-1"]


class Settings:
    """A world by chance: environment and profile; and what a client of
    botocore for one of the services makes of it."""

    def __init__(self, random_):
        self.random = random_
        self.loader = Loader()
        self.directory = tempfile.TemporaryDirectory()

    def some(self, values, chance):
        r = self.random
        return r.choice(values) if r.random() < chance else None

    def lines(self):
        some = self.some
        found = {
            "region": some(REGIONS, 0.7),
            "endpoint_url": some(URLS, 0.3),
            "services": some(["s", "t", "empty", "missing", ""], 0.5),
            "use_fips_endpoint": some(BOOLEANS, 0.2),
            "use_dualstack_endpoint": some(BOOLEANS, 0.2),
            "ignore_configured_endpoint_urls": some(BOOLEANS, 0.2),
            "account_id_endpoint_mode": some(
                MODES + ("Required", "other"), 0.3),
            "ca_bundle": some(["/ca/profile"], 0.3),
        }
        return "".join(f"{k} = {v}\n" for k, v in found.items()
                       if v is not None)

    def services(self):
        groups = "".join(
            f"{group} =\n  endpoint_url = {self.some(URLS, 1)}\n"
            for group in ("dynamodb", "sts", "sso", "sso_oidc")
            if self.random.random() < 0.5)
        return groups or "s3 =\n  endpoint_url = http://s3\n"

    def next(self):
        some = self.some
        environment = {
            "AWS_DEFAULT_REGION": some(REGIONS, 0.5),
            "AWS_PROFILE": some(["default", "other", "other", "missing"], 0.5),
            "AWS_ENDPOINT_URL": some(URLS, 0.2),
            "AWS_ENDPOINT_URL_DYNAMODB": some(URLS, 0.2),
            "AWS_ENDPOINT_URL_STS": some(URLS, 0.2),
            "AWS_ENDPOINT_URL_SSO": some(URLS, 0.2),
            "AWS_ENDPOINT_URL_SSO_OIDC": some(URLS, 0.2),
            "AWS_USE_FIPS_ENDPOINT": some(BOOLEANS, 0.2),
            "AWS_USE_DUALSTACK_ENDPOINT": some(BOOLEANS, 0.2),
            "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS": some(BOOLEANS, 0.2),
            "AWS_ACCOUNT_ID_ENDPOINT_MODE": some(MODES + ("REQUIRED",), 0.2),
            "AWS_CA_BUNDLE": some(["/ca/environment"], 0.2),
        }
        return {
            "environment": {k: v for k, v in environment.items()
                            if v is not None},
            "config": f"[default]\n{self.lines()}"
                      f"[profile other]\n{self.lines()}"
                      f"[services s]\n{self.services()}"
                      f"[services t]\n{self.services()}"
                      f"[services empty]\n# {self.services()[:4]}\n",
            "credentials": f"[other]\n{self.lines()}"
                           if self.random.random() < 0.3 else "",
        }

    def session(self, case):
        sdk.without_environment()
        os.environ.update(case["environment"])
        for key, variable in (("config", "AWS_CONFIG_FILE"),
                              ("credentials", "AWS_SHARED_CREDENTIALS_FILE")):
            path = os.path.join(self.directory.name, key)
            with open(path, "w", encoding="utf-8") as f:
                f.write(case[key])
            os.environ[variable] = path
        session = botocore.session.Session()
        session.register_component("data_loader", self.loader)
        return session

    def client(self, case, service):
        """What its client says; or the exception."""
        unsigned = None if service in ("dynamodb", "sts") else Config(
            signature_version=UNSIGNED)
        try:
            session = self.session(case)
            region = session.get_config_variable("region")
            ca_file = session.get_config_variable("ca_bundle")
            client = session.create_client(
                SERVICES[service], region_name=region, config=unsigned,
                aws_access_key_id="a", aws_secret_access_key="b")
            operation, parameters = {
                "dynamodb": ("GetItem", {"TableName": "t", "Key": {}}),
                "sts": ("GetCallerIdentity", {}),
                "sso": ("Logout", {"accessToken": "t"}),
                "oidc": ("RegisterClient", {"clientName": "c",
                                            "clientType": "public"}),
            }[service]
            # What it would do before it sends a request.
            url = client._resolve_endpoint_ruleset(
                client.meta.service_model.operation_model(operation),
                parameters, {"client_region": client.meta.region_name})[0]
            return {"url": url, "region": client.meta.region_name or "",
                    "ca_file": ca_file or ""}
        except (BotoCoreError, ValueError) as e:
            return e


class SettingsTest(unittest.TestCase):
    seed = SEED
    settings = None

    def tearDown(self):
        self.settings.directory.cleanup()

    def test_as_a_client_of_botocore(self):
        settings = self.settings = Settings(random.Random(self.seed))
        cases = [settings.next() for _ in range(SETTINGS_CASES)]
        same, errors = 0, {}
        for number, (case, mine) in enumerate(zip(cases, ask(cases))):
            service = list(SERVICES)[number % len(SERVICES)]
            theirs = settings.client(case, service)
            where = f"seed {self.seed}, case {number}, {service}: {case}: " \
                f"{theirs} and {mine}"
            if isinstance(theirs, NoRegionError):
                # Ours may have a URL, or the instance's region, yet.
                self.assertEqual(mine.get("region", ""), "", where)
                errors["NoRegionError"] = errors.get("NoRegionError", 0) + 1
            elif isinstance(theirs, Exception):
                self.assertIsNone(mine.get("urls", {}).get(service), where)
                name = type(theirs).__name__
                errors[name] = errors.get(name, 0) + 1
            elif theirs["region"] == "aws-global":
                self.assertEqual(mine.get("region", ""), "", where)
                errors[GLOBAL_STS] = errors.get(GLOBAL_STS, 0) + 1
            elif "no section [services" in mine.get("endpoint_error", ""):
                # Without DynamoDB's we need no other's.
                self.assertNotEqual(service, "dynamodb", where)
                self.assertIsInstance(settings.client(case, "dynamodb"),
                                      InvalidConfigError, where)
                errors[NO_DYNAMODB] = errors.get(NO_DYNAMODB, 0) + 1
            elif mine.get("endpoint_error", "").startswith(MODE):
                self.assertIn(service, ("sso", "oidc"), where)
                errors[UNSIGNED_MODE] = errors.get(UNSIGNED_MODE, 0) + 1
            else:
                same += 1
                self.assertNotIn("endpoint_error", mine, where)
                self.assertEqual(theirs["url"], mine["urls"].get(service),
                                 where)
                self.assertEqual(theirs["region"], mine["region"], where)
                self.assertEqual(theirs["ca_file"], mine["ca_file"], where)
        print(f"{same} places the same; refused by both: {errors}")
        self.assertGreater(same, SETTINGS_CASES / 4)
        self.assertGreater(sum(errors.values()), SETTINGS_CASES / 10)


if __name__ == "__main__":
    sdk.without_environment()
    if len(sys.argv) > 1 and sys.argv[1].isdigit():
        SettingsTest.seed = int(sys.argv.pop(1))
    sdk.main()
