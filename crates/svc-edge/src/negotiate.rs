//! In which form a tile is sent: as it is stored where that is accepted, else made over once.

use http::HeaderMap;
use http_rules::decode::Coding;
use http_rules::negotiate::{Choice, encoding};

use crate::reject::Refusal;

/// The form of a representation: plain, or coded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Form {
    Plain,
    Coded(Coding),
}

impl Form {
    pub(crate) fn coding(self) -> Option<Coding> {
        match self {
            Form::Plain => None,
            Form::Coded(coding) => Some(coding),
        }
    }
}

impl From<tile_pack::Coding> for Form {
    fn from(coding: tile_pack::Coding) -> Self {
        match coding {
            tile_pack::Coding::None => Form::Plain,
            tile_pack::Coding::Gzip => Form::Coded(Coding::Gzip),
            tile_pack::Coding::Brotli => Form::Coded(Coding::Brotli),
            tile_pack::Coding::Zstd => Form::Coded(Coding::Zstd),
        }
    }
}

/// What can be made here for who takes nothing else.
const MADE: [Coding; 2] = [Coding::Gzip, Coding::Zstd];

/// Picks a form for what is stored in `stored`. What is stored plain and shrinks well is worth coding once.
pub(crate) fn form(headers: &HeaderMap, stored: Form, shrinks: bool) -> Result<Form, Refusal> {
    let stored_as = stored.coding();
    let ready: &[Coding] = match &stored_as {
        Some(coding) => std::slice::from_ref(coding),
        None if shrinks => &MADE[..1],
        None => &[],
    };
    match encoding(headers, ready, true) {
        Choice::Coded(coding) => return Ok(Form::Coded(coding)),
        Choice::Identity => return Ok(Form::Plain),
        Choice::Nothing => {}
    }
    match encoding(headers, &MADE, false) {
        Choice::Coded(coding) => Ok(Form::Coded(coding)),
        Choice::Identity | Choice::Nothing => Err(Refusal::NotAcceptable),
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;
    use http::header::ACCEPT_ENCODING;

    use super::*;

    const GZIP: Form = Form::Coded(Coding::Gzip);
    const BROTLI: Form = Form::Coded(Coding::Brotli);
    const ZSTD: Form = Form::Coded(Coding::Zstd);

    fn picked(accepted: &'static str, stored: Form, shrinks: bool) -> Result<Form, Refusal> {
        let mut headers = HeaderMap::new();
        if accepted != "-" {
            headers.insert(ACCEPT_ENCODING, HeaderValue::from_static(accepted));
        }
        form(&headers, stored, shrinks)
    }

    // req: ED-07
    #[test]
    fn what_is_accepted_as_stored_goes_out_as_stored_and_else_is_made_over() {
        for (accepted, stored, expected) in [
            ("gzip, br", GZIP, Ok(GZIP)),
            ("gzip, br", BROTLI, Ok(BROTLI)),
            ("zstd;q=0.1", ZSTD, Ok(ZSTD)),
            ("-", GZIP, Ok(Form::Plain)),
            ("", GZIP, Ok(Form::Plain)),
            ("identity", BROTLI, Ok(Form::Plain)),
            ("br", GZIP, Ok(Form::Plain)),
            ("gzip;q=0", GZIP, Ok(Form::Plain)),
            ("gzip, identity;q=0", BROTLI, Ok(GZIP)),
            ("zstd, *;q=0", GZIP, Ok(ZSTD)),
            ("br, identity;q=0", GZIP, Err(Refusal::NotAcceptable)),
            ("identity;q=0", Form::Plain, Err(Refusal::NotAcceptable)),
        ] {
            assert_eq!(
                picked(accepted, stored, true),
                expected,
                "{accepted} of {stored:?}"
            );
        }
    }

    // req: ED-07
    #[test]
    fn a_picture_is_not_coded_again_and_plain_geometry_is() {
        assert_eq!(picked("gzip", Form::Plain, false), Ok(Form::Plain));
        assert_eq!(picked("gzip", Form::Plain, true), Ok(GZIP));
        assert_eq!(picked("-", Form::Plain, true), Ok(Form::Plain));
    }
}
