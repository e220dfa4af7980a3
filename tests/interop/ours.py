"""Our side of a table that is shared with older clients: a daemon in front of
it, in the format of a peer, and what its clients ask.
"""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "integration"))
import harness  # noqa: E402

LATE = ("UNREACHABLE", "LOCK_LOST")  # what a machine that stood still makes


def config(peer, table, endpoint=None, lease_ms=2000, **settings):
    """A configuration whose only namespace shares @table with that peer."""
    lines = {
        "store": "dynamodb", "format": peer.format, "table": table,
        "endpoint": endpoint or harness.endpoint(),
        "region": "us-east-1", "access_key_id": "AKIDEXAMPLE",
        "secret_access_key": "none", "poll": "50ms",
        "key_attribute": peer.key_attribute}
    if peer.dies:
        lines["lease"] = f"{lease_ms}ms"
        lines["heartbeat"] = f"{lease_ms // 4}ms"
    if peer.sort_attribute:
        lines["sort_attribute"] = peer.sort_attribute
    lines.update(peer.settings)
    lines.update(settings)
    return "[namespace default]\n" + "".join(
        f"{name} = {value}\n" for name, value in lines.items())


def attribute(value):
    """An attribute as the word of a request has it: (suffix, text)."""
    if isinstance(value, int):
        return ":json", json.dumps({"N": str(value)})
    return "", value


def attributes_of(line):
    """Those that an answer tells: text as str, numbers as int."""
    found = {}
    for name, value in line.arguments.items():
        if not name.startswith("attr."):
            continue
        name = name[len("attr."):]
        if name.endswith(":json"):
            name = name[:-len(":json")]
            value = json.loads(value)
            value = int(value["N"]) if "N" in value else value
        found[name] = value
    return found


class Client(harness.Client):
    """A client of our daemon, that asks for holds as the format has them."""

    def __init__(self, daemon, peer):
        super().__init__(daemon)
        self.terms = "" if peer.dies else " policy=fail-closed"

    @staticmethod
    def contents(data=None, attributes=None):
        words = "" if data is None else f" data={harness.encode(data)}"
        for name, value in (attributes or {}).items():
            kind, text = attribute(value)
            words += f" attr.{name}{kind}={harness.encode(text)}"
        return words

    def send_acquire(self, key, wait="60s", **contents):
        return self.send(f"ACQUIRE {harness.encode(key)} wait={wait}"
                         + self.terms + self.contents(**contents))

    def take(self, key, wait="60s", **contents):
        """The grant; fails without one."""
        grant = self.reply(self.send_acquire(key, wait, **contents))
        assert grant.ok, grant
        return grant

    def attempt(self, key, **contents):
        return self.call(f"TRY {harness.encode(key)}" + self.terms
                         + self.contents(**contents))

    def give(self, grant, **contents):
        """Releases it; fails if it was not ours any more."""
        done = self.call(f"RELEASE id={grant['id']}"
                         + self.contents(**contents))
        assert done.ok, done

    def get(self, key):
        line = self.call(f"GET {harness.encode(key)}")
        assert line.ok, line
        return line

    @staticmethod
    def until_boot_ms(grant):
        """Until when a guard may rely on it; None: for ever."""
        until = grant.get("until_boot_ms")
        return None if until is None else int(until)

    def turn(self, guard, who, key, pause_ms, tokens):
        """Acquire, be inside if there is a grant, release: the last code."""
        grant = self.reply(self.send_acquire(key, wait="500ms"))
        if grant.code in ("ACQUIRE_TIMEOUT", *LATE):
            return grant.code
        assert grant.ok, grant
        token = int(grant.get("token_text") or grant["token"]) \
            if tokens else None
        with guard.inside(key, who, token, self.until_boot_ms(grant)):
            pass
        done = self.call(f"RELEASE id={grant['id']}")
        assert done.code in ("OK", *LATE), done
        # Ours is fast: leave some for the others.
        harness.pass_boot_ms(harness.boot_ms() + pause_ms)
        return done.code

    def losses(self):
        """The holds that it was told are lost."""
        return [e for e in self.events if e.word == "LOCK_LOST"]
