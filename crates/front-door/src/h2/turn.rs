//! How much a connection does before others have their turn.

/// In frames. Nobody else is served by the thread meanwhile.
const TURN: usize = 64;
/// What opens a stream is as much work as this many others.
const OPENING: usize = 4;
/// And each time a stream is driven on.
const DRIVING: usize = 1;
/// Bodies cost by their length.
const BYTES: usize = 4 * 1024;

/// What was done since others had their turn.
#[derive(Debug, Default)]
pub(super) struct Turn {
    done: usize,
}

impl Turn {
    pub(super) fn frame(&mut self) {
        self.done += 1;
    }

    pub(super) fn opened(&mut self) {
        self.done += OPENING;
    }

    pub(super) fn driven(&mut self) {
        self.done += DRIVING;
    }

    pub(super) fn read(&mut self, bytes: usize) {
        self.done += bytes / BYTES;
    }

    pub(super) fn is_over(&self) -> bool {
        self.done >= TURN
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lasts(step: impl Fn(&mut Turn)) -> usize {
        let mut turn = Turn::default();
        (0..10_000)
            .take_while(|_| {
                step(&mut turn);
                !turn.is_over()
            })
            .count()
    }

    // attack: B-01, B-09, B-10
    #[test]
    fn who_says_much_lets_others_in_and_what_costs_more_counts_for_more() {
        assert_eq!(lasts(Turn::frame), 63);
        assert_eq!(lasts(Turn::opened), 15);
        assert_eq!(lasts(Turn::driven), 63);
        assert_eq!(lasts(|turn| turn.read(8 << 10)), 31);
        assert_eq!(
            lasts(|turn| turn.read(100)),
            10_000,
            "counted by its frames"
        );
    }
}
