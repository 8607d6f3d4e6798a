//! A connection to a database that is not trusted: it may be read, briefly, and nothing else.

use std::ffi::OsStr;
use std::fmt::Write;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use rusqlite::limits::Limit;
use rusqlite::{Connection, ErrorCode, OpenFlags};

use crate::error::{PackError, Part};
use crate::file::{Identity, RawFile};
use crate::limits::Limits;

use super::deadline::Deadline;

/// An open connection. Nothing it is asked runs longer than it is allowed.
#[derive(Debug)]
pub(super) struct Guarded {
    connection: Connection,
    deadline: Deadline,
    tile_bytes: u64,
}

/// What views may compute with. Others can be made to allocate, or to take their time.
const FUNCTIONS: [&str; 8] = [
    "abs", "coalesce", "count", "ifnull", "length", "max", "min", "substr",
];

impl Guarded {
    /// Connects to the very file that is open; `Changed` when another has taken its name.
    pub(super) fn open(path: &Path, file: &RawFile, limits: &Limits) -> Result<Guarded, PackError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
            | OpenFlags::SQLITE_OPEN_URI
            | OpenFlags::SQLITE_OPEN_NO_MUTEX
            | OpenFlags::SQLITE_OPEN_PRIVATE_CACHE;
        let mut connection = Connection::open_with_flags(uri(path), flags).map_err(failed)?;
        if Identity::of(&std::fs::metadata(path)?) != *file.identity() {
            return Err(PackError::Changed);
        }
        let deadline = guard(&mut connection, limits).map_err(failed)?;
        Ok(Guarded {
            connection,
            deadline,
            tile_bytes: limits.tile_bytes as u64,
        })
    }

    /// Runs `ask`, for at most `span`; it may ask for more on the way.
    pub(super) fn within<T>(
        &self,
        span: Duration,
        part: Part,
        ask: impl FnOnce(&Connection, &dyn Fn()) -> Result<T, rusqlite::Error>,
    ) -> Result<T, PackError> {
        let renew = || self.deadline.allow(span);
        renew();
        ask(&self.connection, &renew).map_err(|error| match error.sqlite_error_code() {
            Some(ErrorCode::TooBig) => PackError::TooLarge {
                part,
                offset: None,
                limit: self.tile_bytes,
            },
            _ => failed(error),
        })
    }
}

fn guard(connection: &mut Connection, limits: &Limits) -> rusqlite::Result<Deadline> {
    let deadline = Deadline::install(connection)?;
    deadline.allow(limits.query_time);
    let longest = limits.tile_bytes.max(limits.metadata_bytes);
    let longest = i32::try_from(longest).unwrap_or(i32::MAX);
    connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, longest)?;
    connection.set_limit(Limit::SQLITE_LIMIT_ATTACHED, 0)?;
    connection.set_limit(Limit::SQLITE_LIMIT_WORKER_THREADS, 0)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false)?;
    // Sorting happens in memory, which is bounded, since a pack must not make us write to the disk. Mapped files would
    // end the process when they are truncated.
    connection.execute_batch(&format!(
        "PRAGMA query_only = ON; PRAGMA mmap_size = 0; PRAGMA temp_store = MEMORY; PRAGMA cache_size = -512;
         PRAGMA cell_size_check = ON; PRAGMA hard_heap_limit = {};",
        limits.sqlite_bytes
    ))?;
    connection.authorizer(Some(authorization))?;
    Ok(deadline)
}

/// Reading is allowed; recursion is not, since it makes endless rows out of none.
fn authorization(context: AuthContext<'_>) -> Authorization {
    let allowed = match context.action {
        AuthAction::Select | AuthAction::Read { .. } => true,
        AuthAction::Function { function_name } => {
            FUNCTIONS.contains(&function_name.to_ascii_lowercase().as_str())
        }
        _ => false,
    };
    match allowed {
        true => Authorization::Allow,
        false => Authorization::Deny,
    }
}

pub(super) fn failed(error: rusqlite::Error) -> PackError {
    match error.sqlite_error_code() {
        Some(ErrorCode::OperationInterrupted) => PackError::Slow,
        _ => PackError::Sqlite(error),
    }
}

/// SQLite takes options only with a URI, and the path may have anything in it.
fn uri(path: &Path) -> String {
    let mut uri = "file:".to_owned();
    for &byte in path.as_os_str().as_bytes() {
        match byte {
            b'/' | b'-' | b'.' | b'_' => uri.push(byte.into()),
            _ if byte.is_ascii_alphanumeric() => uri.push(byte.into()),
            _ => write!(uri, "%{byte:02X}").expect("a string takes everything"),
        }
    }
    uri.push_str("?mode=ro&immutable=1");
    uri
}

/// Refuses a database whose latest changes are not in it yet: an immutable file is read without its journals.
pub(super) fn check_finished(path: &Path) -> Result<(), PackError> {
    let beside = |suffix: &str| {
        let mut name = path.as_os_str().to_owned();
        name.push(OsStr::new(suffix));
        PathBuf::from(name)
    };
    let has_wal = std::fs::metadata(beside("-wal")).is_ok_and(|wal| wal.len() > 0);
    match has_wal || is_hot(&beside("-journal")) {
        true => Err(PackError::Unfinished),
        false => Ok(()),
    }
}

/// What a rollback journal begins with while it is needed.
const HOT: [u8; 8] = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7];

fn is_hot(journal: &Path) -> bool {
    let is_file = std::fs::metadata(journal).is_ok_and(|journal| journal.is_file());
    let begins = || {
        let mut first = [0; HOT.len()];
        File::open(journal)?.read_exact(&mut first)?;
        Ok::<_, io::Error>(first)
    };
    is_file && begins().is_ok_and(|first| first == HOT)
}

#[cfg(test)]
mod tests;
