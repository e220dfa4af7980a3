------------------------------ MODULE Restored ------------------------------
(***************************************************************************)
(* The tokens of one lock whose table is restored from a backup, and that  *)
(* an administrator raises (doc/safety.md, A restored table). Native.tla   *)
(* says how to read this, and why tokens rise where nobody restores.       *)
(*                                                                         *)
(* There is no time here. What the native format knows of it is one fact:  *)
(* the store's time, as a token, is above all that were ever written, and  *)
(* a whole second (`Above`). Sessions are not here either: no host takes   *)
(* from another, unless the lock is broken by hand.                        *)
(***************************************************************************)
EXTENDS Naturals, FiniteSets, TLC

CONSTANTS
    Hosts,      \* daemons
    Block,      \* tokens written at once
    Second,     \* tokens of a second: a RAISE goes to a multiple of them
    Grants,     \* how many acquires there are, in all
    Extends,    \* and extensions
    Raises,     \* and raises
    Restores,   \* how often the backup is restored
    Breaks,     \* how often the lock is broken by hand
    Restarts,   \* how often a daemon is started again
    Late,       \* TRUE: a raise may land once more; an acquire, when it was
                \* given up
    Defect      \* which rule is broken, or "none"

VARIABLES
    lock,       \* the table: the lock's item
    backup,     \* of it; its token is 0 when there is none
    net,        \* requests that may land
    mine,       \* daemons: what of ours is in the lock (grant.c)
    known,      \* daemons: the highest token that was seen (token_known)
    floor,      \* daemons: that of the namespace, and whether it is due
    left,       \* how often each thing may still happen
    top,        \* the highest token that was ever written
    wrote,      \* the judge: the highest token that was written for each
                \* grant, and the numbers of raises
    given,      \* the judge: all that were told to clients
    again,      \* the judge: one that was known, or a lower one, was told
    stray,      \* the judge: one was told that was not written for its grant
    rising,     \* the judge: so far, each token was above all before, ...
    sound       \* ... of those from this one on: all of them at first; after
                \* a restoration, from the next raise on

vars == <<lock, backup, net, mine, known, floor, left, top, wrote, given, again,
          rising, stray, sound>>

Bad(d) == Defect = d
Max(a, b) == IF a > b THEN a ELSE b
Nobody == "nobody"
Never == 9999

(* The store's next second.                                                *)
Above(n) == (n \div Second + 1) * Second

Idle == [st |-> "none", g |-> 0, next |-> 0, last |-> 0, floor |-> 0,
         seen |-> 0, knew |-> 0]

Init ==
    /\ lock = [by |-> Nobody, g |-> 0, token |-> 1]
    /\ backup = [by |-> Nobody, g |-> 0, token |-> 0]
    /\ net = {}
    /\ mine = [h \in Hosts |-> Idle]
    /\ known = [h \in Hosts |-> 0]
    /\ floor = [h \in Hosts |-> [at |-> 0, due |-> FALSE]]
    /\ left = [grants |-> Grants, extends |-> Extends, raises |-> Raises,
               restores |-> Restores, breaks |-> Breaks,
               restarts |-> Restarts]
    /\ top = 1
    /\ wrote = [own |-> [g \in 1 .. Grants |-> 0], raised |-> {}]
    /\ given = {}
    /\ again = FALSE
    /\ rising = TRUE
    /\ stray = FALSE
    /\ sound = 0

Shows(h) == lock.by = h /\ lock.g = mine[h].g

(* record_token_seen: what is known, and is it less than that?             *)
WentBack(h, token) == token < known[h]
Known(h, token) == Max(known[h], token)
Noticed(h, token) == floor[h].due \/ WentBack(h, token)

-----------------------------------------------------------------------------
(***************************************************************************)
(* tokens.c                                                                *)
(***************************************************************************)

(* tokens_admit: of what is written up to `last`, which is next?           *)
Admit(next, last, fl) ==
    LET raised == last % Second = 0 /\ ~Bad("give what is below a raise")
        n == IF raised THEN last ELSE next
    IN
    CASE fl = 0 -> [next |-> n, floor |-> 0]
      [] last <= fl -> [next |-> last + 1, floor |-> fl]
      [] OTHER -> [next |-> Max(n, fl + 1), floor |-> 0]

AcquireSend(h) ==
    /\ mine[h].st = "none" /\ left.grants > 0
    /\ mine' = [mine EXCEPT ![h] = [Idle EXCEPT !.st = "asking",
                                                !.g = left.grants]]
    /\ net' = net \union {[op |-> "acquire", by |-> h, g |-> left.grants]}
    /\ left' = [left EXCEPT !.grants = @ - 1]
    /\ UNCHANGED <<lock, backup, known, floor, top, wrote, given, again,
                   rising, stray, sound>>

AcquireLands(m) ==
    /\ m.op = "acquire" /\ lock.by = Nobody
    /\ lock' = [by |-> m.by, g |-> m.g, token |-> lock.token + Block]
    /\ top' = Max(top, lock'.token)
    /\ wrote' = [wrote EXCEPT !.own[m.g] = lock'.token]
    /\ net' = net \ {m}
    /\ UNCHANGED <<backup, mine, known, floor, left, given, again,
                   rising, stray, sound>>

(* grant_take_new_tokens: by the record as it is when the answer, or a look, *)
(* tells of it.                                                            *)
AcquireDone(h) ==
    LET before == lock.token - Block
        first == before + 1
        plain == Admit(first, lock.token, 0).next
        notice == Noticed(h, before)
        at == IF notice THEN Max(floor[h].at, Above(top)) ELSE floor[h].at
        fl == IF Bad("mind one lock only") THEN known[h] ELSE Max(known[h], at)
        low == before < fl /\ ~Bad("give what is known")
    IN
    /\ mine[h].st = "asking" /\ Shows(h)
    /\ mine' = [mine EXCEPT ![h].st = "held", ![h].last = lock.token,
                            ![h].next = IF low THEN lock.token + 1 ELSE plain,
                            ![h].floor = IF low THEN fl ELSE 0,
                            ![h].knew = Max(known[h], at)]
    /\ known' = [known EXCEPT ![h] = Known(h, lock.token)]
    /\ floor' = [floor EXCEPT ![h] = [at |-> at, due |-> FALSE]]
    /\ UNCHANGED <<lock, backup, net, left, top, wrote, given, again,
                   rising, stray, sound>>

(* It is not there; what is still under way may land.                      *)
AcquireFails(h) ==
    /\ mine[h].st = "asking" /\ ~Shows(h)
    /\ Late \/ ~ \E m \in net : m.op = "acquire" /\ m.g = mine[h].g
    /\ mine' = [mine EXCEPT ![h] = Idle]
    /\ UNCHANGED <<lock, backup, net, known, floor, left, top, wrote, given, again,
                   rising, stray, sound>>

(* A client has the next one, for a moment. It is wrong if this one, or a   *)
(* higher one, was given, and this daemon knew that one before it got this *)
(* grant, or gave it itself; or had noticed that tokens went back since.   *)
Give(h) ==
    LET t == mine[h].next IN
    /\ mine[h].st = "held" /\ t <= mine[h].last
    /\ mine' = [mine EXCEPT ![h].next = @ + 1, ![h].knew = Max(@, t)]
    /\ given' = given \union {t}
    /\ again' = (again \/ \E x \in given : x >= t /\ x <= mine[h].knew)
    /\ rising' = (rising /\ ((Shows(h) /\ t >= sound) =>
                                \A x \in given : x < t))
    /\ stray' = (stray \/ (t > wrote.own[mine[h].g] /\ t \notin wrote.raised))
    /\ UNCHANGED <<lock, backup, net, known, floor, left, top, wrote, sound>>

(* grant_extension                                                         *)
ExtendSend(h) ==
    LET m == mine[h]
        behind == m.seen # 0 /\ m.seen < m.last
    IN
    /\ m.st = "held" /\ left.extends > 0
    /\ m.next > m.last \/ behind
    /\ net' = net \union {[op |-> "extend", by |-> h, g |-> m.g,
                           seen |-> IF behind THEN m.seen ELSE m.last,
                           to |-> Max(m.last, m.floor) + Block]}
    /\ mine' = [mine EXCEPT ![h].st = "extending"]
    /\ left' = [left EXCEPT !.extends = @ - 1]
    /\ UNCHANGED <<lock, backup, known, floor, top, wrote, given, again,
                   rising, stray, sound>>

(* ADD token :n IF holders = {me} AND token = :seen                        *)
ExtendHolds(m) == lock.by = m.by /\ lock.g = m.g /\ lock.token = m.seen

ExtendLands(m) ==
    /\ m.op = "extend" /\ ExtendHolds(m)
    /\ lock' = [lock EXCEPT !.token = m.to]
    /\ top' = Max(top, m.to)
    /\ wrote' = [wrote EXCEPT !.own[m.g] = m.to]
    /\ net' = net \ {m}
    /\ UNCHANGED <<backup, mine, known, floor, left, given, again,
                   rising, stray, sound>>

(* The host sees its own grant: grant_adopt, lock_audited. Or it does not. *)
Sees(h) ==
    LET m == mine[h]
        a == Admit(m.next, lock.token, m.floor)
    IN
    IF ~Shows(h) THEN Idle
    ELSE IF lock.token <= m.last
    THEN [m EXCEPT !.st = "held", !.seen = lock.token]
    ELSE [m EXCEPT !.st = "held", !.seen = lock.token, !.last = lock.token,
                   !.next = a.next, !.floor = a.floor]

(* The record as the host learns of it, by any answer.                     *)
Learns(h) ==
    /\ floor' = [floor EXCEPT ![h].due = @ \/ WentBack(h, lock.token)]
    /\ known' = [known EXCEPT ![h] = Known(h, lock.token)]

ExtendEnds(h) ==
    LET r == {m \in net : m.op = "extend" /\ m.by = h} IN
    /\ mine[h].st = "extending"
    /\ \A m \in r : ~ExtendHolds(m)
    /\ mine' = [mine EXCEPT ![h] = Sees(h)]
    /\ net' = net \ r
    /\ Learns(h)
    /\ UNCHANGED <<lock, backup, left, top, wrote, given, again,
                   rising, stray, sound>>

(* A poll, a refused acquire, the audit.                                   *)
Look(h) ==
    /\ mine[h].st \in {"none", "held"}
    /\ mine' = [mine EXCEPT ![h] = IF @.st = "held" THEN Sees(h) ELSE @]
    /\ Learns(h)
    /\ UNCHANGED <<lock, backup, net, left, top, wrote, given, again,
                   rising, stray, sound>>

(* Its last client has gone. No release changes the token.                 *)
Release(h) ==
    /\ mine[h].st = "held"
    /\ lock' = IF Shows(h) THEN [lock EXCEPT !.by = Nobody, !.g = 0]
               ELSE lock
    /\ mine' = [mine EXCEPT ![h] = Idle]
    /\ UNCHANGED <<backup, net, known, floor, left, top, wrote, given, again,
                   rising, stray, sound>>

(* What is there of ours, and nothing here stands behind it.               *)
RemoveOrphan(h) ==
    /\ lock.by = h /\ (mine[h].st = "none" \/ lock.g # mine[h].g)
    /\ mine[h].st \in {"none", "held"}
    /\ lock' = [lock EXCEPT !.by = Nobody, !.g = 0]
    /\ UNCHANGED <<backup, net, mine, known, floor, left, top, wrote, given, again,
                   rising, stray, sound>>

(* Nothing of this is in the journal; what is held is not modelled there.  *)
Restart(h) ==
    /\ left.restarts > 0 /\ mine[h].st = "none"
    /\ known' = [known EXCEPT ![h] = 0]
    /\ floor' = [floor EXCEPT ![h] = [at |-> 0, due |-> FALSE]]
    /\ left' = [left EXCEPT !.restarts = @ - 1]
    /\ UNCHANGED <<lock, backup, net, mine, top, wrote, given, again,
                   rising, stray, sound>>

-----------------------------------------------------------------------------
(***************************************************************************)
(* People: backup, restore, break (all by hand), and `ddblock              *)
(* raise-tokens`, which asks a daemon, and may be asked at any time.       *)
(***************************************************************************)
Backup ==
    /\ left.restores > 0 /\ backup.token = 0
    /\ backup' = lock
    /\ UNCHANGED <<lock, net, mine, known, floor, left, top, wrote, given, again,
                   rising, stray, sound>>

Restore ==
    /\ left.restores > 0 /\ backup.token # 0
    /\ lock' = backup
    /\ left' = [left EXCEPT !.restores = @ - 1]
    /\ sound' = Never
    /\ UNCHANGED <<backup, net, mine, known, floor, top, wrote, given, again, rising,
                   stray>>

Break ==
    /\ left.breaks > 0 /\ lock.by # Nobody
    /\ lock' = [lock EXCEPT !.by = Nobody, !.g = 0]
    /\ left' = [left EXCEPT !.breaks = @ - 1]
    /\ UNCHANGED <<backup, net, mine, known, floor, top, wrote, given, again,
                   rising, stray, sound>>

RaiseSend ==
    /\ left.raises > 0
    /\ net' = net \union {[op |-> "raise", after |-> left.restores,
           to |-> IF Bad("raise to any number") THEN top + 2
                  ELSE Above(top)]}
    /\ left' = [left EXCEPT !.raises = @ - 1]
    /\ UNCHANGED <<lock, backup, mine, known, floor, top, wrote, given, again,
                   rising, stray, sound>>

(* SET token = :to IF token < :to                                          *)
RaiseLands(m) ==
    /\ m.op = "raise" /\ (lock.token < m.to \/ Bad("a raise may lower"))
    /\ lock.token # m.to
    /\ lock' = [lock EXCEPT !.token = m.to]
    /\ top' = Max(top, m.to)
    /\ wrote' = [wrote EXCEPT !.raised = @ \union {m.to}]
    /\ net' = IF Late THEN net ELSE net \ {m}
    /\ sound' = IF sound = Never /\ m.after = left.restores THEN m.to ELSE sound
    /\ UNCHANGED <<backup, mine, known, floor, left, given, again, rising,
                   stray>>

-----------------------------------------------------------------------------
Next ==
    \/ \E h \in Hosts :
        \/ AcquireSend(h) \/ AcquireDone(h) \/ AcquireFails(h) \/ Give(h)
        \/ ExtendSend(h) \/ ExtendEnds(h) \/ Look(h) \/ Release(h)
        \/ RemoveOrphan(h) \/ Restart(h)
    \/ \E m \in net : AcquireLands(m) \/ ExtendLands(m) \/ RaiseLands(m)
    \/ Backup \/ Restore \/ Break \/ RaiseSend

Spec == Init /\ [][Next]_vars
Symmetry == Permutations(Hosts)

-----------------------------------------------------------------------------
(***************************************************************************)
(* What is promised.                                                       *)
(***************************************************************************)

(* No daemon that knows a higher token gives a lower or an equal one.      *)
KnownIsNotGiven == ~again

(* 2, until a table is restored, and again from the next raise on. (Not of  *)
(* a hold that was removed by hand and does not know it, nor of a block    *)
(* from before that raise.)                                                *)
TokensRise == rising

(* R17: a token was written for its grant, or raised to for nobody.         *)
GivenIsWritten == ~stray

(* Only a restoration takes the record's token back.                       *)
TokenFallsByHand == [][lock'.token < lock.token => lock' = backup]_vars
=============================================================================
