use super::{Page, S3Error, read_page};
use crate::Hash;
use proptest::prelude::*;

fn page(contents: &str, rest: &str) -> String {
    format!(
        "<?xml version=\"1.0\"?>\n<ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">\
         <Name>b</Name>{rest}{contents}</ListBucketResult>"
    )
}

#[test]
fn the_keys_of_a_page_are_those_of_records() {
    let (one, two) = (Hash::of(b"1"), Hash::of(b"2"));
    let contents = format!(
        "<Contents><Key>edge/records/{one}</Key><Size>5</Size></Contents>\
         <Contents><Size>5</Size><Key>records/{two}</Key></Contents>\
         <Contents><Key>records/readme.txt</Key></Contents>"
    );
    let read = read_page(page(&contents, "<IsTruncated>false</IsTruncated>").as_bytes());
    assert_eq!(
        read,
        Ok(Page {
            keys: vec![one, two],
            next: None
        })
    );
    assert_eq!(read_page(page("", "").as_bytes()), Ok(Page::default()));
}

#[test]
fn a_page_that_is_not_the_last_tells_how_to_go_on() {
    let more = "<IsTruncated>true</IsTruncated><NextContinuationToken>a&amp;b&#x2F;&#49;</NextContinuationToken>";
    let read = read_page(page("", more).as_bytes()).expect("a page");
    assert_eq!(read.next.as_deref(), Some("a&b/1"));
}

#[test]
fn what_is_no_page_is_refused() {
    for bad in [
        "",
        "<html><body>login</body></html>",
        "<ListBucketResult>",
        "<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>",
        "<ListBucketResult><IsTruncated>true</IsTruncated>\
         <NextContinuationToken>&what;</NextContinuationToken></ListBucketResult>",
    ] {
        assert_eq!(read_page(bad.as_bytes()), Err(S3Error::Malformed), "{bad}");
    }
    assert_eq!(read_page(&[0xff, 0xfe]), Err(S3Error::Malformed));
}

const SCRAPS: &str =
    "(<(/?(ListBucketResult|Contents|Key|IsTruncated))? ?>?|é|&#?x?1?;|true){0,40}";

proptest! {
    #[test]
    fn any_text_is_read_without_a_panic(text in SCRAPS) {
        let _ = read_page(text.as_bytes());
        let _ = read_page(page(&text, "").as_bytes());
    }
}
