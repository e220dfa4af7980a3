#!/usr/bin/env python3
"""Each single message of a story is lost in turn, before its effect or after,
for one attempt or for all of an operation, lands late, is refused, or comes
twice. No hold is lost for it, none is doubled, everybody is served, and nothing
is left behind: the stories in scenarios/lost-answers say what they expect, and
the judge looks at the rest.
"""
import os
import subprocess
import sys
import tempfile

TOP = os.path.dirname(os.path.abspath(__file__))
SIM = os.environ.get("DDBLOCK_SIM", "./ddblock-sim")

# Of all attempts of an operation, and of one.
ALL = ("operation {0} lose", "operation {0} lose-answer",
       "operation {0} late 4s", "operation {0} late 7s",
       "operation {0} late 40s", "operation {0} throttled",
       "operation {0} unsent", "operation {0} failed-after")
ONE = ("message {0} lose", "message {0} lose-answer", "message {0} late 2s",
       "message {0} late 40s", "message {0} answer-late 1s",
       "message {0} answer-late 3s", "message {0} twice 100ms",
       "message {0} twice 3s", "message {0} throttled", "message {0} unsent",
       "message {0} failed", "message {0} failed-after",
       "message {0} garbled")
# A lock may change between a conflict and the read that explains it; a session
# has nothing of that kind.
WAY = ("message {0} in-the-way",)

# In which story each kind is met, by which hosts, and how often.
STORIES = (
    ("contention", "AB", 8, ALL + ONE + WAY,
     ("acquire", "release", "extend", "want", "unwant")),
    ("contention", "AB", 8, ALL + ONE, ("read", "read-many", "session-open")),
    # A renewal's deadline is the end of the lease, and it is repeated until
    # then: a single message is never the last word.
    ("contention", "AB", 8, ONE, ("session-beat",)),
    ("takeover", "B", 2, ALL + ONE,
     ("session-read", "session-kill", "acquire", "want")),
    ("burial", "B", 2, ALL + ONE, ("session-read", "session-bury")),
    ("close", "A", 1, ALL + ONE, ("session-close",)),
)


def read(story):
    with open(os.path.join(TOP, "scenarios", "lost-answers", story + ".plan"),
              encoding="ascii") as f:
        return f.read().split("--- trace\n")[0]


def cases():
    for story, hosts, most, faults, kinds in STORIES:
        for kind in kinds:
            for host in hosts:
                for nth in range(1, most + 1):
                    for fault in faults:
                        yield (story, f"at 0s {host} "
                               + fault.format(f"{kind} {nth}") + "\n")


def main():
    n = 0
    with tempfile.TemporaryDirectory() as folder:
        for story, step in cases():
            n += 1
            name = f"{n}-{story}-{step.strip()}".replace(" ", "-")
            with open(os.path.join(folder, name + ".plan"), "w",
                      encoding="ascii") as f:
                f.write(read(story) + step)
        done = subprocess.run([SIM, "--scenarios", folder, "--jobs", "2"],
                              text=True, stdin=subprocess.DEVNULL,
                              capture_output=True)
    print(done.stdout + done.stderr, end="")
    if done.returncode != 0 or not done.stdout.startswith(f"{n} "):
        sys.exit(1)


main()
