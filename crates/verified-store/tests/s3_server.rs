//! Signed requests against a server of somebody else, which checks the signatures: moto, from PyPI.
//!
//! `cargo xtask test` installs it and says where in `MACRONODE_S3_PYTHON`; else it needs `python3 -m pip install
//! 'moto[server]'`, and where that is missing a line says so.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::Duration;
use verified_store::s3::{
    Addressing, Answer, Bucket, Credentials, S3Error, SignedRequest, Span, open_record,
    read_answer, read_page, seal_record,
};
use verified_store::{Hash, Limits, Store, StoreError};

/// The first requests, which make a user, a key, a policy and a bucket, are not checked.
const UNCHECKED: &str = "4";

struct Server {
    child: Child,
    address: String,
    /// Kept open, since the server writes there.
    _log: BufReader<ChildStderr>,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

struct Response {
    status: u16,
    head: String,
    body: Vec<u8>,
}

impl Server {
    fn start() -> Option<Self> {
        let program = std::env::var("MACRONODE_S3_PYTHON").unwrap_or_else(|_| "python3".to_owned());
        let python = |args: &[&str]| {
            let mut command = Command::new(&program);
            command
                .args(args)
                .stdout(Stdio::null())
                .stderr(Stdio::piped());
            command
        };
        let known = python(&["-c", "import moto.server"]).output();
        if !known.is_ok_and(|output| output.status.success()) {
            return None;
        }
        let mut child = python(&["-u", "-m", "moto.server", "-H", "127.0.0.1", "-p", "0"])
            .env("INITIAL_NO_AUTH_ACTION_COUNT", UNCHECKED)
            .spawn()
            .expect("python starts");
        let mut log = BufReader::new(child.stderr.take().expect("piped"));
        let address = loop {
            let mut line = String::new();
            let read = log.read_line(&mut line).expect("it speaks");
            assert!(read > 0, "the server ended before it listened");
            if let Some((_, address)) = line.split_once("http://") {
                break address.trim().to_owned();
            }
        };
        Some(Self {
            child,
            address,
            _log: log,
        })
    }

    fn send(
        &self,
        method: &str,
        target: &str,
        headers: &[(&str, String)],
        body: &[u8],
    ) -> Response {
        let mut stream = TcpStream::connect(&self.address).expect("it listens");
        stream
            .set_read_timeout(Some(Duration::from_secs(60)))
            .expect("a timeout");
        let mut head = format!(
            "{method} {target} HTTP/1.0\r\ncontent-length: {}\r\n",
            body.len()
        );
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str("\r\n");
        stream
            .write_all(&[head.as_bytes(), body].concat())
            .expect("it reads");
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).expect("it answers");
        let split = answer
            .windows(4)
            .position(|part| part == b"\r\n\r\n")
            .expect("a head");
        let head = String::from_utf8_lossy(&answer[..split]).to_lowercase();
        let status = head
            .split(' ')
            .nth(1)
            .and_then(|status| status.parse().ok());
        Response {
            status: status.expect("a status"),
            head,
            body: answer[split + 4..].to_vec(),
        }
    }

    fn ask(&self, request: &SignedRequest, body: &[u8]) -> (Result<Answer, S3Error>, Response) {
        let response = self.send(request.method, &request.target, &request.headers, body);
        (read_answer(request.method, response.status), response)
    }

    /// A form for the part of the server that keeps users.
    fn administer(&self, form: &str) -> String {
        let authorization = "AWS4-HMAC-SHA256 Credential=any/20260101/us-east-1/iam/aws4_request, \
                             SignedHeaders=host, Signature=none";
        let headers = [
            ("host", self.address.clone()),
            (
                "content-type",
                "application/x-www-form-urlencoded".to_owned(),
            ),
            ("authorization", authorization.to_owned()),
        ];
        let response = self.send("POST", "/", &headers, form.as_bytes());
        let text = String::from_utf8_lossy(&response.body).into_owned();
        assert_eq!(response.status, 200, "{text}");
        text
    }

    fn bucket(&self) -> Bucket {
        self.administer("Action=CreateUser&UserName=edge&Version=2010-05-08");
        let keys = self.administer("Action=CreateAccessKey&UserName=edge&Version=2010-05-08");
        let policy = "%7B%22Version%22%3A%222012-10-17%22%2C%22Statement%22%3A%5B%7B%22Effect%22%3A%22Allow%22%2C\
                      %22Action%22%3A%22s3%3A%2A%22%2C%22Resource%22%3A%22%2A%22%7D%5D%7D";
        self.administer(&format!(
            "Action=PutUserPolicy&UserName=edge&PolicyName=all&Version=2010-05-08&PolicyDocument={policy}"
        ));
        let made = self.send("PUT", "/tiles", &[("host", self.address.clone())], b"");
        assert_eq!(made.status, 200);
        let credentials = Credentials {
            access_key: between(&keys, "<AccessKeyId>", "</AccessKeyId>"),
            secret_key: between(&keys, "<SecretAccessKey>", "</SecretAccessKey>"),
            session_token: None,
        };
        self.bucket_with(credentials)
    }

    fn bucket_with(&self, credentials: Credentials) -> Bucket {
        let bucket = Bucket::new(
            &self.address,
            Addressing::Path,
            "tiles",
            "edge/1",
            "us-east-1",
            credentials,
        );
        bucket.expect("a good bucket")
    }
}

fn between(text: &str, start: &str, end: &str) -> String {
    let (_, rest) = text.split_once(start).expect("an answer");
    rest.split_once(end).expect("an answer").0.to_owned()
}

fn now() -> u64 {
    let since = std::time::SystemTime::UNIX_EPOCH.elapsed();
    since.expect("after 1970").as_secs()
}

// req: ED-03
#[test]
fn objects_and_records_live_in_a_bucket_that_checks_signatures() {
    let Some(server) = Server::start() else {
        let said = writeln!(
            std::io::stderr(),
            "the test against an S3 server did not run: python3 -m pip install 'moto[server]'"
        );
        return said.expect("standard error");
    };
    let bucket = server.bucket();
    let stranger = server.bucket_with(Credentials {
        access_key: "AKIAIOSFODNN7EXAMPLE".to_owned(),
        secret_key: "wrong".to_owned(),
        session_token: None,
    });
    let refused = server.ask(&stranger.get_object(&Hash::of(b"x"), None, now()), b"");
    assert_eq!(refused.0, Err(S3Error::Denied));
    objects(&server, &bucket);
    records(&server, &bucket);
}

fn objects(server: &Server, bucket: &Bucket) {
    let bytes: Vec<u8> = (0..300_000_u32).map(|at| (at >> 3) as u8).collect();
    let hash = Hash::of(&bytes);
    assert_eq!(
        server.ask(&bucket.head_object(&hash, now()), b"").0,
        Ok(Answer::Missing)
    );
    assert_eq!(
        server.ask(&bucket.get_object(&hash, None, now()), b"").0,
        Ok(Answer::Missing)
    );
    let (put, response) = server.ask(&bucket.put_object(&hash, now()), &bytes);
    assert_eq!(
        put,
        Ok(Answer::Done),
        "{}",
        String::from_utf8_lossy(&response.body)
    );
    let (found, head) = server.ask(&bucket.head_object(&hash, now()), b"");
    assert_eq!(found, Ok(Answer::Done));
    assert!(
        head.head.contains("content-length: 300000"),
        "{}",
        head.head
    );
    let span = Span {
        first: 70_000,
        last: 70_009,
    };
    let (part, response) = server.ask(&bucket.get_object(&hash, Some(span), now()), b"");
    assert_eq!(
        (part, &response.body[..]),
        (Ok(Answer::Part), &bytes[70_000..70_010])
    );

    let (whole, response) = server.ask(&bucket.get_object(&hash, None, now()), b"");
    assert_eq!(whole, Ok(Answer::Done));
    let store = Store::in_memory(Limits::default());
    let arrives = |bytes: &[u8]| -> Result<(), StoreError> {
        let mut writing = store.begin(Some(bytes.len() as u64))?;
        writing.write(bytes)?;
        writing.commit_expecting(hash)
    };
    arrives(&response.body).expect("what was put");
    let mut other = response.body;
    other[5] ^= 1;
    assert!(
        matches!(arrives(&other), Err(StoreError::Mismatch)),
        "checked on arrival"
    );
    assert_eq!(
        server.ask(&bucket.delete_object(&hash, now()), b"").0,
        Ok(Answer::Done)
    );
    assert_eq!(
        server.ask(&bucket.head_object(&hash, now()), b"").0,
        Ok(Answer::Missing)
    );
    assert_eq!(
        server.ask(&bucket.delete_object(&hash, now()), b"").0,
        Ok(Answer::Done)
    );
}

fn records(server: &Server, bucket: &Bucket) {
    let keys: Vec<Hash> = (0..3_u8).map(|key| Hash::of(&[key])).collect();
    for key in &keys {
        let sealed = seal_record(key, &[Hash::of(b"object")], b"head").expect("small");
        assert_eq!(
            server
                .ask(&bucket.put_record(key, &sealed, now()), &sealed)
                .0,
            Ok(Answer::Done)
        );
    }
    let (found, response) = server.ask(&bucket.get_record(&keys[1], now()), b"");
    assert_eq!(found, Ok(Answer::Done));
    let record = open_record(&keys[1], &response.body).expect("as it was put");
    assert_eq!(
        (record.objects, &record.bytes[..]),
        (vec![Hash::of(b"object")], &b"head"[..])
    );
    assert_eq!(
        server.ask(&bucket.delete_record(&keys[1], now()), b"").0,
        Ok(Answer::Done)
    );
    // This server compares the query after unescaping it, which makes another signature of any slash in a prefix. The
    // published examples vouch for the signing of queries.
    let lifted = server.send("POST", "/moto-api/reset-auth", &[], b"1000");
    assert_eq!(lifted.status, 200);
    let (listed, response) = server.ask(&bucket.list_records(None, now()), b"");
    assert_eq!(
        listed,
        Ok(Answer::Done),
        "{}",
        String::from_utf8_lossy(&response.body)
    );
    let mut page = read_page(&response.body).expect("a page");
    page.keys.sort();
    let mut left = vec![keys[0], keys[2]];
    left.sort();
    assert_eq!((page.keys, page.next), (left, None));
}
