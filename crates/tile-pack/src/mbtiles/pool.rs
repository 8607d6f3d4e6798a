//! Connections to one database: few, made when needed, one for each reader at a time.

use std::ops::Deref;
use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::{Condvar, Mutex};

use crate::error::PackError;
use crate::file::RawFile;
use crate::limits::Limits;

use super::connection::Guarded;

/// The connections of one pack.
#[derive(Debug)]
pub(super) struct Pool {
    path: PathBuf,
    file: Arc<RawFile>,
    limits: Limits,
    state: Mutex<State>,
    freed: Condvar,
}

#[derive(Debug)]
struct State {
    idle: Vec<Guarded>,
    /// Idle or lent.
    open: usize,
    /// Falls to what is open when another file takes the name: more connections cannot be had then.
    most: usize,
}

/// A connection, for as long as this is held.
#[derive(Debug)]
pub(super) struct Lease<'a> {
    pool: &'a Pool,
    /// Nothing only while it is being given back.
    connection: Option<Guarded>,
}

impl Pool {
    /// With its first connection.
    pub(super) fn open(
        path: PathBuf,
        file: Arc<RawFile>,
        limits: &Limits,
    ) -> Result<Pool, PackError> {
        let first = Guarded::open(&path, &file, limits)?;
        Ok(Pool {
            path,
            file,
            limits: limits.clone(),
            state: Mutex::new(State {
                idle: vec![first],
                open: 1,
                most: limits.connections.max(1),
            }),
            freed: Condvar::new(),
        })
    }

    /// Waits for a connection, but no longer than a query may take.
    pub(super) fn lease(&self) -> Result<Lease<'_>, PackError> {
        let mut state = self.state.lock();
        let mut may_open = true;
        loop {
            if let Some(connection) = state.idle.pop() {
                return Ok(self.lent(connection));
            }
            if may_open && state.open < state.most {
                state.open += 1;
                drop(state);
                let another = Guarded::open(&self.path, &self.file, &self.limits);
                state = self.state.lock();
                match another {
                    Ok(connection) => return Ok(self.lent(connection)),
                    // The first connection still reads the file as it was: wait for that one.
                    Err(error) => {
                        may_open = false;
                        state.open -= 1;
                        if matches!(error, PackError::Changed) {
                            state.most = state.open;
                        }
                        continue;
                    }
                }
            }
            let waited = self.freed.wait_for(&mut state, self.limits.query_time);
            if waited.timed_out() && state.idle.is_empty() {
                return Err(PackError::Busy);
            }
        }
    }

    fn lent(&self, connection: Guarded) -> Lease<'_> {
        Lease {
            pool: self,
            connection: Some(connection),
        }
    }
}

impl Deref for Lease<'_> {
    type Target = Guarded;

    fn deref(&self) -> &Guarded {
        self.connection
            .as_ref()
            .expect("a lease has its connection until it is dropped")
    }
}

impl Drop for Lease<'_> {
    fn drop(&mut self) {
        self.pool.state.lock().idle.extend(self.connection.take());
        self.pool.freed.notify_one();
    }
}

#[cfg(test)]
mod tests;
