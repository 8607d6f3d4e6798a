//! What may come of what a peer says, and tables of it.

use super::*;

/// The stream on which a door is asked whether all is well.
const PROBE: u32 = 1001;

/// What came of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The connection ends for this reason. Who only closes it does what an RFC says nobody should, and may.
    Dies(u32),
    /// The stream is reset for this reason, and the connection lives on.
    Resets(u32),
    /// The stream is answered with such a status, and the connection lives on.
    Says(u16),
    /// The stream is answered with some status that blames the client, and the connection lives on.
    Blames,
    /// The connection lives on, and nothing is said of the stream.
    Ignores,
}

use Verdict::*;

pub(super) struct Case {
    name: String,
    /// What is asked for and answered in full before, on the same stream.
    before: Vec<u8>,
    bytes: Vec<u8>,
    stream: u32,
    allowed: Vec<Verdict>,
    /// What the answer has to have in it.
    told: Vec<String>,
}

impl Case {
    /// Comes when this has been answered.
    pub(super) fn behind(&mut self, before: Vec<u8>) -> &mut Self {
        self.before = before;
        self
    }

    pub(super) fn on(&mut self, stream: u32) -> &mut Self {
        self.stream = stream;
        self
    }

    pub(super) fn or(&mut self, verdict: Verdict) -> &mut Self {
        self.allowed.push(verdict);
        self
    }

    /// The answer has these lines in it, if it is an answer.
    pub(super) fn tells(&mut self, lines: &[&str]) -> &mut Self {
        self.told
            .extend(lines.iter().map(|line| format!("{line}\n")));
        self
    }
}

/// A table of cases.
#[derive(Default)]
pub(super) struct Cases(Vec<Case>);

impl Cases {
    pub(super) fn may(
        &mut self,
        name: &str,
        allowed: &[Verdict],
        bytes: impl AsRef<[u8]>,
    ) -> &mut Case {
        self.0.push(Case {
            name: name.into(),
            before: Vec::new(),
            bytes: bytes.as_ref().to_vec(),
            stream: 1,
            allowed: allowed.to_vec(),
            told: Vec::new(),
        });
        self.0.last_mut().unwrap()
    }

    /// An error of the connection.
    pub(super) fn dies(&mut self, name: &str, code: u32, bytes: impl AsRef<[u8]>) -> &mut Case {
        self.may(name, &[Dies(code)], bytes)
    }

    /// An error of the stream, which anyone may take for one of the connection.
    pub(super) fn resets(&mut self, name: &str, code: u32, bytes: impl AsRef<[u8]>) -> &mut Case {
        self.may(name, &[Resets(code), Dies(code)], bytes)
    }

    /// No request: an error of the stream, before which a client may be told what it did.
    pub(super) fn malformed(&mut self, name: &str, bytes: impl AsRef<[u8]>) -> &mut Case {
        self.may(name, &[Resets(PROTOCOL), Dies(PROTOCOL), Blames], bytes)
    }

    pub(super) fn ignored(&mut self, name: &str, bytes: impl AsRef<[u8]>) -> &mut Case {
        self.may(name, &[Ignores], bytes)
    }

    pub(super) fn answered(&mut self, name: &str, bytes: impl AsRef<[u8]>) -> &mut Case {
        self.may(name, &[Says(200)], bytes)
    }

    /// Tries each on a connection of its own.
    pub(super) async fn hold(self) {
        let ground = Ground::open(lenient()).await;
        let (count, mut wrong) = (self.0.len(), Vec::new());
        for case in self.0 {
            if let Err(came) = attempt(&ground, &case).await {
                wrong.push(format!(
                    "{}: {came}, allowed are {:?}",
                    case.name, case.allowed
                ));
            }
        }
        assert!(
            wrong.is_empty(),
            "{} of {count}:\n{}",
            wrong.len(),
            wrong.join("\n")
        );
    }
}

async fn attempt(ground: &Ground, case: &Case) -> Result<(), String> {
    let mut peer = Peer::open(ground, &[]).await;
    peer.case.clone_from(&case.name);
    if !case.before.is_empty() {
        peer.speak(&case.before).await;
        peer.answer(case.stream).await;
        peer.settle().await;
        peer.streams.clear();
    }
    peer.speak(&case.bytes).await;
    let verdict = verdict(&mut peer, case).await?;
    let blames = |status: u16| (400..500).contains(&status);
    let fits = |allowed: &Verdict| match (*allowed, verdict) {
        (Dies(_), None) => true,
        (Blames, Some(Says(status))) => blames(status),
        (allowed, Some(verdict)) => allowed == verdict,
        (_, None) => false,
    };
    if !case.allowed.iter().any(fits) {
        let text = peer.seen(case.stream).text();
        return Err(format!("{verdict:?} {text:?}"));
    }
    if let Some(Says(200)) = verdict {
        let text = peer.seen(case.stream).text();
        let missing = case.told.iter().find(|line| !text.contains(line.as_str()));
        return missing.map_or(Ok(()), |line| Err(format!("no {line:?} in {text:?}")));
    }
    Ok(())
}

/// What came of it; `None` if the door just closed.
async fn verdict(peer: &mut Peer, case: &Case) -> Result<Option<Verdict>, String> {
    let mut first = None;
    let mut probed = case.allowed.contains(&Ignores);
    if probed {
        peer.send(&whole(PROBE, GET)).await;
    }
    loop {
        if let Some((_, code)) = peer.goodbye {
            while !peer.closed {
                if peer.hear().await == Heard::Nothing {
                    return Err(format!("a goodbye for {code}, and then it stays"));
                }
            }
            return Ok(Some(Dies(code)));
        }
        if peer.closed {
            return Ok(None);
        }
        let seen = peer.seen(case.stream);
        if first.is_none() && seen.is_over() {
            first = Some(seen.reset.map_or(Says(seen.status), Resets));
            if !probed {
                probed = true;
                peer.send(&whole(PROBE, GET)).await;
            }
        }
        let probe = peer.seen(PROBE);
        if probe.is_over() {
            return match (probe.status, probe.text().as_str()) {
                (200, "hello") => Ok(Some(first.unwrap_or(Ignores))),
                other => Err(format!(
                    "{first:?}, and then the door is not well: {other:?}"
                )),
            };
        }
        if peer.hear().await == Heard::Nothing {
            return Err(format!("nothing came; {}", peer.summary()));
        }
    }
}
