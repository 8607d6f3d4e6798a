//! The edge: packs, stored objects and cached origins, with exact HTTP semantics.
