//! What a peer may try.
