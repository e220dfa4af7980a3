#!/usr/bin/env python3
"""A day of refreshes from every source, in virtual time, with misbehaviour.

The identity is real, AWS is the strict fake, the seed decides what breaks and
when. At every moment the credentials in use are accepted, unless a source would
have given others has been out of order; no request is malformed; and there are
no more requests than make sense.

    test_identity_day.py [SEED]
"""
import json
import os
import random
import sys
import unittest

from fake_aws import ACCOUNT, EXTERNAL_ID, FAULTS, KEYS, FakeAws, web_token
from virtual_day import START_S, Driver, Host, Time

DAY = 86400
SEEDS = 3
FLEET = 1000
LOOK_BACK_S = 14 * 60   # less than the last quarter of an hour's life
HEALTHY_S = 3 * 60      # so much of it is enough for new credentials
REJECTED_S = 45         # AWS says no; it is believed each half minute
CACHE = "/h/.aws/sso/cache/"
SSO_SESSION = "d033e22ae348aeb5660fc2140aec35850c4da997"    # "admin"
ROLE_ONE = "arn:aws:iam::123456789012:role/one"
ROLE_TWO = "arn:aws:iam::210987654321:role/two"


def program(name):
    path = os.path.join(os.getcwd(), name)
    if not os.path.exists(path):
        raise FileNotFoundError(f"{path}: run in the build directory")
    return path


class Faults:
    """When what is out of order, decided beforehand."""
    def __init__(self, time, seed, services, kinds=FAULTS):
        self.time = time
        self.windows = []
        rng = random.Random(seed)
        for service in services:
            when = rng.uniform(0, 3 * 3600)
            while when < DAY:
                length = rng.choice((5, 60, 600, 3600)) * rng.uniform(.5, 2)
                self.windows.append((when, when + length, service,
                                     rng.choice(kinds)))
                when += length + rng.expovariate(1 / 7200)

    def __call__(self, service):
        for start, end, which, kind in self.windows:
            if which == service and start <= self.time.now < end:
                return kind
        return None

    def healthy(self, start, end):
        """The longest time between @start and @end when nothing was wrong."""
        longest, since = 0, start
        for a, b, _, _ in sorted(self.windows):
            if b <= since or a >= end:
                continue
            longest = max(longest, a - since)
            since = max(since, b)
        return max(longest, end - since)

    def seconds(self):
        return sum(min(b, DAY) - a for a, b, _, _ in self.windows)


class Scene:
    """One source: what the fake knows, what the host has."""
    services = ()
    source = None
    life = 3600
    bound = 100             # requests of a day on which all goes well

    def prepare(self, aws, time):
        return {}

    def check(self, test, host):
        pass


class Imds(Scene):
    services = ("imds",)
    source = "imds"
    bound = 80

    def prepare(self, aws, time):
        # When it is out of order itself, what it has must last for that.
        aws.rotate_before = 3 * 3600 if aws.faults.windows else 600
        return {}

    def check(self, test, host):
        test.assertEqual(host.view["region"], "eu-central-1")


class Container(Scene):
    services = ("container",)
    source = "container"
    bound = 15

    def prepare(self, aws, time):
        return {"region": "eu-central-1", "environment": {
            "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI": aws.container_path}}


class PodIdentity(Container):
    """The token in the file is another every hour."""
    def prepare(self, aws, time):
        files = {}
        path = "/var/run/token"
        aws.container_path = "/v1/credentials"

        def rotate():
            files[path] = "jwt " + aws.text(300)
            # The older one is good for a while, as it may be on its way.
            aws.container_tokens = aws.container_tokens[-1:] + [files[path]]
            time.at(time.now + 3600, rotate)
        rotate()
        return {"region": "eu-central-1", "files": files, "environment": {
            "AWS_CONTAINER_CREDENTIALS_FULL_URI":
                "http://169.254.170.23/v1/credentials",
            "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE": path}}


class WebIdentity(Scene):
    services = ("sts",)
    source = "web-identity"
    bound = 60

    def prepare(self, aws, time):
        files = {}
        path = "/var/run/secrets/token"

        def rotate():
            files[path] = web_token(aws, 2 * 3600) + "\n"
            time.at(time.now + 3600, rotate)
        rotate()
        aws.session_name = "pod"
        return {"files": files, "environment": {
            "AWS_REGION": "eu-central-1", "AWS_ROLE_ARN": ROLE_ONE,
            "AWS_ROLE_SESSION_NAME": "pod",
            "AWS_WEB_IDENTITY_TOKEN_FILE": path}}

    def check(self, test, host):
        test.assertEqual(host.view["credentials"]["account"], ACCOUNT)


class Role(Scene):
    """A role by keys that stand in a file."""
    services = ("sts",)
    source = "profile"
    bound = 60

    def prepare(self, aws, time):
        aws.external_id = EXTERNAL_ID
        return {"profile": "locks", "files": {
            "/h/.aws/config":
                "[profile locks]\nregion = eu-central-1\n"
                f"role_arn = {ROLE_ONE}\nsource_profile = keys\n"
                f"external_id = {EXTERNAL_ID}\nduration_seconds = 3600\n",
            "/h/.aws/credentials":
                f"[keys]\naws_access_key_id = {KEYS[0]}\n"
                f"aws_secret_access_key = {KEYS[1]}\n"}}


class RoleChain(Scene):
    """The instance's role assumes one, and that another."""
    services = ("imds", "sts")
    source = "imds"
    bound = 250

    def prepare(self, aws, time):
        return {"profile": "two", "files": {"/h/.aws/config":
                "[profile two]\nregion = eu-central-1\n"
                f"role_arn = {ROLE_TWO}\nsource_profile = one\n"
                f"[profile one]\nrole_arn = {ROLE_ONE}\n"
                "credential_source = Ec2InstanceMetadata\n"}}

    def check(self, test, host):
        test.assertEqual(host.view["credentials"]["account"], "210987654321")


class Process(Scene):
    services = ("process",)
    source = "process"
    bound = 60

    def prepare(self, aws, time):
        aws.life["process"] = 2 * 3600
        return {"region": "eu-central-1",
                "commands": {"get-keys --for 'locks'": aws.process},
                "files": {"/h/.aws/config":
                          "[default]\ncredential_process = "
                          "get-keys --for 'locks'\n"}}


class Sso(Scene):
    """Its token lives for an hour and is renewed; the file is written."""
    services = ("portal", "oidc")
    source = "sso"
    bound = 160
    read_only = False

    def prepare(self, aws, time):
        self.aws = aws
        aws.sso_life = 8 * 3600
        files = {
            CACHE + SSO_SESSION + ".json": aws.login(),
            "/h/.aws/config":
                "[default]\nregion = eu-central-1\nsso_session = admin\n"
                f"sso_account_id = {ACCOUNT}\nsso_role_name = Locks\n"
                "[sso-session admin]\nsso_region = eu-west-3\n"
                "sso_start_url = https://x.awsapps.com/start\n"}
        return {"files": files}

    def check(self, test, host):
        token = json.loads(host.files[CACHE + SSO_SESSION + ".json"])
        test.assertIn("startUrl", token)
        test.assertEqual(len(token["refreshToken"]), 40)


class SsoReadOnly(Sso):
    """The file cannot be written: the newer token is remembered."""
    read_only = True

    def check(self, test, host):
        pass


SCENES = (Imds, Container, PodIdentity, WebIdentity, Role, RoleChain,
          Process, Sso, SsoReadOnly)


class Days(unittest.TestCase):
    seed = 1

    @classmethod
    def setUpClass(cls):
        cls.driver = Driver(program("identity_driver"))

    @classmethod
    def tearDownClass(cls):
        cls.driver.close()

    def day(self, scene_class, seed, kinds=FAULTS, disturb=None):
        """A day; the host, the fake and the faults after it."""
        time = Time()
        scene = scene_class()
        # A renewal of SSO whose answer is lost has used its token up, in
        # truth as well: then a person has to log in.
        kinds = [k for k in kinds if scene.source != "sso" or
                 k not in ("malformed", "truncated", "html", "empty")]
        faults = Faults(time, seed, scene.services, kinds) if kinds else \
            Faults(time, seed, ())
        aws = FakeAws(time.clock, faults, seed)
        host = Host(self.driver, time, aws, seed=seed,
                    **scene.prepare(aws, time))
        host.read_only = getattr(scene, "read_only", False)
        if disturb is not None:
            disturb(host, time)
        host.start()
        host.use_until(DAY)
        time.run(DAY)
        self.assertEqual(aws.problems, [], f"seed {seed}")
        return scene, host, aws, faults

    def judge_uses(self, host, faults, seed):
        """Not accepted only if nobody could have given others."""
        bad = 0
        for when, key, good in host.uses:
            if good or (key is None and when < HEALTHY_S):
                continue        # the first ones are on their way
            bad += 1
            healthy = faults.healthy(max(when - LOOK_BACK_S, 0), when)
            self.assertLess(
                healthy, HEALTHY_S, f"seed {seed}: at {when} {key} is not "
                f"accepted, although for {healthy:.0f} s nothing was wrong; "
                f"{host.view['text']}")
        return bad

    def judge_runs(self, host, seed):
        """Not accepted for the moment that it takes to get others."""
        since = None
        for when, key, good in host.uses:
            if good or when < HEALTHY_S:
                since = None
                continue
            since = when if since is None else since
            self.assertLess(when - since, REJECTED_S, f"seed {seed}: since "
                            f"{since} {key} is not accepted")

    def test_all_is_well(self):
        for scene_class in SCENES:
            with self.subTest(source=scene_class.__name__):
                scene, host, aws, _ = self.day(scene_class, self.seed, ())
                bad = [u for u in host.uses if not u[2] and u[0] > 5]
                self.assertEqual(bad, [])
                self.assertEqual(host.view["source"], scene.source)
                self.assertEqual(host.view["code"], "OK", host.view["text"])
                self.assertFalse(host.view["stale"])
                self.assertGreater(len(host.renewals), 3)
                self.assertLess(len(aws.requests), scene.bound)
                scene.check(self, host)

    def test_misbehaviour(self):
        broken = 0
        for scene_class in SCENES:
            for seed in range(self.seed, self.seed + SEEDS):
                with self.subTest(source=scene_class.__name__, seed=seed):
                    scene, host, aws, faults = self.day(scene_class, seed)
                    broken += self.judge_uses(host, faults, seed)
                    # An attempt each half minute at the most, of a few
                    # requests, while it is out of order.
                    bound = scene.bound * 3 + faults.seconds() / 30 * 7
                    self.assertLess(len(aws.requests), bound)
        # The faults are such that there were times without any.
        self.assertGreater(broken, 0)

    def test_first_stage_is_out(self):
        """What the instance gave buys roles until it is over."""
        def disturb(host, time):
            host.aws.faults.windows.append((3 * 3600, 5.9 * 3600, "imds",
                                            "503"))
        for seed in range(self.seed, self.seed + SEEDS):
            with self.subTest(seed=seed):
                _, host, aws, _ = self.day(RoleChain, seed, (), disturb)
                self.assertEqual(
                    [u for u in host.uses if not u[2] and u[0] > 5], [])
                # No more of it than of any service that is out of order.
                self.assertLess(len(aws.requests), 800)

    def test_clock_is_set(self):
        """Forward, back, and to what it is again."""
        for scene_class in (Imds, Role, RoleChain, Container, Process):
            for seed in range(self.seed, self.seed + SEEDS):
                rng = random.Random(seed)

                def disturb(host, time, rng=rng):
                    def step():
                        host.shift = rng.choice((0, 0, -9 * 3600, -600, 600,
                                                 9 * 3600, 400 * DAY))
                        time.at(time.now + rng.uniform(600, 4 * 3600), step)
                    step()
                with self.subTest(source=scene_class.__name__, seed=seed):
                    scene, host, aws, _ = self.day(
                        scene_class, seed, (), disturb)
                    self.judge_runs(host, seed)
                    # While the clock is hours ahead all that comes has
                    # expired, and is asked for as after failures.
                    self.assertLess(len(aws.requests),
                                    scene.bound + DAY / 30 * 5)

    def test_fleet(self):
        """A thousand hosts that start together do not renew together."""
        time = Time()
        broken = [0, 0]
        aws = FakeAws(time.clock, lambda service: "503" if
                      broken[0] <= time.now < broken[1] else None, self.seed)
        aws.container_path = "/v1/credentials"
        environment = {"AWS_CONTAINER_CREDENTIALS_FULL_URI":
                       "http://169.254.170.23/v1/credentials"}
        hosts = [Host(self.driver, time, aws, number=n, seed=n,
                      region="eu-central-1", environment=environment,
                      home=None)
                 for n in range(1, FLEET + 1)]
        for host in hosts:
            host.start()
        time.run(4.6 * 3600)
        self.assertEqual(aws.problems, [])
        renewed = [host.renewals[1] for host in hosts]
        # Over the quarter of six hours, in each minute as many as in any.
        self.assertGreater(min(renewed), 3 * 3600 - 1)
        self.assertLess(max(renewed), 4.5 * 3600 + 60)
        minutes = [int(when) // 60 for when in renewed]
        most = max(minutes.count(m) for m in set(minutes))
        self.assertLess(most, FLEET * 60 // 5400 * 3)
        # Nobody answers for hours; when somebody does, not all ask at once.
        broken[:] = [time.now, time.now + 2.5 * 3600]
        asked = len(aws.requests)
        time.run(broken[1] + 120)
        seconds = [int(r[0]) for r in aws.requests[asked:]
                   if r[0] - START_S >= broken[1]]
        most = max(seconds.count(s) for s in set(seconds))
        self.assertLess(most, FLEET // 8)
        self.assertTrue(all(host.accepted() for host in hosts))


if __name__ == "__main__":
    if len(sys.argv) > 1 and sys.argv[1].isdigit():
        Days.seed = int(sys.argv.pop(1))
    unittest.main()
