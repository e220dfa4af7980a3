------------------------------ MODULE Restart ------------------------------
(***************************************************************************)
(* What a daemon leaves in its journal, and how the next one goes on from  *)
(* there (doc/safety.md, Restart): one session, one lock, the order of     *)
(* journal, beat and adoption. A daemon may die between any two steps.     *)
(* Native.tla says how to read this.                                       *)
(*                                                                         *)
(* There are two lives of one machine. Life 1 is the first. Life 2 begins  *)
(* with a copy of the journal that life 1 had at some moment: the machine  *)
(* was cloned or restored from a snapshot, or somebody put an old file in  *)
(* place. Each life has one daemon process after another.                  *)
(*                                                                         *)
(* There is no time here. A lease may be over at any moment; and what      *)
(* needs a whole lease without a beat (Kill) may happen only when nobody   *)
(* relies on that session any more, which is what Native.tla shows.        *)
(***************************************************************************)
EXTENDS Naturals, FiniteSets, TLC

CONSTANTS
    Beats,      \* so many numbers of beats; they are boot times in truth
    OneClock,   \* TRUE: the boot clocks of both lives show the same
    Grants,     \* names of grants
    Starts,     \* so often a daemon is started again, in each life
    Defect      \* which rule is broken, or "none"

VARIABLES
    item,       \* the table: the session's item
    lock,       \* the table: who is in the lock's item, and by which grant
    net,        \* beats that may land
    by,         \* which life sent the beat of this number; 0: none did
    proc,       \* the daemon of each life
    left,       \* starts that are left, in each life
    journal,    \* of each life
    has,        \* local programs: the grant that one of this life relies on
    names,      \* grants that were given
    copied,     \* life 2 has its journal: "yes"; and life 1 has changed the
                \* lock since: "old"; or "no"
    knew,       \* the beats that this copy has
    over,       \* life 1 is over, with its clients
    wrong       \* the judge: a daemon gave up a session that was its own

vars == <<item, lock, net, by, proc, left, journal, has, names,
          copied, knew, over, wrong>>

Bad(d) == Defect = d
Max(a, b) == IF a > b THEN a ELSE b
MaxOf(S) == CHOOSE x \in S : \A y \in S : y <= x

Lives == {1, 2}
Free == [who |-> "none", g |-> 0]

(* `most`: no beat of ours was higher when the session was proven. `own`:  *)
(* those that were sent since it was taken over (session_saved.c).         *)
Kept(most, own, g) == [good |-> TRUE, most |-> most, own |-> own, g |-> g]
Nothing == [good |-> FALSE, most |-> 0, own |-> {}, g |-> 0]
None == [st |-> "none", no |-> 0, most |-> 0, own |-> {}, g |-> 0]

Saved(p) == Kept(p.most, p.own, p.g)

Init ==
    /\ item = [beat |-> 0, dead |-> FALSE]
    /\ lock = Free
    /\ net = {}
    /\ by = [n \in 1 .. Beats |-> 0]
    /\ proc = [l \in Lives |-> IF l = 1 THEN [None EXCEPT !.st = "valid"]
                               ELSE None]
    /\ left = [l \in Lives |-> Starts]
    /\ journal = [l \in Lives |-> IF l = 1 THEN Kept(0, {}, 0) ELSE Nothing]
    /\ has = [l \in Lives |-> 0]
    /\ names = 0 /\ copied = "no" /\ knew = {}
    /\ over = FALSE
    /\ wrong = FALSE

(* May it give and take under this session? (lease_takes_grants)           *)
Trusts(l) ==
    \/ proc[l].st = "valid"
    \/ proc[l].st = "unproven" /\ Bad("grant before the proof")

(* What nobody can see: a copy that is younger than the last renewal,      *)
(* though the other life goes on or has changed the lock since. README.md  *)
(* has it as an exception.                                                 *)
IsKnown(l, n) == n <= proc[l].most \/ n \in proc[l].own
Fits(l) ==
    \/ l = 1 \/ item.beat \notin knew
    \/ over /\ copied = "yes"
    \/ Bad("start a young copy")

Changes(l) ==
    copied' = IF l = 1 /\ copied = "yes" THEN "old" ELSE copied

-----------------------------------------------------------------------------
(***************************************************************************)
(* Beats. Each is noted before it is sent. One of a session that was taken *)
(* over has a bound, `below` (session_submit); 0 is none.                  *)
(***************************************************************************)
Bound(p) ==
    IF p.st = "unproven" /\ ~Bad("beat without a bound")
    THEN p.most + 1 ELSE 0

Noted(p, n) ==
    IF p.st = "unproven" THEN [p EXCEPT !.own = @ \union {n}]
    ELSE [p EXCEPT !.most = Max(@, n)]

Send(l) ==
    /\ proc[l].st \in {"valid", "unproven"}
    /\ \A m \in net : m.l # l \/ m.no # proc[l].no
    /\ \E n \in 1 .. Beats :
        /\ by[n] = 0
        /\ n > MaxOf({proc[l].most} \union proc[l].own)
        /\ OneClock => \A k \in 1 .. Beats : k < n => by[k] # 0
        /\ by' = [by EXCEPT ![n] = l]
        /\ proc' = [proc EXCEPT ![l] = Noted(@, n)]
        /\ journal' = IF Bad("send before it is noted") THEN journal
                      ELSE [journal EXCEPT ![l] = Saved(proc'[l])]
        /\ net' = net \union {[l |-> l, no |-> proc[l].no, n |-> n,
                               below |-> Bound(proc[l])]}
    /\ UNCHANGED <<item, lock, left, has, names, copied, knew, over,
                   wrong>>

(* native_write.c                                                          *)
Accepts(m) ==
    ~item.dead /\ item.beat < m.n /\ (m.below = 0 \/ item.beat < m.below)

(* It is proven: the session is as good as our own (session_prove). The    *)
(* client of a hold that was copied goes on, if there is one.              *)
Proves(l) ==
    /\ proc' = [proc EXCEPT ![l].st = "valid", ![l].own = {},
                ![l].most = MaxOf({@} \union proc[l].own)]
    /\ journal' = [journal EXCEPT ![l] = Saved(proc'[l])]
    /\ IF l = 2 /\ proc[l].st = "unproven" /\ proc[l].g # 0
       THEN \E g \in {0, proc[l].g} : has' = [has EXCEPT ![l] = g]
       ELSE has' = has
    /\ wrong' = wrong

(* All is lost: its clients are told. What it knew is needed no more, but  *)
(* to close.                                                               *)
GivesUp(l, st) ==
    /\ proc' = [proc EXCEPT ![l] = [None EXCEPT !.st = st, !.no = proc[l].no,
           !.most = IF st = "unproven lost" THEN proc[l].most ELSE 0]]
    /\ journal' = [journal EXCEPT ![l] = Nothing]
    /\ has' = [has EXCEPT ![l] = 0]

(* session_beaten: the beat in the way is one of ours, and the next one    *)
(* may follow it; or it is another's.                                      *)
Refused(l) ==
    IF item.dead THEN GivesUp(l, "gone") /\ wrong' = wrong
    ELSE IF proc[l].st = "valid" \/ IsKnown(l, item.beat)
            \/ Bad("take any beat for ours")
    THEN /\ proc' = [proc EXCEPT ![l].most = Max(@, item.beat)]
         /\ journal' = [journal EXCEPT ![l] = Saved(proc'[l])]
         /\ UNCHANGED <<has, wrong>>
    ELSE /\ GivesUp(l, "gone")
         /\ wrong' = (wrong \/ (item.beat > 0 /\ by[item.beat] = l))

(* At any time, with an answer or without.                                 *)
BeatLands(m) ==
    /\ Fits(m.l)
    /\ item' = IF Accepts(m) THEN [item EXCEPT !.beat = m.n] ELSE item
    /\ net' = net \ {m}
    /\ \/ UNCHANGED <<proc, journal, has, wrong>>
       \/ /\ proc[m.l].no = m.no /\ proc[m.l].st \in {"valid", "unproven"}
          /\ IF Accepts(m) THEN Proves(m.l) ELSE Refused(m.l)
    /\ UNCHANGED <<lock, by, left, names, copied, knew, over>>

-----------------------------------------------------------------------------
(***************************************************************************)
(* The lock. A grant is told when it is in the journal.                    *)
(***************************************************************************)
Acquire(l) ==
    /\ Trusts(l) /\ Fits(l) /\ proc[l].g = 0
    /\ lock = Free /\ ~item.dead /\ names < Grants
    /\ names' = names + 1
    /\ lock' = [who |-> "us", g |-> names']
    /\ proc' = [proc EXCEPT ![l].g = names']
    /\ journal' = IF Bad("tell before it is noted") THEN journal
                  ELSE [journal EXCEPT ![l] = Saved(proc'[l])]
    /\ has' = [has EXCEPT ![l] = names']
    /\ Changes(l)
    /\ UNCHANGED <<item, net, by, left, knew, over, wrong>>

(* Its client asks for that, or has stopped. A client that is not there    *)
(* when its daemon comes back may be at work until its deadline.           *)
Release(l) ==
    /\ Trusts(l) /\ proc[l].g # 0
    /\ has' = IF Bad("release what nobody is there for") /\ proc[l].no > 0
              THEN has ELSE [has EXCEPT ![l] = 0]
    /\ lock' = IF lock = [who |-> "us", g |-> proc[l].g] THEN Free ELSE lock
    /\ proc' = [proc EXCEPT ![l].g = 0]
    /\ journal' = [journal EXCEPT ![l] = Saved(proc'[l])]
    /\ Changes(l)
    /\ UNCHANGED <<item, net, by, left, names, knew, over, wrong>>

(* An element of our session that no grant here has (record_find_orphan).  *)
RemoveOrphan(l) ==
    /\ Trusts(l) /\ Fits(l)
    /\ lock.who = "us" /\ lock.g # proc[l].g
    /\ lock' = Free
    /\ Changes(l)
    /\ UNCHANGED <<item, net, by, proc, left, journal, has, names, knew,
                   over, wrong>>

(* Another host: it takes what is free, or of a dead session.              *)
OtherTakes ==
    /\ lock = Free \/ (lock.who = "us" /\ item.dead)
    /\ lock' = [who |-> "other", g |-> 0]
    /\ UNCHANGED <<item, net, by, proc, left, journal, has, names, copied,
                   knew, over, wrong>>

-----------------------------------------------------------------------------
(***************************************************************************)
(* Ends and beginnings.                                                    *)
(***************************************************************************)
(* Its lease is over.                                                      *)
Lose(l) ==
    /\ proc[l].st \in {"valid", "unproven"}
    /\ GivesUp(l, IF proc[l].st = "valid" THEN "lost" ELSE "unproven lost")
    /\ UNCHANGED <<item, lock, net, by, left, names, copied, knew, over,
                   wrong>>

(* A margin later. What is unproven has a bound here, too.                 *)
Close(l) ==
    /\ Fits(l)
    /\ \/ proc[l].st = "lost"
       \/ proc[l].st = "unproven lost" /\ (\/ item.beat <= proc[l].most
                                           \/ Bad("close without a bound"))
    /\ item' = [item EXCEPT !.dead = TRUE]
    /\ proc' = [proc EXCEPT ![l] = [None EXCEPT !.st = "gone",
                                                !.no = proc[l].no]]
    /\ UNCHANGED <<lock, net, by, left, journal, has, names, copied, knew,
                   over, wrong>>

(* Another host, after a lease without a beat.                             *)
Kill ==
    /\ \A l \in Lives : proc[l].st # "valid" /\ has[l] = 0
    /\ item' = [item EXCEPT !.dead = TRUE]
    /\ UNCHANGED <<lock, net, by, proc, left, journal, has, names, copied,
                   knew, over, wrong>>

(* A local program ends, or its deadline comes: nobody need tell it.       *)
Stop(l) ==
    /\ has[l] # 0 /\ has' = [has EXCEPT ![l] = 0]
    /\ UNCHANGED <<item, lock, net, by, proc, left, journal, names, copied,
                   knew, over, wrong>>

Die(l) ==
    /\ proc[l].st \in {"valid", "unproven"}
    /\ proc' = [proc EXCEPT ![l] = [None EXCEPT !.no = proc[l].no]]
    /\ UNCHANGED <<item, lock, net, by, left, journal, has, names, copied,
                   knew, over, wrong>>

Start(l) ==
    /\ proc[l].st = "none" /\ journal[l].good /\ left[l] > 0
    /\ l = 1 => ~over
    /\ left' = [left EXCEPT ![l] = @ - 1]
    /\ proc' = [proc EXCEPT ![l] =
           [st |-> "unproven", no |-> proc[l].no + 1,
            most |-> journal[l].most, own |-> journal[l].own,
            g |-> journal[l].g]]
    /\ UNCHANGED <<item, lock, net, by, journal, has, names, copied, knew,
                   over, wrong>>

Copy ==
    /\ copied = "no" /\ copied' = "yes"
    /\ knew' = {n \in 0 .. Beats :
                    n <= journal[1].most \/ n \in journal[1].own}
    /\ journal' = [journal EXCEPT ![2] = journal[1]]
    /\ UNCHANGED <<item, lock, net, by, proc, left, has, names, over,
                   wrong>>

(* The machine, and not only its daemon.                                   *)
End ==
    /\ ~over /\ copied # "no" /\ over' = TRUE
    /\ proc' = [proc EXCEPT ![1] = None]
    /\ has' = [has EXCEPT ![1] = 0]
    /\ UNCHANGED <<item, lock, net, by, left, journal, names, copied, knew,
                   wrong>>

-----------------------------------------------------------------------------
Next ==
    \/ \E l \in Lives :
        \/ Send(l) \/ Acquire(l) \/ Release(l) \/ RemoveOrphan(l)
        \/ Lose(l) \/ Close(l) \/ Stop(l) \/ Die(l) \/ Start(l)
    \/ \E m \in net : BeatLands(m)
    \/ OtherTakes \/ Kill \/ Copy \/ End

Spec == Init /\ [][Next]_vars

(***************************************************************************)
(* What is promised.                                                       *)
(***************************************************************************)
(* 1. Programs that rely on the lock, of both lives and of other hosts.    *)
MutualExclusion ==
    Cardinality({l \in Lives : has[l] # 0}) +
        (IF lock.who = "other" THEN 1 ELSE 0) <= 1

(* Nothing is lost by a death alone: a session is given up as another's    *)
(* only if it is.                                                          *)
NothingLost == ~wrong

(* Dead is for ever.                                                       *)
DeadStaysDead == [][item.dead => item'.dead]_vars
=============================================================================
