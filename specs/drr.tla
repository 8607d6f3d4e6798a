-------------------------------- MODULE drr --------------------------------
(* Deficit round robin with preferred newcomers, as the fair queue does it   *)
(* on each of its two levels: one turn a round, newcomers first but bounded, *)
(* and a member that had its turn waits for the next round, also when empty. *)
(*                                                                           *)
(* Arrivals, cancellations and dispatches come in any order. A member that   *)
(* rests may be forgotten at any moment: so one name stands for many tenants *)
(* that come once each, as in a flood of unique tenants.                     *)
EXTENDS Integers, Sequences

CONSTANTS
    Weights,        \* the weights of the members 1, 2, ... in this order
    Quantum,        \* what a turn brings to weight 1
    MaxCost,        \* the highest cost of an item
    MaxLen,         \* items waiting of one member
    MinAdmissions,  \* newcomers that a round takes at least
    Measure,        \* whether drifts are measured; liveness can do without
    Bug             \* "none", or the fault that is seeded on purpose

Two == <<1, 2>>
Three == <<1, 2, 1>>
Members == DOMAIN Weights
Nobody == 0

ASSUME \A m \in Members : Weights[m] > 0
ASSUME MaxCost \in 1..Quantum

VARIABLES
    waiting,     \* per member, the costs of its items, oldest first
    deficit,     \* per member, what it may still spend
    open,        \* the member whose turn it is, or Nobody
    newcomers,   \* members that came in this round
    current,     \* members that were there when it began
    next,        \* members of the next round
    rests,       \* members in `next' that had their turn in this round
    admissions,  \* newcomers that this round still takes
    last,        \* who was served by the last step
    pair,        \* the two that are measured against each other
    drift        \* how far the first is ahead of the second, at worst

rows == <<newcomers, current, next>>
vars == <<waiting, deficit, open, newcomers, current, next, rests, admissions, last, pair, drift>>

Elements(row) == {row[i] : i \in DOMAIN row}
Without(row, m) == SelectSeq(row, LAMBDA other : other # m)
Listed(m) == m = open \/ m \in Elements(newcomers) \cup Elements(current) \cup Elements(next)
HasWork(m) == waiting[m] # <<>>
Larger(a, b) == IF a > b THEN a ELSE b
Credit(m) == Quantum * (IF Bug = "weightless" THEN 1 ELSE Weights[m])

TypeOK ==
    /\ \A m \in Members : Len(waiting[m]) <= MaxLen
    /\ open \in Members \cup {Nobody}
    /\ rests \subseteq Elements(next)
    /\ admissions \in Nat

Init ==
    /\ waiting = [m \in Members |-> <<>>]
    /\ deficit = [m \in Members |-> 0]
    /\ open = Nobody
    /\ newcomers = <<>> /\ current = <<>> /\ next = <<>>
    /\ rests = {}
    /\ admissions = MinAdmissions
    /\ last = Nobody
    /\ pair \in {p \in Members \X Members : p[1] # p[2] /\ (Measure \/ p = <<1, 2>>)}
    /\ drift = 0

----------------------------------------------------------------------------
(* The drift: the largest lead of pair[1] over pair[2] in any interval that  *)
(* ends now and in which both had work, times both weights.                  *)

Measured(m, cost, after) ==
    IF ~Measure \/ after[pair[1]] = <<>> \/ after[pair[2]] = <<>>
    THEN 0
    ELSE IF m = pair[1] THEN drift + cost * Weights[pair[2]]
    ELSE IF m = pair[2] THEN Larger(0, drift - cost * Weights[pair[1]])
    ELSE drift

----------------------------------------------------------------------------

Arrive(m, cost) ==
    /\ Len(waiting[m]) < MaxLen
    /\ waiting' = [waiting EXCEPT ![m] = Append(@, cost)]
    /\ last' = Nobody
    /\ IF Listed(m) /\ ~(Bug = "join_twice" /\ m \in Elements(next))
       THEN UNCHANGED <<rows, rests, admissions>>
       ELSE IF admissions > 0
       THEN /\ newcomers' = Append(newcomers, m)
            /\ admissions' = IF Bug = "endless_admissions" THEN admissions ELSE admissions - 1
            /\ UNCHANGED <<current, next, rests>>
       ELSE /\ next' = Append(next, m)
            /\ UNCHANGED <<newcomers, current, rests, admissions>>
    /\ UNCHANGED <<deficit, open, pair, drift>>

(* The member whose turn is open has no work left. *)
Rest(m) ==
    /\ deficit' = [deficit EXCEPT ![m] = IF Bug = "keep_deficit" THEN @ ELSE 0]
    /\ open' = Nobody
    /\ next' = Append(next, m)
    /\ rests' = rests \cup {m}

(* The oldest item of a member is cancelled, or expires. *)
Withdraw(m) ==
    LET after == [waiting EXCEPT ![m] = Tail(@)] IN
    /\ HasWork(m)
    /\ waiting' = after
    /\ last' = Nobody
    /\ drift' = Measured(Nobody, 0, after)
    /\ IF after[m] # <<>>
       THEN UNCHANGED <<deficit, open, rows, rests, admissions>>
       ELSE IF open = m
       THEN Rest(m) /\ UNCHANGED <<newcomers, current, admissions>>
       ELSE /\ deficit' = [deficit EXCEPT ![m] = 0]
            /\ newcomers' = Without(newcomers, m)
            /\ current' = Without(current, m)
            /\ next' = IF m \in rests THEN next ELSE Without(next, m)
            /\ admissions' = admissions + (IF m \in Elements(newcomers) THEN 1 ELSE 0)
            /\ UNCHANGED <<open, rests>>
    /\ UNCHANGED pair

(* A member without work is no longer remembered. *)
Forget(m) ==
    /\ m \in rests /\ ~HasWork(m)
    /\ next' = Without(next, m)
    /\ rests' = rests \ {m}
    /\ last' = Nobody
    /\ UNCHANGED <<waiting, deficit, open, newcomers, current, admissions, pair, drift>>

NewRound ==
    /\ open = Nobody /\ newcomers = <<>> /\ current = <<>> /\ next # <<>>
    /\ current' = next /\ next' = <<>> /\ rests' = {}
    /\ admissions' = Larger(MinAdmissions, Len(next) \div 2)
    /\ last' = Nobody
    /\ UNCHANGED <<waiting, deficit, open, newcomers, pair, drift>>

(* The next turn is opened, or passes by a member without work. *)
Begin ==
    LET m == IF newcomers # <<>> THEN Head(newcomers) ELSE Head(current) IN
    /\ open = Nobody
    /\ newcomers # <<>> \/ current # <<>>
    /\ newcomers' = IF newcomers # <<>> THEN Tail(newcomers) ELSE newcomers
    /\ current' = IF newcomers # <<>> THEN current ELSE Tail(current)
    /\ open' = IF HasWork(m) THEN m ELSE Nobody
    /\ deficit' = IF HasWork(m) THEN [deficit EXCEPT ![m] = @ + Credit(m)] ELSE deficit
    /\ last' = Nobody
    /\ UNCHANGED <<waiting, next, rests, admissions, pair, drift>>

Serve ==
    LET m == open
        cost == Head(waiting[m])
        after == [waiting EXCEPT ![m] = Tail(@)]
        spent == [deficit EXCEPT ![m] = @ - cost]
    IN
    /\ open # Nobody
    /\ deficit[m] >= cost
    /\ waiting' = after
    /\ last' = m
    /\ drift' = Measured(m, cost, after)
    /\ IF after[m] # <<>>
       THEN deficit' = spent /\ UNCHANGED <<open, next, rests>>
       ELSE /\ deficit' = IF Bug = "keep_deficit" THEN spent ELSE [spent EXCEPT ![m] = 0]
            /\ open' = Nobody
            /\ next' = Append(next, m)
            /\ rests' = rests \cup {m}
    /\ UNCHANGED <<newcomers, current, admissions, pair>>

(* What is left of the credit does not pay for the first item. *)
End ==
    /\ open # Nobody
    /\ deficit[open] < Head(waiting[open])
    /\ last' = Nobody
    /\ IF Bug = "renew"
       THEN /\ deficit' = [deficit EXCEPT ![open] = @ + Credit(open)]
            /\ UNCHANGED <<open, next, rests>>
       ELSE /\ deficit' = IF Bug = "lose_credit" THEN [deficit EXCEPT ![open] = 0] ELSE deficit
            /\ open' = Nobody
            /\ next' = IF Bug = "lose_member" THEN next ELSE Append(next, open)
            /\ rests' = IF Bug = "lose_member" THEN rests ELSE rests \cup {open}
    /\ UNCHANGED <<waiting, newcomers, current, admissions, pair, drift>>

Dispatch == NewRound \/ Begin \/ Serve \/ End

Next ==
    \/ Dispatch
    \/ \E m \in Members : Withdraw(m) \/ Forget(m) \/ \E cost \in 1..MaxCost : Arrive(m, cost)

Spec == Init /\ [][Next]_vars

----------------------------------------------------------------------------

(* Over any interval in which both have work, what two members were served,  *)
(* each by its weight, differs by at most a quantum and two items.           *)
\* req: AC-07, FQ-02
Bound == drift <= (Quantum + 2 * MaxCost) * Weights[pair[1]] * Weights[pair[2]]

\* req: AC-07, FQ-02
EmptyKeepsNoDeficit == \A m \in Members : ~HasWork(m) => deficit[m] = 0

(* Nobody has work and stands in no row.                                     *)
\* req: AC-07, FQ-02
WorkIsListed == \A m \in Members : HasWork(m) => Listed(m)

(* A member stands in one place at most.                                     *)
OnePlaceEach ==
    LET all == newcomers \o current \o next \o (IF open = Nobody THEN <<>> ELSE <<open>>)
    IN \A i, j \in DOMAIN all : all[i] = all[j] => i = j
=============================================================================
