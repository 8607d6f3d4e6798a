//! Which content coding a client takes best (RFC 9110 12.5.3).

use crate::decode::Coding;
use crate::text::list;
use http::header::{self, HeaderMap};

/// How to send a representation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// In this coding.
    Coded(Coding),
    /// As it is.
    Identity,
    /// 406: the client takes none of what there is.
    Nothing,
}

/// Weights in thousandths.
type Weight = u16;
const FULL: Weight = 1000;

/// Picks among `available`, best first; `identity` says whether the plain form can be had. The heaviest wins, then the
/// order of `available`; the plain form comes last unless it is the heaviest.
pub fn encoding(headers: &HeaderMap, available: &[Coding], identity: bool) -> Choice {
    let wishes = Wishes::of(headers);
    let mut best = (Choice::Nothing, 0);
    for coding in available {
        let weight = wishes.weight(*coding);
        if weight > best.1 {
            best = (Choice::Coded(*coding), weight);
        }
    }
    if identity && wishes.identity() > best.1 {
        best.0 = Choice::Identity;
    }
    best.0
}

/// What `Accept-Encoding` says; nothing where it is silent.
#[derive(Default)]
struct Wishes {
    gzip: Option<Weight>,
    brotli: Option<Weight>,
    zstd: Option<Weight>,
    identity: Option<Weight>,
    any: Option<Weight>,
}

impl Wishes {
    fn of(headers: &HeaderMap) -> Wishes {
        let mut wishes = Wishes::default();
        for element in headers
            .get_all(header::ACCEPT_ENCODING)
            .iter()
            .flat_map(list)
        {
            let mut parts = element.splitn(2, |byte| *byte == b';');
            let name = parts.next().unwrap_or_default().trim_ascii();
            let weight = parts.next().map_or(Some(FULL), weight);
            if let (Some(place), Some(weight)) = (wishes.place(name), weight) {
                // Said twice, the lesser counts.
                *place = Some(place.map_or(weight, |said| said.min(weight)));
            }
        }
        wishes
    }

    fn place(&mut self, name: &[u8]) -> Option<&mut Option<Weight>> {
        match (Coding::named(name), name) {
            (Some(Coding::Gzip), _) => Some(&mut self.gzip),
            (Some(Coding::Brotli), _) => Some(&mut self.brotli),
            (Some(Coding::Zstd), _) => Some(&mut self.zstd),
            (None, b"*") => Some(&mut self.any),
            (None, name) if name.eq_ignore_ascii_case(b"identity") => Some(&mut self.identity),
            (None, _) => None,
        }
    }

    /// A coding nobody asked for is not sent.
    fn weight(&self, coding: Coding) -> Weight {
        let said = match coding {
            Coding::Gzip => self.gzip,
            Coding::Brotli => self.brotli,
            Coding::Zstd => self.zstd,
        };
        said.or(self.any).unwrap_or(0)
    }

    /// The plain form is acceptable unless it is excluded, by name or by `*`; not preferred unless it is named.
    fn identity(&self) -> Weight {
        match (self.identity, self.any) {
            (Some(weight), _) => weight,
            (None, Some(0)) => 0,
            (None, _) => 1,
        }
    }
}

/// `q=` and 0 to 1 with at most three decimals.
fn weight(parameter: &[u8]) -> Option<Weight> {
    let value = match parameter.trim_ascii() {
        [b'q' | b'Q', b'=', value @ ..] => value,
        _ => return None,
    };
    let (whole, decimals) = match value {
        [whole] => (whole, &[][..]),
        [whole, b'.', decimals @ ..] if decimals.len() <= 3 => (whole, decimals),
        _ => return None,
    };
    let mut weight = match whole {
        b'0' => 0,
        b'1' => FULL,
        _ => return None,
    };
    for (digit, place) in decimals.iter().zip([100, 10, 1]) {
        weight += place * Weight::from(char::from(*digit).to_digit(10)? as u8);
    }
    (weight <= FULL).then_some(weight)
}

#[cfg(test)]
mod tests;
