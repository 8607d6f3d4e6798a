//! The memory of a running program, looked at from outside.

use super::{Process, ProcessError, system};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// Read at a time.
const PIECE: usize = 1 << 20;

impl Process {
    /// How often each of these is found in memory that the program may write to: heap, stacks, its own data. Needs to
    /// be allowed to look: as its user while it does not forbid that, or as root.
    ///
    /// # Panics
    /// If one of them is empty.
    pub fn occurrences(&self, wanted: &[&[u8]]) -> Result<Vec<usize>, ProcessError> {
        let failed = |source| system("looking into its memory", source);
        let memory = File::open(format!("/proc/{}/mem", self.pid())).map_err(failed)?;
        let maps = self.proc_text("maps")?;
        let finders: Vec<_> = wanted
            .iter()
            .map(|wanted| memchr::memmem::Finder::new(*wanted))
            .collect();
        let overlap = wanted.iter().map(|wanted| wanted.len()).max().unwrap_or(1) - 1;
        let mut found = vec![0; wanted.len()];
        for (from, to) in maps.lines().filter_map(writable) {
            let read = pieces(&memory, from, to, overlap, |piece, fresh_from| {
                for (count, finder) in found.iter_mut().zip(&finders) {
                    let length = finder.needle().len();
                    // What ends within the overlap was counted with the piece before.
                    let new = finder
                        .find_iter(piece)
                        .filter(|at| at + length > fresh_from);
                    *count += new.count();
                }
            });
            read.map_err(failed)?;
        }
        Ok(found)
    }
}

/// The range of a mapping that is private and may be written to.
fn writable(line: &str) -> Option<(u64, u64)> {
    let mut words = line.split_whitespace();
    let (from, to) = words.next()?.split_once('-')?;
    words.next().filter(|rights| rights.starts_with("rw"))?;
    let number = |text| u64::from_str_radix(text, 16).ok();
    Some((number(from)?, number(to)?))
}

/// Piece by piece, each with the end of the one before in front of it. What cannot be read is left out: it may have
/// been given back meanwhile.
fn pieces(
    memory: &File,
    from: u64,
    to: u64,
    overlap: usize,
    mut look: impl FnMut(&[u8], usize),
) -> io::Result<()> {
    let mut buffer = vec![0; overlap + PIECE];
    let (mut at, mut carried) = (from, 0);
    while at < to {
        let room = usize::try_from(to - at).unwrap_or(PIECE).min(PIECE);
        let piece = &mut buffer[carried..carried + room];
        let count = match memory.read_at(piece, at) {
            Ok(0) => return Ok(()),
            Ok(count) => count,
            Err(error) if error.raw_os_error() == Some(libc::EIO) => return Ok(()),
            Err(error) => return Err(error),
        };
        look(&buffer[..carried + count], carried);
        let end = carried + count;
        let keep = overlap.min(end);
        buffer.copy_within(end - keep..end, 0);
        (at, carried) = (at + count as u64, keep);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::Program;
    use super::*;
    use std::time::Duration;

    #[tokio::test]
    async fn what_a_program_holds_is_found_and_what_it_does_not_is_not() {
        let script =
            "held=$(printf 'can%s-of-%s' ary tests); echo set; while :; do sleep 0.05; done";
        let program = Program::new("/bin/sh").unwrap();
        let process = program.arg("-c").arg(script).start().unwrap();
        let set = process.wait_for_line(|line| line.text == "set", Duration::from_secs(10));
        set.await.unwrap();
        let wanted: [&[u8]; 2] = [b"canary-of-tests", b"canary-of-others"];
        let found = process.occurrences(&wanted).unwrap();
        assert!(found[0] >= 1 && found[1] == 0, "{found:?}");
    }

    #[test]
    fn what_lies_across_two_pieces_is_seen_once() {
        let file = tempfile::tempfile().unwrap();
        let mut bytes = vec![0; PIECE + 100];
        bytes[PIECE - 3..PIECE + 3].copy_from_slice(b"canary");
        bytes[10..16].copy_from_slice(b"canary");
        file.write_all_at(&bytes, 0).unwrap();
        let finder = memchr::memmem::Finder::new(b"canary");
        let mut seen = 0;
        let look = |piece: &[u8], fresh: usize| {
            seen += finder.find_iter(piece).filter(|at| at + 6 > fresh).count();
        };
        pieces(&file, 0, bytes.len() as u64, 5, look).unwrap();
        assert_eq!(seen, 2);
    }

    #[test]
    fn only_what_may_be_written_is_looked_at() {
        let line = "7f00-7f10 rw-p 00000000 00:00 0   [heap]";
        assert_eq!(writable(line), Some((0x7f00, 0x7f10)));
        assert_eq!(writable("7f00-7f10 r-xp 00000000 00:00 0"), None);
        assert_eq!(writable("nonsense"), None);
    }
}
