//! How a TLS session begins: the hello decides by which configuration it is answered.

use std::future::poll_fn;
use std::io;

use rustls::server::{Accepted, Acceptor, UnbufferedServerConnection};
use rustls::{AlertDescription, CertificateError, Error, PeerIncompatible};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::Semaphore;

use super::duct::Duct;
use super::hello;
use super::session::{Session, invalid};
use super::{Tls, TlsFacts, is_resumed};

/// Bytes of a hello: those of the longest message there may be.
const MOST_OF_A_HELLO: usize = 64 * 1024;

/// Of the record that says which.
const ALERT: u8 = 21;
const FATAL: u8 = 2;
const PROTOCOL_VERSION: u8 = 70;

/// Agrees with whoever is at the other end. There is work to do when something has come: only for that one of the
/// `turns` is taken. Who is waited for has none, so that nobody has to wait for who says hello and then nothing.
pub(crate) async fn shake_hands<IO: AsyncRead + AsyncWrite + Unpin>(
    io: IO,
    tls: &Tls,
    turns: &Semaphore,
) -> io::Result<(Box<Session<IO>>, TlsFacts)> {
    let mut duct = Duct::new(io);
    let accepted = hear_hello(&mut duct).await?;
    let turn = turns.acquire().await.map_err(io::Error::other)?;
    let (config, name) = {
        let hello = accepted.client_hello();
        let name = hello.server_name().map(str::to_ascii_lowercase);
        (tls.config_for(&hello), name)
    };
    drop(accepted);
    let session = UnbufferedServerConnection::new(config).map_err(invalid)?;
    let mut session = Box::new(Session::new(duct, session));
    let mut verified = false;
    let mut went = go_on(&mut session, tls, &mut verified);
    drop(turn);
    while !poll_fn(|cx| session.poll_wait(&mut went, cx)).await? {
        let _turn = turns.acquire().await.map_err(io::Error::other)?;
        went = go_on(&mut session, tls, &mut verified);
    }
    let facts = TlsFacts::new(session.agreed(), name);
    Ok((session, facts))
}

/// Goes on. Who takes up a session and may no longer is told so before it is told anything else.
fn go_on<IO: AsyncRead + AsyncWrite + Unpin>(
    session: &mut Session<IO>,
    tls: &Tls,
    verified: &mut bool,
) -> io::Result<()> {
    session.go_on()?;
    if *verified || !is_resumed(session.agreed()) {
        return Ok(());
    }
    *verified = true;
    tls.verify_again(session.agreed()).map_err(|error| {
        let why = match &error {
            Error::InvalidCertificate(why) => why.clone(),
            _ => CertificateError::ApplicationVerificationFailure,
        };
        let alert = u8::from(AlertDescription::from(why));
        session.refuse(&[ALERT, 3, 3, 0, 2, FATAL, alert]);
        invalid(error)
    })
}

/// The hello, which stays with what came: the session begins with it once more.
async fn hear_hello<IO: AsyncRead + AsyncWrite + Unpin>(
    duct: &mut Duct<IO>,
) -> io::Result<Accepted> {
    let (mut acceptor, mut heard) = (Acceptor::default(), 0);
    loop {
        while heard < duct.incoming.len() {
            heard += acceptor.read_tls(&mut &duct.incoming[heard..])?;
            match acceptor.accept() {
                Ok(Some(accepted)) => return Ok(accepted),
                Ok(None) => {}
                Err((mut error, mut alert)) => {
                    match hello::outdated(&duct.incoming) {
                        // That is what is wrong with it, whatever else it lacks.
                        Some([major, minor]) => {
                            let why = PeerIncompatible::Tls12NotOffered;
                            error = Error::PeerIncompatible(why);
                            let said = [ALERT, major, minor, 0, 2, FATAL, PROTOCOL_VERSION];
                            duct.outgoing.extend(said);
                        }
                        None => alert.write_all(&mut duct.outgoing)?,
                    }
                    // What was wrong matters more than whether the peer could be told.
                    let _told = poll_fn(|cx| duct.poll_flush(cx)).await.is_ok();
                    return Err(invalid(error));
                }
            }
        }
        if poll_fn(|cx| duct.poll_fill(cx, MOST_OF_A_HELLO)).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
}

#[cfg(test)]
mod tests;
