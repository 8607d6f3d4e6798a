//! A content-addressed store of objects: nothing half-written is visible, nothing damaged is served, nothing grows without bound.
