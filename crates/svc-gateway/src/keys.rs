//! The keys of an identity provider: fetched again and again in the background, the last good ones kept.

use std::io::Read;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use http::header::{ACCEPT, HOST, HeaderValue};
use http::{Request, Uri};
use http_body_util::{BodyExt, Empty, Limited};
use kernel::lock::{Lock, LockSpec};
use kernel::tasks::TaskKind;
use passport::{Freshness, IssuerId, KEY_SET_BYTES_MAX, KeySet, KeySetState, Refresh, Verifier};
use tokio::sync::Notify;
use upstream::{EndpointSpec, Pool, PoolSpec, Tried};

use crate::backend;
use crate::config::JwtText;
use crate::shared::Shared;

/// The task that fetches keys.
pub(crate) static FETCHER: TaskKind = TaskKind {
    name: "gateway_keys",
    doc: "fetches the keys of the identity provider again and again",
};
/// Guards when the keys are fetched next.
pub(crate) static STATE: LockSpec = LockSpec {
    name: "gateway_keys",
    level: 32,
    doc: "when the keys of tokens are fetched next; asked when a token names an unknown key",
};

/// The one issuer a config can name.
const ISSUER: IssuerId = IssuerId(0);
/// Time a fetch may take.
const PATIENCE: Duration = Duration::from_secs(5);
/// Time an unchanged file is looked at again.
const FILE_EVERY: Duration = Duration::from_secs(5);

/// A file that is being read.
type Reading = Pin<Box<dyn Future<Output = Result<Vec<u8>, String>> + Send>>;

/// The keys of one identity provider, and when they are fetched.
pub(crate) struct Keys {
    text: JwtText,
    state: Lock<KeySetState>,
    wanted: Notify,
}

impl Keys {
    pub(crate) fn new(text: &JwtText, now: Duration) -> Arc<Self> {
        Self::in_state(text, KeySetState::new(refresh(text), now))
    }

    fn in_state(text: &JwtText, state: KeySetState) -> Arc<Self> {
        Arc::new(Self {
            text: text.clone(),
            state: Lock::new(&STATE, state),
            wanted: Notify::new(),
        })
    }

    /// Whether they are fetched as this says.
    pub(crate) fn are_by(&self, text: &JwtText) -> bool {
        self.text == *text
    }

    /// Under another config: keys that come from where they came from serve on, whether or not they can be fetched.
    pub(crate) fn renewed(
        &self,
        text: &JwtText,
        (before, verifier): (&Verifier, &Verifier),
        now: Duration,
    ) -> Arc<Self> {
        let from = |text: &JwtText| {
            (
                text.issuer.clone(),
                text.jwks_url.clone(),
                text.jwks_file.clone(),
            )
        };
        // Read before the keys: a fetch that ends in between is done again.
        let state = self.state.lock().clone();
        match before.keys(ISSUER) {
            Some(keys) if from(text) == from(&self.text) => {
                verifier.set_keys(ISSUER, keys);
                Self::in_state(text, state.under(refresh(text), now))
            }
            _ => Self::new(text, now),
        }
    }

    /// A token named a key that is not at hand: it may be a new one.
    pub(crate) fn want(&self, now: Duration) {
        if self.state.lock().wanted(now) {
            self.wanted.notify_one();
        }
    }

    /// What is wrong with the keys at hand, if anything.
    pub(crate) fn lacking(&self, now: Duration) -> Option<&'static str> {
        match self.state.lock().freshness(now) {
            Freshness::Fresh | Freshness::Stale => None,
            Freshness::Missing => Some("the keys of tokens have not been fetched yet"),
            Freshness::Degraded => Some("the keys of tokens are out of date"),
        }
    }

    /// Fetches for as long as it is polled.
    pub(crate) async fn refresh(&self, shared: &Shared, verifier: &Verifier) {
        let mut reading = None;
        loop {
            let due = shared.timeline.instant(self.state.lock().next_fetch());
            tokio::select! {
                () = tokio::time::sleep_until(due) => {}
                () = self.wanted.notified() => {}
            }
            let fetched = self.fetch(shared, &mut reading).await;
            let (now, roll) = (shared.timeline.now(), fastrand::u64(..));
            match fetched.and_then(|text| KeySet::parse(&text).map_err(|error| error.to_string())) {
                Ok(keys) => {
                    verifier.set_keys(ISSUER, Arc::new(keys));
                    self.state.lock().succeeded(now, roll);
                }
                Err(error) => {
                    tracing::warn!(
                        issuer = self.text.issuer,
                        error,
                        "keys of tokens could not be fetched"
                    );
                    self.state.lock().failed(now, roll);
                }
            }
        }
    }

    /// A file that is not read in time is waited for again the next time: it takes one thread, however long.
    async fn fetch(
        &self,
        shared: &Shared,
        reading: &mut Option<Reading>,
    ) -> Result<Vec<u8>, String> {
        let fetched = async {
            match (&self.text.jwks_file, &self.text.jwks_url) {
                (Some(file), _) => {
                    let under_way = reading.get_or_insert_with(|| read(shared, file.clone()));
                    let read = under_way.await;
                    *reading = None;
                    read
                }
                (None, Some(url)) => self.get(shared, url).await,
                (None, None) => Err("nothing says where the keys are".to_owned()),
            }
        };
        match tokio::time::timeout(PATIENCE, fetched).await {
            Ok(fetched) => fetched,
            Err(_late) => Err("no answer in time".to_owned()),
        }
    }

    async fn get(&self, shared: &Shared, url: &str) -> Result<Vec<u8>, String> {
        let (uri, endpoint) = place(url)?;
        let tls = match endpoint.is_secure() {
            true => Some(backend::system_tls()?),
            false => None,
        };
        let spec = PoolSpec {
            tls,
            ..PoolSpec::new("keys", vec![endpoint])
        };
        let pool = Pool::new(spec, &shared.kernel.registry, shared.blocking.clone());
        let asked = ask(&pool, &uri);
        // Names are only resolved while somebody tends the pool.
        let answer = tokio::select! {
            answer = asked => answer,
            () = pool.tend(|_| ()) => Err("the endpoint was not looked after".to_owned()),
        };
        pool.end().await;
        answer
    }
}

fn read(shared: &Shared, file: String) -> Reading {
    let blocking = shared.blocking.clone();
    Box::pin(async move {
        let read = blocking.run(move || read_bounded(Path::new(&file))).await;
        read.map_err(|reject| reject.to_string())?
            .map_err(|error| error.to_string())
    })
}

/// A byte more than there may be tells that there are too many.
fn read_bounded(file: &Path) -> std::io::Result<Vec<u8>> {
    let (file, mut bytes) = (strict_config::open_regular(file)?, Vec::new());
    file.take(KEY_SET_BYTES_MAX as u64 + 1)
        .read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Where a URL leads: what is asked for, and whom; or why it leads nowhere.
pub(crate) fn place(url: &str) -> Result<(Uri, EndpointSpec), String> {
    let uri: Uri = url
        .parse()
        .map_err(|_| "neither http nor https, or no URL at all".to_owned())?;
    let root = format!(
        "{}://{}",
        uri.scheme_str().unwrap_or_default(),
        uri.authority().map_or("", |authority| authority.as_str())
    );
    let endpoint = EndpointSpec::parse(&root).map_err(|error| error.to_string())?;
    Ok((uri, endpoint))
}

fn refresh(text: &JwtText) -> Refresh {
    Refresh {
        every: match text.jwks_file {
            Some(_) => FILE_EVERY,
            None => Duration::from_secs(text.refresh_s),
        },
        ..Refresh::default()
    }
}

async fn ask(pool: &Pool, uri: &Uri) -> Result<Vec<u8>, String> {
    let pick = loop {
        match pool.pick(kernel::clock::now(), None, &Tried::default()) {
            Ok(pick) => break pick,
            Err(upstream::NoEndpoint::NoneResolved) => {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            Err(none) => return Err(none.to_string()),
        }
    };
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    let mut request = Request::new(Empty::<bytes::Bytes>::new());
    *request.uri_mut() = path.parse().map_err(|_| "the URL has no path".to_owned())?;
    request
        .headers_mut()
        .insert(ACCEPT, HeaderValue::from_static("application/json"));
    let host = uri.authority().map_or("", |authority| authority.as_str());
    if let Ok(host) = HeaderValue::from_str(host) {
        request.headers_mut().insert(HOST, host);
    }
    let until = kernel::clock::now() + PATIENCE;
    let answer = pick
        .send(request, until)
        .await
        .map_err(|error| error.to_string())?;
    if !answer.status().is_success() {
        return Err(format!("the answer was {}", answer.status()));
    }
    let body = Limited::new(answer.into_body(), KEY_SET_BYTES_MAX)
        .collect()
        .await;
    let body = body.map_err(|error| error.to_string())?;
    Ok(body.to_bytes().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    // req: GW-12
    #[test]
    fn no_more_is_read_of_a_file_than_keys_may_have() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("jwks.json");
        let file = std::fs::File::create(&path).unwrap();
        file.set_len(8 << 20).unwrap();
        assert_eq!(read_bounded(&path).unwrap().len(), KEY_SET_BYTES_MAX + 1);
        std::fs::write(&path, "{}").unwrap();
        assert_eq!(read_bounded(&path).unwrap(), b"{}");
        let directory = read_bounded(directory.path()).unwrap_err();
        assert!(directory.to_string().contains("regular"), "{directory}");
    }
}
