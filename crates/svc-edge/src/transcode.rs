//! From one coding to another, within bounds. Takes a while: not for threads that have other things to do.

use std::io::Write;

use bytes::{Bytes, BytesMut};
use flate2::Compression;
use flate2::write::GzEncoder;
use http_rules::decode::{BadBody, Coding, Decoder, Limits};

use crate::negotiate::Form;
use crate::reject::Refusal;

/// A level that is worth its time for what is kept afterwards.
const GZIP_LEVEL: u32 = 6;
const ZSTD_LEVEL: i32 = 6;

/// The same content in another form, decoded to no more than `most` bytes on the way.
pub(crate) fn transcode(
    bytes: &Bytes,
    from: Form,
    to: Form,
    most: usize,
) -> Result<Bytes, Refusal> {
    if from == to {
        return Ok(bytes.clone());
    }
    let plain = match from {
        Form::Plain => bytes.clone(),
        Form::Coded(coding) => decoded(bytes, coding, most)?,
    };
    match to {
        Form::Plain => Ok(plain),
        Form::Coded(Coding::Gzip) => gzip(&plain),
        Form::Coded(Coding::Zstd) => zstd(&plain),
        // Nobody asks: it is offered only as stored.
        Form::Coded(Coding::Brotli) => Err(Refusal::NotAcceptable),
    }
}

fn decoded(bytes: &Bytes, coding: Coding, most: usize) -> Result<Bytes, Refusal> {
    let mut decoder = Decoder::new(coding, Limits::capped(most as u64));
    let (mut input, mut plain) = (bytes.clone(), BytesMut::new());
    while let Some(piece) = decoder.push(&mut input).map_err(refused)? {
        plain.extend_from_slice(&piece);
    }
    decoder.finish().map_err(refused)?;
    Ok(plain.freeze())
}

fn refused(bad: BadBody) -> Refusal {
    match bad {
        BadBody::Cap | BadBody::Ratio => Refusal::DecodedTooLarge,
        _ => Refusal::PackBroken,
    }
}

fn gzip(plain: &[u8]) -> Result<Bytes, Refusal> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::new(GZIP_LEVEL));
    let written = encoder.write_all(plain).and_then(|()| encoder.finish());
    written.map(Bytes::from).map_err(|_| Refusal::Internal)
}

fn zstd(plain: &[u8]) -> Result<Bytes, Refusal> {
    let written = zstd::bulk::compress(plain, ZSTD_LEVEL);
    written.map(Bytes::from).map_err(|_| Refusal::Internal)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GZIP: Form = Form::Coded(Coding::Gzip);
    const ZSTD: Form = Form::Coded(Coding::Zstd);

    // req: ED-07
    #[test]
    fn there_and_back_is_the_same() {
        let plain = Bytes::from(vec![7; 60_000]);
        for form in [GZIP, ZSTD] {
            let coded = transcode(&plain, Form::Plain, form, 1 << 20).unwrap();
            assert!(coded.len() < plain.len());
            let again = transcode(&coded, form, Form::Plain, 1 << 20);
            assert!(again.is_ok_and(|again| again == plain), "{form:?}");
        }
        let gzip = transcode(&plain, Form::Plain, GZIP, 1 << 20).unwrap();
        let zstd = transcode(&gzip, GZIP, ZSTD, 1 << 20).unwrap();
        let again = transcode(&zstd, ZSTD, Form::Plain, 1 << 20);
        assert!(again.is_ok_and(|again| again == plain));
    }

    // req: ED-09, ED-02
    // attack: L-18
    #[test]
    fn a_bomb_ends_at_the_cap_and_rubbish_at_once() {
        let noise: Vec<u8> = (0..100_000_u32)
            .flat_map(|n| n.wrapping_mul(2_654_435_761).to_be_bytes())
            .collect();
        let large = transcode(&Bytes::from(noise.clone()), Form::Plain, GZIP, 1 << 20).unwrap();
        let most = noise.len();
        assert!(transcode(&large, GZIP, Form::Plain, most).is_ok());
        let over = transcode(&large, GZIP, Form::Plain, most - 1);
        assert_eq!(over, Err(Refusal::DecodedTooLarge));
        let bomb = transcode(&Bytes::from(vec![0; 1 << 20]), Form::Plain, GZIP, 1 << 20).unwrap();
        let decoded = transcode(&bomb, GZIP, Form::Plain, 10 << 20);
        assert_eq!(decoded, Err(Refusal::DecodedTooLarge));
        let rubbish = Bytes::from_static(b"no gzip at all");
        assert_eq!(
            transcode(&rubbish, GZIP, Form::Plain, 1 << 20),
            Err(Refusal::PackBroken)
        );
        let cut = large.slice(..large.len() - 9);
        assert_eq!(
            transcode(&cut, GZIP, Form::Plain, 1 << 20),
            Err(Refusal::PackBroken)
        );
    }
}
