#!/usr/bin/env python3
"""Ten thousand random requests are signed as botocore signs them.

The published vectors (tests/unit/data/sigv4) are few and tidy; these have
whatever may stand in a request of ours: bodies and headers of any text, blanks
anywhere, repeated headers, queries that must be sorted, days that change.

    test_sigv4.py [SEED]
"""
import datetime
import json
import random
import subprocess
import sys
import unittest
from unittest import mock

import sdk

from botocore import auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

REQUESTS = 10_000
SEED = 20150830
UNRESERVED = "ABCXYZabcxyz0189-._~"
TOKEN = "!#$&'*+-.^_`|~09azAZ"
TEXT = ["a", "Z", "0", " ", "  ", "\t", ",", ";", ":", "=", "/", "%41", "\"",
        "{", "}", "-", "+", "&", "~"]
WIDE = TEXT + ["\n", "\r\n", "\u00e4", "\u4e2d", "\U0001f512", "\\"]


def some(random_, alphabet, low, high):
    return "".join(random_.choices(alphabet, k=random_.randint(low, high)))


def escaped(random_):
    """What may stand in a path or a query as it is sent."""
    return "".join(
        f"%{random_.randrange(1, 256):02X}" if random_.random() < 0.2
        else random_.choice(UNRESERVED)
        for _ in range(random_.randint(1, 9)))


class Requests:
    def __init__(self, seed):
        self.random = random.Random(seed)
        # A few identities, so that kept keys are used again and changed.
        self.identities = [self.identity() for _ in range(20)]

    def identity(self):
        r = self.random
        return {
            "access_key_id": some(r, "ABCXYZ0189", 1, 24),
            "secret": some(r, UNRESERVED + "+/=", 1, 60),
            "region": r.choice(["eu-central-1", "us-gov-west-1", "local",
                                "cn-north-1", "x"]),
            "service": r.choice(["dynamodb", "sts", "sso"]),
        }

    def headers(self):
        r = self.random
        names = ["X-Amz-Target", "Content-Type", "x-amz-security-token"]
        names += [f"X-{some(r, 'abcXYZ09-', 1, 8)}"
                  for _ in range(r.randrange(6))]
        chosen = [n for n in names if r.random() < 0.7]
        chosen += [r.choice(chosen).swapcase()
                   for _ in range(r.choice([0, 0, 1, 2])) if chosen]
        return [[n, some(r, TEXT, 1, 30)] for n in chosen]

    def query(self):
        r = self.random
        pairs = [escaped(r) + "=" + (escaped(r) if r.random() < 0.8 else "")
                 for _ in range(r.choice([0, 0, 0, 1, 2, 6]))]
        if pairs and r.random() < 0.3:
            pairs.append(r.choice(pairs).split("=")[0] + "=" + escaped(r))
        return "&".join(pairs)

    def path(self):
        r = self.random
        if r.random() < 0.5:
            return "/"
        return "".join("/" + some(r, UNRESERVED.replace(".", ""), 1, 9)
                       for _ in range(r.randint(1, 4)))

    def next(self):
        r = self.random
        moment = (datetime.datetime(2015, 8, 30) +
                  datetime.timedelta(seconds=r.randrange(40 * 365 * 86400)))
        return dict(
            r.choice(self.identities), moment=moment,
            method=r.choice(["POST", "GET", "PUT"]), path=self.path(),
            query=self.query(), headers=self.headers(),
            body=some(r, WIDE, 0, 200) if r.random() < 0.9 else "")


def signed_by_botocore(request, host):
    url = f"https://{host}{request['path']}"
    if request["query"]:
        url += "?" + request["query"]
    theirs = AWSRequest(method=request["method"], url=url,
                        data=request["body"].encode())
    for name, value in request["headers"]:
        theirs.headers.add_header(name, value)
    signer = auth.SigV4Auth(
        Credentials(request["access_key_id"], request["secret"]),
        request["service"], request["region"])
    with mock.patch.object(auth, "get_current_datetime",
                           lambda: request["moment"]):
        signer.add_auth(theirs)
    return theirs.headers["Authorization"]


class SigV4Test(unittest.TestCase):
    seed = SEED

    def test_as_botocore_signs(self):
        requests = Requests(self.seed)
        asked, expected = [], []
        for number in range(REQUESTS):
            request = requests.next()
            host = f"host{number % 7}.example"
            expected.append(signed_by_botocore(request, host))
            date = request.pop("moment").strftime("%Y%m%dT%H%M%SZ")
            request["date"] = date
            request["headers"] += [["Host", host], ["X-Amz-Date", date]]
            asked.append(json.dumps(request))
        ours = subprocess.run(
            [sdk.program("aws_signer")], input="\n".join(asked) + "\n",
            check=True, text=True, stdout=subprocess.PIPE).stdout.splitlines()
        self.assertEqual(len(ours), REQUESTS)
        for number, (mine, theirs) in enumerate(zip(ours, expected)):
            self.assertEqual(mine, theirs, f"seed {self.seed}, request "
                             f"{number}: {asked[number]}")


if __name__ == "__main__":
    sdk.without_environment()
    if len(sys.argv) > 1 and sys.argv[1].isdigit():
        SigV4Test.seed = int(sys.argv.pop(1))
    sdk.main()
