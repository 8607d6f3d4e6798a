//! An object that is being written: nobody can see it, and it goes when its writer goes.

use crate::files::Files;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

#[derive(Debug)]
pub(crate) enum Draft {
    Memory(Vec<u8>),
    File(Temp),
}

/// A file under `tmp`, unlinked by its end unless it was renamed.
#[derive(Debug)]
pub(crate) struct Temp {
    files: Arc<dyn Files>,
    file: Arc<File>,
    path: PathBuf,
    len: u64,
    renamed: bool,
}

impl Draft {
    pub(crate) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::Memory(all) => {
                all.extend_from_slice(bytes);
                Ok(())
            }
            Self::File(temp) => temp.write(bytes),
        }
    }

    /// Adds what proves the object's parts, and has the disk keep it all.
    pub(crate) fn settle(&mut self, values: &[u8]) -> io::Result<()> {
        match self {
            // Memory is not checked again, so it needs no proof.
            Self::Memory(_) => Ok(()),
            Self::File(temp) => {
                if !values.is_empty() {
                    temp.write(values)?;
                }
                temp.sync()
            }
        }
    }
}

impl Temp {
    pub(crate) fn create(files: Arc<dyn Files>, path: PathBuf) -> io::Result<Self> {
        let file = Arc::new(files.create(&path)?);
        Ok(Self {
            files,
            file,
            path,
            len: 0,
            renamed: false,
        })
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.files.write(&self.file, bytes, self.len)?;
        self.len += bytes.len() as u64;
        Ok(())
    }

    pub(crate) fn sync(&self) -> io::Result<()> {
        self.files.sync(&self.file)
    }

    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// The file under its new name; the caller syncs the directory.
    pub(crate) fn rename(mut self, to: &Path) -> io::Result<Arc<File>> {
        self.files.rename(&self.path, to)?;
        self.renamed = true;
        Ok(Arc::clone(&self.file))
    }
}

impl Drop for Temp {
    fn drop(&mut self) {
        if !self.renamed {
            // What stays is collected at the next start.
            let _ = self.files.remove(&self.path);
        }
    }
}
