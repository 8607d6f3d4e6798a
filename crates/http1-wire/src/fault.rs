//! What can be wrong with an answer.

/// Why an answer cannot be used; its connection cannot be either.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// It is not HTTP, or can be read in two ways.
    #[error("not an HTTP answer: {0}")]
    Garbage(&'static str),
    /// Its head does not end, or has too much in it.
    #[error("too large an answer: {0}")]
    Oversized(&'static str),
    /// The peer closed before all of it had come.
    #[error("the answer ends early")]
    Short,
}
