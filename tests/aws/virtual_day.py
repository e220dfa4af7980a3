"""A host in virtual time: an identity, its files, and the fake of AWS.

The identity is the real one (identity_driver.c); this performs its errands
against the fake, tells it the time, and uses its credentials every so often as
the daemon does, saying so when AWS would not accept them.
"""
import errno
import heapq
import json
import random
import subprocess

from fake_aws import Request, Silence

START_S = 1_800_000_000
BOOT_S = 1000
USE_EVERY_S = 10


class Driver:
    """One process for any number of identities."""
    def __init__(self, program):
        self.process = subprocess.Popen(
            [program], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            text=True, bufsize=1)

    def tell(self, **line):
        self.process.stdin.write(json.dumps(line) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise AssertionError(
                f"the driver ended: {self.process.wait()}, at {line}")
        return json.loads(answer)

    def close(self):
        self.process.stdin.close()
        self.process.stdout.close()
        if self.process.wait() != 0:
            raise AssertionError("the driver failed")


class Time:
    """What is true; and a queue of what happens when."""
    def __init__(self):
        self.now = 0.0      # seconds since the start
        self.queue = []
        self.count = 0

    def clock(self):
        return START_S + self.now

    def at(self, when, what):
        self.count += 1
        heapq.heappush(self.queue, (max(when, self.now), self.count, what))

    def run(self, until):
        while self.queue and self.queue[0][0] <= until:
            self.now, _, what = heapq.heappop(self.queue)
            what()
        self.now = until


class Host:
    def __init__(self, driver, time, aws, number=0, seed=0, files=None,
                 environment=None, commands=None, home="/h", **settings):
        self.driver = driver
        self.time = time
        self.aws = aws
        self.number = number
        self.random = random.Random(seed)
        self.files = {} if files is None else files
        self.read_only = False
        self.commands = commands or {}
        self.shift = 0.0            # the wall clock's, in seconds
        self.view = None
        self.wake = 0               # generation of the timer
        self.uses = []              # (time, access key id, accepted)
        self.renewals = []          # times at which there were others
        self.rounds = 0
        self.driver.tell(do="new", id=number, home=home,
                         environment=environment or {}, **settings)

    def times(self):
        return {"id": self.number,
                "boot": round((BOOT_S + self.time.now) * 1000),
                "wall": round((self.time.clock() + self.shift) * 1000),
                "random": self.random.getrandbits(32)}

    def start(self):
        self.after(self.driver.tell(do="start", **self.times()))

    def after(self, step):
        """What the identity wants now."""
        before = self.view and self.view["credentials"]
        self.view = step["view"]
        credentials = self.view["credentials"]
        if credentials and (not before or before["access_key_id"] !=
                            credentials["access_key_id"]):
            self.renewals.append(self.time.now)
            assert step["changed"], "others, and it was not told"
        if step["errand"] is not None:
            self.perform(step["errand"])
        elif step["wake"] is not None:
            self.wake += 1
            generation = self.wake
            when = step["wake"] / 1000 - BOOT_S
            self.time.at(when, lambda: self.woken(generation))

    def woken(self, generation):
        if generation == self.wake:
            self.rounds += 1
            self.after(self.driver.tell(do="wake", **self.times()))

    # ---- errands ----

    def perform(self, errand):
        self.wake += 1      # no timer while there is an errand
        delay, answer = getattr(self, "do_" + errand["kind"])(errand)
        if delay >= errand["timeout"] / 1000:
            delay = errand["timeout"] / 1000
            answer = {"code": "UNREACHABLE" if errand["kind"] == "fetch"
                      else "ACQUIRE_TIMEOUT"}
        self.time.at(self.time.now + delay, lambda: self.answer(answer))

    def answer(self, answer):
        answer = {"code": "OK", "error": 0, "status": 0, "body": "",
                  **answer}
        self.after(self.driver.tell(do="answer", **answer, **self.times()))

    def do_read(self, errand):
        text = self.files.get(errand["path"])
        if text is None:
            return 0.001, {"code": "SYSTEM", "error": errno.ENOENT}
        if len(text) > errand["max"]:
            return 0.001, {"code": "LIMIT"}
        return 0.001, {"body": text}

    def do_write(self, errand):
        if self.read_only:
            return 0.001, {"code": "SYSTEM", "error": errno.EROFS}
        self.files[errand["path"]] = errand["body"]
        return 0.001, {}

    def do_run(self, errand):
        try:
            status, text = self.commands[errand["command"]]()
        except Silence:
            return 1e9, {}
        return 0.2, {"status": status, "body": text}

    def do_fetch(self, errand):
        host = errand["url"].split("/")[2]
        service = {"169.254.169.254": "imds", "169.254.170.2": "container",
                   "169.254.170.23": "container",
                   self.aws.sts_host: "sts",
                   "portal.sso.eu-west-3.amazonaws.com": "portal",
                   "oidc.eu-west-3.amazonaws.com": "oidc"}[host]
        request = Request(errand["method"], errand["url"],
                          errand["headers"], errand["body"] or "",
                          errand["signer"], errand["service"],
                          errand["region"])
        try:
            status, body = self.aws.handle(request, service)
        except Silence:
            return 1e9, {}
        return self.random.uniform(0.002, 0.4), {"status": status,
                                                 "body": body}

    # ---- use ----

    def accepted(self):
        credentials = self.view and self.view["credentials"]
        return credentials is not None and self.aws.valid(
            credentials["access_key_id"])

    def use(self):
        """The daemon asks DynamoDB for something."""
        credentials = self.view and self.view["credentials"]
        if credentials is None:
            self.uses.append((self.time.now, None, False))
            return
        good = self.accepted()
        self.uses.append((self.time.now, credentials["access_key_id"], good))
        if not good:
            self.after(self.driver.tell(do="rejected", **self.times()))

    def use_until(self, end, every=USE_EVERY_S):
        when = self.time.now
        while when <= end:
            self.time.at(when, self.use)
            when += every
