//! One request: what it asks for, and every way it may end.

use std::time::Duration;

/// How it comes to the node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    H1,
    H2,
    Frames,
    Edge,
}

impl Way {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::H1 => "http/1",
            Self::H2 => "http/2",
            Self::Frames => "frames",
            Self::Edge => "edge",
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) id: u64,
    pub(crate) tenant: &'static str,
    pub(crate) way: Way,
    pub(crate) path: String,
    /// Bytes the answer has.
    pub(crate) bytes: usize,
    /// Bytes it brings; then it is a POST.
    pub(crate) upload: Option<usize>,
    /// When the client leaves without having its answer.
    pub(crate) leaves_after: Option<Duration>,
}

/// How it ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// With a whole answer, whose head came after so long.
    Answered { status: u16, after: Duration },
    /// The client left.
    Left,
    /// The connection or the answer broke off.
    Broken(String),
    /// Nobody took the connection.
    Refused,
    /// Neither came in a time nobody would wait.
    Unending,
    /// The answer is not the one to this request.
    Wrong(String),
}

impl Fate {
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Answered { status, .. } => status.to_string(),
            Self::Left => "left".to_owned(),
            Self::Broken(_) => "broken".to_owned(),
            Self::Refused => "refused".to_owned(),
            Self::Unending => "unending".to_owned(),
            Self::Wrong(_) => "wrong".to_owned(),
        }
    }

    /// Stands for it in the history.
    pub(crate) fn word(&self) -> u64 {
        match self {
            Self::Answered { status, after } => u64::from(*status) << 32 | after.as_millis() as u64,
            Self::Left => 1,
            Self::Broken(_) => 2,
            Self::Refused => 3,
            Self::Unending => 4,
            Self::Wrong(_) => 5,
        }
    }
}

/// The body that answers request `id`, of so many bytes.
pub(crate) fn text(id: u64, bytes: usize) -> String {
    let mut text = format!("{id}.").repeat(bytes / 2 + 1);
    text.truncate(bytes);
    text
}
