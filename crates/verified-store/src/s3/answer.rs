//! What an answer's status means for a cache.

use std::fmt;

/// What the storage did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It did it; a body that was asked for follows.
    Done,
    /// A part of the object follows, as was asked.
    Part,
    /// There is no such thing.
    Missing,
}

/// Why it did not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum S3Error {
    /// The credentials, the clock or the bucket's policy. Trying again does not help.
    Denied,
    /// Too many requests, or a failure of the moment. Trying again later may help.
    Busy,
    /// Anything else: not storage, or not as it should be.
    Unexpected {
        /// What it answered.
        status: u16,
    },
    /// A body that is not what was asked for.
    Malformed,
}

/// Reads the status of an answer to one of the bucket's requests.
pub const fn read_answer(method: &str, status: u16) -> Result<Answer, S3Error> {
    match status {
        200 | 204 => Ok(Answer::Done),
        206 => Ok(Answer::Part),
        // To remove what is not there is done, whichever way the storage puts it.
        404 if matches!(method.as_bytes(), b"DELETE") => Ok(Answer::Done),
        404 if !matches!(method.as_bytes(), b"PUT") => Ok(Answer::Missing),
        401 | 403 => Err(S3Error::Denied),
        408 | 409 | 429 | 500 | 502..=504 => Err(S3Error::Busy),
        _ => Err(S3Error::Unexpected { status }),
    }
}

impl fmt::Display for S3Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Denied => f.write_str("the storage refused the credentials"),
            Self::Busy => f.write_str("the storage is busy"),
            Self::Unexpected { status } => write!(f, "the storage answered {status}"),
            Self::Malformed => f.write_str("the storage answered with something else"),
        }
    }
}

impl std::error::Error for S3Error {}

#[cfg(test)]
mod tests {
    use super::{Answer, S3Error, read_answer};

    #[test]
    fn each_status_has_one_meaning_for_a_cache() {
        assert_eq!(read_answer("GET", 200), Ok(Answer::Done));
        assert_eq!(read_answer("GET", 206), Ok(Answer::Part));
        assert_eq!(read_answer("GET", 404), Ok(Answer::Missing));
        assert_eq!(read_answer("HEAD", 404), Ok(Answer::Missing));
        assert_eq!(read_answer("DELETE", 204), Ok(Answer::Done));
        assert_eq!(read_answer("DELETE", 404), Ok(Answer::Done));
        assert_eq!(
            read_answer("PUT", 404),
            Err(S3Error::Unexpected { status: 404 }),
            "no such bucket"
        );
        assert_eq!(read_answer("GET", 403), Err(S3Error::Denied));
        for status in [429, 500, 503] {
            assert_eq!(read_answer("PUT", status), Err(S3Error::Busy));
        }
        assert_eq!(
            read_answer("GET", 301),
            Err(S3Error::Unexpected { status: 301 })
        );
    }
}
