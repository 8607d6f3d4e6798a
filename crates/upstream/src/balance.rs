//! The balancers, pure: told each endpoint's share and cost, they say whose turn it is.
//!
//! A share of zero means "not this one"; shares are weights, lowered while an endpoint ramps up.

use fastrand::Rng;

/// What a balancer sees of endpoint `index`.
pub(crate) trait Field {
    /// How many there are.
    fn len(&self) -> usize;
    /// Its weight now; zero when it may not be chosen.
    fn share(&self, index: usize) -> f32;
}

/// Smooth weighted round robin: each gets its share of every stretch, never in bursts.
#[derive(Debug, Default)]
pub(crate) struct Turns {
    credit: Vec<f32>,
}

impl Turns {
    /// Whose turn it is. O(n).
    pub(crate) fn next(&mut self, field: &impl Field) -> Option<usize> {
        self.credit.resize(field.len(), 0.0);
        let (mut total, mut best) = (0.0, None);
        for index in 0..field.len() {
            let share = field.share(index);
            if share <= 0.0 {
                // Nobody saves up while away: a burst would greet whoever comes back.
                self.credit[index] = 0.0;
                continue;
            }
            total += share;
            self.credit[index] += share;
            if best.is_none_or(|best: usize| self.credit[index] > self.credit[best]) {
                best = Some(index);
            }
        }
        self.credit[best?] -= total;
        best
    }
}

/// The one with the lowest cost for its share; ties go by chance, to each by its share. O(n).
pub(crate) fn least(
    field: &impl Field,
    cost: impl Fn(usize) -> f32,
    rng: &mut Rng,
) -> Option<usize> {
    let mut best: Option<(usize, f32)> = None;
    let mut tied = 0.0;
    for index in 0..field.len() {
        let share = field.share(index);
        if share <= 0.0 {
            continue;
        }
        let burden = cost(index) / share;
        match best {
            Some((_, lowest)) if burden > lowest => {}
            Some((_, lowest)) if burden == lowest => {
                tied += share;
                if rng.f32() * tied < share {
                    best = Some((index, burden));
                }
            }
            _ => {
                (best, tied) = (Some((index, burden)), share);
            }
        }
    }
    best.map(|(index, _)| index)
}

/// What one more would come to, for who has so many. Who has none is as good as another who has none, whatever it
/// weighs: else little work would all go to whoever weighs most.
pub(crate) fn load(in_flight: u32) -> f32 {
    match in_flight {
        0 => 0.0,
        some => some as f32 + 1.0,
    }
}

/// Draws that are tried before everybody is looked at.
const DRAWS: usize = 6;

/// The cheaper of two taken at random, without looking at the others; for fields where all weigh the same.
///
/// `None` when luck did not find two: [`cheaper_by_share`] then looks at all.
pub(crate) fn cheaper_of_two(
    field: &impl Field,
    cost: impl Fn(usize) -> f32,
    rng: &mut Rng,
) -> Option<usize> {
    let mut first = None;
    for _ in 0..DRAWS {
        let index = rng.usize(..field.len());
        if first == Some(index) || field.share(index) <= 0.0 {
            continue;
        }
        match first {
            None => first = Some(index),
            Some(other) => return Some(cheaper(other, index, cost)),
        }
    }
    None
}

/// The cheaper of two drawn by share. With equal shares the two differ; with unequal ones they may be the same,
/// so that at equal cost each gets its share and no more than twice of it at any cost. O(n).
pub(crate) fn cheaper_by_share(
    field: &impl Field,
    cost: impl Fn(usize) -> f32,
    rng: &mut Rng,
) -> Option<usize> {
    let (mut total, mut lowest, mut highest, mut count) = (0.0f32, f32::MAX, 0.0f32, 0);
    for index in 0..field.len() {
        let share = field.share(index);
        if share > 0.0 {
            total += share;
            (lowest, highest) = (lowest.min(share), highest.max(share));
            count += 1;
        }
    }
    if count == 0 {
        return None;
    }
    let first = draw(field, total, None, rng)?;
    if count == 1 {
        return Some(first);
    }
    let (total, without) = if lowest == highest {
        (total - field.share(first), Some(first))
    } else {
        (total, None)
    };
    match draw(field, total, without, rng) {
        Some(second) if second != first => Some(cheaper(first, second, cost)),
        _ => Some(first),
    }
}

fn draw(field: &impl Field, total: f32, without: Option<usize>, rng: &mut Rng) -> Option<usize> {
    let mut left = rng.f32() * total;
    let mut last = None;
    for index in (0..field.len()).filter(|index| Some(*index) != without) {
        let share = field.share(index);
        if share <= 0.0 {
            continue;
        }
        last = Some(index);
        if left < share {
            break;
        }
        left -= share;
    }
    last
}

fn cheaper(one: usize, other: usize, cost: impl Fn(usize) -> f32) -> usize {
    if cost(other) < cost(one) { other } else { one }
}

/// Weighted rendezvous: the same one for the same key. When one goes only its keys move, each to its own second
/// choice; when one comes it takes its share from everybody alike. O(n).
pub(crate) fn rendezvous(
    field: &impl Field,
    identity: impl Fn(usize) -> u64,
    key: u64,
) -> Option<usize> {
    let mut best: Option<(usize, f64)> = None;
    for index in 0..field.len() {
        let share = field.share(index);
        if share <= 0.0 {
            continue;
        }
        // An exponential variable of rate `share`: the least of them is each one's with its share's chance.
        let uniform = (mix(key ^ mix(identity(index))) >> 11) as f64 + 0.5;
        let arrival = -(uniform / (1u64 << 53) as f64).ln() / f64::from(share);
        if best.is_none_or(|(_, earliest)| arrival < earliest) {
            best = Some((index, arrival));
        }
    }
    best.map(|(index, _)| index)
}

/// The key of these bytes for [`Balance::Hash`](crate::Balance::Hash): FNV-1a in 64 bits. Not drawn by chance, so that
/// a process that starts anew and another node send the same bytes to the same endpoint. Who looks for bytes that meet
/// there gains what it has by saying the same ones again and again.
pub fn hash_key(bytes: &[u8]) -> u64 {
    const BASIS: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0100_0000_01b3;
    bytes.iter().fold(BASIS, |key, byte| {
        (key ^ u64::from(*byte)).wrapping_mul(PRIME)
    })
}

/// SplitMix64's finalizer.
pub(crate) fn mix(value: u64) -> u64 {
    let z = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests;
