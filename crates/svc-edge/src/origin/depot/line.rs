//! One request to the bucket and its answer: signed, bounded in time and length, and left alone while it fails.

use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::{HeaderName, HeaderValue, Request, Response};
use http_body::Body;
use http_body_util::Full;
use kernel::Kernel;
use kernel::blocking::Blocking;
use kernel::clock;
use tokio::time::Instant;
use upstream::{Pool, PoolSpec, Reply, SendError, Tried, passive};
use verified_store::Hash;
use verified_store::s3::{Answer, Bucket, S3Error, SignedRequest, read_answer};

use crate::config::S3Text;
use crate::origin::build::trust;

/// How long storage that failed several times in a row is left alone.
const LEFT_ALONE: Duration = Duration::from_secs(5);
/// Bytes of what comes with an answer that nobody wants.
const REMARK_BYTES: u64 = 64 << 10;

/// The way to the bucket.
pub(super) struct Line {
    scheme: http::uri::Scheme,
    bucket: Bucket,
    pub(super) pool: Arc<Pool>,
}

/// Why the bucket was not of help.
#[derive(Debug)]
pub(super) enum Unable {
    /// It failed too often, and is not asked for a while.
    LeftAlone,
    /// It took too long.
    Late,
    /// Nobody answers, or the answer broke off.
    Unreachable(SendError),
    /// The answer is longer than it may be.
    TooLong,
    /// It said no.
    Said(S3Error),
    /// What came is not what was put; of an object its name is known.
    Damaged(Option<Hash>),
}

impl Line {
    pub(super) fn new(kernel: &Kernel, disk: &Blocking, text: &S3Text) -> Result<Self, String> {
        let (endpoint, bucket) = text.bucket()?;
        let tls = endpoint.is_secure().then(|| trust(text.ca.as_deref()));
        let mut left_alone = passive();
        left_alone.open_for = LEFT_ALONE;
        let spec = PoolSpec {
            tls: tls.transpose()?,
            failure_statuses: vec![500, 502, 503, 504],
            slow_start: Duration::ZERO,
            passive: left_alone,
            ..PoolSpec::new("s3", vec![endpoint.clone()])
        };
        Ok(Self {
            scheme: endpoint.scheme,
            bucket,
            pool: Pool::new(spec, &kernel.registry, disk.clone()),
        })
    }

    /// What is there, no longer than `most` bytes; nothing if there is no such thing.
    pub(super) async fn get(
        &self,
        most: u64,
        until: Instant,
        sign: impl Fn(&Bucket, u64) -> SignedRequest,
    ) -> Result<Option<Bytes>, Unable> {
        let (answer, body) = self.call(Bytes::new(), most, until, sign).await?;
        Ok((answer != Answer::Missing).then_some(body))
    }

    /// Whether there is such a thing.
    pub(super) async fn has(
        &self,
        until: Instant,
        sign: impl Fn(&Bucket, u64) -> SignedRequest,
    ) -> Result<bool, Unable> {
        let (answer, _) = self.call(Bytes::new(), REMARK_BYTES, until, sign).await?;
        Ok(answer != Answer::Missing)
    }

    /// Something to be done.
    pub(super) async fn send(
        &self,
        body: Bytes,
        until: Instant,
        sign: impl Fn(&Bucket, u64) -> SignedRequest,
    ) -> Result<(), Unable> {
        self.call(body, REMARK_BYTES, until, sign).await.map(drop)
    }

    async fn call(
        &self,
        body: Bytes,
        most: u64,
        until: Instant,
        sign: impl Fn(&Bucket, u64) -> SignedRequest,
    ) -> Result<(Answer, Bytes), Unable> {
        let exchange = async {
            let signed = sign(&self.bucket, clock::unix_time().as_secs());
            let answer = self.ask(&signed, body, until).await?;
            let meant = read_answer(signed.method, answer.status().as_u16());
            // Read in any case: only then can the connection be used again.
            let most = if meant == Ok(Answer::Done) {
                most
            } else {
                REMARK_BYTES
            };
            let body = read(answer.into_body(), most).await?;
            Ok((meant.map_err(Unable::Said)?, body))
        };
        let done = tokio::time::timeout_at(until, exchange).await;
        done.unwrap_or(Err(Unable::Late))
    }

    /// Sends it; once more where an old connection turned out to be closed. All of it may be repeated.
    async fn ask(
        &self,
        signed: &SignedRequest,
        body: Bytes,
        until: Instant,
    ) -> Result<Response<Reply>, Unable> {
        let (mut tried, mut again) = (Tried::default(), false);
        loop {
            let pick = self.pool.pick(clock::now(), None, &tried);
            let pick = pick.map_err(|_| Unable::LeftAlone)?;
            let request = self
                .request(signed, body.clone())
                .ok_or(Unable::Said(S3Error::Malformed))?;
            match pick.send(request, until).await {
                Ok(answer) => return Ok(answer),
                Err(error) if error.is_stale() && !again => {
                    again = true;
                    tried.note(&error);
                }
                Err(error) => return Err(Unable::Unreachable(error)),
            }
        }
    }

    fn request(&self, signed: &SignedRequest, body: Bytes) -> Option<Request<Full<Bytes>>> {
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = signed.method.parse().ok()?;
        let uri = format!("{}://{}{}", self.scheme, self.bucket.host(), signed.target);
        *request.uri_mut() = uri.parse().ok()?;
        for (name, value) in &signed.headers {
            let name = HeaderName::from_static(name);
            request
                .headers_mut()
                .insert(name, HeaderValue::from_str(value).ok()?);
        }
        Some(request)
    }
}

/// All of a body that is no longer than `most` bytes.
async fn read(mut body: Reply, most: u64) -> Result<Bytes, Unable> {
    let mut whole = BytesMut::new();
    loop {
        let frame = poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await;
        let Some(frame) = frame else {
            return Ok(whole.freeze());
        };
        let Ok(piece) = frame.map_err(Unable::Unreachable)?.into_data() else {
            continue;
        };
        if (whole.len() + piece.len()) as u64 > most {
            return Err(Unable::TooLong);
        }
        whole.extend_from_slice(&piece);
    }
}

impl fmt::Display for Unable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LeftAlone => f.write_str("it failed too often and is left alone for a while"),
            Self::Late => f.write_str("it took too long"),
            Self::Unreachable(error) => error.fmt(f),
            Self::TooLong => f.write_str("what it sends is longer than allowed"),
            Self::Said(error) => error.fmt(f),
            Self::Damaged(_) => f.write_str("what it sends is not what was put there"),
        }
    }
}
