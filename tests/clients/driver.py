"""The driver of the Python client: see test_clients.py.

With $DDBLOCK_CLIENT, of the package that is installed.
"""
import os
import queue
import sys
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(HERE)
if "DDBLOCK_CLIENT" not in os.environ:
    sys.path.insert(0, os.path.join(HERE, "..", "..", "contrib", "clients",
                                    "python"))
import ddblock  # noqa: E402
import old  # noqa: E402

Client = ddblock.Client  # driver_asyncio.py has another
clients = {}
holds = {}
started = {}


class BodyError(Exception):
    pass


def say(*words, fields=None):
    pairs = [f"{ddblock.encode(name)}={ddblock.encode(value)}"
             for name, value in (fields or {}).items()]
    print(*words, *pairs, flush=True)


def name_of(hold):
    return next((name for name, each in holds.items() if each is hold), "-")


def parse(words):
    """(values, named arguments) of the rest of a command."""
    values, named = [], {}
    for word in words:
        name, is_named, value = word.partition("=")
        if is_named:
            named[ddblock.decode(name)] = ddblock.decode(value)
        else:
            values.append(ddblock.decode(word) if word != '""' else "")
    return values, named


def one_or_all(keys):
    return keys if len(keys) > 1 else keys[0]


def begin(words):
    """A request under way and what to do with its result."""
    verb = words[0]
    client = clients[words[1]]
    if verb == "request":
        values, named = parse(words[3:])
        return client.start(words[2], *values, **named), say_reply
    keys, named = parse(words[3:])
    pending = client.start({"acquire": "ACQUIRE", "try": "TRY"}[verb],
                           one_or_all(keys), **named)
    return pending, lambda hold: say_hold(words[2], hold)


def say_reply(reply):
    for row in reply.rows:
        say("row", fields=row)
    say("ok", fields=reply.fields)


def say_hold(name, hold):
    holds[name] = hold
    say("ok", fields=hold.reply.fields)


def do_scope(client, key, fail=None):
    try:
        with client.acquire(key) as hold:
            say("body", fields={"state": client.get(key)["state"]})
            if fail:
                client.request("RELEASE", id=hold.id)
                raise BodyError()
    except BodyError:
        say("error body")
        return
    say("ok")


def do_threads(client, count, times, key, shared=None):
    grants = []

    def work(own):
        for _ in range(int(times)):
            with client.acquire(own, reentrant=bool(shared)) as hold:
                grants.append(hold.token)

    threads = [threading.Thread(target=work, args=(
        key if shared else f"{key}{number}",)) for number in range(int(count))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    say("ok", fields={"grants": len(grants)})


def do_event(client, name):
    for event in client.events(60):
        if event.name == name:
            say("event", name, name_of(event.hold), fields=event.fields)
            return


def do_resume(client, other, *names):
    resumed = client.resume(clients[other].secret)
    holds.update(zip(names, resumed))
    say("ok", fields={"holds": len(resumed)})


def do_hold(verb, name, words):
    hold = holds[name]
    named = parse(words)[1]
    if verb == "release":
        hold.release(**named)
        say("ok")
    elif verb == "renew":
        hold.renew(**named)
        say("ok")
    elif verb == "lost":
        say("lost" if hold.lost.wait(60) else "kept",
            fields={"reason": hold.reason})
    elif verb == "token":
        say("token", hold.tokens.get(ddblock.decode(words[0]), 0))
    elif verb == "count":
        say("count", hold.count)
    elif verb == "valid":
        say("yes" if hold.is_valid() else "no")
    else:
        say("until", hold.until_boot_ms)


def do_client(verb, name, words):
    if verb == "open":
        hello = parse(words)[1]
        resume = hello.pop("resume", "no") == "yes"
        clients[name] = Client(resume=resume, **hello)
        say("ok", fields=clients[name].hello.fields)
        return
    client = clients[name]
    values, named = parse(words)
    if verb == "close":
        client.close()
        say("ok")
    elif verb in ("get", "watch"):
        say("ok", fields=getattr(client, verb)(*values, **named))
    elif verb == "unwatch":
        client.unwatch(*values, **named)
        say("ok")
    elif verb == "break":
        key, token, reason = values
        say("ok", fields=client.break_lock(
            key, None if token == "0" else token, reason, **named))
    elif verb == "status":
        say_reply(client.status())
    elif verb == "resume":
        do_resume(client, *words)
    elif verb == "event":
        do_event(client, words[0])
    elif verb == "scope":
        do_scope(client, *words)
    elif verb == "threads":
        do_threads(client, *words)
    else:
        for row in getattr(client, verb)(**named):
            say("row", fields=row)
        say("ok")


def do(words):
    verb = words[0]
    if verb == "begin":
        started[words[1]] = begin(words[2:])
        say("begun")
    elif verb == "end":
        pending, then = started.pop(words[1])
        then(pending.result())
    elif verb == "cancel":
        say("ok", fields={"cancelled": started[words[1]][0].cancel()})
    elif verb == "abandon":
        try:
            started.pop(words[1])[0].result(timeout=0)
        except TimeoutError:
            say("ok")
    elif verb == "acquire":
        keys, named = parse(words[3:])
        say_hold(words[2], clients[words[1]].acquire(one_or_all(keys),
                                                     **named))
    elif verb == "try":
        keys, named = parse(words[3:])
        say_hold(words[2], clients[words[1]].try_acquire(one_or_all(keys),
                                                         **named))
    elif verb == "request":
        values, named = parse(words[3:])
        say_reply(clients[words[1]].request(words[2], *values, **named))
    elif verb == "old":
        getattr(old, words[1])()
        say("done")
    elif verb in ("release", "renew", "lost", "token", "count", "valid",
                  "until"):
        do_hold(verb, words[1], words[2:])
    else:
        do_client(verb, words[1], words[2:])


def main():
    for line in sys.stdin:
        try:
            do(line.split())
        except ddblock.Error as e:
            say("error", e.code, fields=e.fields)


if __name__ == "__main__":
    main()
