//! Amazon's published examples.

use super::{Signer, Subject, escape, sha256};
use crate::s3::stamp::Stamp;

const EXAMPLE: Signer<'_> = Signer {
    access_key: "AKIAIOSFODNN7EXAMPLE",
    secret_key: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    region: "us-east-1",
    service: "s3",
};
const HOST: &str = "examplebucket.s3.amazonaws.com";
const DAY: &str = "20130524T000000Z";

fn signature(
    method: &str,
    path: &str,
    query: &str,
    body: &[u8],
    more: &[(&'static str, &str)],
) -> String {
    let payload = sha256(body);
    let mut headers = vec![
        ("host", HOST.to_owned()),
        ("x-amz-content-sha256", payload.clone()),
        ("x-amz-date", DAY.to_owned()),
    ];
    headers.extend(
        more.iter()
            .map(|(name, value)| (*name, (*value).to_owned())),
    );
    headers.sort();
    let subject = Subject {
        method,
        path,
        query,
        headers: &headers,
        payload: &payload,
    };
    let text = EXAMPLE.authorization(&subject, &Stamp::new(1_369_353_600));
    let scope =
        "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request,";
    assert!(text.starts_with(scope), "{text}");
    text.rsplit_once("Signature=").expect("signed").1.to_owned()
}

// req: ED-03
#[test]
fn requests_are_signed_as_the_published_examples_are() {
    assert_eq!(
        signature("GET", "/test.txt", "", b"", &[("range", "bytes=0-9")]),
        "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"
    );
    let put = [
        ("date", "Fri, 24 May 2013 00:00:00 GMT"),
        ("x-amz-storage-class", "REDUCED_REDUNDANCY"),
    ];
    let path = escape("/test$file.text", true);
    assert_eq!(
        signature("PUT", &path, "", b"Welcome to Amazon S3.", &put),
        "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"
    );
    assert_eq!(
        signature("GET", "/", "lifecycle=", b"", &[]),
        "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"
    );
    assert_eq!(
        signature("GET", "/", "max-keys=2&prefix=J", b"", &[]),
        "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"
    );
}

#[test]
fn a_request_of_the_general_suite_is_signed_alike() {
    let signer = Signer {
        access_key: "AKIDEXAMPLE",
        secret_key: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
        region: "us-east-1",
        service: "service",
    };
    let headers = [
        ("host", "example.amazonaws.com".to_owned()),
        ("x-amz-date", "20150830T123600Z".to_owned()),
    ];
    let subject = Subject {
        method: "GET",
        path: "/",
        query: "",
        headers: &headers,
        payload: &sha256(b""),
    };
    assert_eq!(
        signer.authorization(&subject, &Stamp::new(1_440_938_160)),
        "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request,\
         SignedHeaders=host;x-amz-date,\
         Signature=5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"
    );
}

#[test]
fn nothing_that_means_something_goes_unescaped() {
    assert_eq!(
        escape("a/b c%?&=+é~", true),
        "a/b%20c%25%3F%26%3D%2B%C3%A9~"
    );
    assert_eq!(escape("a/b", false), "a%2Fb");
}
