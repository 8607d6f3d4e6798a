//! How long a connection may live doing what, and how it ends.
