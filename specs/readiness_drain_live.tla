----------------------- MODULE readiness_drain_live -----------------------
(* What the node of readiness_drain comes to in the end, given that its      *)
(* supervisor keeps turning. Nothing is asked of a child that is told to     *)
(* stop, nor of a unit in flight: both may hang for ever.                    *)
EXTENDS readiness_drain

Fairness ==
    /\ WF_vars(Advance)
    /\ WF_vars(AbortUnit)
    /\ \A c \in Children :
        /\ WF_vars(Start(c))
        /\ WF_vars(BecomeReady(c))
        /\ WF_vars(Forgive(c))
        /\ WF_vars(Retire(c) \/ AbortChild(c))

LiveSpec == Spec /\ Fairness

(* The longest chain has three children. *)
Above(c) == {c} \cup Deps(c) \cup UNION {Deps(d) : d \in Deps(c)}

(* Alive, but it let go of its handle: whatever depends on it waits.         *)
Mute(c) == HasTask(c) /\ signal[c] = "dropped"

(* From some moment on, nothing fails in what the child stands on.           *)
Quiet(c) == <>[][\A d \in Above(c) : ~Crash(d) /\ ~DropSignal(d)]_vars

\* req: AC-07, KN-08, KN-09
SignalLeadsToStopped == asked > 0 ~> mode = "Stopped"

(* One child's crash loop keeps down only what depends on it.                *)
\* req: AC-07, KN-06, KN-10
QuietLeadsToUp ==
    \A c \in Children :
        Quiet(c) => <>[](mode = "Stopped" \/ child[c] = "Up" \/ \E d \in Above(c) : Mute(d))

\* req: AC-07, KN-06, KN-11
DegradedRecovers ==
    (\A c \in Children : Quiet(c)) =>
        <>[](mode = "Stopped" \/ Readyz = "ready" \/ \E c \in Children : Mute(c))
=============================================================================
