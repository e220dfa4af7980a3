"""What must hold whatever the network does, judged from what was seen.

Moments are of CLOCK_BOOTTIME in milliseconds. A beat is what gate.py wrote of
a request that renews or opens a session.
"""
TAKEN_MS = 250  # an answer that was handed over so long ago has been read
LATE_MS = 100  # a client hears of a loss so much later


def renews(beat):
    """Has it got through: carried out, and its answer taken?"""
    return beat.get("request") in ("beat", "open") and \
        beat.get("status") == 200 and beat.get("kept", False)


def keeper(at_ms, beats, lasts_ms):
    """The request that had prolonged the lease beyond @at_ms; or None.

    A lease lasts so long from when the request was sent. When that was, the
    gate does not know, but not before the connection was there."""
    for beat in beats:
        if renews(beat) and beat["done"] <= at_ms - TAKEN_MS and \
                beat["sent"] + lasts_ms > at_ms + LATE_MS:
            return beat
    return None


def overlaps(holds):
    """Pairs of holds of one key that were held at the same time, and pairs
    whose tokens are not in their order. A hold is (key, from, to, token)."""
    found = []
    last = {}
    for hold in sorted(holds, key=lambda h: (h[0], h[1])):
        before = last.get(hold[0])
        if before is not None and (hold[1] < before[2]
                                   or hold[3] <= before[3]):
            found.append((before, hold))
        last[hold[0]] = hold
    return found


def recovered(end_ms, beats):
    """How long after @end_ms the first renewal came, and how long the first
    that got through had its answer; None: none has."""
    done = min((b["done"] - end_ms for b in beats
                if renews(b) and b["done"] >= end_ms), default=None)
    if done is None:
        return None
    came = min(b["came"] - end_ms for b in beats
               if b["came"] >= end_ms or renews(b) and b["done"] >= end_ms)
    return max(came, 0), done
