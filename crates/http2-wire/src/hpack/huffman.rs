//! The code of RFC 7541, Appendix B: as short as letters are frequent.
//!
//! The code is canonical: codes of one length follow each other as their symbols do, and longer ones follow shorter
//! ones. The lengths are all there is to know, and every table here is made of them at compile time.

/// Bits of each octet's code, and last of the end mark's.
#[rustfmt::skip]
pub(super) const BITS: [u8; 257] = [
    13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28,
    28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 28,
    6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6,
    5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10,
    13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7,
    7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6,
    15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5,
    6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28,
    20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23,
    24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24,
    22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23,
    21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23,
    26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25,
    19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27,
    20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23,
    26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26,
    30,
];

const SHORTEST: usize = 5;
const LONGEST: usize = 30;
/// Codes up to here are looked up at once; nearly all of what is said has such.
const QUICK_BITS: usize = 8;
/// Octets that are looked at together.
const WORD: usize = 8;
/// Symbols that are taken from them without looking whether they are all there.
const STEP: usize = 7;

/// Codes of one length.
#[derive(Clone, Copy)]
struct Row {
    /// The first code of a greater length, filled up to the greatest.
    limit: u32,
    /// The first code of this one.
    first: u32,
    /// Where its symbols begin among all of them.
    at: usize,
}

static ROWS: [Row; LONGEST + 1] = rows();
/// Symbols as their codes follow each other; the end mark would be the last.
static SYMBOLS: [u8; 256] = symbols();
/// By the next bits, turned over: how many of them are a code, and above that its symbol; zero where none ends there.
static QUICK: [u16; 1 << QUICK_BITS] = quick();
// A word is never used up by a step, and what it takes can be added in an octet.
const _: () = assert!(STEP * QUICK_BITS <= WORD * 8 - 7);

const fn rows() -> [Row; LONGEST + 1] {
    let none = Row {
        limit: 0,
        first: 0,
        at: 0,
    };
    let mut rows = [none; LONGEST + 1];
    let (mut next, mut at, mut bits) = (0, 0, 1);
    while bits <= LONGEST {
        next <<= 1;
        rows[bits].first = next;
        rows[bits].at = at;
        let mut symbol = 0;
        while symbol < BITS.len() {
            if BITS[symbol] as usize == bits {
                next += 1;
                at += 1;
            }
            symbol += 1;
        }
        rows[bits].limit = next << (LONGEST - bits);
        bits += 1;
    }
    rows
}

const fn symbols() -> [u8; 256] {
    let mut symbols = [0; 256];
    let (mut at, mut bits) = (0, 1);
    while bits <= LONGEST {
        let mut symbol = 0;
        while symbol < symbols.len() {
            if BITS[symbol] as usize == bits {
                symbols[at] = symbol as u8;
                at += 1;
            }
            symbol += 1;
        }
        bits += 1;
    }
    symbols
}

const fn quick() -> [u16; 1 << QUICK_BITS] {
    let (rows, symbols) = (rows(), symbols());
    let mut quick = [0; 1 << QUICK_BITS];
    let mut bits = QUICK_BITS;
    // From the longest on, so that a shorter code wins where both reach.
    while bits >= SHORTEST {
        let row = rows[bits];
        let mut slot = (row.first << (QUICK_BITS - bits)) as usize;
        let end = (row.limit >> (LONGEST - QUICK_BITS)) as usize;
        while slot < end {
            let code = slot >> (QUICK_BITS - bits);
            let symbol = symbols[row.at + code - row.first as usize];
            quick[slot ^ (quick.len() - 1)] = bits as u16 | (symbol as u16) << 8;
            slot += 1;
        }
        bits -= 1;
    }
    quick
}

/// Room that is enough for whatever is coded in so many octets.
pub(super) const fn room(octets: usize) -> usize {
    octets.saturating_mul(8) / SHORTEST + STEP
}

/// Decodes to `out`, which has [`room`] for it, and says how long it became. Nothing if that is not well coded.
pub(super) fn decode(coded: &[u8], out: &mut [u8]) -> Option<usize> {
    let end = coded.len() * 8;
    let mut filled = [0xff; WORD];
    let coded = match coded.len() {
        WORD.. => coded,
        length => {
            filled.get_mut(..length)?.copy_from_slice(coded);
            &filled[..]
        }
    };
    let last = coded.len() - WORD;
    let (mut bit, mut at) = (0, 0);
    while bit < end {
        let from = last.min(bit / 8);
        let window = coded.get(from..)?.first_chunk::<WORD>()?;
        // Turned over, it fills up with what stands for ones, and ones are how the end mark begins: no symbol.
        let mut word = !u64::from_be_bytes(*window) << (bit - from * 8);
        let out = out.get_mut(at..)?.first_chunk_mut::<STEP>()?;
        let (mut taken, mut sum) = (0, 0);
        for slot in out.iter_mut() {
            let found = QUICK[usize::from(word.to_be_bytes()[0])];
            if found == 0 {
                break;
            }
            *slot = (found >> 8) as u8;
            // Symbols are added too, above the bits, whose sum stays below them.
            sum += u32::from(found);
            word = word.wrapping_shl(found.into());
            taken += 1;
        }
        at += taken;
        bit += (sum & 0xff) as usize;
        if taken == 0 {
            if word == 0 {
                return (end - bit < 8).then_some(at);
            }
            let (bits, symbol) = long(!word)?;
            *out.first_mut()? = symbol;
            at += 1;
            bit += bits;
        }
    }
    // A code that needed some of what it was filled up with was not all there.
    (bit == end).then_some(at)
}

/// The bits and the symbol of a long code; nothing for the end mark.
#[cold]
fn long(word: u64) -> Option<(usize, u8)> {
    let code = u32::try_from(word >> (64 - LONGEST)).ok()?;
    let is_one = |(_, row): &(usize, &Row)| code < row.limit;
    let (bits, row) = ROWS.iter().enumerate().skip(QUICK_BITS + 1).find(is_one)?;
    let nth = (code >> (LONGEST - bits)).checked_sub(row.first)?;
    let symbol = SYMBOLS.get(row.at + usize::try_from(nth).ok()?)?;
    Some((bits, *symbol))
}

#[cfg(test)]
mod tests;
