-------------------------- MODULE readiness_drain --------------------------
(* A node of supervised children: how they start by dependency, what         *)
(* readiness it publishes, and in which order it drains.                     *)
(*                                                                           *)
(* Time is abstract: a backoff, the restart window, the accept-grace and     *)
(* each phase's deadline may end at any moment. So whatever is shown here    *)
(* holds for every choice of durations, zero included.                       *)
EXTENDS Naturals

CONSTANTS
    Children,     \* a subset of DOMAIN PhaseOf
    Units,        \* how many units of work are ever offered
    MaxRestarts,  \* more than this many in one window is Degraded
    Bug           \* "none", or the fault that is seeded on purpose

PhaseOf == [gateway |-> "Intake", pool |-> "Work", store |-> "Support", admin |-> "Admin"]
DepTable == [gateway |-> {"pool", "store"}, pool |-> {"store"}, store |-> {}, admin |-> {}]
Essential == Children \ {"admin"}
Deps(c) == DepTable[c] \cap Children

Phases == {"Intake", "Work", "Support", "Admin"}
Rank == [Intake |-> 1, Work |-> 2, Support |-> 3, Admin |-> 4]
After == [Intake |-> "Work", Work |-> "Support", Support |-> "Admin", Admin |-> "Stopped"]

ASSUME Children \subseteq DOMAIN PhaseOf
ASSUME Units \in Nat /\ MaxRestarts \in Nat

VARIABLES
    mode,      \* Running, Grace, one of Phases, Aborting, Stopped
    late,      \* the deadline of the present phase has passed
    asked,     \* signals received, a level: 0, 1, or 2 for "and more"
    child,     \* per child: Down, Starting, Up, Backoff, Stopped
    signal,    \* per child, its readiness handle: unready, ready, dropped
    restarts,  \* per child, restarts in the window; saturates when Degraded
    intake,    \* TRUE while the listeners are open
    units      \* counters: accepted, inflight, answered, aborted

node == <<mode, late, asked>>
children == <<child, signal, restarts>>
vars == <<mode, late, asked, child, signal, restarts, intake, units>>

Counters == {"accepted", "inflight", "answered", "aborted"}

TypeOK ==
    /\ mode \in {"Running", "Grace", "Aborting", "Stopped"} \cup Phases
    /\ late \in BOOLEAN /\ intake \in BOOLEAN
    /\ asked \in 0..2
    /\ child \in [Children -> {"Down", "Starting", "Up", "Backoff", "Stopped"}]
    /\ signal \in [Children -> {"unready", "ready", "dropped"}]
    /\ restarts \in [Children -> 0..MaxRestarts + 1]
    /\ units \in [Counters -> 0..Units]

Init ==
    /\ mode = "Running" /\ late = FALSE /\ asked = 0
    /\ child = [c \in Children |-> "Down"]
    /\ signal = [c \in Children |-> "unready"]
    /\ restarts = [c \in Children |-> 0]
    /\ intake = TRUE
    /\ units = [n \in Counters |-> 0]

HasTask(c) == child[c] \in {"Starting", "Up"}
Degraded(c) == restarts[c] > MaxRestarts
Ready(c) ==
    \/ signal[c] = "ready"
    \/ Bug = "ready_when_dropped" /\ signal[c] = "dropped"

(* What /readyz answers. It is computed from the signals when asked, never   *)
(* stored, so a crash cannot leave an old answer behind.                     *)
Readyz ==
    IF \/ mode # "Running" /\ ~(Bug = "unready_late" /\ intake)
       \/ \E c \in Essential : ~Ready(c)
    THEN "unready"
    ELSE IF \E c \in Children : Degraded(c) \/ ~Ready(c)
    THEN "degraded"
    ELSE "ready"

----------------------------------------------------------------------------
(* A child's life. *)

MayStart(c) ==
    /\ \/ mode = "Running"
       \/ Bug = "restart_while_draining" /\ mode # "Stopped"
    /\ \A d \in Deps(c) : Ready(d) \/ Bug = "ignore_deps"
    /\ ~(Bug = "gives_up" /\ Degraded(c))

Start(c) ==
    /\ child[c] \in {"Down", "Backoff"} /\ MayStart(c)
    /\ child' = [child EXCEPT ![c] = "Starting"]
    /\ signal' = IF Bug = "stale_handle" THEN signal ELSE [signal EXCEPT ![c] = "unready"]
    /\ UNCHANGED <<node, restarts, intake, units>>

BecomeReady(c) ==
    /\ child[c] = "Starting" /\ signal[c] = "unready"
    /\ child' = [child EXCEPT ![c] = "Up"]
    /\ signal' = [signal EXCEPT ![c] = "ready"]
    /\ UNCHANGED <<node, restarts, intake, units>>

(* The task lives on but has let go of its handle. *)
DropSignal(c) ==
    /\ HasTask(c) /\ signal[c] # "dropped"
    /\ signal' = [signal EXCEPT ![c] = "dropped"]
    /\ UNCHANGED <<node, child, restarts, intake, units>>

Crash(c) ==
    /\ HasTask(c)
    /\ child' = [child EXCEPT ![c] = "Backoff"]
    /\ signal' = [signal EXCEPT ![c] = "dropped"]
    /\ restarts' = [restarts EXCEPT ![c] = IF mode # "Running" \/ Degraded(c) THEN @ ELSE @ + 1]
    /\ UNCHANGED <<node, intake, units>>

(* The restart window has moved past the child's crashes. *)
Forgive(c) ==
    /\ mode = "Running" /\ child[c] = "Up" /\ restarts[c] > 0
    /\ ~(Bug = "never_forgives" /\ Degraded(c))
    /\ restarts' = [restarts EXCEPT ![c] = 0]
    /\ UNCHANGED <<node, child, signal, intake, units>>

StopChild(c) ==
    /\ child' = [child EXCEPT ![c] = "Stopped"]
    /\ signal' = [signal EXCEPT ![c] = "dropped"]
    /\ UNCHANGED <<node, restarts, intake, units>>

----------------------------------------------------------------------------
(* Units of work. The pool answers; what it was given outlives its crash in  *)
(* the queue.                                                                *)

Tally(from, to) == units' = [units EXCEPT ![from] = @ - 1, ![to] = @ + 1]

Accept ==
    /\ intake /\ "gateway" \in Children /\ child["gateway"] = "Up"
    /\ mode \in {"Running", "Grace"} \/ Bug = "accept_while_draining"
    /\ units["accepted"] < Units
    /\ units' = [units EXCEPT !["accepted"] = @ + 1, !["inflight"] = @ + 1]
    /\ UNCHANGED <<node, children, intake>>

Answer ==
    /\ units["inflight"] > 0 /\ "pool" \in Children /\ child["pool"] = "Up"
    /\ Tally("inflight", "answered")
    /\ UNCHANGED <<node, children, intake>>

AbortUnit ==
    /\ units["inflight"] > 0
    /\ \/ mode = "Aborting" /\ ~intake
       \/ mode = "Work" /\ (late \/ Bug = "abort_early")
    /\ Tally("inflight", "aborted")
    /\ UNCHANGED <<node, children, intake>>

----------------------------------------------------------------------------
(* Shutdown. *)

AskToStop ==
    /\ asked < 2 /\ mode # "Stopped"
    /\ asked' = asked + 1
    /\ UNCHANGED <<mode, late, children, intake, units>>

(* From here on the node is unready and nothing is started again; during     *)
(* the grace it still takes units, for balancers that lag. Restarts are no   *)
(* longer counted, as nobody would read them.                                *)
BeginGrace ==
    /\ mode = "Running" /\ asked > 0
    /\ ~(Bug = "deaf_in_backoff" /\ \E c \in Children : child[c] = "Backoff")
    /\ mode' = "Grace"
    /\ restarts' = [c \in Children |-> 0]
    /\ UNCHANGED <<late, asked, child, signal, intake, units>>

EndGrace ==
    /\ mode = "Grace" /\ asked < 2
    /\ mode' = "Intake"
    /\ UNCHANGED <<late, asked, children, intake, units>>

AbortNow ==
    /\ mode \in Phases \cup {"Grace"} /\ asked = 2 /\ Bug # "second_ignored"
    /\ mode' = "Aborting" /\ late' = FALSE
    /\ UNCHANGED <<asked, children, intake, units>>

CloseIntake ==
    /\ mode \in Phases \cup {"Aborting"} /\ intake
    /\ intake' = FALSE
    /\ UNCHANGED <<node, children, units>>

(* A child without a task needs no phase: its pending restart is cancelled.  *)
Retire(c) ==
    /\ mode # "Running"
    /\ \/ child[c] = "Down"
       \/ child[c] = "Backoff" /\ (Bug = "backoff_outlives_drain" => mode = "Aborting")
    /\ StopChild(c)

(* The child, told that its phase has come, ends by itself. It need not:     *)
(* nothing below relies on it.                                               *)
Finish(c) ==
    /\ HasTask(c) /\ mode \in Phases /\ ~intake
    /\ \/ mode = PhaseOf[c]
       \/ Bug = "admin_first" /\ c = "admin"
       \/ Bug = "support_early" /\ PhaseOf[c] = "Support"
    /\ mode = "Work" => units["inflight"] = 0 \/ Bug = "quit_with_work"
    /\ StopChild(c)

PassDeadline ==
    /\ mode \in Phases /\ ~late
    /\ ~(Bug = "no_deadline" /\ mode = "Work")
    /\ late' = TRUE
    /\ UNCHANGED <<mode, asked, children, intake, units>>

OthersStopped(c) == \A o \in Children \ {c} : child[o] = "Stopped"

(* Aborting now keeps no order among children, save that the admin server    *)
(* tells of it to the end.                                                   *)
AbortChild(c) ==
    /\ HasTask(c) /\ ~intake
    /\ \/ late /\ mode = PhaseOf[c]
       \/ mode = "Aborting" /\ (c = "admin" => OthersStopped(c))
    /\ StopChild(c)

PhaseIsOver(p) ==
    /\ ~intake \/ Bug = "work_before_intake"
    /\ \A c \in Children : PhaseOf[c] = p => \/ child[c] = "Stopped"
                                             \/ Bug = "stop_without_join" /\ late
    /\ p = "Work" => units["inflight"] = 0 \/ Bug = "lose_units"

(* The queue goes with the Work phase; PhaseIsOver sees to it that it is     *)
(* empty by then.                                                            *)
EndPhase ==
    /\ mode \in Phases /\ PhaseIsOver(mode)
    /\ asked < 2 \/ Bug = "second_ignored"
    /\ mode' = After[mode] /\ late' = FALSE
    /\ units' = IF mode = "Work" THEN [units EXCEPT !["inflight"] = 0] ELSE units
    /\ UNCHANGED <<asked, children, intake>>

EndAbort ==
    /\ mode = "Aborting" /\ ~intake /\ units["inflight"] = 0
    /\ \A c \in Children : child[c] = "Stopped"
    /\ mode' = "Stopped"
    /\ UNCHANGED <<late, asked, children, intake, units>>

(* The one state without a next step, so that any other is a deadlock. *)
Rest == mode = "Stopped" /\ UNCHANGED vars

Advance == BeginGrace \/ EndGrace \/ AbortNow \/ CloseIntake \/ PassDeadline \/ EndPhase \/ EndAbort

Next ==
    \/ AskToStop \/ Advance \/ Accept \/ Answer \/ AbortUnit \/ Rest
    \/ \E c \in Children :
        \/ Start(c) \/ BecomeReady(c) \/ DropSignal(c) \/ Crash(c) \/ Forgive(c)
        \/ Retire(c) \/ Finish(c) \/ AbortChild(c)

Spec == Init /\ [][Next]_vars

----------------------------------------------------------------------------
(* Safety. The properties speak of the variables alone, not of the guards    *)
(* above, so that a wrong guard cannot excuse itself.                        *)

TrulyReady(c) == child[c] = "Up" /\ signal[c] = "ready"
Starts(c) == child[c] # "Starting" /\ child'[c] = "Starting"
Stops(c) == HasTask(c) /\ child'[c] = "Stopped"
Grows(n) == units'[n] > units[n]

\* req: AC-07, KN-07
NeverStartedOnceDraining == [][\A c \in Children : Starts(c) => mode = "Running"]_vars

\* req: AC-07, KN-07
NothingOutlivesStopped ==
    mode = "Stopped" => units["inflight"] = 0 /\ \A c \in Children : child[c] = "Stopped"

\* req: AC-07, KN-10
StartsWhenDepsAreReady ==
    [][\A c \in Children : Starts(c) => \A d \in Deps(c) : TrulyReady(d)]_vars

(* Neither ready by what it was before, nor mute for ever.                   *)
\* req: AC-07, KN-10
StartsWithNewHandle == [][\A c \in Children : Starts(c) => signal'[c] = "unready"]_vars

\* req: AC-07, KN-10, KN-11
ReadinessFailsClosed ==
    /\ Readyz # "unready" => mode = "Running" /\ \A c \in Essential : TrulyReady(c)
    /\ Readyz = "ready" => \A c \in Children : TrulyReady(c) /\ ~Degraded(c)

\* req: AC-07, KN-08
UnreadyBeforeIntakeCloses == [][intake /\ ~intake' => Readyz = "unready"]_vars

\* req: AC-07, KN-08
IntakeClosesBeforeWorkDrains ==
    [][\/ mode' = "Work"
       \/ Grows("aborted")
       \/ \E c \in Children : PhaseOf[c] = "Work" /\ Stops(c)
       => ~intake]_vars

\* req: AC-07, KN-08
StopsInPhaseOrder ==
    [][\A c \in Children : Stops(c) /\ mode # "Aborting" =>
        \A o \in Children : Rank[PhaseOf[o]] < Rank[PhaseOf[c]] => child[o] = "Stopped"]_vars

\* req: AC-07, KN-08
AdminIsLast == [][\A c \in Children : Stops(c) /\ c = "admin" => OthersStopped(c)]_vars

\* req: AC-07, KN-08
SecondSignalAborts == [][asked = 2 /\ mode \in Phases => mode' \in {mode, "Aborting"}]_vars

\* req: AC-07, KN-08
AcceptsOnlyBeforeDraining == [][Grows("accepted") => intake /\ mode \in {"Running", "Grace"}]_vars

\* req: AC-07, KN-08
WorkersFinishWhatWasAccepted ==
    [][\A c \in Children : Stops(c) /\ PhaseOf[c] = "Work" =>
        late \/ mode = "Aborting" \/ units["inflight"] = 0]_vars

\* req: AC-07, KN-09
AbortsOnlyWhenDue == [][Grows("aborted") => late \/ mode = "Aborting"]_vars

\* req: AC-07, KN-09
EveryUnitIsAccounted ==
    units["accepted"] = units["answered"] + units["aborted"] + units["inflight"]
=============================================================================
