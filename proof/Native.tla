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
EXTENDS Naturals, FiniteSets, Sequences, TLC

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
    LineMax,    \* how many hosts stand in the line; 0: there is none
    Before,     \* daemons of the release before, which know of no line
    Late,       \* those that others may take for dead or gone, at any moment
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
    deleted,    \* how often a session's item was deleted
    fair        \* the judge: so far, each had its turn; and whose mark was
                \* taken out alone, though it stands in the line

vars == <<now, item, lock, net, ses, watch, mine, client, top, rising,
          deleted, fair>>

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
                   deleted, fair>>

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

(* In an endless history the late ones are dead from the beginning, and    *)
(* one of them has died in the line.                                       *)
Gone == IF Endless THEN Late ELSE {}
Left == IF Gone = {} THEN {} ELSE {<<CHOOSE h \in Gone : TRUE, 1>>}

Init ==
    /\ now = 1
    /\ item = TLCEval([s \in Sid |->
                   [st |-> IF s[2] = 1 THEN "alive" ELSE "absent",
                    beat |-> 0]])
    /\ lock = [holders |-> {Grant(<<h, 1>>, 1) : h \in Holders},
               token |-> IF Endless \/ Holders # {} THEN 1 ELSE 0,
               xwait |-> Left,
               line |-> IF Left = {} THEN <<>>
                        ELSE <<CHOOSE s \in Left : TRUE>>]
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
    /\ fair = [turns |-> TRUE, bare |-> {}]

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
    /\ UNCHANGED <<now, item, lock, net, watch, mine, client, top, rising,
                   deleted, fair>>

(* SET beat = :n IF attribute_exists(key) AND attribute_not_exists(dead)   *)
(*               AND beat < :n                                             *)
BeatLands(s, n) ==
    /\ n \in ses[s].beats
    /\ item[s].st = "alive" \/ (Bad("beat the dead") /\ item[s].st = "dead")
    /\ item[s].beat < n \/ (Bad("beat may fall") /\ item[s].beat > n)
    /\ item' = [item EXCEPT ![s].beat = n]
    /\ UNCHANGED <<now, lock, net, ses, watch, mine, client, top, rising,
                   deleted, fair>>

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
    /\ UNCHANGED <<now, item, lock, net, watch, mine, client, top, rising,
                   deleted, fair>>

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
    /\ UNCHANGED <<now, item, lock, net, watch, top, rising, deleted, fair>>

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
    /\ UNCHANGED <<now, lock, net, watch, mine, client, top, rising, deleted,
                   fair>>

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
    /\ UNCHANGED <<now, lock, net, mine, client, top, rising, deleted, fair>>

(* session_start: a new name for each                                      *)
OpenSend(h) ==
    /\ Awake(h)
    /\ \A s \in OfHost(h) : ses[s].st \notin {"opening", "valid"}
    /\ \E s \in OfHost(h) :
        /\ ses[s].st = "none"
        /\ \A t \in OfHost(h) : ses[t].st = "none" => s[2] <= t[2]
        /\ ses' = [ses EXCEPT ![s].st = "opening", ![s].sent = now]
    /\ UNCHANGED <<now, item, lock, net, watch, mine, client, top, rising,
                   deleted, fair>>

(* Put {beat = 0} IF attribute_not_exists(key). It may land again, as long *)
(* as somebody deletes the item in between.                                *)
OpenLands(s) ==
    /\ ses[s].st # "none"
    /\ item[s].st = "absent"
    /\ item' = [item EXCEPT ![s] = [st |-> "alive", beat |-> 0]]
    /\ UNCHANGED <<now, lock, net, ses, watch, mine, client, top, rising,
                   deleted, fair>>

(* Counted from the first send. If it is over by now, Expire comes next.   *)
OpenAnswered(s) ==
    /\ ses[s].st = "opening" /\ Awake(Host(s))
    /\ item[s].st # "absent"
    /\ ses' = [ses EXCEPT ![s].st =
                   IF item[s].st = "alive" THEN "valid" ELSE "gone"]
    /\ UNCHANGED <<now, item, lock, net, watch, mine, client, top, rising,
                   deleted, fair>>

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
    /\ UNCHANGED <<now, lock, net, ses, watch, mine, client, top, rising,
                   fair>>

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
    /\ UNCHANGED <<now, item, lock, net, ses, mine, client, top, rising,
                   deleted, fair>>

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
    /\ UNCHANGED <<now, item, lock, ses, watch, mine, client, top, rising,
                   deleted, fair>>

KillLands(m) ==
    /\ m.op = "kill"
    /\ item[m.s].st = "alive"
    /\ item[m.s].beat = m.beat \/ Bad("kill without beat")
    /\ item' = [item EXCEPT ![m.s].st = "dead"]
    /\ net' = net \ {m}
    /\ UNCHANGED <<now, lock, ses, watch, mine, client, top, rising, deleted,
                   fair>>

(* Put {dead = by} IF attribute_not_exists(key)                            *)
BurySend(h, s) ==
    LET m == [op |-> "bury", s |-> s] IN
    /\ Blocked(h, s) /\ Awake(h)
    /\ Stale(h, s) /\ watch[h][s].st = "absent"
    /\ m \notin net
    /\ net' = net \union {m}
    /\ UNCHANGED <<now, item, lock, ses, watch, mine, client, top, rising,
                   deleted, fair>>

BuryLands(m) ==
    /\ m.op = "bury"
    /\ item[m.s].st = "absent"
    /\ item' = [item EXCEPT ![m.s] = [st |-> "dead", beat |-> 0]]
    /\ net' = net \ {m}
    /\ UNCHANGED <<now, lock, ses, watch, mine, client, top, rising, deleted,
                   fair>>

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

(* The line: sessions, the next one first (line.c).                        *)
Lined(h) == LineMax > 0 /\ h \notin Before
InLine == {lock.line[i] : i \in DOMAIN lock.line}
Place(s) ==
    IF s \in InLine THEN CHOOSE i \in DOMAIN lock.line : lock.line[i] = s
    ELSE 0
HasPlace(s, i) == i \in DOMAIN lock.line /\ lock.line[i] = s

(* Those before a host of ours: all, if it stands in none.                 *)
Ahead(h) ==
    {lock.line[i] : i \in {j \in DOMAIN lock.line :
        \A k \in 1 .. j : lock.line[k] \notin Usable(h)}}

Marks(h) == lock.xwait \union IF Lined(h) THEN InLine ELSE {}
Foreign(h) ==
    {s \in lock.xwait \union IF Lined(h) THEN Ahead(h) ELSE {} :
        Host(s) # h}
Own(h) == Marks(h) \intersect Usable(h)

Honoured(s) == Host(s) \notin Gone

(* record_seen, as far as wishes go                                        *)
Wished(h, m) ==
    IF Wishes THEN [m EXCEPT !.wanted = Own(h) # {},
                             !.wish = \E s \in Foreign(h) : Honoured(s)]
    ELSE m

(* May it join the line, by what it sees?                                  *)
CanJoin(h) ==
    /\ Lined(h) /\ Awake(h) /\ mine[h].st = "none" /\ mine[h].busy = "none"
    /\ client[h].waiting > 0 /\ ~mine[h].back
    /\ mine[h].sight # NoGrant \/ lock.line # <<>>
    /\ Len(lock.line) < LineMax
    /\ \A s \in Usable(h) : s \notin InLine

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

(* The turns of the line (line.c, record_awaits_turn).                     *)
(* The next in line could have it now, as far as this host knows.          *)
Open(h) ==
    \/ lock.holders = {}
    \/ \E g \in lock.holders : Dead(h, g.s)

(* The time of those before it is over, by this host's clock. How long     *)
(* that is makes no promise true, so a moment will do; but in an endless   *)
(* history (where it matters who is served) all are quick but the dead.    *)
TimeIsOver(h, those) ==
    /\ Open(h) \/ Bad("pass at once")
    /\ ~Endless \/ \A s \in those : ~Honoured(s)

(* Is it this host's turn, at that place? It sends by what it has just     *)
(* read: an older read adds no history, because a request may land at any  *)
(* later time.                                                             *)
HasTurn(h, place) ==
    /\ \/ ~Lined(h) \/ lock.holders = {}
       \/ mine[h].sight # NoGrant \/ Bad("pass at once")
    /\ CASE ~Lined(h) \/ place = 1 -> TRUE
         [] place = 0 -> lock.line = <<>> \/ Bad("acquire outside the line")
         [] OTHER -> TimeIsOver(h, Ahead(h))

AcquireSend(h) ==
    /\ Awake(h) /\ mine[h].st = "none" /\ mine[h].busy = "none"
    /\ client[h].waiting > 0 /\ ~mine[h].back
    /\ \E s \in Usable(h) : \E g \in Fresh(s) :
        LET place == IF Lined(h) THEN Place(s) ELSE 0 IN
        /\ HasTurn(h, place)
        /\ \/ mine[h].sight = NoGrant
           \/ mine[h].sight # NoGrant /\ Dead(h, mine[h].sight.s)
           \/ Bad("pass at once") /\ place > 1
        /\ net' = net \union
               {[op |-> "acquire", g |-> g,
                 dead |-> IF Bad("pass at once") THEN NoGrant
                          ELSE mine[h].sight,
                 seen |-> mine[h].seen, till |-> Till, place |-> place,
                 turn |-> IF place > 1 /\ Open(h) THEN lock.token ELSE 0,
                 left |-> IF "acquire" \in Faults THEN 2 ELSE 1]}
        /\ mine' = [mine EXCEPT ![h].st = "asking", ![h].g = g,
                                ![h].sight = NoGrant, ![h].seen = 0]
    /\ UNCHANGED <<now, item, lock, ses, watch, client, top, rising, deleted,
                   fair>>

(* Poll: a consistent read while nothing of ours is there.                 *)
Poll(h) ==
    LET m == Wished(h, Sighted(mine[h])) IN
    /\ Awake(h) /\ mine[h].st = "none" /\ mine[h].busy = "none"
    /\ client[h].waiting > 0
    /\ m # mine[h]
    (* What it saw is to be acted on first.                                *)
    /\ ~Endless \/ ~Lined(h)
       \/ ~(CanJoin(h) \/ mine[h].back \/ ENABLED AcquireSend(h))
    /\ mine' = [mine EXCEPT ![h] = m]
    /\ UNCHANGED <<now, item, lock, net, ses, watch, client, top, rising,
                   deleted, fair>>

(* The judge of the line. What is said of other hosts' places holds for    *)
(* one turn: since the token that was seen, the next one could have had    *)
(* the lock, and did not. Of the release before no order is promised.      *)
After(n) == SubSeq(lock.line, n + 1, Len(lock.line))

Passed(m) ==
    IF ~Lined(Host(m.g.s)) THEN {}
    ELSE IF m.place = 0 THEN InLine
    ELSE IF HasPlace(m.g.s, m.place) /\ lock.token = m.turn THEN {}
    ELSE {lock.line[i] : i \in (DOMAIN lock.line) \intersect (1 .. m.place)}

Judged(by, passed, line, bare) ==
    fair' = [turns |-> fair.turns /\ \A s \in passed :
                          Host(s) \in Late \/ Host(s) = Host(by),
             bare |-> bare \intersect {line[i] : i \in DOMAIN line}]

(* free:      IF attribute_not_exists(holders)                             *)
(* take over: IF holders = {exactly the dead one} AND token = :seen        *)
(* and of a daemon that knows of lines:                                    *)
(*            AND attribute_not_exists(line[0]), or AND line[i] = sid, and *)
(*            for i > 0 AND token = :seen                                  *)
AcquireHolds(m) ==
    /\ \/ ~Lined(Host(m.g.s))
       \/ m.place = 0 /\ lock.line = <<>>
       \/ m.place = 0 /\ Bad("acquire outside the line")
       \/ /\ m.place > 0 /\ HasPlace(m.g.s, m.place)
          /\ m.turn \in {0, lock.token} \/ Bad("pass in another turn")
       \/ m.place > 0 /\ Bad("acquire from a lost place")
    /\ IF m.dead = NoGrant
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
(*     REMOVE line[0], ..., line[i]                                        *)
AcquireLands(m) ==
    LET h == Host(m.g.s)
        passed == Passed(m)
        gone == IF Bad("keep the place") /\ m.place > 0 THEN m.place - 1
                ELSE m.place
    IN
    /\ m.op = "acquire" /\ now < m.till
    /\ AcquireHolds(m)
    /\ lock' = [holders |-> IF m.dead = NoGrant
                            THEN lock.holders \union {m.g} ELSE {m.g},
                token |-> lock.token + Written,
                xwait |-> lock.xwait \ {m.g.s},
                line |-> After(gone)]
    /\ Judged(m.g.s, passed, lock'.line, fair.bare)
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
    /\ UNCHANGED <<now, item, lock, ses, watch, deleted, fair>>

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
    /\ UNCHANGED <<now, item, lock, ses, watch, client, top, rising, deleted,
                   fair>>

(* No answer: neither failure nor success.                                 *)
AcquireUnknown(h) ==
    /\ "acquire" \in Faults /\ Awake(h) /\ mine[h].st = "asking"
    /\ mine' = [mine EXCEPT ![h] =
           IF ~Good(@.g.s) THEN [Dropped(@) EXCEPT !.doubts = {}]
           ELSE IF Bad("unknown is failure") THEN Dropped(@)
           ELSE [InDoubt(@, @.g) EXCEPT !.st = "unsure", !.answer = 0]]
    /\ UNCHANGED <<now, item, lock, net, ses, watch, client, top, rising,
                   deleted, fair>>

(* UNSURE: only a consistent read tells, and only whether it is there now. *)
Settle(h) ==
    /\ Awake(h) /\ mine[h].st = "unsure"
    /\ IF Shows(mine[h].g) THEN TakeIn(h, lock.token, TRUE)
       ELSE /\ mine' = [mine EXCEPT ![h] = Wished(h, Sighted(Dropped(@)))]
            /\ UNCHANGED <<net, client, top, rising>>
    /\ UNCHANGED <<now, item, lock, ses, watch, deleted, fair>>

(* A place, or a mark without one. Of another host's place: in that turn.  *)
Leave(h, s) ==
    [op |-> "leave", s |-> s, by |-> h, till |-> Till,
     place |-> IF Lined(h) THEN Place(s) ELSE 0,
     turn |-> IF Lined(h) /\ s \in InLine /\ Host(s) # h THEN lock.token
              ELSE 0]

(* Others that are taken for dead (record_honours_mark), or the next one,  *)
(* whose time is over: by a holder, or by a host in no line.               *)
Droppable(h) ==
    LET held == mine[h].st = "held" /\ client[h].token # 0
        outside ==
            /\ Lined(h) /\ mine[h].st = "none" /\ client[h].waiting > 0
            /\ ~mine[h].back /\ Open(h)
            /\ \A s \in Usable(h) : s \notin InLine
    IN
    {s \in Marks(h) :
        /\ Host(s) # h
        /\ \/ held /\ Host(s) \in Late
           \/ outside /\ s \in InLine /\ Host(s) \in Late
           \/ outside /\ HasPlace(s, 1) /\ TimeIsOver(h, {s})}

DropSend(h) ==
    /\ LineMax > 0 /\ Awake(h) /\ mine[h].busy = "none"
    /\ ~Bad("leave the dead in the line")
    /\ \E s \in Droppable(h) : net' = net \union {Leave(h, s)}
    /\ mine' = [mine EXCEPT ![h].busy = "leave"]
    /\ UNCHANGED <<now, item, lock, ses, watch, client, top, rising, deleted,
                   fair>>

-----------------------------------------------------------------------------
(***************************************************************************)
(* Held: local clients, one after another, with the tokens of the block.   *)
(***************************************************************************)
ClientReleases(h) ==
    /\ Awake(h) /\ client[h].token # 0
    /\ ~Endless \/ ~ENABLED DropSend(h) \* that comes first
    /\ client' = [client EXCEPT ![h].token = 0]
    /\ UNCHANGED <<now, item, lock, net, ses, watch, mine, top, rising,
                   deleted, fair>>

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
    /\ UNCHANGED <<now, item, lock, net, ses, watch, deleted, fair>>

(* More tokens, also beforehand, while a client holds (grant_prefetch).    *)
(* SET token = token + :n IF holders = {me} AND token = :seen              *)
ExtendSend(h) ==
    LET m == mine[h] IN
    /\ Awake(h) /\ m.st = "held" /\ m.busy = "none"
    /\ client[h].waiting > 0 /\ m.last <= m.next
    /\ ~(RunIsOver(h) /\ m.wish)
    /\ net' = net \union {[op |-> "extend", g |-> m.g, seen |-> m.last]}
    /\ mine' = [mine EXCEPT ![h].busy = "extend"]
    /\ UNCHANGED <<now, item, lock, ses, watch, client, top, rising, deleted,
                   fair>>

ExtendLands(m) ==
    /\ m.op = "extend"
    /\ lock.holders = {m.g} \/ Bad("extend without holders")
    /\ lock.token = m.seen \/ Bad("extend without token")
    /\ lock' = [lock EXCEPT !.token = @ + Block]
    /\ Used(m)
    /\ UNCHANGED <<now, item, ses, watch, mine, client, top, rising, deleted,
                   fair>>

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
    /\ UNCHANGED <<now, item, lock, net, ses, watch, client, top, rising,
                   deleted, fair>>

(* The run is over: a fresh record decides (grant_renew_run).              *)
FreshLook(h) ==
    LET m == Wished(h, mine[h]) IN
    /\ Free(h) /\ RunIsOver(h) /\ client[h].waiting > 0
    /\ mine[h].busy = "none" /\ ~mine[h].wish
    /\ Shows(m.g)
    /\ mine' = [mine EXCEPT ![h] =
           [m EXCEPT !.run = IF m.wish THEN @ ELSE 0,
                     !.last = Max(@, lock.token)]]
    /\ UNCHANGED <<now, item, lock, net, ses, watch, client, top, rising,
                   deleted, fair>>

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
    /\ UNCHANGED <<now, item, lock, ses, watch, client, top, rising, deleted,
                   fair>>

(* DELETE holders {me} IF holders = {me}                                   *)
ReleaseLands(m) ==
    /\ m.op = "release"
    /\ lock.holders = {m.g}
    /\ lock' = [lock EXCEPT !.holders = {}]
    /\ Used(m)
    /\ UNCHANGED <<now, item, ses, watch, mine, client, top, rising, deleted,
                   fair>>

(* Gone from the record, by any source: an answer, a conflict, a read    *)
(* after an answer that never came. Until then: releasing.                 *)
ReleaseEnds(h) ==
    LET r == [op |-> "release", g |-> mine[h].g] IN
    /\ Awake(h) /\ mine[h].st = "releasing"
    /\ ~Shows(mine[h].g) \/ Bad("unknown release is done")
    /\ mine' = [mine EXCEPT ![h] =
           LET m == Wished(h, Sighted(Dropped(@))) IN
           (* Behind the others in line, its turn comes of itself. *)
           IF Lined(h) /\ lock.line # <<>> THEN [m EXCEPT !.back = FALSE]
           ELSE m]
    /\ \/ net' = net \ {r}
       \/ "release" \in Faults /\ UNCHANGED net
    /\ UNCHANGED <<now, item, lock, ses, watch, client, top, rising, deleted,
                   fair>>

(* Two poll periods: time for the waiting host to poll and to acquire.     *)
StandBackEnds(h) ==
    /\ mine[h].back /\ mine[h].st = "none"
    /\ \/ lock.holders # {} \/ (Lined(h) /\ lock.line # <<>>)
       \/ \A s \in Foreign(h) : ~Honoured(s)
    /\ mine' = [mine EXCEPT ![h].back = FALSE]
    /\ UNCHANGED <<now, item, lock, net, ses, watch, client, top, rising,
                   deleted, fair>>

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
    /\ UNCHANGED <<now, item, lock, ses, watch, mine, client, top, rising,
                   deleted, fair>>

(* in_doubt_read: forgotten by a record that was read after the signature was *)
(* void. If that shows the orphan, it is removed first.                    *)
Forget(h) ==
    /\ Awake(h)
    /\ \E d \in mine[h].doubts :
        /\ d.until <= Horizon
        /\ now >= d.until \/ Bad("forget too soon")
        /\ d.g = Live(h) \/ ~Shows(d.g)
        /\ mine' = [mine EXCEPT ![h].doubts = @ \ {d}]
    /\ UNCHANGED <<now, item, lock, net, ses, watch, client, top, rising,
                   deleted, fair>>

(* A signature that is void: the endpoint refuses it. (Only tidies up.)    *)
Void(m) ==
    /\ m.op \in {"acquire", "want", "join", "leave"} /\ now >= m.till
    /\ ~ \E h \in Hosts : mine[h].st = "asking" /\ m \in Request(h)
    /\ net' = net \ {m}
    /\ UNCHANGED <<now, item, lock, ses, watch, mine, client, top, rising,
                   deleted, fair>>

-----------------------------------------------------------------------------
(***************************************************************************)
(* Wishes. A host whose waiter meets a foreign holder says so in `xwait`,  *)
(* and takes it out when nobody waits.                                     *)
(***************************************************************************)
WantSend(h) ==
    /\ Wishes /\ ~Lined(h)
    /\ Awake(h) /\ mine[h].st = "none" /\ mine[h].busy = "none"
    /\ client[h].waiting > 0 /\ mine[h].sight # NoGrant /\ ~mine[h].wanted
    /\ \E s \in Usable(h) :
        net' = net \union {[op |-> "want", s |-> s, till |-> Till]}
    /\ mine' = [mine EXCEPT ![h].busy = "want"]
    /\ UNCHANGED <<now, item, lock, ses, watch, client, top, rising, deleted,
                   fair>>

(* ADD xwait {sid} IF attribute_exists(holders)                            *)
WantLands(m) ==
    /\ m.op = "want" /\ now < m.till
    /\ lock.holders # {} /\ m.s \notin lock.xwait
    /\ lock' = [lock EXCEPT !.xwait = @ \union {m.s}]
    /\ UNCHANGED <<now, item, net, ses, watch, mine, client, top, rising,
                   deleted, fair>>

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
    /\ UNCHANGED <<now, item, lock, ses, watch, client, top, rising, deleted,
                   fair>>

(* DELETE xwait {sid} IF contains(xwait, sid)                              *)
Unwant(h) ==
    /\ Wishes /\ ~Lined(h)
    /\ Awake(h) /\ mine[h].st = "none" /\ mine[h].busy = "none"
    /\ client[h].waiting = 0 /\ Own(h) # {}
    /\ mine[h].wanted \/ mine[h].doubts # {} \* a reason to look
    /\ lock' = [lock EXCEPT !.xwait = @ \ Own(h)]
    /\ mine' = [mine EXCEPT ![h].wanted = FALSE]
    /\ UNCHANGED <<now, item, net, ses, watch, client, top, rising, deleted,
                   fair>>

-----------------------------------------------------------------------------
(***************************************************************************)
(* The line (line.c, record.c). A host sends by what it has just read: its *)
(* request may land at any later time, so an older read adds no history.   *)
(***************************************************************************)
JoinSend(h) ==
    /\ CanJoin(h)
    /\ \E s \in Usable(h) :
        net' = net \union {[op |-> "join", s |-> s, till |-> Till]}
    /\ mine' = [mine EXCEPT ![h].busy = "join"]
    /\ UNCHANGED <<now, item, lock, ses, watch, client, top, rising, deleted,
                   fair>>

(* SET line = list_append(line, [sid]) ADD xwait {sid}                     *)
(* IF (attribute_exists(holders) OR attribute_exists(line[0]))             *)
(* AND attribute_not_exists(line[:max]) AND NOT contains(line, sid)        *)
JoinHolds(m) ==
    /\ lock.holders # {} \/ lock.line # <<>>
    /\ Len(lock.line) < LineMax \/ Bad("join a full line")
    /\ m.s \notin InLine \/ Bad("join twice")

JoinLands(m) ==
    /\ m.op = "join" /\ now < m.till /\ JoinHolds(m)
    /\ Len(lock.line) <= LineMax \* of a mutant
    /\ lock' = [lock EXCEPT
           !.line = IF Bad("join at the front") THEN <<m.s>> \o @
                    ELSE Append(@, m.s),
           !.xwait = IF Bad("join without a mark") THEN @
                     ELSE @ \union {m.s}]
    /\ Judged(m.s, {}, lock'.line, fair.bare \ {m.s})
    /\ Used(m)
    /\ UNCHANGED <<now, item, ses, watch, mine, client, top, rising, deleted>>

JoinEnds(h) ==
    LET r == {m \in net : m.op = "join" /\ Host(m.s) = h}
        m == [Wished(h, Sighted(mine[h])) EXCEPT !.busy = "none"]
    IN
    /\ Awake(h) /\ mine[h].busy = "join"
    /\ \/ /\ \A x \in r : x.s \in InLine \/ ~JoinHolds(x)
          /\ mine' = [mine EXCEPT ![h] = m]
          /\ net' = net \ r
       \/ /\ "join" \in Faults
          /\ mine' = [mine EXCEPT ![h] = InDoubt(m, NoGrant)]
          /\ UNCHANGED net
    /\ UNCHANGED <<now, item, lock, ses, watch, client, top, rising, deleted,
                   fair>>

(* No client waits any more. (lock_clean) Or none did, and another has     *)
(* come since.                                                             *)
LeaveSend(h) ==
    /\ Lined(h) /\ Awake(h)
    /\ mine[h].st = "none" /\ mine[h].busy = "none"
    /\ client[h].waiting = 0 \/ "leave" \in Faults
    /\ mine[h].wanted \/ mine[h].doubts # {} \* a reason to look
    /\ \E s \in Own(h) : net' = net \union {Leave(h, s)}
    /\ mine' = [mine EXCEPT ![h].busy = "leave"]
    /\ UNCHANGED <<now, item, lock, ses, watch, client, top, rising, deleted,
                   fair>>

(* REMOVE line[i] DELETE xwait {sid} IF line[i] = sid (AND token = :seen)  *)
(* DELETE xwait {sid} IF contains(xwait, sid) AND NOT contains(line, sid)  *)
LeaveHolds(m) ==
    IF m.place = 0
    THEN /\ m.s \in lock.xwait
         /\ \/ m.s \notin InLine
            \/ ~Lined(m.by) \/ Bad("take the mark of a place")
    ELSE /\ HasPlace(m.s, m.place)
         /\ m.turn \in {0, lock.token} \/ Bad("drop in another turn")

LeaveLands(m) ==
    LET without == SubSeq(lock.line, 1, m.place - 1) \o After(m.place)
        foreign == Host(m.s) # m.by /\ m.turn # lock.token
    IN
    /\ m.op = "leave" /\ now < m.till /\ LeaveHolds(m)
    /\ lock' = [lock EXCEPT
           !.line = IF m.place = 0 \/ Bad("drop the mark only") THEN @
                    ELSE without,
           !.xwait = @ \ {m.s}]
    /\ Judged(<<m.by, 1>>, IF m.place > 0 /\ foreign THEN {m.s} ELSE {},
              lock'.line,
              IF m.place = 0 /\ ~Lined(m.by) THEN fair.bare \union {m.s}
              ELSE fair.bare)
    /\ Used(m)
    /\ UNCHANGED <<now, item, ses, watch, mine, client, top, rising, deleted>>

(* A removal in doubt is not remembered (submission_new).                  *)
LeaveEnds(h) ==
    LET r == {m \in net : m.op = "leave" /\ m.by = h}
        m == Wished(h, Sighted(mine[h]))
    IN
    /\ Awake(h) /\ mine[h].busy = "leave"
    /\ \/ /\ \A x \in r : ~LeaveHolds(x)
          /\ mine' = [mine EXCEPT ![h] =
                 [IF @.st = "none" THEN m ELSE Wished(h, @)
                  EXCEPT !.busy = "none"]]
          /\ net' = net \ r
       \/ /\ "leave" \in Faults
          /\ mine' = [mine EXCEPT ![h].busy = "none"]
          /\ UNCHANGED net
    /\ UNCHANGED <<now, item, lock, ses, watch, client, top, rising, deleted,
                   fair>>

-----------------------------------------------------------------------------
Daemon(h) ==
    \/ OpenSend(h) \/ Poll(h) \/ AcquireSend(h)
    \/ AcquireDone(h) \/ AcquireConflict(h) \/ AcquireUnknown(h) \/ Settle(h)
    \/ ClientReleases(h) \/ HandOver(h) \/ ExtendSend(h) \/ ExtendEnds(h)
    \/ FreshLook(h) \/ GiveBack(h) \/ ReleaseEnds(h) \/ StandBackEnds(h)
    \/ RemoveOrphan(h) \/ Forget(h)
    \/ WantSend(h) \/ WantEnds(h) \/ Unwant(h)
    \/ JoinSend(h) \/ JoinEnds(h) \/ LeaveSend(h) \/ DropSend(h)
    \/ LeaveEnds(h)
    \/ \E s \in Sid : Look(h, s) \/ KillSend(h, s) \/ BurySend(h, s)

Session(s) ==
    \/ BeatSend(s) \/ BeatAnswered(s) \/ BeatRefused(s) \/ Expire(s)
    \/ Close(s) \/ OpenAnswered(s) \/ Revive(s)

Lands ==
    \/ \E s \in Sid : OpenLands(s) \/ \E n \in ses[s].beats : BeatLands(s, n)
    \/ \E m \in net :
        \/ KillLands(m) \/ BuryLands(m) \/ AcquireLands(m) \/ ReleaseLands(m)
        \/ ExtendLands(m) \/ WantLands(m) \/ JoinLands(m) \/ LeaveLands(m)
        \/ Void(m)

Next ==
    \/ Tick \/ Lands
    \/ \E h \in Hosts \ Gone : Daemon(h)
    \/ \E s \in Sid : Session(s) \/ DeleteItem(s)

(***************************************************************************)
(* For TLC: what can matter no more is no difference between two states. A *)
(* beat or a kill that can never land again (nothing removes `dead`, and   *)
(* no beat falls, unless an item is deleted); the moment of a loss, once   *)
(* the session is closed.                                                  *)
(***************************************************************************)
Matters(m) ==
    /\ m.op = "kill" => item[m.s].st = "alive" /\ item[m.s].beat = m.beat
    /\ (m.op = "leave" /\ m.turn # 0 /\ ~Bad("drop in another turn")) =>
           m.turn >= lock.token

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
      watch, mine, client, top, rising, deleted, fair>>

Spec == Init /\ [][Next]_vars
Like(h) ==
    {x \in Hosts : /\ x \in Mortal <=> h \in Mortal
                   /\ x \in Before <=> h \in Before
                   /\ x \in Late <=> h \in Late}
Symmetry == UNION {Permutations(Like(h)) : h \in Hosts}

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

(* The line: no session twice, and no more than there is room for.         *)
LineSound ==
    /\ Len(lock.line) <= LineMax
    /\ \A i, k \in DOMAIN lock.line :
        lock.line[i] = lock.line[k] => i = k

(* Who stands in it has a mark, for sharers and those that know of no      *)
(* line; unless one of these took it out: README.md.                       *)
LineIsMarked == InLine \subseteq lock.xwait \union fair.bare

(* No host has the lock before those that stand before it, nor takes them  *)
(* out, unless they had their time in that turn.                           *)
TurnsKept == fair.turns

(* Those that stay keep their order; who comes is the last.                *)
LineKeepsOrder ==
    [][\A i, k \in DOMAIN lock.line' :
        i < k => /\ lock'.line[i] \in InLine
                 /\ \/ lock'.line[k] \notin InLine
                    \/ Place(lock'.line[i]) < Place(lock'.line[k])]_lock

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
        \/ m.op = "join" /\ Host(m.s) = h /\ JoinLands(m)
        \/ m.op = "leave" /\ m.by = h /\ LeaveLands(m)
Fair ==
    /\ Spec
    /\ \A h \in Hosts \ Gone : WF_vars(Daemon(h)) /\ WF_vars(Message(h))
EverybodyServed == \A h \in Hosts \ Gone : []<>(client[h].token # 0)

(* Sanity of the model itself.                                             *)
AtMostOneHolder == Cardinality(lock.holders) <= 1
=============================================================================
