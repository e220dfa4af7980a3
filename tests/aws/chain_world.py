"""Worlds in which credentials may be anywhere, by chance, for test_chain.py."""
import json
import os

import sdk  # noqa: F401  (where the tests' modules are)

PROFILES = ["default", "a", "b", "c"]
ARN = "arn:aws:iam::123456789012:role/"
SESSIONS = """\
[sso-session s]
sso_region = eu-west-2
sso_start_url = https://s.awsapps.com/start
[sso-session poor]
sso_region = eu-west-2
"""
START_URLS = ["https://s.awsapps.com/start", "https://legacy.example/start"]
CONTAINERS = [
    "http://169.254.170.2/v2", "http://169.254.170.23/v1/credentials",
    "http://localhost:8080/x", "http://127.0.0.1/x", "http://127.9.9.9:1/",
    "http://[::1]:99/x", "http://[fd00:ec2::23]/v1", "https://far.example/x",
    "http://far.example/x", "http://169.254.170.24/", "ftp://far.example/",
    "http://127.0.0.1.example/", "http://localhost.example/", "",
    "http://128.0.0.1/", "http://[::2]/",
]


class World:
    def __init__(self, random_, directory):
        self.random = random_
        self.directory = directory
        self.n = 0

    def chance(self, p):
        return self.random.random() < p

    def one(self, *values):
        return self.random.choice(values)

    def path(self, name):
        return os.path.join(self.directory, name)

    def key(self):
        self.n += 1
        return f"AK{self.n:04}"

    # ---- profiles ----

    def keys(self):
        found = {"aws_access_key_id": self.key(),
                 "aws_secret_access_key": f"secret{self.n}"}
        if self.chance(0.3):
            found["aws_session_token"] = f"token{self.n}"
        if self.chance(0.1):
            found["aws_security_token"] = f"older{self.n}"
        if self.chance(0.2):
            found["aws_account_id"] = "210987654321"
        if self.chance(0.1):
            del found[self.one("aws_access_key_id", "aws_secret_access_key")]
        elif self.chance(0.04):
            found["aws_access_key_id"] = ""
        return found

    def role(self):
        found = {"role_arn": ARN + self.one("one", "two", "three")}
        how = self.random.random()
        if how < 0.6:
            found["source_profile"] = self.one(*PROFILES * 3, "missing")
        elif how < 0.92:
            found["credential_source"] = self.one(
                "Environment", "EcsContainer", "Ec2InstanceMetadata",
                "Ec2InstanceMetadata", "environment", "Other")
        elif how < 0.96:
            found["source_profile"] = "a"
            found["credential_source"] = "Environment"
        optional = {"external_id": "external-1",
                    "role_session_name": self.one("session-1", ""),
                    "duration_seconds": self.one(
                        "900", "3600", "43200", "900", "x", "1.5", "99999"),
                    "mfa_serial": "arn:aws:iam::123456789012:mfa/me"}
        for name, p in (("external_id", 0.3), ("role_session_name", 0.3),
                        ("duration_seconds", 0.3), ("mfa_serial", 0.05)):
            if self.chance(p):
                found[name] = optional[name]
        return found

    def web_identity(self):
        found = {"web_identity_token_file": self.path("web-token"),
                 "role_arn": ARN + "web"}
        if self.chance(0.4):
            found["role_session_name"] = "web-session"
        if self.chance(0.1):
            del found["role_arn"]
        return found

    def sso(self):
        found = {"sso_account_id": "111122223333", "sso_role_name": "Reader"}
        if self.chance(0.6):
            found["sso_session"] = self.one("s", "s", "s", "poor", "missing")
        if "sso_session" not in found or self.chance(0.3):
            found["sso_region"] = self.one("eu-west-2", "eu-west-2",
                                           "us-west-2")
            found["sso_start_url"] = self.one(*START_URLS)
        if self.chance(0.15):
            del found[self.random.choice(sorted(found))]
        return found

    def process(self):
        return {"credential_process": self.one(
            "/bin/get --profile x", "'/bin/with blank' \"a b\" c\\ d", "get",
            "", "get 'open")}

    def metadata(self):
        found = {"metadata_service_timeout": self.one("1", "5", "x"),
                 "metadata_service_num_attempts": self.one("1", "3"),
                 "ec2_metadata_service_endpoint": self.one(
                     "http://imds.example:8080/", "http://[fd00::1]",
                     "http://[fd00::1]", "imds.example"),
                 "ec2_metadata_service_endpoint_mode": self.one(
                     "IPv6", "ipv4", "ipv6", "5"),
                 "ec2_metadata_v1_disabled": self.one(
                     "true", "false", "False", "other"),
                 "imds_use_ipv6": self.one("true", "false")}
        return {k: v for k, v in found.items() if self.chance(0.3)}

    def section(self, title, chances):
        found = {}
        for make, p in chances:
            if self.chance(p):
                found.update(make())
        if self.chance(0.03):
            found["login_session"] = "me"
        return f"[{title}]\n" + "".join(f"{k} = {v}\n"
                                        for k, v in found.items())

    def files(self):
        config, credentials = SESSIONS, ""
        for name in PROFILES:
            if self.chance(0.85):
                config += self.section(
                    "default" if name == "default" else f"profile {name}",
                    ((self.metadata, 0.15), (self.keys, 0.25),
                     (self.process, 0.15), (self.sso, 0.15),
                     (self.role, 0.35), (self.web_identity, 0.12)))
            if self.chance(0.35):
                credentials += self.section(
                    name, ((self.keys, 0.6), (self.process, 0.1),
                           (self.role, 0.15)))
        if self.chance(0.03):
            config += "[broken\nx"
        return config, credentials

    def tower(self):
        """Roles by roles, and what they stand on. The first profile, too."""
        names = list(PROFILES)
        self.random.shuffle(names)
        names = names[:self.random.randint(2, len(names))]
        config = SESSIONS
        for name, source in zip(names, names[1:] + [None]):
            if source is None:
                found = self.one(self.keys, self.keys, self.process, self.sso,
                                 self.web_identity, self.role)()
            else:
                found = dict(self.role(), source_profile=source)
                found.pop("credential_source", None)
                found["role_arn"] = f"{ARN}of-{name}"
            title = name if name == "default" else f"profile {name}"
            config += f"[{title}]\n" + "".join(f"{k} = {v}\n"
                                               for k, v in found.items())
        return config, names[0]

    # ---- environment ----

    def environment_keys(self):
        found = {"AWS_ACCESS_KEY_ID": self.key(),
                 "AWS_SECRET_ACCESS_KEY": f"secret{self.n}"}
        if self.chance(0.4):
            found[self.one("AWS_SESSION_TOKEN", "AWS_SESSION_TOKEN",
                           "AWS_SECURITY_TOKEN")] = f"token{self.n}"
        if self.chance(0.2):
            found["AWS_SESSION_TOKEN"] = "" if self.chance(0.3) else "token"
        if self.chance(0.2):
            found["AWS_ACCOUNT_ID"] = "333344445555"
        if self.chance(0.15):
            found["AWS_CREDENTIAL_EXPIRATION"] = "2099-01-01T00:00:00Z"
        if self.chance(0.1):
            del found["AWS_SECRET_ACCESS_KEY"]
        if self.chance(0.1):
            found["AWS_ACCESS_KEY_ID"] = ""
        return found

    def environment_container(self):
        found = {}
        if self.chance(0.4):
            found["AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"] = self.one(
                "/v2/credentials/1", "/v2/credentials/2?x=y", "/", "",
                ".example/x", "@far.example/")
        if not found or self.chance(0.4):
            found["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = self.one(*CONTAINERS)
        if self.chance(0.4):
            found["AWS_CONTAINER_AUTHORIZATION_TOKEN"] = self.one(
                "Basic abc", "Basic abc", "a\nb", "a\r")
        if self.chance(0.3):
            found["AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"] = self.one(
                self.path("container-token"), self.path("container-token"),
                "")
        return found

    def environment_metadata(self):
        found = {"AWS_METADATA_SERVICE_TIMEOUT": self.one("2", "2", "", "1s"),
                 "AWS_METADATA_SERVICE_NUM_ATTEMPTS": self.one("4", "4", "x"),
                 "AWS_EC2_METADATA_SERVICE_ENDPOINT": self.one(
                     "http://env.example", "http://env.example/base/", "",
                     "env.example"),
                 "AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE": self.one(
                     "IPv6", "IPv4", ""),
                 "AWS_EC2_METADATA_V1_DISABLED": self.one("true", "false",
                                                          ""),
                 "AWS_IMDS_USE_IPV6": self.one("true", "x")}
        return {k: v for k, v in found.items() if self.chance(0.25)}

    def environment(self):
        found = {"AWS_DEFAULT_REGION": "eu-central-1"}
        if self.chance(0.25):
            found.update(self.environment_keys())
        if self.chance(0.3):
            found["AWS_PROFILE"] = self.one(*PROFILES * 4, "missing", "")
        if self.chance(0.07):
            found["AWS_DEFAULT_PROFILE"] = self.one(*PROFILES)
        if self.chance(0.12):
            web = {"AWS_WEB_IDENTITY_TOKEN_FILE": self.one(
                self.path("web-token-2"), self.path("web-token-2"), ""),
                   "AWS_ROLE_ARN": ARN + "environment",
                   "AWS_ROLE_SESSION_NAME": self.one("of-environment", "")}
            found.update({k: v for k, v in web.items() if self.chance(0.8)})
        if self.chance(0.3):
            found.update(self.environment_container())
        if self.chance(0.2):
            found.update(self.environment_metadata())
        if self.chance(0.25):
            found["AWS_EC2_METADATA_DISABLED"] = self.one(
                "true", "TRUE", "false", "1", "")
        return found

    def next(self):
        if self.chance(0.15):
            config, first = self.tower()
            environment = {"AWS_DEFAULT_REGION": "eu-central-1",
                           "AWS_PROFILE": first}
            if self.chance(0.5):
                environment.update(self.environment())
            return {"environment": environment, "config": config,
                    "credentials": "", "settings": {}}
        config, credentials = self.files()
        case = {"environment": self.environment(), "config": config,
                "credentials": credentials, "settings": {}}
        if self.chance(0.25):
            case["settings"]["profile"] = self.one(*PROFILES * 5, "missing")
        return case


def write_files(directory):
    """The tokens that these worlds name."""
    for name, text in (("web-token", "token of the profile"),
                       ("web-token-2", "token of the environment"),
                       ("container-token", "Bearer of the file")):
        with open(os.path.join(directory, name), "w", encoding="utf-8") as f:
            f.write(text)


def write_sso_tokens(cache):
    """As aws sso login leaves them."""
    import hashlib
    os.makedirs(cache)
    for name in ["s", "poor"] + START_URLS:
        path = hashlib.sha1(name.encode()).hexdigest() + ".json"
        with open(os.path.join(cache, path), "w", encoding="utf-8") as f:
            json.dump({"accessToken": f"token for {name}",
                       "expiresAt": "2099-01-01T00:00:00Z"}, f)
