------------------------------- MODULE Shared -------------------------------
(***************************************************************************)
(* The sharers of a lock, without a limit or within one (a semaphore),     *)
(* and exclusive holders: one record, a few hosts, each with               *)
(* elements of its own in it, and a network as in Native.tla, which says   *)
(* how to read all this.                                                   *)
(*                                                                         *)
(* There is no time here. Native.tla shows that a session dead in the      *)
(* table has given up before (DeadIsOver); so a session is valid, then     *)
(* lost, which its host knows and has told, and then dead, which everybody *)
(* may know. A daemon that restarts is another host.                       *)
(*                                                                         *)
(* A host reads the record and sends what follows from it in one step. As  *)
(* each request may land at any later time, it lands in any record that    *)
(* can have come of the one that was read.                                 *)
(***************************************************************************)
EXTENDS Naturals, FiniteSets, TLC

CONSTANTS
    Hosts,      \* each with one session
    Alone,      \* waiters for exclusive use,
    Sharing,    \* for shared use without a limit,
    Limited,    \* and within one; a host may be among several of these
    Mortal,     \* whose session may end
    Limit,      \* of the semaphore
    Grants,     \* names of elements, per host
    Faults,     \* what may land late, or twice, and lose its answer
    Downgrades, \* TRUE: from exclusive to shared use
    Wishes,     \* TRUE: hosts write wishes
    Endless,    \* TRUE: names are used again, tokens not counted, and who
                \* has the lock keeps it until somebody who is hindered wishes
    Defect      \* which rule is broken, or "none"

VARIABLES
    lock,       \* the table: the lock's item
    ses,        \* the sessions
    net,        \* requests that may land (again)
    st,         \* daemons: what became of each element (grant.c)
    use,        \* for which use it was asked
    token,      \* its answer; then what its client was told
    top         \* the judge: the highest tokens told for either use, and
                \* whether all were as they should be

vars == <<lock, ses, net, st, use, token, top>>

Bad(d) == Defect = d
Max(a, b) == IF a > b THEN a ELSE b

Element == Hosts \X (1 .. Grants)
Host(g) == g[1]
Of(h) == {g \in Element : Host(g) = h}

Underway == {"asking", "unsure", "releasing"}
Live(g) == st[g] \in Underway \union {"held", "turning"}
Busy(h) == \E g \in Of(h) : st[g] \in Underway
Mine(h) == {g \in Of(h) : Live(g)}
Dead(g) == ses[Host(g)] = "dead"

Init ==
    /\ lock = [holders |-> {}, mode |-> "none", limit |-> 0, token |-> 0,
               xwait |-> {}, swait |-> {}]
    /\ ses = TLCEval([h \in Hosts |-> "valid"])
    /\ net = {}
    /\ st = TLCEval([g \in Element |-> "new"])
    /\ use = TLCEval([g \in Element |-> "none"])
    /\ token = TLCEval([g \in Element |-> 0])
    /\ top = [x |-> 0, s |-> 0, fine |-> TRUE]

-----------------------------------------------------------------------------
(***************************************************************************)
(* Sessions. All that a host has ends with its own: clients are told, and  *)
(* an answer that comes later is believed no more.                         *)
(***************************************************************************)
Lose(h) ==
    /\ h \in Mortal /\ ses[h] = "valid"
    /\ ses' = [ses EXCEPT ![h] = "lost"]
    /\ st' = [g \in Element |->
                 IF Host(g) = h /\ st[g] # "new" THEN "gone" ELSE st[g]]
    /\ UNCHANGED <<lock, net, use, token, top>>

(* Killed, buried or closed: proof for everybody, for ever.                *)
Mark(h) ==
    /\ ses[h] = "lost"
    /\ ses' = [ses EXCEPT ![h] = "dead"]
    /\ UNCHANGED <<lock, net, st, use, token, top>>

-----------------------------------------------------------------------------
(***************************************************************************)
(* Asking (records.md: acquire, take over).                                *)
(***************************************************************************)
Modes(h) == (IF h \in Alone THEN {"x"} ELSE {})
    \union (IF h \in Sharing THEN {"s"} ELSE {})
    \union (IF h \in Limited THEN {"l"} ELSE {})
Mode(u) == IF u = "x" THEN "x" ELSE "s"
Room(u) == IF u = "l" THEN Limit ELSE Cardinality(Element)
Bound(u) == IF u = "l" THEN Limit ELSE 0

(* Names that nothing bears are used again, where that is for ever.        *)
InWorld == lock.holders \union {m.g : m \in {n \in net : n.op # "want"}}
Fresh(h) ==
    {g \in Of(h) :
        /\ st[g] = "new" \/ (Endless /\ st[g] = "gone" /\ g \notin InWorld)
        /\ \A k \in Of(h) : k[2] < g[2] => st[k] # "new"}

Free(m) ==
    /\ lock.holders = {}
    /\ IF m.use = "x"
       THEN \/ lock.swait = {} \/ lock.mode # "x"
            \/ Bad("alone again and again")
       ELSE \/ lock.xwait = {} \/ lock.mode # "s" \/ Host(m.g) \in lock.xwait
            \/ Bad("share again and again")

Joining(m) ==
    /\ m.use # "x"
    /\ lock.xwait = {} \/ Bad("join though one wishes")
    /\ lock.mode = "s" \/ Bad("join who has it alone")
    /\ lock.limit = Bound(m.use) \/ Bad("join within another limit")
    /\ \/ Cardinality(lock.holders) < Room(m.use)
       \/ Bad("join what is full")
    /\ m.g \notin lock.holders

AcquireHolds(m) ==
    IF m.dead = {} THEN Free(m) \/ Joining(m)
    ELSE /\ lock.holders = m.dead \/ Bad("take what has changed")
         /\ lock.token = m.seen \/ Bad("take what has changed")

Copies(op) == IF op \in Faults THEN 2 ELSE 1
Acquire(g, u, dead) ==
    [op |-> "acquire", g |-> g, use |-> u, dead |-> dead,
     seen |-> IF dead = {} THEN 0 ELSE lock.token, left |-> Copies("acquire")]

(* A downgrade's element takes the place of the one before.                *)
Turned(g) == {k \in Of(Host(g)) : st[k] = "turning"}
Faulty(g) == (IF Turned(g) = {} THEN "acquire" ELSE "downgrade") \in Faults

(* record_block: from all of its holders, if all of them are dead.         *)
TakenFrom ==
    IF lock.holders # {} /\ (\A g \in lock.holders : Dead(g)
           \/ (Bad("take from the living") /\ \E k \in lock.holders : Dead(k)))
    THEN {{}, lock.holders} ELSE {{}}

(* lock_needs_grant: one more only of a semaphore's.                       *)
AcquireSend(h) ==
    /\ ses[h] = "valid" /\ ~Busy(h)
    /\ \E u \in Modes(h), g \in Fresh(h), dead \in TakenFrom :
        /\ \A k \in Mine(h) : st[k] = "held" /\ use[k] = u /\ u = "l"
        /\ Cardinality(Mine(h)) < Room(u)
        /\ Endless => AcquireHolds(Acquire(g, u, dead)) \* seen so before
        /\ net' = net \union {Acquire(g, u, dead)}
        /\ st' = [st EXCEPT ![g] = "asking"]
        /\ use' = [use EXCEPT ![g] = u]
        /\ token' = [token EXCEPT ![g] = 0]
    /\ UNCHANGED <<lock, ses, top>>

Used(m) ==
    net' = (net \ {m}) \union
        IF m.left = 1 THEN {} ELSE {[m EXCEPT !.left = @ - 1]}

Raised(m) ==
    IF Endless \/ (m.use # "x" /\ Bad("share the token")) THEN lock.token
    ELSE lock.token + 1

AcquireLands(m) ==
    /\ m.op = "acquire" /\ AcquireHolds(m)
    /\ lock' = [lock EXCEPT
           !.holders = IF m.dead = {} THEN @ \union {m.g} ELSE {m.g},
           !.mode = Mode(m.use), !.limit = Bound(m.use), !.token = Raised(m),
           !.xwait = @ \ {Host(m.g)},
           !.swait = IF m.use = "x" THEN @ ELSE @ \ {Host(m.g)}]
    /\ token' = [token EXCEPT ![m.g] =
           IF st[m.g] = "asking" THEN Max(1, Raised(m)) ELSE @]
    /\ Used(m)
    /\ UNCHANGED <<ses, st, use, top>>

Requests(g) == {m \in net : m.op = "acquire" /\ m.g = g}

Granted(g, t) ==
    /\ st' = [k \in Element |-> IF k = g THEN "held"
                 ELSE IF k \in Turned(g) THEN "gone" ELSE st[k]]
    /\ token' = [token EXCEPT ![g] = t]
    /\ top' = IF Endless THEN top ELSE
           [x |-> IF use[g] = "x" THEN Max(top.x, t) ELSE top.x,
            s |-> IF use[g] = "x" THEN top.s ELSE Max(top.s, t),
            fine |-> /\ top.fine
                     /\ t > top.x
                     /\ use[g] = "x" => t > top.s]

(* The answer. A conflict that shows our element is one, too.              *)
AcquireDone(g) ==
    /\ st[g] = "asking"
    /\ \/ token[g] # 0 /\ Granted(g, token[g])
       \/ /\ Faulty(g) /\ g \in lock.holders
          /\ Granted(g, lock.token)
    /\ \/ net' = net \ Requests(g)
       \/ Faulty(g) /\ net' = net
    /\ UNCHANGED <<lock, ses, use>>

(* What an attempt without an answer leaves in the network may land yet.   *)
AcquireConflict(g) ==
    /\ st[g] = "asking" /\ Turned(g) = {} /\ g \notin lock.holders
    /\ \E m \in Requests(g) : ~AcquireHolds(m)
    /\ \/ token[g] = 0 /\ net' = net \ Requests(g)
       \/ "acquire" \in Faults /\ net' = net
    /\ st' = [st EXCEPT ![g] = "gone"]
    /\ UNCHANGED <<lock, ses, use, token, top>>

AcquireUnknown(g) ==
    /\ Faulty(g) /\ st[g] = "asking"
    /\ st' = [st EXCEPT ![g] =
           IF Bad("unknown is success") THEN "held" ELSE "unsure"]
    /\ UNCHANGED <<lock, ses, net, use, token, top>>

(* Only a read tells. A downgrade that is not there is sent again.         *)
Settle(g) ==
    /\ st[g] = "unsure"
    /\ IF g \in lock.holders THEN Granted(g, lock.token)
       ELSE /\ st' = [st EXCEPT ![g] =
                   IF Turned(g) # {} THEN "asking" ELSE "gone"]
            /\ UNCHANGED <<token, top>>
    /\ UNCHANGED <<lock, ses, net, use>>

-----------------------------------------------------------------------------
(***************************************************************************)
(* Leaving. One of the dead may be named, too, and no other.               *)
(***************************************************************************)
Release(g, them) == [op |-> "release", g |-> g, them |-> them]

Along(g) ==
    {{g}} \union {{g, k} : k \in {e \in lock.holders \ {g} :
                     Dead(e) \/ Bad("take the living along")}}

Hindered(g) == IF use[g] = "x" THEN lock.swait # {} \/ lock.xwait # {}
               ELSE lock.xwait # {}

ReleaseSend(g) ==
    /\ st[g] = "held" /\ ~Busy(Host(g))
    /\ ses[Host(g)] = "valid"
    /\ Endless => Hindered(g)
    /\ \E them \in Along(g) : net' = net \union {Release(g, them)}
    /\ st' = [st EXCEPT ![g] = "releasing"]
    /\ UNCHANGED <<lock, ses, use, token, top>>

(* IF holders contains each of them                                        *)
ReleaseLands(m) ==
    /\ m.op = "release" /\ m.them \subseteq lock.holders
    /\ lock' = [lock EXCEPT !.holders = @ \ m.them]
    /\ net' = IF "release" \in Faults THEN net ELSE net \ {m}
    /\ UNCHANGED <<ses, st, use, token, top>>

(* The record tells: ours is out; or somebody else took out the dead one,  *)
(* and it is sent once more, for ours alone.                               *)
ReleaseEnds(g) ==
    LET mine == {m \in net : m.op = "release" /\ m.g = g} IN
    /\ st[g] = "releasing"
    /\ IF g \notin lock.holders
       THEN /\ st' = [st EXCEPT ![g] = "gone"]
            /\ net' = IF "release" \in Faults THEN net ELSE net \ mine
       ELSE /\ \A m \in mine : ~(m.them \subseteq lock.holders)
            /\ net' = net \union {Release(g, {g})}
            /\ UNCHANGED st
    /\ UNCHANGED <<lock, ses, use, token, top>>

(* What is in the record and should not be: an orphan of ours, or, where   *)
(* there is no room, the dead.                                             *)
Orphans(h) ==
    {g \in lock.holders : /\ Host(g) = h /\ st[g] # "asking"
                          /\ ~Live(g) \/ (Bad("remove a sibling")
                                          /\ \E k \in Of(h) : ~Live(k))}
IsFull == lock.limit > 0 /\ Cardinality(lock.holders) >= lock.limit
Dropped ==
    {g \in lock.holders : IsFull /\ (Dead(g) \/
        (Bad("drop the living") /\ \E k \in lock.holders : Dead(k)))}

Clean(h) ==
    /\ ses[h] = "valid" /\ ~Busy(h)
    /\ \E them \in {{g} : g \in Orphans(h)} \union {Dropped} :
        /\ them # {}
        /\ \A m \in net : m.op = "release" => m.them # them
        /\ \E g \in them : net' = net \union {Release(g, them)}
    /\ UNCHANGED <<lock, ses, st, use, token, top>>

-----------------------------------------------------------------------------
(***************************************************************************)
(* downgrade.c: the shared element takes the exclusive one's place. From   *)
(* the request on its client relies on shared use only.                    *)
(***************************************************************************)
Downgrade(g) ==
    LET h == Host(g) IN
    /\ Downgrades /\ st[g] = "held" /\ use[g] = "x" /\ ses[h] = "valid"
    /\ \E k \in Fresh(h), u \in {"s", "l"} :
        /\ net' = net \union
               {[Acquire(k, u, {g}) EXCEPT
                    !.seen = token[g], !.left = Copies("downgrade")]}
        /\ st' = [st EXCEPT ![g] = "turning", ![k] = "asking"]
        /\ use' = [use EXCEPT ![k] = u]
    /\ UNCHANGED <<lock, ses, token, top>>

-----------------------------------------------------------------------------
(***************************************************************************)
(* Wishes, of both kinds. Who waits for another limit wishes as if for     *)
(* exclusive use (lock_mark_mode).                                         *)
(***************************************************************************)
WishFor(u) ==
    IF u = "x" \/ (lock.mode = "s" /\ lock.limit # Bound(u)) THEN "x" ELSE "s"
Wished(h, k) == h \in IF k = "x" THEN lock.xwait ELSE lock.swait

WantSend(h) ==
    /\ Wishes /\ ses[h] = "valid" /\ Mine(h) = {} /\ Fresh(h) # {}
    /\ lock.holders # {}
    /\ \A m \in net : m.op = "want" => m.h # h
    /\ \E u \in Modes(h) :
        /\ ~Wished(h, WishFor(u))
        /\ ~ \E g \in Fresh(h) : AcquireHolds(Acquire(g, u, {}))
        /\ net' = net \union {[op |-> "want", h |-> h, k |-> WishFor(u)]}
    /\ UNCHANGED <<lock, ses, st, use, token, top>>

(* ADD ... IF attribute_exists(holders)                                    *)
WantLands(m) ==
    /\ m.op = "want"
    /\ lock' = IF lock.holders = {} THEN lock
               ELSE IF m.k = "x" THEN [lock EXCEPT !.xwait = @ \union {m.h}]
               ELSE [lock EXCEPT !.swait = @ \union {m.h}]
    /\ net' = net \ {m}
    /\ UNCHANGED <<ses, st, use, token, top>>

(* By who waits no more, or for what hinders, and is dead.                 *)
Unwant(h) ==
    /\ Wishes /\ lock.xwait \union lock.swait # {} /\ h \in Hosts
    /\ ses[h] = "dead" \/ (Mine(h) = {} /\ Fresh(h) = {})
    /\ lock' = [lock EXCEPT !.xwait = @ \ {h}, !.swait = @ \ {h}]
    /\ UNCHANGED <<ses, net, st, use, token, top>>

-----------------------------------------------------------------------------
Daemon(h) ==
    \/ AcquireSend(h) \/ Clean(h) \/ WantSend(h)
    \/ \E g \in Of(h) :
        \/ AcquireDone(g) \/ AcquireConflict(g) \/ AcquireUnknown(g)
        \/ Settle(g) \/ ReleaseSend(g) \/ ReleaseEnds(g) \/ Downgrade(g)

Lands(m) == AcquireLands(m) \/ ReleaseLands(m) \/ WantLands(m)

Next ==
    \/ \E h \in Hosts : Daemon(h) \/ Lose(h) \/ Mark(h) \/ Unwant(h)
    \/ \E m \in net : Lands(m)

Spec == Init /\ [][Next]_vars
Fair == Spec /\ \A h \in Hosts : WF_vars(Daemon(h)) /\
    WF_vars(\E m \in net : (IF m.op = "want" THEN m.h ELSE Host(m.g)) = h
                           /\ Lands(m))

(* Hosts of which everything that is said is the same.                     *)
Alike(h) == {k \in Hosts : \A S \in {Alone, Sharing, Limited, Mortal} :
                               (k \in S) = (h \in S)}
Symmetry == UNION {Permutations(Alike(h)) : h \in Hosts}

-----------------------------------------------------------------------------
(***************************************************************************)
(* What is promised.                                                       *)
(***************************************************************************)
Holding == {g \in Element : st[g] \in {"held", "turning"}
                            /\ ses[Host(g)] = "valid"}

(* What its client relies on.                                              *)
Relied(g) ==
    IF st[g] = "turning" /\ ~Bad("rely on it until the answer")
    THEN "shared" ELSE use[g]

(* 1. Never exclusive beside others; never more than the limit, nor within *)
(* two of them.                                                            *)
ExclusiveAlone ==
    \A g \in Holding : Relied(g) = "x" => Holding = {g}
WithinLimit ==
    /\ Cardinality({g \in Holding : Relied(g) = "l"}) <= Limit
    /\ \A g, k \in Holding : ~(Relied(g) = "l" /\ Relied(k) = "s")

(* 2. A token is above that of all exclusive grants before; one for        *)
(* exclusive use is above all before.                                      *)
TokensRise == top.fine

(* R4, R5. No release, takeover or cleaning takes out what a living client *)
(* holds.                                                                  *)
HoldersStay ==
    \A g \in Holding :
        \/ g \in lock.holders
        \/ st[g] = "turning" /\ \E k \in lock.holders : Host(k) = Host(g)

(* Why: R3, of the record.                                                 *)
RecordSound ==
    /\ lock.mode = "x" => Cardinality(lock.holders) <= 1
    /\ lock.limit > 0 => Cardinality(lock.holders) <= lock.limit

(* Dead is for ever.                                                       *)
DeadStaysDead ==
    [][\A h \in Hosts : ses[h] = "dead" => ses'[h] = "dead"]_vars

(* Neither kind starves the other.                                         *)
Served(K) == \E g \in Holding : Mode(use[g]) = K
KindsAlternate == []<>Served("x") /\ []<>Served("s")
=============================================================================
