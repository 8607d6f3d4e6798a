//! The demonstration's pack, which comes with the program: a file in memory, since a pack is a file.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsRawFd, FromRawFd};
use std::sync::Arc;

use svc_edge::config::EdgeText;

/// What the edge's config calls the pack, wherever it is.
const PATH: &str = "demo:world";

/// Where the pack is, if the config asks for it. Gone with the last of these.
#[derive(Clone, Debug)]
pub(crate) struct World(Option<Arc<File>>);

impl World {
    /// Puts the pack where a config that asks for it finds it.
    pub(crate) fn of(text: Option<&EdgeText>) -> io::Result<Self> {
        let mut packs = text.iter().flat_map(|text| &text.packs);
        if !packs.any(|pack| pack.path == PATH) {
            return Ok(Self(None));
        }
        let mut file = in_memory()?;
        file.write_all(svc_edge::demo::WORLD)?;
        Ok(Self(Some(Arc::new(file))))
    }

    /// The edge's config with the pack's path where it is meant.
    pub(crate) fn placed(&self, text: &EdgeText) -> EdgeText {
        let mut text = text.clone();
        let Some(file) = &self.0 else {
            return text;
        };
        for pack in text.packs.iter_mut().filter(|pack| pack.path == PATH) {
            pack.path = format!("/proc/self/fd/{}", file.as_raw_fd());
        }
        text
    }
}

fn in_memory() -> io::Result<File> {
    // SAFETY: the name ends with a zero byte and outlives the call.
    let file = unsafe { libc::memfd_create(c"world.pmtiles".as_ptr(), libc::MFD_CLOEXEC) };
    if file < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the call above made the descriptor, and nobody else has it.
    Ok(unsafe { File::from_raw_fd(file) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use svc_edge::config::PackText;

    // req: ED-01
    #[test]
    fn a_pack_that_means_the_world_is_a_file_with_the_world_in_it() {
        let pack = |path: &str| PackText {
            name: "world".to_owned(),
            path: path.to_owned(),
        };
        let text = EdgeText {
            packs: vec![pack(PATH), pack("other")],
            ..EdgeText::default()
        };
        let world = World::of(Some(&text)).unwrap();
        let placed = world.placed(&text);
        assert!(std::fs::read(&placed.packs[0].path).unwrap() == svc_edge::demo::WORLD);
        assert_eq!(placed.packs[1].path, "other");
        assert!(World::of(Some(&EdgeText::default())).unwrap().0.is_none());
    }
}
