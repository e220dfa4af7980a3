------------------------------- MODULE Native -------------------------------
(***************************************************************************)
(* The native record format of ddblockd, as a machine that can be checked  *)
(* exhaustively: one lock, a few hosts, a table that carries out each      *)
(* conditional write atomically, and a network that delivers a request     *)
(* late, twice or never, and loses answers.                                *)
(*                                                                         *)
(* How to read it, if you know DynamoDB but not TLA+: the variables below  *)
(* are the whole world. Each action (BeatLands, Kill, ...) is a formula    *)
(* over the values before and, with a prime, after a step; the lines       *)
(* without a prime are its condition. `Next` allows any action at any      *)
(* time, and TLC walks through every state that can be reached, looking    *)
(* for one that breaks an invariant. A host that is slow, paused or dead   *)
(* needs no action of its own: its actions just do not happen.             *)
(*                                                                         *)
(* Names are those of the code. The section heads say which file they      *)
(* mirror. README.md says what was left out, and why that is sound.        *)
(*                                                                         *)
(* `Defect` breaks one rule at a time: Bad("...") marks the places. A      *)
(* model that cannot fail proves nothing; `run` shows that this one does.  *)
(***************************************************************************)
EXTENDS Naturals, FiniteSets, TLC

CONSTANTS
    Hosts,      \* daemon lives; a restarted daemon is another of them
    Mortal,     \* those whose beats are modelled; the others' never fail
    Holders,    \* who holds the lock in the beginning: one host or none
    Sessions,   \* how many sessions a daemon may open, one after another
    Clients,    \* how many local programs want the lock, on each host
    Endless,    \* TRUE: who was served comes again
    Lease,      \* L, in ticks (timing.h)
    Margin,     \* a holder is told of the loss so long before L
    Drift,      \* what two clocks may differ by, of a lease
    Window,     \* how long a signed request is accepted (in_doubt.c: 15 min)
    Horizon,    \* time ends here
    Beats,      \* attempts at a beat, per session
    Grants,     \* names for grants that may be about at once, per session
    Block,      \* tokens written at once (tokens_asked)
    Run,        \* local grants in a row before a fresh look (handover_max)
    Faults,     \* operations whose answer may be lost, and which may then
                \* land late, or again
    Wishes,     \* TRUE: hosts write wishes
    Deletions,  \* how often somebody deletes a session's item by hand
    Defect      \* which rule is broken, or "none"

VARIABLES
    now,        \* real time; no host can see it
    item,       \* the table: the sessions' items
    lock,       \* the table: the lock's item
    net,        \* requests that may land (again)
    ses,        \* daemons: their own sessions (session.c)
    watch,      \* daemons: other hosts' sessions (observe.c)
    mine,       \* daemons: what of ours is in the lock (grant.c)
    client,     \* local programs: how many wait, and what token one holds
    top,        \* the judge: the highest token that was ever granted
    rising,     \* the judge: so far, each grant's token was above all before
    deleted     \* how often a session's item was deleted

vars == <<now, item, lock, net, ses, watch, mine, client, top, rising,
          deleted>>

Bad(d) == Defect = d

Sid == Hosts \X (1 .. Sessions)     \* a session: its host, and which
Host(s) == s[1]
OfHost(h) == {s \in Sid : Host(s) = h}

NoGrant == [s |-> <<0, 0>>, n |-> 0]
Grant(s, n) == [s |-> s, n |-> n]

Max(a, b) == IF a > b THEN a ELSE b
MaxOf(S) == CHOOSE x \in S : \A y \in S : y <= x

-----------------------------------------------------------------------------
(***************************************************************************)
(* Time. A tick is some fraction of a lease. There are no clocks to read:  *)
(* hosts measure durations, and over a lease each clock may gain or lose   *)
(* `Drift` against real time. So a host that waits for `d` has perhaps     *)
(* waited long enough when d - Drift have really passed, and certainly     *)
(* when d + Drift have. Between the two, the host may act or not.          *)
(***************************************************************************)
Perhaps(since, d) == now + Drift >= since + d
Certainly(since, d) == now >= since + d + Drift

Tick ==
    /\ now < Horizon
    /\ now' = now + 1
    /\ UNCHANGED <<item, lock, net, ses, watch, mine, client, top, rising,
                   deleted>>

(* From the send of a renewal to LOCK_LOST (session_until_ms).             *)
Safe == Lease - IF Bad("no margin") THEN 0 ELSE Margin

(* session_is_good: the owner may still believe so.                        *)
Good(s) ==
    /\ s \in Sid /\ ses[s].st = "valid"
    /\ Host(s) \in Mortal => ~Certainly(ses[s].sent, Safe)

(* core_step: timers that are due come before anything else of that host.  *)
Awake(h) == \A s \in OfHost(h) : ses[s].st = "valid" => Good(s)

(* timing_observe_ms                                                       *)
Observe == Lease + IF Bad("ignore drift") THEN 0 ELSE Drift

(* The session for new grants: one or none.                                *)
Usable(h) == {s \in OfHost(h) : Good(s)}

-----------------------------------------------------------------------------
(***************************************************************************)
(* In the beginning each host has a session, just opened. The `open` may   *)
(* still be about: it was perhaps sent twice. The lock is free, or the one *)
(* of `Holders` has just been granted it.                                  *)
(***************************************************************************)
Idle == [st |-> "none", g |-> NoGrant, answer |-> 0, busy |-> "none",
         sight |-> NoGrant, seen |-> 0, next |-> 0, last |-> 0, run |-> 0,
         wish |-> FALSE, wanted |-> FALSE, back |-> FALSE, doubts |-> {}]

Init ==
    /\ now = 1
    /\ item = TLCEval([s \in Sid |->
                   [st |-> IF s[2] = 1 THEN "alive" ELSE "absent",
                    beat |-> 0]])
    /\ lock = [holders |-> {Grant(<<h, 1>>, 1) : h \in Holders},
               token |-> IF Endless \/ Holders # {} THEN 1 ELSE 0,
               xwait |-> {}]
    /\ net = {}
    /\ ses = TLCEval([s \in Sid |->
                   [st |-> IF s[2] = 1 THEN "valid" ELSE "none",
                    sent |-> IF s[2] = 1 THEN 1 ELSE 0,
                    lost |-> 0, beats |-> {}]])
    /\ watch = TLCEval([h \in Hosts |-> TLCEval([s \in Sid |->
                   [st |-> "new", beat |-> 0, since |-> 0]])])
    /\ mine = TLCEval([h \in Hosts |->
                   IF h \in Holders
                   THEN [Idle EXCEPT !.st = "held", !.g = Grant(<<h, 1>>, 1),
                                     !.next = 2, !.last = 1, !.run = 1]
                   ELSE Idle])
    /\ client = TLCEval([h \in Hosts |->
                   IF h \in Holders THEN [waiting |-> Clients - 1, token |-> 1]
                   ELSE [waiting |-> Clients, token |-> 0]])
    /\ top = Cardinality(Holders)
    /\ rising = TRUE
    /\ deleted = 0

-----------------------------------------------------------------------------
(***************************************************************************)
(* session.c: one item per daemon life, whose `beat` renews every lock.    *)
(*                                                                         *)
(*     none -> opening -> valid -> lost -> gone                            *)
(*                                                                         *)
(* The number of a beat is the clock at its send, so an attempt's number   *)
(* says when it was sent, and `beats` says which may still land.           *)
(***************************************************************************)
BeatSend(s) ==
    LET n == now IN
    /\ Host(s) \in Mortal /\ Good(s) /\ Awake(Host(s))
    /\ Cardinality(ses[s].beats) < Beats
    /\ n \notin ses[s].beats
    /\ ses' = [ses EXCEPT ![s].beats = @ \union {n}]
    /\ UNCHANGED <<now, item, lock, net, watch, mine, client, top,
                   rising, deleted>>

(* SET beat = :n IF attribute_exists(key) AND attribute_not_exists(dead)   *)
(*               AND beat < :n                                             *)
BeatLands(s, n) ==
    /\ n \in ses[s].beats
    /\ item[s].st = "alive" \/ (Bad("beat the dead") /\ item[s].st = "dead")
    /\ item[s].beat < n \/ (Bad("beat may fall") /\ item[s].beat > n)
    /\ item' = [item EXCEPT ![s].beat = n]
    /\ UNCHANGED <<now, lock, net, ses, watch, mine, client, top,
                   rising, deleted>>

(* Whose renewal was it? The lease counts from the send of exactly the     *)
(* attempt that the record shows (translation_beat_of), not from the       *)
(* answer, and not from a later attempt that found it there.               *)
Credited(s) ==
    CASE Bad("count from the answer") -> now
      [] Bad("credit a later attempt") -> MaxOf(ses[s].beats)
      [] OTHER -> item[s].beat

BeatAnswered(s) ==
    /\ Good(s) /\ Awake(Host(s))
    /\ item[s].st # "absent" /\ item[s].beat \in ses[s].beats
    /\ Credited(s) > ses[s].sent
    /\ ses' = [ses EXCEPT ![s].sent = Credited(s)]
    /\ UNCHANGED <<now, item, lock, net, watch, mine, client, top,
                   rising, deleted>>

(* session_lose: final, for every hold of this session. An acquire that is *)
(* under way stays so until its outcome comes (grant_lose).                *)
LoseSession(s) ==
    LET h == Host(s)
        m == mine[h]
        hit == m.g.s = s
    IN
    /\ ses' = [ses EXCEPT ![s].st = "lost", ![s].sent = 0,
                          ![s].lost = now]
    /\ mine' = [mine EXCEPT ![h] =
           IF hit /\ m.st = "asking" THEN [m EXCEPT !.doubts = {}]
           ELSE IF m.st = "asking" THEN m ELSE Idle]
    /\ client' = [client EXCEPT ![h].token = IF hit THEN 0 ELSE @]
    /\ UNCHANGED <<now, item, lock, net, watch, top, rising, deleted>>

Expire(s) ==
    /\ Host(s) \in Mortal
    /\ ses[s].st = "valid" /\ Perhaps(ses[s].sent, Safe)
    /\ LoseSession(s)

(* A beat met `dead`, or no item at all: the owner learns at once.         *)
BeatRefused(s) ==
    /\ Good(s) /\ Awake(Host(s)) /\ ses[s].beats # {}
    /\ item[s].st # "alive"
    /\ LoseSession(s)

(* The mutant: put the item back and go on.                                *)
Revive(s) ==
    /\ Bad("revive a session")
    /\ ses[s].st = "lost" /\ item[s].st = "dead"
    /\ item' = [item EXCEPT ![s] = [st |-> "alive",
                                    beat |-> now]]
    /\ ses' = [ses EXCEPT ![s].st = "valid", ![s].sent = now]
    /\ UNCHANGED <<now, lock, net, watch, mine, client, top, rising,
                   deleted>>

(* SET dead = self: one margin after the loss, because the gap belongs to  *)
(* the holder who was just told. Our own observation of it ends, too.      *)
Close(s) ==
    LET h == Host(s) IN
    /\ ses[s].st = "lost" /\ Awake(h)
    /\ Perhaps(ses[s].lost, Margin) \/ Bad("close at once")
    /\ ses' = [ses EXCEPT ![s].st = "gone"]
    /\ IF item[s].st = "absent" THEN UNCHANGED <<item, watch>>
       ELSE /\ item' = [item EXCEPT ![s].st =
                            IF @ = "alive" THEN "closed" ELSE @]
            /\ watch' = [watch EXCEPT ![h][s].st = "dead"]
    /\ UNCHANGED <<now, lock, net, mine, client, top, rising, deleted>>

(* session_start: a new name for each                                      *)
OpenSend(h) ==
    /\ Awake(h)
    /\ \A s \in OfHost(h) : ses[s].st \notin {"opening", "valid"}
    /\ \E s \in OfHost(h) :
        /\ ses[s].st = "none"
        /\ \A t \in OfHost(h) : ses[t].st = "none" => s[2] <= t[2]
        /\ ses' = [ses EXCEPT ![s].st = "opening", ![s].sent = now]
    /\ UNCHANGED <<now, item, lock, net, watch, mine, client, top,
                   rising, deleted>>

(* Put {beat = 0} IF attribute_not_exists(key). It may land again, as long *)
(* as somebody deletes the item in between.                                *)
OpenLands(s) ==
    /\ ses[s].st # "none"
    /\ item[s].st = "absent"
    /\ item' = [item EXCEPT ![s] = [st |-> "alive", beat |-> 0]]
    /\ UNCHANGED <<now, lock, net, ses, watch, mine, client, top,
                   rising, deleted>>

(* Counted from the first send. If it is over by now, Expire comes next.   *)
OpenAnswered(s) ==
    /\ ses[s].st = "opening" /\ Awake(Host(s))
    /\ item[s].st # "absent"
    /\ ses' = [ses EXCEPT ![s].st =
                   IF item[s].st = "alive" THEN "valid" ELSE "gone"]
    /\ UNCHANGED <<now, item, lock, net, watch, mine, client, top,
                   rising, deleted>>

(* By hand. A late `open` may then put the same item there again, with the *)
(* same first beat: to an observer who saw that one, as if nothing had     *)
(* happened. So what is watched may not be deleted: README.md, Exceptions. *)
DeleteItem(s) ==
    /\ deleted < Deletions
    /\ item[s].st = "alive"
    /\ \/ \A h \in Hosts : watch[h][s].st # "alive"
       \/ Bad("delete what is watched")
    /\ deleted' = deleted + 1
    /\ item' = [item EXCEPT ![s] = [st |-> "absent", beat |-> 0]]
    /\ UNCHANGED <<now, lock, net, ses, watch, mine, client, top, rising>>

-----------------------------------------------------------------------------
(***************************************************************************)
(* observe.c: another host's session, watched from outside. `since` is     *)
(* when this host first HAD that beat in hand. Absence proves nothing and  *)
(* is waited for like a beat. A read is one step here: an answer that is   *)
(* late makes the observer count later, which is the safe side; and what a *)
(* kill's answer says (dead, or a beat that moved) a read says as well.    *)
(***************************************************************************)
Blocked(h, s) ==
    /\ mine[h].sight.s = s /\ Host(s) \in Mortal
    /\ ~(Host(s) = h /\ Good(s))

Look(h, s) ==
    LET w == watch[h][s]
        i == item[s]
        saw == CASE i.st \in {"dead", "closed"} ->
                      [st |-> "dead", beat |-> 0, since |-> 0]
                 [] i.st = "absent" ->
                      [st |-> "absent", beat |-> 0,
                       since |-> IF w.st = "absent" THEN w.since
                                 ELSE now]
                 [] OTHER ->
                      [st |-> "alive", beat |-> i.beat,
                       since |-> IF w.st = "alive" /\ w.beat = i.beat
                                 THEN w.since ELSE now]
    IN
    /\ Blocked(h, s) /\ Awake(h)
    /\ w.st # "dead" /\ saw # w
    /\ watch' = [watch EXCEPT ![h][s] = saw]
    /\ UNCHANGED <<now, item, lock, net, ses, mine, client, top,
                   rising, deleted>>

Stale(h, s) ==
    /\ watch[h][s].st \in {"alive", "absent"}
    /\ Perhaps(watch[h][s].since, Observe)

(* SET dead = by IF beat = :seen AND attribute_not_exists(dead)            *)
KillSend(h, s) ==
    LET m == [op |-> "kill", s |-> s, beat |-> watch[h][s].beat] IN
    /\ Blocked(h, s) /\ Awake(h)
    /\ Stale(h, s) /\ watch[h][s].st = "alive"
    /\ m \notin net
    /\ net' = net \union {m}
    /\ UNCHANGED <<now, item, lock, ses, watch, mine, client, top,
                   rising, deleted>>

KillLands(m) ==
    /\ m.op = "kill"
    /\ item[m.s].st = "alive"
    /\ item[m.s].beat = m.beat \/ Bad("kill without beat")
    /\ item' = [item EXCEPT ![m.s].st = "dead"]
    /\ net' = net \ {m}
    /\ UNCHANGED <<now, lock, ses, watch, mine, client, top, rising,
                   deleted>>

(* Put {dead = by} IF attribute_not_exists(key)                            *)
BurySend(h, s) ==
    LET m == [op |-> "bury", s |-> s] IN
    /\ Blocked(h, s) /\ Awake(h)
    /\ Stale(h, s) /\ watch[h][s].st = "absent"
    /\ m \notin net
    /\ net' = net \union {m}
    /\ UNCHANGED <<now, item, lock, ses, watch, mine, client, top,
                   rising, deleted>>

BuryLands(m) ==
    /\ m.op = "bury"
    /\ item[m.s].st = "absent"
    /\ item' = [item EXCEPT ![m.s] = [st |-> "dead", beat |-> 0]]
    /\ net' = net \ {m}
    /\ UNCHANGED <<now, lock, ses, watch, mine, client, top, rising,
                   deleted>>

(* record_block: may the lock be taken from this session's hold?           *)
Dead(h, s) ==
    \/ watch[h][s].st = "dead"
    \/ Bad("skip the kill") /\ Stale(h, s) /\ watch[h][s].st = "alive"
    \/ Bad("skip the burial") /\ Stale(h, s) /\ watch[h][s].st = "absent"

-----------------------------------------------------------------------------
(***************************************************************************)
(* grant.c, submission.c, outcome.c: what of ours is in the record.        *)
(*                                                                         *)
(*     none -> asking -> held -> releasing -> none                         *)
(*                  \-> unsure (the answer never came; a read settles it)  *)
(*                                                                         *)
(* One operation per lock and host is under way at a time: the states      *)
(* asking, unsure and releasing are one, `busy` is another.                *)
(***************************************************************************)
Shows(g) == g \in lock.holders

(* The last sight of a record: who stands in the way, if anybody.          *)
Sighted(m) ==
    IF lock.holders = {} THEN [m EXCEPT !.sight = NoGrant, !.seen = 0]
    ELSE [m EXCEPT !.sight = CHOOSE g \in lock.holders : TRUE,
                   !.seen = lock.token]

Foreign(h) == {s \in lock.xwait : Host(s) # h}
Own(h) == {s \in lock.xwait : s \in Usable(h)}

(* record_seen, as far as wishes go                                        *)
Wished(h, m) ==
    IF Wishes THEN [m EXCEPT !.wanted = Own(h) # {}, !.wish = Foreign(h) # {}]
    ELSE m

(* Poll: a consistent read while nothing of ours is there.                 *)
Poll(h) ==
    LET m == Wished(h, Sighted(mine[h])) IN
    /\ Awake(h) /\ mine[h].st = "none" /\ mine[h].busy = "none"
    /\ client[h].waiting > 0
    /\ m # mine[h]
    /\ mine' = [mine EXCEPT ![h] = m]
    /\ UNCHANGED <<now, item, lock, net, ses, watch, client, top,
                   rising, deleted>>

(* A grant has a new name each: one that nothing in the world still bears. *)
InUse ==
    lock.holders
    \union {mine[h].g : h \in Hosts} \union {mine[h].sight : h \in Hosts}
    \union UNION {{d.g : d \in mine[h].doubts} : h \in Hosts}
    \union {m.g : m \in {x \in net : x.op \in {"acquire", "release",
                                               "extend"}}}
    \union {m.dead : m \in {x \in net : x.op = "acquire"}}

Fresh(s) ==
    {g \in {Grant(s, n) : n \in 1 .. Grants} :
        IF Bad("reuse a grant") THEN g.n = 1
        ELSE /\ g \notin InUse
             /\ \A k \in 1 .. g.n - 1 : Grant(s, k) \in InUse}

(* Only where nothing goes wrong is a request used up by landing. (One for *)
(* an acquire lands twice at most: each time, the token rises.)            *)
Used(m) == net' = IF m.op \in Faults THEN net ELSE net \ {m}
Maybe(op) == IF op \in Faults THEN BOOLEAN ELSE {FALSE}

(* The last moment at which what is sent now may land.                     *)
Till == IF now + Window > Horizon THEN Horizon + 1 ELSE now + Window

AcquireSend(h) ==
    /\ Awake(h) /\ mine[h].st = "none" /\ mine[h].busy = "none"
    /\ client[h].waiting > 0 /\ ~mine[h].back
    /\ \E s \in Usable(h) : \E g \in Fresh(s) :
        /\ \/ mine[h].sight = NoGrant
           \/ mine[h].sight # NoGrant /\ Dead(h, mine[h].sight.s)
        /\ net' = net \union
               {[op |-> "acquire", g |-> g, dead |-> mine[h].sight,
                 seen |-> mine[h].seen, till |-> Till,
                 left |-> IF "acquire" \in Faults THEN 2 ELSE 1]}
        /\ mine' = [mine EXCEPT ![h].st = "asking", ![h].g = g,
                                ![h].sight = NoGrant, ![h].seen = 0]
    /\ UNCHANGED <<now, item, lock, ses, watch, client, top, rising,
                   deleted>>

(* free:      IF attribute_not_exists(holders)                             *)
(* take over: IF holders = {exactly the dead one} AND token = :seen        *)
AcquireHolds(m) ==
    IF m.dead = NoGrant
    THEN lock.holders = {} \/ (Bad("acquire what is held")
                               /\ m.g \notin lock.holders)
    ELSE /\ \/ lock.holders = {m.dead}
            \/ Bad("take without holders")
            \/ Bad("take without either") /\ m.g \notin lock.holders
         /\ \/ lock.token = m.seen
            \/ Bad("take without token")
            \/ Bad("take without either")

Written == IF Endless THEN 0 ELSE Block \* endless tokens are not counted

(* SET token = token + :n ADD holders {me} (or holders = {me})             *)
(*     DELETE xwait {sid}                                                  *)
AcquireLands(m) ==
    LET h == Host(m.g.s) IN
    /\ m.op = "acquire" /\ now < m.till
    /\ AcquireHolds(m)
    /\ lock' = [holders |-> IF m.dead = NoGrant
                            THEN lock.holders \union {m.g} ELSE {m.g},
                token |-> lock.token + Written,
                xwait |-> lock.xwait \ {m.g.s}]
    (* Who waits for this answer may get it, at any later time.            *)
    /\ mine' = [mine EXCEPT ![h].answer =
           IF mine[h].st = "asking" /\ mine[h].g = m.g
           THEN lock.token + Written ELSE @]
    /\ net' = (net \ {m}) \union IF m.left = 1 THEN {}
                               ELSE {[m EXCEPT !.left = @ - 1]}
    /\ UNCHANGED <<now, item, ses, watch, client, top, rising, deleted>>

Request(h) == {m \in net : m.op = "acquire" /\ m.g = mine[h].g}
Doubt(g) == [g |-> g, until |-> Till]

(* The end of an operation. Either every attempt of it was answered: then  *)
(* it can land no more. Or one was not: then it may land (again) until its *)
(* signature is void, and is remembered for longer than that (in_doubt.c).    *)
Settled(h) == net' = net \ Request(h)
InDoubt(m, g) ==
    IF Bad("forget doubt") \/ (g = NoGrant /\ Bad("forget doubt of a wish"))
    THEN m
    ELSE [m EXCEPT !.doubts = @ \union {Doubt(g)}]

Granted(h, token) ==
    LET t == IF Endless THEN 1 ELSE token - Block + 1 IN
    /\ client' = [client EXCEPT ![h].waiting = IF Endless THEN @ ELSE @ - 1,
                                ![h].token = t]
    /\ top' = Max(top, t)
    /\ rising' = (rising /\ (t > top \/ Endless))

(* transfer_granted: the block is the last `Block` numbers of the token    *)
Adopted(m, token) ==
    [m EXCEPT !.st = "held", !.answer = 0, !.run = 1, !.back = FALSE,
              !.next = IF Endless THEN 0 ELSE token - Block + 2,
              !.last = token, !.sight = NoGrant, !.seen = 0]
Dropped(m) == [m EXCEPT !.st = "none", !.g = NoGrant, !.answer = 0,
                        !.next = 0, !.last = 0, !.run = 0]

(* A grant counts only while the session it was asked under is good. One   *)
(* that comes later has no client: it is given back.                       *)
TakeIn(h, token, doubted) ==
    LET m == IF doubted THEN InDoubt(mine[h], mine[h].g) ELSE mine[h] IN
    IF (Good(mine[h].g.s) \/ Bad("believe a late grant"))
        /\ client[h].waiting > 0
    THEN /\ mine' = [mine EXCEPT ![h] = Wished(h, Adopted(m, token))]
         /\ Granted(h, token)
         /\ IF doubted THEN UNCHANGED net ELSE Settled(h)
    ELSE /\ mine' = [mine EXCEPT ![h] = [Dropped(m) EXCEPT !.doubts = {}]]
         /\ net' = (IF doubted THEN net ELSE net \ Request(h)) \union
                       {[op |-> "release", g |-> mine[h].g]}
         /\ UNCHANGED <<client, top, rising>>

(* The answer, or a conflict that shows our grant (translation_effect).    *)
AcquireDone(h) ==
    /\ Awake(h) /\ mine[h].st = "asking"
    /\ \E doubted \in Maybe("acquire") :
        \/ mine[h].answer # 0 /\ TakeIn(h, mine[h].answer, doubted)
        \/ /\ doubted \* a first and only attempt meets no effect of itself
           /\ Shows(mine[h].g)
           /\ TakeIn(h, lock.token, doubted)
    /\ UNCHANGED <<now, item, lock, ses, watch, deleted>>

(* The record shows somebody else: as far as it goes, it did not happen.   *)
AcquireConflict(h) ==
    /\ Awake(h) /\ mine[h].st = "asking"
    /\ \E m \in Request(h) : ~AcquireHolds(m)
    /\ ~Shows(mine[h].g)
    /\ \E doubted \in Maybe("acquire") :
        LET m == IF doubted THEN InDoubt(mine[h], mine[h].g) ELSE mine[h] IN
        /\ doubted \/ mine[h].answer = 0 \* once sent, and that one failed
        /\ mine' = [mine EXCEPT ![h] = Wished(h, Sighted(Dropped(m)))]
        /\ IF doubted THEN UNCHANGED net ELSE Settled(h)
    /\ UNCHANGED <<now, item, lock, ses, watch, client, top, rising,
                   deleted>>

(* No answer: neither failure nor success.                                 *)
AcquireUnknown(h) ==
    /\ "acquire" \in Faults /\ Awake(h) /\ mine[h].st = "asking"
    /\ mine' = [mine EXCEPT ![h] =
           IF ~Good(@.g.s) THEN [Dropped(@) EXCEPT !.doubts = {}]
           ELSE IF Bad("unknown is failure") THEN Dropped(@)
           ELSE [InDoubt(@, @.g) EXCEPT !.st = "unsure", !.answer = 0]]
    /\ UNCHANGED <<now, item, lock, net, ses, watch, client, top,
                   rising, deleted>>

(* UNSURE: only a consistent read tells, and only whether it is there now. *)
Settle(h) ==
    /\ Awake(h) /\ mine[h].st = "unsure"
    /\ IF Shows(mine[h].g) THEN TakeIn(h, lock.token, TRUE)
       ELSE /\ mine' = [mine EXCEPT ![h] = Wished(h, Sighted(Dropped(@)))]
            /\ UNCHANGED <<net, client, top, rising>>
    /\ UNCHANGED <<now, item, lock, ses, watch, deleted>>

-----------------------------------------------------------------------------
(***************************************************************************)
(* Held: local clients, one after another, with the tokens of the block.   *)
(***************************************************************************)
ClientReleases(h) ==
    /\ Awake(h) /\ client[h].token # 0
    /\ client' = [client EXCEPT ![h].token = 0]
    /\ UNCHANGED <<now, item, lock, net, ses, watch, mine, top, rising,
                   deleted>>

Free(h) == Awake(h) /\ mine[h].st = "held" /\ client[h].token = 0

RunIsOver(h) == Wishes /\ mine[h].run >= Run

(* Without a write: the next token of a block that is already written.     *)
HandOver(h) ==
    LET m == mine[h]
        t == IF Endless THEN 1 ELSE m.next
    IN
    /\ Free(h) /\ client[h].waiting > 0
    /\ m.next <= m.last \/ Bad("tokens before they are written")
    /\ ~RunIsOver(h) \/ Bad("ignore wishes")
    /\ client' = [client EXCEPT ![h].waiting = IF Endless THEN @ ELSE @ - 1,
                                ![h].token = t]
    /\ top' = Max(top, t)
    /\ rising' = (rising /\ (t > top \/ Endless))
    /\ mine' = [mine EXCEPT ![h].next = IF Endless THEN @ ELSE @ + 1,
                            ![h].run = IF @ < Run THEN @ + 1 ELSE @]
    /\ UNCHANGED <<now, item, lock, net, ses, watch, deleted>>

(* More tokens, also beforehand, while a client holds (grant_prefetch).    *)
(* SET token = token + :n IF holders = {me} AND token = :seen              *)
ExtendSend(h) ==
    LET m == mine[h] IN
    /\ Awake(h) /\ m.st = "held" /\ m.busy = "none"
    /\ client[h].waiting > 0 /\ m.last <= m.next
    /\ ~(RunIsOver(h) /\ m.wish)
    /\ net' = net \union {[op |-> "extend", g |-> m.g, seen |-> m.last]}
    /\ mine' = [mine EXCEPT ![h].busy = "extend"]
    /\ UNCHANGED <<now, item, lock, ses, watch, client, top, rising,
                   deleted>>

ExtendLands(m) ==
    /\ m.op = "extend"
    /\ lock.holders = {m.g} \/ Bad("extend without holders")
    /\ lock.token = m.seen \/ Bad("extend without token")
    /\ lock' = [lock EXCEPT !.token = @ + Block]
    /\ Used(m)
    /\ UNCHANGED <<now, item, ses, watch, mine, client, top, rising,
                   deleted>>

(* grant_adopt: while the record shows our grant alone, its token is ours. *)
(* `next` stays: a block is derived once.                                  *)
ExtendEnds(h) ==
    LET m == mine[h] IN
    /\ Awake(h) /\ m.busy = "extend"
    /\ Shows(m.g)
    /\ "extend" \in Faults \/ lock.token > m.last
    /\ mine' = [mine EXCEPT ![h] = Wished(h,
           [m EXCEPT !.busy = "none", !.last = Max(@, lock.token),
                     !.next = IF Bad("derive a block again")
                              THEN lock.token - Block + 1 ELSE @])]
    /\ UNCHANGED <<now, item, lock, net, ses, watch, client, top,
                   rising, deleted>>

(* The run is over: a fresh record decides (grant_renew_run).              *)
FreshLook(h) ==
    LET m == Wished(h, mine[h]) IN
    /\ Free(h) /\ RunIsOver(h) /\ client[h].waiting > 0
    /\ mine[h].busy = "none" /\ ~mine[h].wish
    /\ Shows(m.g)
    /\ mine' = [mine EXCEPT ![h] =
           [m EXCEPT !.run = IF m.wish THEN @ ELSE 0,
                     !.last = Max(@, lock.token)]]
    /\ UNCHANGED <<now, item, lock, net, ses, watch, client, top,
                   rising, deleted>>

(* Nobody here wants it, or it is others' turn: then we stand back.        *)
GiveBack(h) ==
    LET m == mine[h]
        yield == RunIsOver(h) /\ m.wish /\ ~Bad("ignore wishes")
    IN
    /\ Free(h) /\ m.busy = "none"
    /\ client[h].waiting = 0 \/ yield
    /\ net' = net \union {[op |-> "release", g |-> m.g]}
    /\ mine' = [mine EXCEPT ![h].st = "releasing", ![h].next = 0,
                            ![h].last = 0, ![h].run = 0,
                            ![h].back = yield /\ ~Bad("do not stand back")]
    /\ UNCHANGED <<now, item, lock, ses, watch, client, top, rising,
                   deleted>>

(* DELETE holders {me} IF holders = {me}                                   *)
ReleaseLands(m) ==
    /\ m.op = "release"
    /\ lock.holders = {m.g}
    /\ lock' = [lock EXCEPT !.holders = {}]
    /\ Used(m)
    /\ UNCHANGED <<now, item, ses, watch, mine, client, top, rising,
                   deleted>>

(* Gone from the record, by any source: an answer, a conflict, a read    *)
(* after an answer that never came. Until then: releasing.                 *)
ReleaseEnds(h) ==
    LET r == [op |-> "release", g |-> mine[h].g] IN
    /\ Awake(h) /\ mine[h].st = "releasing"
    /\ ~Shows(mine[h].g) \/ Bad("unknown release is done")
    /\ mine' = [mine EXCEPT ![h] = Wished(h, Sighted(Dropped(@)))]
    /\ \/ net' = net \ {r}
       \/ "release" \in Faults /\ UNCHANGED net
    /\ UNCHANGED <<now, item, lock, ses, watch, client, top, rising,
                   deleted>>

(* Two poll periods: time for the waiting host to poll and to acquire.     *)
StandBackEnds(h) ==
    /\ mine[h].back /\ mine[h].st = "none"
    /\ Foreign(h) = {} \/ lock.holders # {}
    /\ mine' = [mine EXCEPT ![h].back = FALSE]
    /\ UNCHANGED <<now, item, lock, net, ses, watch, client, top,
                   rising, deleted>>

-----------------------------------------------------------------------------
(***************************************************************************)
(* in_doubt.c and record.c: an orphan is a grant of a session of ours, valid, *)
(* that nothing here stands behind. A host that sees it removes it.        *)
(***************************************************************************)
Live(h) == IF mine[h].st = "none" THEN NoGrant ELSE mine[h].g

Orphans(h) ==
    {g \in lock.holders :
        /\ ses[g.s].st = "valid" /\ Host(g.s) = h
        /\ g # Live(h) \/ Bad("remove what is live")}

RemoveOrphan(h) ==
    /\ Awake(h)
    /\ mine[h].st = "none" \/ Bad("remove what is live")
    /\ client[h].waiting > 0 \/ mine[h].doubts # {} \* a reason to look
    /\ \E g \in Orphans(h) :
        /\ [op |-> "release", g |-> g] \notin net
        /\ net' = net \union {[op |-> "release", g |-> g]}
    /\ UNCHANGED <<now, item, lock, ses, watch, mine, client, top,
                   rising, deleted>>

(* in_doubt_read: forgotten by a record that was read after the signature was *)
(* void. If that shows the orphan, it is removed first.                    *)
Forget(h) ==
    /\ Awake(h)
    /\ \E d \in mine[h].doubts :
        /\ d.until <= Horizon
        /\ now >= d.until \/ Bad("forget too soon")
        /\ d.g = Live(h) \/ ~Shows(d.g)
        /\ mine' = [mine EXCEPT ![h].doubts = @ \ {d}]
    /\ UNCHANGED <<now, item, lock, net, ses, watch, client, top,
                   rising, deleted>>

(* A signature that is void: the endpoint refuses it. (Only tidies up.)    *)
Void(m) ==
    /\ m.op \in {"acquire", "want"} /\ now >= m.till
    /\ ~ \E h \in Hosts : mine[h].st = "asking" /\ m \in Request(h)
    /\ net' = net \ {m}
    /\ UNCHANGED <<now, item, lock, ses, watch, mine, client, top,
                   rising, deleted>>

-----------------------------------------------------------------------------
(***************************************************************************)
(* Wishes. A host whose waiter meets a foreign holder says so in `xwait`,  *)
(* and takes it out when nobody waits.                                     *)
(***************************************************************************)
WantSend(h) ==
    /\ Wishes /\ Awake(h) /\ mine[h].st = "none" /\ mine[h].busy = "none"
    /\ client[h].waiting > 0 /\ mine[h].sight # NoGrant /\ ~mine[h].wanted
    /\ \E s \in Usable(h) :
        net' = net \union {[op |-> "want", s |-> s, till |-> Till]}
    /\ mine' = [mine EXCEPT ![h].busy = "want"]
    /\ UNCHANGED <<now, item, lock, ses, watch, client, top, rising,
                   deleted>>

(* ADD xwait {sid} IF attribute_exists(holders)                            *)
WantLands(m) ==
    /\ m.op = "want" /\ now < m.till
    /\ lock.holders # {} /\ m.s \notin lock.xwait
    /\ lock' = [lock EXCEPT !.xwait = @ \union {m.s}]
    /\ UNCHANGED <<now, item, net, ses, watch, mine, client, top,
                   rising, deleted>>

WantEnds(h) ==
    LET r == {m \in net : m.op = "want" /\ Host(m.s) = h}
        m == [Wished(h, Sighted(mine[h])) EXCEPT !.busy = "none"]
    IN
    /\ Awake(h) /\ mine[h].busy = "want"
    /\ \/ /\ Own(h) # {} \/ lock.holders = {}
          /\ mine' = [mine EXCEPT ![h] = m]
          /\ net' = net \ r
       \/ /\ "want" \in Faults
          /\ mine' = [mine EXCEPT ![h] = InDoubt(m, NoGrant)]
          /\ UNCHANGED net
    /\ UNCHANGED <<now, item, lock, ses, watch, client, top, rising, deleted>>

(* DELETE xwait {sid} IF contains(xwait, sid)                              *)
Unwant(h) ==
    /\ Wishes /\ Awake(h) /\ mine[h].st = "none" /\ mine[h].busy = "none"
    /\ client[h].waiting = 0 /\ Own(h) # {}
    /\ mine[h].wanted \/ mine[h].doubts # {} \* a reason to look
    /\ lock' = [lock EXCEPT !.xwait = @ \ Own(h)]
    /\ mine' = [mine EXCEPT ![h].wanted = FALSE]
    /\ UNCHANGED <<now, item, net, ses, watch, client, top, rising,
                   deleted>>

-----------------------------------------------------------------------------
Daemon(h) ==
    \/ OpenSend(h) \/ Poll(h) \/ AcquireSend(h)
    \/ AcquireDone(h) \/ AcquireConflict(h) \/ AcquireUnknown(h) \/ Settle(h)
    \/ ClientReleases(h) \/ HandOver(h) \/ ExtendSend(h) \/ ExtendEnds(h)
    \/ FreshLook(h) \/ GiveBack(h) \/ ReleaseEnds(h) \/ StandBackEnds(h)
    \/ RemoveOrphan(h) \/ Forget(h)
    \/ WantSend(h) \/ WantEnds(h) \/ Unwant(h)
    \/ \E s \in Sid : Look(h, s) \/ KillSend(h, s) \/ BurySend(h, s)

Session(s) ==
    \/ BeatSend(s) \/ BeatAnswered(s) \/ BeatRefused(s) \/ Expire(s)
    \/ Close(s) \/ OpenAnswered(s) \/ Revive(s)

Lands ==
    \/ \E s \in Sid : OpenLands(s) \/ \E n \in ses[s].beats : BeatLands(s, n)
    \/ \E m \in net :
        \/ KillLands(m) \/ BuryLands(m) \/ AcquireLands(m) \/ ReleaseLands(m)
        \/ ExtendLands(m) \/ WantLands(m) \/ Void(m)

Next ==
    \/ Tick \/ Lands
    \/ \E h \in Hosts : Daemon(h)
    \/ \E s \in Sid : Session(s) \/ DeleteItem(s)

(***************************************************************************)
(* For TLC: what can matter no more is no difference between two states. A *)
(* beat or a kill that can never land again (nothing removes `dead`, and   *)
(* no beat falls, unless an item is deleted); the moment of a loss, once   *)
(* the session is closed.                                                  *)
(***************************************************************************)
Matters(m) ==
    m.op = "kill" => item[m.s].st = "alive" /\ item[m.s].beat = m.beat

View ==
    IF \/ Deletions > 0
       \/ Defect \in {"beat may fall", "beat the dead", "kill without beat",
                       "revive a session"}
    THEN vars
    ELSE
    <<now, item, lock, {m \in net : Matters(m)},
      [s \in Sid |->
          [ses[s] EXCEPT
              !.beats = IF item[s].st = "alive" THEN @ ELSE {},
              !.lost = IF ses[s].st = "gone" THEN 0 ELSE @]],
      watch, mine, client, top, rising, deleted>>

Spec == Init /\ [][Next]_vars
Symmetry == Permutations(Mortal) \union Permutations(Hosts \ Mortal)

-----------------------------------------------------------------------------
(***************************************************************************)
(* What is promised (design: Invariants), seen from outside.               *)
(***************************************************************************)
Holds(h) ==
    /\ client[h].token # 0
    /\ Good(mine[h].g.s)

(* 1. At most one valid hold in the whole system.                          *)
MutualExclusion == Cardinality({h \in Hosts : Holds(h)}) <= 1

(* 2. Every grant's token is above those of all grants before it.          *)
TokensRise == rising

(* 3. Told before the next: by the owner's own doing never earlier than a  *)
(* margin after it was told; by others' as MutualExclusion says, because a *)
(* hold ends at its deadline, and the client knows that deadline.          *)
GapKept ==
    \A s \in Sid : item[s].st = "closed" =>
        Perhaps(ses[s].lost, Margin)

(* Why 1 holds: a session dead in the table has lost its holds before.     *)
DeadIsOver ==
    \A s \in Sid : item[s].st \in {"dead", "closed"} => ~Good(s)

(* No orphan for ever: a grant of a valid session that nobody stands       *)
(* behind is remembered by the host that can remove it.                    *)
NoOrphanForgotten ==
    \A h \in Hosts :
        \A g \in lock.holders :
            (ses[g.s].st = "valid" /\ Host(g.s) = h /\ g # Live(h)) =>
                g \in {d.g : d \in mine[h].doubts}

(* No wish for ever: likewise.                                             *)
NoWishForgotten ==
    \A h \in Hosts :
        (Own(h) # {} /\ mine[h].st = "none" /\ client[h].waiting = 0) =>
            mine[h].wanted \/ NoGrant \in {d.g : d \in mine[h].doubts}

(* Dead is for ever.                                                       *)
DeadStaysDead ==
    [][\A s \in Sid :
        item[s].st \in {"dead", "closed"} =>
            item'[s].st \in {"dead", "closed"}]_vars

(* Nobody starves: every waiter is served again and again.                 *)
Message(h) ==
    \E m \in net :
        \/ m.op \in {"acquire", "release", "extend"} /\ Host(m.g.s) = h
           /\ (AcquireLands(m) \/ ReleaseLands(m) \/ ExtendLands(m))
        \/ m.op = "want" /\ Host(m.s) = h /\ WantLands(m)
Fair == Spec /\ \A h \in Hosts : WF_vars(Daemon(h)) /\ WF_vars(Message(h))
EverybodyServed == \A h \in Hosts : []<>(client[h].token # 0)

(* Sanity of the model itself.                                             *)
AtMostOneHolder == Cardinality(lock.holders) <= 1
=============================================================================
