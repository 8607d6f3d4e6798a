//! Why a handshake came to nothing, in words that a metric may use.

use std::io;

use rustls::{Error, PeerIncompatible, PeerMisbehaved};

/// Every reason a metric may name.
pub(crate) const REASONS: [&str; 6] = [
    "key-exchange",
    "version",
    "certificate",
    "protocol",
    "closed",
    "other",
];

/// Which of [`REASONS`] it was.
pub(crate) fn reason(error: &io::Error) -> usize {
    let of_rustls = error.get_ref().and_then(|inner| inner.downcast_ref());
    match of_rustls {
        Some(Error::PeerIncompatible(why)) => incompatible(why),
        Some(Error::PeerMisbehaved(PeerMisbehaved::RefusedToFollowHelloRetryRequest)) => 0,
        Some(Error::InvalidCertificate(_) | Error::NoCertificatesPresented) => 2,
        Some(Error::NoApplicationProtocol) => 3,
        Some(_) => 5,
        // Whoever goes away in the middle, with or without a word.
        None => 4,
    }
}

fn incompatible(why: &PeerIncompatible) -> usize {
    match why {
        PeerIncompatible::NoKxGroupsInCommon
        | PeerIncompatible::NamedGroupsExtensionRequired
        | PeerIncompatible::KeyShareExtensionRequired => 0,
        PeerIncompatible::Tls12NotOffered
        | PeerIncompatible::Tls12NotOfferedOrEnabled
        | PeerIncompatible::Tls13RequiredForQuic
        | PeerIncompatible::ServerDoesNotSupportTls12Or13
        | PeerIncompatible::SupportedVersionsExtensionRequired => 1,
        _ => 5,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_word_of_tls_is_a_connection_that_ended() {
        let gone = io::Error::from(io::ErrorKind::UnexpectedEof);
        assert_eq!(REASONS[reason(&gone)], "closed");
        let alone = io::Error::other(Error::PeerIncompatible(
            PeerIncompatible::NoKxGroupsInCommon,
        ));
        assert_eq!(REASONS[reason(&alone)], "key-exchange");
    }
}
