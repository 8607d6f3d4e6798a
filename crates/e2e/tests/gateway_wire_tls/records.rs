//! Records of TLS, read and made by hand.

use std::io::{Read as _, Write as _};
use std::net::SocketAddr;

use aws_lc_rs::aead::{AES_128_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use rustls::ConnectionTrafficSecrets;

pub(crate) const ALERT: u8 = 21;
pub(crate) const HELLO: u8 = 22;
const DATA: u8 = 23;

/// The records of an answer: what each is, and what it holds.
pub(crate) fn records(mut bytes: &[u8]) -> Vec<(u8, Vec<u8>)> {
    let mut records = Vec::new();
    while let [kind, _, _, high, low, rest @ ..] = bytes {
        let length = usize::from(u16::from_be_bytes([*high, *low])).min(rest.len());
        records.push((*kind, rest[..length].to_vec()));
        bytes = &rest[length..];
    }
    records
}

/// Shakes hands in TLS 1.2, then says hello again and asks for something under the keys agreed on; the alert that comes
/// with the answer.
pub(crate) fn renegotiate(
    mut session: rustls::ClientConnection,
    door: SocketAddr,
    hello: &[u8],
) -> std::io::Result<Vec<u8>> {
    let mut stream = std::net::TcpStream::connect(door)?;
    while session.is_handshaking() {
        session.complete_io(&mut stream)?;
    }
    let secrets = session.dangerous_extract_secrets().expect("secrets");
    let (number, ours) = gcm(secrets.tx);
    let (_, theirs) = gcm(secrets.rx);
    let ask = b"GET /t HTTP/1.1\r\nhost: a.test\r\nconnection: close\r\n\r\n";
    stream.write_all(&ours.seal(number, HELLO, &hello[5..]))?;
    stream.write_all(&ours.seal(number + 1, DATA, ask))?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    let records = records(&answer);
    let kinds: Vec<u8> = records.iter().map(|(kind, _)| *kind).collect();
    assert_eq!(
        kinds[..2],
        [ALERT, DATA],
        "refused, and answered: {kinds:?}"
    );
    // Whatever else it has said under these keys, the number of the record is among the first few.
    let opened = (0..8).find_map(|number| theirs.open(number, ALERT, &records[0].1));
    Ok(opened.expect("an alert under the keys agreed on"))
}

/// A key of AES-GCM as TLS 1.2 uses it, with the part of its nonces that is not sent.
struct Gcm(LessSafeKey, [u8; 4]);

impl Gcm {
    fn nonce(&self, explicit: &[u8]) -> Nonce {
        let nonce = [&self.1[..], explicit].concat();
        Nonce::try_assume_unique_for_key(&nonce).expect("twelve bytes")
    }

    fn seal(&self, number: u64, kind: u8, content: &[u8]) -> Vec<u8> {
        let (mut sealed, explicit) = (content.to_vec(), (number + 1000).to_be_bytes());
        let about = Aad::from(about(number, kind, content.len()));
        let nonce = self.nonce(&explicit);
        let done = self.0.seal_in_place_append_tag(nonce, about, &mut sealed);
        done.expect("a key");
        let length = u16::try_from(sealed.len() + 8).expect("a short record");
        [&[kind, 3, 3][..], &length.to_be_bytes(), &explicit, &sealed].concat()
    }

    fn open(&self, number: u64, kind: u8, record: &[u8]) -> Option<Vec<u8>> {
        let (explicit, sealed) = record.split_at(8);
        let mut sealed = sealed.to_vec();
        let about = Aad::from(about(number, kind, sealed.len() - AES_128_GCM.tag_len()));
        let opened = self
            .0
            .open_in_place(self.nonce(explicit), about, &mut sealed);
        opened.ok().map(|content| content.to_vec())
    }
}

fn gcm((number, secrets): (u64, ConnectionTrafficSecrets)) -> (u64, Gcm) {
    let ConnectionTrafficSecrets::Aes128Gcm { key, iv } = secrets else {
        panic!("another cipher");
    };
    let key = UnboundKey::new(&AES_128_GCM, key.as_ref()).expect("a key");
    let salt = iv.as_ref()[..4].try_into().expect("four bytes");
    (number, Gcm(LessSafeKey::new(key), salt))
}

/// What TLS 1.2 protects beside a record's content.
fn about(number: u64, kind: u8, length: usize) -> [u8; 13] {
    let mut about = [0; 13];
    about[..8].copy_from_slice(&number.to_be_bytes());
    about[8..11].copy_from_slice(&[kind, 3, 3]);
    about[11..].copy_from_slice(&(length as u16).to_be_bytes());
    about
}
