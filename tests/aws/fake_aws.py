"""A strict fake of what gives credentials: IMDS, ECS/EKS, STS, SSO and OIDC.

Every request is checked as a whole: method, path, query, headers, body, who
signed it, and the order where there is one. What is wrong goes to `problems`,
which a test asserts to be empty, whatever was answered. Time is that of a
function, so that it works in virtual time as well as behind a server
(fake_aws_server.py); faults are chosen by another function, so that a test may
break what it likes when it likes.

    aws = FakeAws(clock=lambda: now_s, faults=lambda service: None)
    status, body = aws.handle(Request("GET", "http://169.254.169.254/...",
                                      headers, body))
"""
import base64
import datetime
import hashlib
import hmac
import json
import random
import re
import string
import urllib.parse
from xml.sax.saxutils import escape

ACCOUNT = "123456789012"
ROLE = "locks-role"
KEYS = ("AKIDSTANDING", "standing/secret+key")
EXTERNAL_ID = "a/strange:external=id,@x"
SERVICES = ("imds", "container", "sts", "portal", "oidc", "process")

# How a service may misbehave: no answer at all, an answer that is late, errors
# of its own, answers that are none, and credentials that are of no use.
FAULTS = ("silent", "500", "503", "throttled", "malformed", "truncated",
          "html", "empty", "short", "forgetful")


def iso(seconds):
    return datetime.datetime.fromtimestamp(
        seconds, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


class Request:
    def __init__(self, method, url, headers=None, body=b"", signer=None,
                 service=None, region=None):
        self.method = method
        self.url = url
        self.parts = urllib.parse.urlsplit(url)
        self.headers = {k.lower(): v for k, v in (headers or {}).items()}
        self.body = body if isinstance(body, bytes) else body.encode()
        # In virtual time nobody signs; then this is who would.
        self.signer = signer
        self.service = service
        self.region = region


class Issued:
    """Credentials that were given to somebody."""
    def __init__(self, access_key_id, secret, token, expires, arn):
        self.access_key_id = access_key_id
        self.secret = secret
        self.token = token
        self.expires = expires
        self.arn = arn


class Silence(Exception):
    """No answer comes."""


class FakeAws:
    def __init__(self, clock, faults=lambda service: None, seed=1):
        self.clock = clock
        self.faults = faults
        self.random = random.Random(seed)
        self.problems = []
        self.requests = []          # (time, service, what)
        self.issued = {}            # by access key id
        self.life = {"imds": 6 * 3600, "container": 6 * 3600, "sts": 3600,
                     "portal": 3600, "process": 3600}
        self.rotate_before = 600    # IMDS has others so long before the end
        self.imds_tokens = {}       # to their expiry
        self.imds_given = set()
        self.imds_listed = set()    # tokens that asked for the role's name
        self.imds_now = None
        self.region = "eu-central-1"
        self.container_path = "/v2/credentials/0123-4567"
        self.container_tokens = []  # what the file says; none: no header
        self.web_tokens = {}        # token to its expiry
        self.sso_tokens = {}        # access token to its expiry
        self.sso_refresh = {}       # refresh token to client
        self.external_id = None
        self.session_name = None    # what roles must be assumed as
        self.roles = {"arn:aws:iam::123456789012:role/one",
                      "arn:aws:iam::210987654321:role/two"}
        self.sso_life = 3600
        self.sts_host = "sts.eu-central-1.amazonaws.com"
        self.standing = Issued(*KEYS, None, None, "user")
        self.issued[self.standing.access_key_id] = self.standing

    # ---- credentials ----

    def text(self, n, more=""):
        alphabet = string.ascii_letters + string.digits + more
        return "".join(self.random.choices(alphabet, k=n))

    def issue(self, service, arn, fault=None):
        life = self.life[service]
        if fault == "short":
            life = self.random.randint(60, 300)
        made = Issued("ASIA" + self.text(16).upper(), self.text(40, "+/"),
                      self.text(200, "+/=&<"), self.clock() + life, arn)
        # Nobody expires later than what vouched for it is not a rule of AWS.
        self.issued[made.access_key_id] = made
        return made

    def valid(self, access_key_id, at=None):
        made = self.issued.get(access_key_id)
        return made is not None and (
            made.expires is None or
            made.expires > (self.clock() if at is None else at))

    # ---- requests ----

    def problem(self, request, text):
        self.problems.append(
            f"{self.clock():.0f}: {request.method} {request.url}: {text}")

    def handle(self, request, service):
        """(status, body) of one request; Silence if none comes."""
        self.requests.append((self.clock(), service, request.parts.path))
        if request.parts.fragment:
            self.problem(request, "a fragment was sent")
        fault = self.faults(service)
        answer = getattr(self, "on_" + service)(request, fault)
        return self.spoil(answer, fault)

    def spoil(self, answer, fault):
        status, body = answer
        if fault == "silent":
            raise Silence
        if fault in ("500", "503"):
            return int(fault), "{}"
        if fault == "html":
            return 200, "<html><body>Sign in to this network</body></html>"
        if fault == "empty":
            return 200, ""
        if fault == "malformed":
            return status, body.replace("\"", "'").replace("</", "<")
        if fault == "truncated" and not body.startswith(("{", "<")):
            raise Silence       # a word has no end of its own: HTTP has
        if fault == "truncated":
            return status, body[:self.random.randrange(len(body) or 1)]
        return answer

    def expect(self, request, method, path, *headers):
        """What every request has, and nothing that none of ours has."""
        if request.method != method:
            self.problem(request, f"the method is not {method}")
        if request.parts.path != path:
            self.problem(request, f"the path is not {path}")
        allowed = {"host", "user-agent", "accept", "content-length",
                   "connection", "x-amz-date", "date"} | set(headers)
        for name in request.headers:
            if name not in allowed:
                self.problem(request, f"there is a header {name}")
        if "authorization" not in headers and (
                request.signer or "authorization" in request.headers):
            self.problem(request, "signed, where nothing is to be signed")

    # ---- the metadata of the instance ----

    def on_imds(self, request, fault):
        if request.body:
            self.problem(request, "there is a body")
        if request.parts.query:
            self.problem(request, "there is a query")
        if request.parts.path == "/latest/api/token":
            return self.imds_token(request)
        token = request.headers.get("x-aws-ec2-metadata-token")
        if token is None:
            self.problem(request, "IMDSv1 was asked")
            return 401, ""
        if fault == "forgetful":
            self.imds_tokens.clear()
        if self.imds_tokens.get(token, 0) <= self.clock():
            if token not in self.imds_given:
                self.problem(request, "a token that was never given")
            return 401, ""
        return self.imds_get(request, token, fault)

    def imds_token(self, request):
        name = "x-aws-ec2-metadata-token-ttl-seconds"
        self.expect(request, "PUT", "/latest/api/token", name)
        if request.headers.get(name) != "21600":
            self.problem(request, f"the TTL is {request.headers.get(name)}")
        token = self.text(54, "-_") + "=="
        self.imds_tokens[token] = self.clock() + 21600
        self.imds_given.add(token)
        return 200, token

    def imds_get(self, request, token, fault):
        roles = "/latest/meta-data/iam/security-credentials/"
        path = request.parts.path
        self.expect(request, "GET", path, "x-aws-ec2-metadata-token")
        if path == "/latest/meta-data/placement/region":
            return 200, self.region
        if path == roles:
            self.imds_listed.add(token)
            return 200, ROLE
        if path != roles + ROLE:
            self.problem(request, "there is no such path")
            return 404, ""
        if token not in self.imds_listed:
            self.problem(request, "the role's name was not asked for")
        return 200, json.dumps(self.imds_credentials(fault))

    def imds_credentials(self, fault):
        now = self.imds_now
        if now is None or fault == "short" or \
                now.expires - self.clock() < self.rotate_before:
            now = self.imds_now = self.issue("imds", ROLE, fault)
        return {
            "Code": "Success", "Type": "AWS-HMAC",
            "LastUpdated": iso(self.clock()),
            "AccessKeyId": now.access_key_id, "SecretAccessKey": now.secret,
            "Token": now.token, "Expiration": iso(now.expires),
        }

    # ---- a container ----

    def on_container(self, request, fault):
        self.expect(request, "GET", self.container_path, "authorization")
        if request.headers.get("accept") != "application/json":
            self.problem(request, "Accept is not application/json")
        if request.headers.get("authorization") not in (
                self.container_tokens or [None]):
            self.problem(request, "the authorization is not the file's")
            return 401, json.dumps({"code": "Unauthorized",
                                    "message": "wrong token"})
        if fault == "throttled":
            return 429, ""
        made = self.issue("container", ROLE, fault)
        return 200, json.dumps({
            "RoleArn": "arn:aws:iam::123456789012:role/" + ROLE,
            "AccessKeyId": made.access_key_id,
            "SecretAccessKey": made.secret, "Token": made.token,
            "Expiration": iso(made.expires).replace("Z", ".000Z")})

    # ---- STS ----

    def on_sts(self, request, fault):
        self.expect(request, "POST", "/", "content-type", "authorization",
                    "x-amz-security-token", "x-amz-content-sha256")
        if request.parts.query:
            self.problem(request, "there is a query")
        if request.headers.get("content-type", "").split(";")[0] != \
                "application/x-www-form-urlencoded":
            self.problem(request, "the body is not said to be a form")
        form = self.form(request)
        if fault == "throttled":
            return self.sts_error(400, "Throttling", "Rate exceeded")
        action = form.get("Action")
        if form.get("Version") != "2011-06-15":
            self.problem(request, "the version is wrong")
        if action == "AssumeRole":
            return self.assume_role(request, form, fault)
        if action == "AssumeRoleWithWebIdentity":
            return self.web_identity(request, form, fault)
        self.problem(request, f"there is no action {action}")
        return self.sts_error(400, "InvalidAction", "no")

    def form(self, request):
        text = request.body.decode("ascii", "replace")
        if not re.fullmatch(r"(?:[A-Za-z0-9._~&=-]|%[0-9A-F]{2})+", text):
            self.problem(request, "the form is not encoded strictly")
        pairs = urllib.parse.parse_qsl(text, keep_blank_values=True,
                                       strict_parsing=True)
        if len(dict(pairs)) != len(pairs):
            self.problem(request, "a parameter is there twice")
        return dict(pairs)

    def sts_error(self, status, code, message):
        return status, (
            '<ErrorResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/">'
            f"<Error><Type>Sender</Type><Code>{code}</Code>"
            f"<Message>{escape(message)}</Message></Error>"
            "<RequestId>x</RequestId></ErrorResponse>")

    def role(self, request, form, more):
        """What both actions have in common; False: it is refused."""
        known = {"Action", "Version", "RoleArn", "RoleSessionName",
                 "DurationSeconds"} | more
        for name in form:
            if name not in known:
                self.problem(request, f"there is a parameter {name}")
        session = form.get("RoleSessionName", "")
        if not re.fullmatch(r"[\w+=,.@-]{2,64}", session, re.ASCII):
            self.problem(request, f"no name of a session: {session}")
        if self.session_name is not None and session != self.session_name:
            self.problem(request, f"the session is {session}")
        if self.session_name is None and not session.startswith("ddblockd-"):
            self.problem(request, f"the session is {session}")
        duration = form.get("DurationSeconds")
        if duration is not None and not 900 <= int(duration) <= 43200:
            self.problem(request, f"the duration is {duration}")
        return form.get("RoleArn") in self.roles

    def assume_role(self, request, form, fault):
        signer = self.signer(request)
        if not self.role(request, form, {"ExternalId"}):
            return self.sts_error(403, "AccessDenied", "not that role")
        if form.get("ExternalId") != self.external_id:
            self.problem(request, "the external id is another")
            return self.sts_error(403, "AccessDenied", "not you")
        if signer is None:
            return self.sts_error(403, "ExpiredToken", "it is expired")
        return self.sts_answer("AssumeRole", form, fault)

    def web_identity(self, request, form, fault):
        if request.signer or "authorization" in request.headers:
            self.problem(request, "signed, where nothing is to be signed")
        if not self.role(request, form, {"WebIdentityToken"}):
            return self.sts_error(403, "AccessDenied", "not that role")
        expires = self.web_tokens.get(form.get("WebIdentityToken"))
        if expires is None:
            self.problem(request, "the token is none of ours")
        if expires is None or expires <= self.clock():
            return self.sts_error(400, "ExpiredTokenException", "expired")
        return self.sts_answer("AssumeRoleWithWebIdentity", form, fault)

    def sts_answer(self, action, form, fault):
        arn = form["RoleArn"]
        account, name = arn.split(":")[4], arn.split("/")[-1]
        life = self.life["sts"]
        self.life["sts"] = int(form.get("DurationSeconds", life))
        made = self.issue("sts", arn, fault)
        self.life["sts"] = life
        return 200, f"""<?xml version="1.0" encoding="UTF-8"?>
<{action}Response xmlns="https://sts.amazonaws.com/doc/2011-06-15/">
  <{action}Result>
    <AssumedRoleUser>
      <AssumedRoleId>AROA:{form["RoleSessionName"]}</AssumedRoleId>
      <Arn>arn:aws:sts::{account}:assumed-role/{name}/s</Arn>
    </AssumedRoleUser>
    <Credentials>
      <AccessKeyId>{made.access_key_id}</AccessKeyId>
      <SecretAccessKey>{escape(made.secret)}</SecretAccessKey>
      <SessionToken>{escape(made.token)}</SessionToken>
      <Expiration>{iso(made.expires)}</Expiration>
    </Credentials>
  </{action}Result>
  <ResponseMetadata><RequestId>x</RequestId></ResponseMetadata>
</{action}Response>
"""

    def signer(self, request):
        """Whose signature it is; None: of nobody who may."""
        if request.signer is not None:
            found = self.issued.get(request.signer["access_key_id"])
            if found is None or found.secret != request.signer["secret"] or \
                    found.token != request.signer["token"]:
                self.problem(request, "signed by nobody who was given keys")
                return None
            if (request.service, request.region) != ("sts", "eu-central-1"):
                self.problem(request, "signed for something else")
        else:
            found = verify(self, request, "eu-central-1", "sts")
            if found is None:
                return None
        return found if self.valid(found.access_key_id) else None

    # ---- SSO ----

    def login(self, life=None):
        """What `aws sso login` writes into its file."""
        client = {"clientId": self.text(20), "clientSecret": self.text(40)}
        access, refresh = self.text(40), self.text(40)
        expires = self.clock() + (self.sso_life if life is None else life)
        self.sso_tokens[access] = expires
        self.sso_refresh[refresh] = client
        return json.dumps({
            "startUrl": "https://x.awsapps.com/start",
            "region": "eu-west-3", "accessToken": access,
            "expiresAt": iso(expires), **client, "refreshToken": refresh,
            "registrationExpiresAt": iso(self.clock() + 90 * 86400)})

    def on_oidc(self, request, fault):
        self.expect(request, "POST", "/token", "content-type")
        if request.headers.get("content-type") != "application/json":
            self.problem(request, "the body is not said to be JSON")
        asked = json.loads(request.body)
        if set(asked) != {"clientId", "clientSecret", "grantType",
                          "refreshToken"}:
            self.problem(request, f"members {sorted(asked)}")
        if fault == "throttled":
            return 400, '{"error":"slow_down"}'
        if fault in ("silent", "500", "503"):
            return 500, ""
        client = self.sso_refresh.pop(asked["refreshToken"], None)
        if client is None:
            return 400, '{"error":"invalid_grant"}'
        if any(asked[k] != client[k] for k in client) or \
                asked["grantType"] != "refresh_token":
            self.problem(request, "another client, or grant")
        access, refresh = self.text(40), self.text(40)
        self.sso_tokens[access] = self.clock() + self.sso_life
        self.sso_refresh[refresh] = client
        return 200, json.dumps({
            "accessToken": access, "expiresIn": self.sso_life,
            "refreshToken": refresh, "tokenType": "Bearer"})

    def on_portal(self, request, fault):
        name = "x-amz-sso_bearer_token"
        self.expect(request, "GET", "/federation/credentials", name)
        if request.parts.query != f"role_name=Locks&account_id={ACCOUNT}":
            self.problem(request, "the query is another")
        expires = self.sso_tokens.get(request.headers.get(name))
        if expires is None:
            self.problem(request, "the token is none of ours")
        if expires is None or expires <= self.clock():
            return 401, '{"message":"Session token not found or invalid"}'
        if fault == "throttled":
            return 429, '{"message":"slow down"}'
        made = self.issue("portal", "Locks", fault)
        return 200, json.dumps({"roleCredentials": {
            "accessKeyId": made.access_key_id,
            "secretAccessKey": made.secret, "sessionToken": made.token,
            "expiration": int(made.expires * 1000)}})

    # ---- a program ----

    def process(self):
        """(status, what it prints)."""
        fault = self.faults("process")
        self.requests.append((self.clock(), "process", ""))
        if fault in ("500", "503", "throttled"):
            return 1, ""
        made = self.issue("process", "process", fault)
        return 0, self.spoil((0, json.dumps({
            "Version": 1, "AccessKeyId": made.access_key_id,
            "SecretAccessKey": made.secret, "SessionToken": made.token,
            "Expiration": iso(made.expires).replace("Z", "+00:00")})),
            fault)[1]


# ---- signatures, as they are checked ----

def _hmac(key, text):
    return hmac.new(key, text.encode(), hashlib.sha256).digest()


def verify(aws, request, region_wanted, service_wanted):
    """Who signed a request that came over HTTP; None, and a problem."""
    found = re.fullmatch(
        r"AWS4-HMAC-SHA256 Credential=([^/]+)/(\d{8})/([^/]+)/([^/]+)/"
        r"aws4_request, ?SignedHeaders=([^,]+), ?Signature=([0-9a-f]{64})",
        request.headers.get("authorization", ""))
    if not found:
        aws.problem(request, "not signed")
        return None
    key_id, day, region, service, names, signature = found.groups()
    made = aws.issued.get(key_id)
    if made is None:
        aws.problem(request, "signed by nobody who was given keys")
        return None
    if request.headers.get("x-amz-security-token") != made.token:
        aws.problem(request, "with another session token")
        return None
    names = names.split(";")
    if not {"host", "x-amz-date"} <= set(names) or names != sorted(names):
        aws.problem(request, f"signed headers {names}")
    if made.token is not None and "x-amz-security-token" not in names:
        aws.problem(request, "the session token is not signed")
    if (region, service) != (region_wanted, service_wanted):
        aws.problem(request, f"signed for {region}/{service}")
    date = request.headers.get("x-amz-date", "")
    canonical = "\n".join(
        [request.method, request.parts.path, request.parts.query] +
        [f"{n}:{' '.join(request.headers.get(n, '').split())}"
         for n in names] +
        ["", ";".join(names), hashlib.sha256(request.body).hexdigest()])
    scope = f"{day}/{region}/{service}/aws4_request"
    to_sign = "\n".join(["AWS4-HMAC-SHA256", date, scope,
                         hashlib.sha256(canonical.encode()).hexdigest()])
    key = ("AWS4" + made.secret).encode()
    for part in (day, region, service, "aws4_request"):
        key = _hmac(key, part)
    if not date.startswith(day) or not hmac.compare_digest(
            _hmac(key, to_sign).hex(), signature):
        aws.problem(request, "the signature does not match")
        return None
    return made


def web_token(aws, life):
    """A token that a cluster vouches for, in the form of a JWT."""
    token = ".".join(
        base64.urlsafe_b64encode(aws.text(60).encode()).decode().rstrip("=")
        for _ in range(3))
    aws.web_tokens[token] = aws.clock() + life
    return token
