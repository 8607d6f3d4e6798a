------------------------------ MODULE breaker ------------------------------
(* A circuit breaker per key: Closed, Open, Half (half-open). It judges by   *)
(* the outcomes of work that it admitted; its own refusals and clients that  *)
(* go away say nothing about what stands behind it.                          *)
(*                                                                           *)
(* Each change of state begins a new period. Work and deadlines carry the    *)
(* period they belong to, and count in that one only. Time is abstract: a    *)
(* deadline may pass at any moment after it was set. The sliding window is a *)
(* count that may lose failures at any moment; the ramp after Half is left   *)
(* out, since it only admits less.                                           *)
EXTENDS Naturals

CONSTANTS
    Keys,
    Threshold,   \* failures in the window that open it
    Probes,      \* how much is tried in Half
    MaxWork,     \* units in flight of one key and period
    MaxPeriod,   \* periods that are looked at
    Bug          \* "none", or the fault that is seeded on purpose

ASSUME Threshold > 0 /\ Probes > 0 /\ Probes < MaxWork

VARIABLES
    mode,       \* per key: Closed, Open, Half
    period,     \* per key, counted up with each change of mode
    failures,   \* per key, in the window of this period
    good,       \* per key, probes of this period that succeeded
    inflight,   \* per key and period, units admitted and not ended
    deadlines,  \* per key, periods whose deadline is still to pass
    event       \* what the last step was: <<what, key, period>>

vars == <<mode, period, failures, good, inflight, deadlines, event>>
Periods == 0..MaxPeriod

TypeOK ==
    /\ mode \in [Keys -> {"Closed", "Open", "Half"}]
    /\ period \in [Keys -> Periods]
    /\ failures \in [Keys -> 0..Threshold]
    /\ good \in [Keys -> 0..Probes]
    /\ inflight \in [Keys -> [Periods -> 0..MaxWork]]
    /\ deadlines \in [Keys -> SUBSET Periods]

Init ==
    /\ mode = [k \in Keys |-> "Closed"]
    /\ period = [k \in Keys |-> 0]
    /\ failures = [k \in Keys |-> 0]
    /\ good = [k \in Keys |-> 0]
    /\ inflight = [k \in Keys |-> [p \in Periods |-> 0]]
    /\ deadlines = [k \in Keys |-> {}]
    /\ event = <<"none", CHOOSE k \in Keys : TRUE, 0>>

Now(k) == inflight[k][period[k]]

(* A new period in this mode; Open sets its deadline. *)
Enter(k, to) ==
    /\ period[k] < MaxPeriod
    /\ mode' = [mode EXCEPT ![k] = to]
    /\ period' = [period EXCEPT ![k] = @ + 1]
    /\ failures' = [failures EXCEPT ![k] = 0]
    /\ good' = [good EXCEPT ![k] = 0]
    /\ deadlines' =
        IF to = "Open" /\ Bug # "lost_deadline"
        THEN [deadlines EXCEPT ![k] = @ \cup {period[k] + 1}]
        ELSE deadlines

Stay == UNCHANGED <<mode, period, good, deadlines>>

(* One more failure in the window, which may be one too many. *)
CountFailure(k) ==
    IF failures[k] + 1 < Threshold
    THEN failures' = [failures EXCEPT ![k] = @ + 1] /\ Stay
    ELSE Enter(k, "Open")

MayEnter(k) ==
    \/ mode[k] = "Closed" /\ Now(k) < MaxWork
    \/ mode[k] = "Half" /\ Now(k) < MaxWork
        /\ (Now(k) + good[k] < Probes \/ Bug = "unbounded_probes")

Admit(k) ==
    /\ MayEnter(k)
    /\ inflight' = [inflight EXCEPT ![k][period[k]] = @ + 1]
    /\ event' = <<"admit", k, period[k]>>
    /\ Stay /\ UNCHANGED failures

Refuse(k) ==
    /\ ~MayEnter(k)
    /\ event' = <<"refuse", k, period[k]>>
    /\ UNCHANGED inflight
    /\ IF Bug = "count_refusals" /\ mode[k] = "Closed"
       THEN CountFailure(k)
       ELSE Stay /\ UNCHANGED failures

Leave(k, p) ==
    /\ inflight[k][p] > 0
    /\ inflight' = [inflight EXCEPT ![k][p] = @ - 1]

(* The client has gone: no outcome. A probe's place is free again. *)
Cancel(k, p) ==
    /\ Leave(k, p)
    /\ event' = <<"cancel", k, p>>
    /\ IF Bug = "count_cancels" /\ p = period[k] /\ mode[k] = "Closed"
       THEN CountFailure(k)
       ELSE IF Bug = "keep_place" /\ p = period[k] /\ mode[k] = "Half"
       THEN /\ good' = [good EXCEPT ![k] = @ + 1]
            /\ UNCHANGED <<mode, period, failures, deadlines>>
       ELSE Stay /\ UNCHANGED failures

Succeed(k, p) ==
    /\ Leave(k, p)
    /\ event' = <<"success", k, p>>
    /\ IF p = period[k] /\ mode[k] = "Half"
       THEN IF good[k] + 1 < Probes
            THEN /\ good' = [good EXCEPT ![k] = @ + 1]
                 /\ UNCHANGED <<mode, period, failures, deadlines>>
            ELSE Enter(k, "Closed")
       ELSE Stay /\ UNCHANGED failures

Counts(k, p) == p = period[k] \/ Bug = "stale_outcome"

Fail(k, p) ==
    /\ Leave(k, p)
    /\ event' = <<"failure", k, p>>
    /\ IF Counts(k, p) /\ mode[k] = "Half"
       THEN Enter(k, "Open")
       ELSE IF Counts(k, p) /\ mode[k] = "Closed"
       THEN IF Bug = "shared_window"
            THEN /\ failures' = [o \in Keys |-> IF failures[o] < Threshold THEN failures[o] + 1 ELSE failures[o]]
                 /\ Stay
            ELSE CountFailure(k)
       ELSE Stay /\ UNCHANGED failures

(* Failures leave the window as it slides. *)
Slide(k) ==
    /\ failures[k] > 0
    /\ failures' = [failures EXCEPT ![k] = @ - 1]
    /\ event' = <<"slide", k, period[k]>>
    /\ Stay /\ UNCHANGED inflight

(* A deadline that was set for an earlier period has nothing to say. *)
Pass(k, p) ==
    /\ p \in deadlines[k]
    /\ event' = <<"deadline", k, p>>
    /\ UNCHANGED inflight
    /\ IF mode[k] = "Open" /\ (p = period[k] \/ Bug = "stale_deadline") /\ period[k] < MaxPeriod
       THEN /\ mode' = [mode EXCEPT ![k] = "Half"]
            /\ period' = [period EXCEPT ![k] = @ + 1]
            /\ good' = [good EXCEPT ![k] = 0]
            /\ deadlines' = [deadlines EXCEPT ![k] = @ \ {p}]
            /\ UNCHANGED failures
       ELSE /\ deadlines' = [deadlines EXCEPT ![k] = @ \ {p}]
            /\ UNCHANGED <<mode, period, failures, good>>

(* An operator closes it by hand, while a deadline is still to pass. *)
Reset(k) ==
    /\ mode[k] # "Closed"
    /\ event' = <<"reset", k, period[k]>>
    /\ Enter(k, "Closed")
    /\ UNCHANGED inflight

Next ==
    \E k \in Keys :
        \/ Admit(k) \/ Refuse(k) \/ Slide(k) \/ Reset(k)
        \/ \E p \in Periods : Cancel(k, p) \/ Succeed(k, p) \/ Fail(k, p) \/ Pass(k, p)

Spec == Init /\ [][Next]_vars

----------------------------------------------------------------------------

Opens(k) == mode[k] # "Open" /\ mode'[k] = "Open"

(* Neither a refusal of its own nor a client that went away opens it, nor a  *)
(* failure of work that was admitted in an earlier period.                   *)
\* req: GT-07
OpensOnOutcomesOnly ==
    [][\A k \in Keys : Opens(k) => event' = <<"failure", k, period[k]>>]_vars

\* req: GT-07
ProbesAreFew == \A k \in Keys : mode[k] = "Half" => Now(k) + good[k] <= Probes

(* Half is reached by the deadline of the very opening it follows.           *)
\* req: GT-07
HalfOpensAtItsOwnDeadline ==
    [][\A k \in Keys :
        mode[k] = "Open" /\ mode'[k] = "Half" => event' = <<"deadline", k, period[k]>>]_vars

\* req: GT-07
KeysAreApart ==
    [][\A k \in Keys :
        k # event'[2] => mode'[k] = mode[k] /\ failures'[k] = failures[k]]_vars

(* While open, its deadline is still to come.                                *)
\* req: GT-07
OpenEnds == \A k \in Keys : mode[k] = "Open" => period[k] \in deadlines[k] \/ period[k] = MaxPeriod

(* In Half there is a probe in flight or room for one: it comes to a verdict. *)
\* req: GT-07
HalfIsNoTrap == \A k \in Keys : mode[k] = "Half" => Now(k) > 0 \/ MayEnter(k)
=============================================================================
