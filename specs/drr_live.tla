----------------------------- MODULE drr_live -----------------------------
(* That nobody starves in drr, whoever else comes and goes, given only that  *)
(* the queue keeps dispatching.                                              *)
EXTENDS drr

LiveSpec == Spec /\ WF_vars(Dispatch)

\* req: AC-07, FQ-02
NobodyStarves == \A m \in Members : HasWork(m) ~> (last = m \/ ~HasWork(m))
=============================================================================
