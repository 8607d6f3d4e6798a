//! Gates, the queue and the workers.
