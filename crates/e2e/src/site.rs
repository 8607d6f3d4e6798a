//! A gateway between bytes that a test chooses and an origin that records what becomes of them.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use testkit::http::{Connection, Response};
use testkit::recorder::{ANSWER, Recorder};
use testkit::strict::{self, Doubt, Request};

use crate::gateway::{Gateway, PATIENCE, refusal, to};

/// A request that follows every case on its connection: it is answered if the case ended where it should, and must not
/// be if the connection is over.
pub const NEXT: &[u8] = b"GET /next HTTP/1.1\r\nhost: next.test\r\n\r\n";

/// How long a connection that is over may stay open.
const CLOSE: Duration = Duration::from_secs(2);
/// How long what was broken off may take to reach the origin.
const SETTLE: Duration = Duration::from_millis(50);

/// A gateway and the origin behind it.
#[derive(Debug)]
pub struct Site {
    /// The gateway.
    pub gateway: Gateway,
    /// What is behind it.
    pub origin: Recorder,
}

/// Bytes, and what must come of them.
#[derive(Debug)]
pub struct Case {
    /// What it is called when it fails.
    pub name: String,
    /// What is sent, before [`NEXT`].
    pub sent: Vec<u8>,
    /// What must come of it.
    pub wanted: Wanted,
}

/// One case for each text: it is its own name, and is sent as `sent` makes it.
pub fn cases<T: AsRef<str>>(
    wanted: &Wanted,
    texts: impl IntoIterator<Item = T>,
    sent: impl Fn(&str) -> Vec<u8>,
) -> Vec<Case> {
    let case = |text: T| Case {
        name: text.as_ref().escape_debug().take(80).collect(),
        sent: sent(text.as_ref()),
        wanted: wanted.clone(),
    };
    texts.into_iter().map(case).collect()
}

/// A request with these lines behind its Host, and this body.
#[must_use]
pub fn request(method: &str, target: &str, lines: &str, body: &str) -> Vec<u8> {
    format!("{method} {target} HTTP/1.1\r\nhost: a.test\r\n{lines}\r\n{body}").into_bytes()
}

/// What must come of a case: for the client, for the origin, for the metric.
#[derive(Debug, Clone)]
pub enum Wanted {
    /// Refused, and the connection ends; the origin sees nothing.
    Refused(u16, &'static str),
    /// Refused, and the connection goes on: the origin sees the next request.
    Declined(u16, &'static str),
    /// Refused on its way, and the connection ends; what the origin has seen never became a request.
    Broken(u16, &'static str),
    /// Sent on as exactly this, and then the next request.
    Passes(Meant),
    /// Sent on as exactly this, and the connection ends.
    PassesLast(Meant),
}

/// A request as it is meant.
#[derive(Debug, Clone)]
pub struct Meant {
    method: &'static str,
    target: String,
    body: Vec<u8>,
    fields: Vec<(&'static str, Option<String>)>,
}

/// This request, without a body.
#[must_use]
pub fn meant(method: &'static str, target: &str) -> Meant {
    Meant {
        method,
        target: target.to_owned(),
        body: Vec::new(),
        fields: Vec::new(),
    }
}

impl Meant {
    /// With this body.
    #[must_use]
    pub fn body(mut self, body: impl AsRef<[u8]>) -> Self {
        self.body = body.as_ref().to_vec();
        self
    }

    /// With this field, once.
    #[must_use]
    pub fn field(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.fields.push((name, Some(value.into())));
        self
    }

    /// Without this field.
    #[must_use]
    pub fn without(mut self, name: &'static str) -> Self {
        self.fields.push((name, None));
        self
    }

    /// Whether the origin has seen just that.
    pub fn compare(&self, seen: &Request) -> Result<(), String> {
        let said = (&*seen.method, &*seen.target, &*seen.body);
        let meant = (self.method, &*self.target, &*self.body);
        if said != meant {
            return Err(format!("the origin saw {said:?} instead of {meant:?}"));
        }
        for (name, value) in &self.fields {
            let said: Vec<_> = seen.all(name).collect();
            let meant: Vec<_> = value.as_deref().into_iter().collect();
            if said != meant {
                return Err(format!("the origin saw {name}: {said:?}, not {meant:?}"));
            }
        }
        Ok(())
    }
}

impl Site {
    /// Starts both; `section` is the beginning of the `[gateway]` section, `keys` more of its one upstream.
    ///
    /// # Panics
    /// If one of them does not start.
    pub async fn start(section: &str, keys: &str) -> Self {
        let origin = Recorder::start().await.expect("an origin");
        let section = format!("{section}\n{}", to(origin.addr(), keys));
        let gateway = Gateway::start(&section).await;
        Self { gateway, origin }
    }

    /// Refusals so far, by reason; reasons without any are left out.
    ///
    /// # Panics
    /// If there are no metrics.
    pub async fn refusals(&self) -> BTreeMap<String, u64> {
        let metrics = self.gateway.metrics().await;
        let reasons = metrics.label_values("rejected_total", "reason");
        let count = |reason| metrics.sum("rejected_total", &[("reason", reason)]) as u64;
        let all = reasons.map(|reason| (reason.to_owned(), count(reason)));
        all.filter(|(_, count)| *count > 0).collect()
    }

    /// Tries each case on a connection of its own, one after the other.
    ///
    /// # Panics
    /// If something else came of one of them; says so of all.
    pub async fn check(&self, cases: impl IntoIterator<Item = Case>) {
        let (mut report, mut tried) = (String::new(), 0);
        for case in cases {
            tried += 1;
            if let Err(why) = self.attempt(&case).await {
                let sent = String::from_utf8_lossy(&case.sent[..case.sent.len().min(300)]);
                writeln!(report, "{}: {why}\n    {sent:?}", case.name).expect("a String");
            }
        }
        assert!(tried > 0, "no case");
        assert!(report.is_empty(), "\n{report}");
    }

    async fn attempt(&self, case: &Case) -> Result<(), String> {
        let before = self.refusals().await;
        let _ = self.origin.take();
        let heard = hear(self, case).await;
        if matches!(case.wanted, Wanted::Broken(..)) {
            tokio::time::sleep(SETTLE).await;
        }
        let tapes = self.origin.take();
        heard.map_err(|why| format!("{why}; the origin saw {:?}", texts(&tapes)))?;
        case.wanted.seen(&tapes)?;
        let after = self.refusals().await;
        let counted = counted(&before, &after);
        let wanted = case.wanted.reason().map(|reason| (reason.to_owned(), 1));
        match counted
            .iter()
            .eq(wanted.iter().map(|(reason, count)| (reason, count)))
        {
            true => Ok(()),
            false => Err(format!("counted {counted:?}")),
        }
    }
}

/// What has been counted between two looks.
#[must_use]
pub fn counted(
    before: &BTreeMap<String, u64>,
    after: &BTreeMap<String, u64>,
) -> BTreeMap<String, u64> {
    let more = |(reason, count): (&String, &u64)| {
        let more = count - before.get(reason).unwrap_or(&0);
        (more > 0).then(|| (reason.clone(), more))
    };
    after.iter().filter_map(more).collect()
}

fn texts(tapes: &[Vec<u8>]) -> Vec<String> {
    let text = |tape: &Vec<u8>| String::from_utf8_lossy(&tape[..tape.len().min(2000)]).into_owned();
    tapes.iter().map(text).collect()
}

/// The client's side: what it is told, and whether the connection is over then.
async fn hear(site: &Site, case: &Case) -> Result<(), String> {
    let mut connection = site.gateway.connect().await;
    let sent = [&case.sent, NEXT].concat();
    let failed = |failure| format!("no answer: {failure}");
    let answer = connection.exchange(&sent, PATIENCE).await.map_err(failed)?;
    match &case.wanted {
        Wanted::Refused(status, reason) | Wanted::Broken(status, reason) => {
            refusal(&answer, *status, reason)?;
            over(&mut connection, &answer).await
        }
        Wanted::Declined(status, reason) => {
            refusal(&answer, *status, reason)?;
            goes_on(&mut connection).await
        }
        Wanted::Passes(_) => {
            answered(&answer, case)?;
            goes_on(&mut connection).await
        }
        Wanted::PassesLast(_) => {
            answered(&answer, case)?;
            over(&mut connection, &answer).await
        }
    }
}

fn answered(answer: &Response, case: &Case) -> Result<(), String> {
    let body = if case.sent.starts_with(b"HEAD ") {
        ""
    } else {
        ANSWER
    };
    match (answer.status, answer.text() == body) {
        (200, true) => Ok(()),
        (status, _) => Err(format!("answered {status}: {}", answer.text())),
    }
}

async fn goes_on(connection: &mut Connection) -> Result<(), String> {
    let answer = connection.response(PATIENCE).await;
    let answer = answer.map_err(|failure| format!("the next request: {failure}"))?;
    match answer.status {
        200 => Ok(()),
        status => Err(format!("the next request: {status} {}", answer.text())),
    }
}

async fn over(connection: &mut Connection, answer: &Response) -> Result<(), String> {
    let (more, closed) = connection.read_until_close(CLOSE).await;
    match (more.is_empty(), closed, answer.keeps_alive) {
        (true, true, false) => Ok(()),
        (true, true, true) => Err("closed without a word".to_owned()),
        (true, false, _) => Err("still open".to_owned()),
        (false, ..) => Err(format!("more came: {:?}", String::from_utf8_lossy(&more))),
    }
}

impl Wanted {
    fn reason(&self) -> Option<&'static str> {
        match self {
            Wanted::Refused(_, reason)
            | Wanted::Declined(_, reason)
            | Wanted::Broken(_, reason) => Some(reason),
            Wanted::Passes(_) | Wanted::PassesLast(_) => None,
        }
    }

    /// The origin's side: each connection read by the letter.
    fn seen(&self, tapes: &[Vec<u8>]) -> Result<(), String> {
        if let Wanted::Broken(..) = self {
            let whole = tapes
                .iter()
                .find(|tape| strict::requests(tape) != Err(Doubt::Unfinished));
            return whole.map_or(Ok(()), |tape| {
                Err(format!(
                    "the origin saw {:?}",
                    texts(std::slice::from_ref(tape))
                ))
            });
        }
        let mut seen = Vec::new();
        for tape in tapes {
            let doubt = |doubt| format!("the origin saw {:?}: {doubt}", texts(tapes));
            seen.extend(strict::requests(tape).map_err(doubt)?);
        }
        let next = meant("GET", "/next");
        let wanted: Vec<&Meant> = match self {
            Wanted::Refused(..) | Wanted::Broken(..) => Vec::new(),
            Wanted::Declined(..) => vec![&next],
            Wanted::Passes(meant) => vec![meant, &next],
            Wanted::PassesLast(meant) => vec![meant],
        };
        if seen.len() != wanted.len() {
            return Err(format!(
                "the origin saw {} requests: {:?}",
                seen.len(),
                texts(tapes)
            ));
        }
        // Two requests may come over two connections, the older of which may have the second.
        seen.sort_by_key(|request| request.target == next.target);
        let mut pairs = wanted.iter().zip(&seen);
        pairs.try_for_each(|(meant, seen)| meant.compare(seen))
    }
}
