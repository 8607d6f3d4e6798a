use super::*;

#[test]
fn an_endpoint_is_scheme_host_and_port() {
    let parsed = EndpointSpec::parse("http://origin.internal:9000").unwrap();
    assert_eq!((&*parsed.host, parsed.port), ("origin.internal", 9000));
    assert!(!parsed.is_secure());
    assert_eq!(parsed.authority(), "origin.internal:9000");
    let secure = EndpointSpec::parse("https://origin.internal/").unwrap();
    assert_eq!((secure.port, secure.is_secure()), (443, true));
    assert_eq!(secure.authority(), "origin.internal");
    let six = EndpointSpec::parse("http://[::1]:80").unwrap();
    assert_eq!((&*six.host, &*six.authority()), ("::1", "[::1]"));
}

#[test]
fn what_is_no_endpoint_is_told_why() {
    let why = |url| EndpointSpec::parse(url).unwrap_err();
    assert_eq!(why("origin:9000"), BadEndpoint::Malformed);
    assert_eq!(why("http://origin:0"), BadEndpoint::Malformed);
    assert_eq!(why("http://origin:99999"), BadEndpoint::Malformed);
    assert_eq!(why("ftp://origin"), BadEndpoint::Scheme);
    assert_eq!(why("http://origin/path"), BadEndpoint::Extra);
    assert_eq!(why("http://origin?q"), BadEndpoint::Extra);
    assert_eq!(why("http://user@origin"), BadEndpoint::Extra);
    assert_eq!(why("http://origin#part"), BadEndpoint::Extra);
    for nowhere in [
        "http://:80",
        "http://*:80",
        "http://[::g]:80",
        "http://a%20b",
    ] {
        assert_eq!(why(nowhere), BadEndpoint::Malformed, "{nowhere}");
    }
}
