//! A bucket behind the store, as it is written.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strict_config::{Report, Secret};
use upstream::EndpointSpec;
use verified_store::s3::{Addressing, Bucket, Credentials};

/// Where the environment holds credentials that the config does not: the names every S3 client knows.
const ENV: [&str; 3] = [
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
];

/// S3-compatible storage in which answers of origins are kept for other nodes and later starts.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug)]
#[serde(deny_unknown_fields)]
pub struct S3Text {
    /// Where the storage is.
    #[schemars(
        length(min = 1, max = 2048),
        extend(
            "x-reload" = "restart",
            "x-url" = true,
            "x-allowed" = "https://host or http://host, with a port if it has one"
        )
    )]
    pub endpoint: String,
    /// The bucket's name.
    #[schemars(length(min = 3, max = 63), extend("x-reload" = "restart"))]
    pub bucket: String,
    /// Its region.
    #[serde(default = "region")]
    #[schemars(length(min = 1, max = 64), extend("x-reload" = "restart"))]
    pub region: String,
    /// What the names of all objects begin with.
    #[serde(default)]
    #[schemars(length(max = 512), extend("x-reload" = "restart", "x-allowed" = "empty, or such as edge/prod"))]
    pub prefix: String,
    /// Whether the bucket's name goes before the path; else before the host's name, as Amazon wants it.
    #[serde(default = "yes")]
    #[schemars(extend("x-reload" = "restart"))]
    pub path_style: bool,
    /// Names the secret key; empty: `AWS_ACCESS_KEY_ID`, and the other two from `AWS_SECRET_ACCESS_KEY` and
    /// `AWS_SESSION_TOKEN`.
    #[serde(default)]
    #[schemars(extend("x-reload" = "restart"))]
    pub access_key: Secret,
    /// Signs requests.
    #[serde(default)]
    #[schemars(extend("x-reload" = "restart"))]
    pub secret_key: Secret,
    /// Comes with credentials that end.
    #[serde(default)]
    #[schemars(extend("x-reload" = "restart"))]
    pub session_token: Secret,
    /// PEM file of the certificates it must be signed by; absent: the system's.
    #[serde(default)]
    #[schemars(length(min = 1, max = 4096), extend("x-reload" = "restart"))]
    pub ca: Option<String>,
    /// How long it may take to find an answer there before the origin is asked, in milliseconds.
    #[serde(default = "find_ms")]
    #[schemars(range(min = 10, max = 60_000), extend("x-reload" = "restart"))]
    pub find_ms: u64,
    /// How long it may take to put one answer there, in milliseconds.
    #[serde(default = "put_ms")]
    #[schemars(range(min = 10, max = 600_000), extend("x-reload" = "restart"))]
    pub put_ms: u64,
}

impl S3Text {
    /// Where to connect and what to ask for there, or what is wrong with it.
    pub(crate) fn bucket(&self) -> Result<(EndpointSpec, Bucket), String> {
        let endpoint = EndpointSpec::parse(&self.endpoint).map_err(|error| error.to_string())?;
        let addressing = match self.path_style {
            true => Addressing::Path,
            false => Addressing::Host,
        };
        let bucket = Bucket::new(
            &endpoint.authority(),
            addressing,
            &self.bucket,
            &self.prefix,
            &self.region,
            self.credentials()?,
        );
        let bucket = bucket.map_err(|error| error.to_string())?;
        // The bucket's name may have become a part of the host's.
        let url = format!("{}://{}", endpoint.scheme, bucket.host());
        let endpoint = EndpointSpec::parse(&url).map_err(|error| error.to_string())?;
        Ok((endpoint, bucket))
    }

    fn credentials(&self) -> Result<Credentials, String> {
        let text = |secret: &Secret| secret.expose().to_owned();
        let mut given = [&self.access_key, &self.secret_key, &self.session_token].map(text);
        if given.iter().all(String::is_empty) {
            given = ENV.map(|name| std::env::var(name).unwrap_or_default());
        }
        let [access_key, secret_key, session_token] = given;
        if access_key.is_empty() || secret_key.is_empty() {
            return Err(format!(
                "no credentials; set them, or {} and {}",
                ENV[0], ENV[1]
            ));
        }
        Ok(Credentials {
            access_key,
            secret_key,
            session_token: (!session_token.is_empty()).then_some(session_token),
        })
    }
}

/// Says what no storage can be.
pub(super) fn check(text: &S3Text, report: &mut Report) {
    if let Err(what) = text.bucket() {
        let remedy = "mend the endpoint, the bucket or the credentials";
        report.contradiction(&["endpoint", "bucket", "access_key"], what, remedy);
    }
}

fn region() -> String {
    "us-east-1".to_owned()
}

fn yes() -> bool {
    true
}

fn find_ms() -> u64 {
    500
}

fn put_ms() -> u64 {
    10_000
}
