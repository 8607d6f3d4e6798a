use super::*;

// req: KN-13
#[test]
fn no_mistake_of_a_route_hides_another() {
    let route = "[[gateway.routes]]\nupstream = 'main'\nhosts = ['b c', 'd e']\nregex = '('\nrewrite = 'nosl'\n\
                 methods = ['get', 'TRACE']\nheaders = { 'x y' = '1', 'x z' = '1' }\n\
                 set_response = { x = \"\\u0001\" }\n";
    let said = mistakes(&format!("{TO}{route}"));
    for part in [
        "test.toml:5:9: gateway.routes[0].hosts: `b c` is no host",
        "gateway.routes[0].hosts: `d e` is no host",
        "test.toml:6:9: gateway.routes[0].regex: `(` is no regular expression",
        "test.toml:7:11: gateway.routes[0].rewrite: `nosl` does not begin at the root",
        "test.toml:8:11: gateway.routes[0].methods: `get` is no method",
        "gateway.routes[0].methods: a request with TRACE is refused",
        "test.toml:9:11: gateway.routes[0].headers: `x y` is no header name",
        "gateway.routes[0].headers: `x z` is no header name",
        "test.toml:10:16: gateway.routes[0].set_response: `x` or its value is no header",
    ] {
        assert_eq!(said.matches(part).count(), 1, "{part}: {said}");
    }
    // What a rewrite makes of groups is told beside what is wrong with anything but its expression.
    let route =
        "routes = [{ upstream = 'main', hosts = ['b c'], regex = '/(a)', rewrite = '/$2' }]\n";
    let said = mistakes(&format!("{TO}{route}"));
    assert!(said.contains("names a group that is not there"), "{said}");
    let route = "routes = [{ upstream = 'main', path = 'a', rewrite = '/b' }]\n";
    let said = mistakes(&format!("{TO}{route}"));
    assert_eq!(said.matches("begin at the root").count(), 1, "{said}");
}

// req: KN-13
#[test]
fn every_mistake_in_a_rule_is_told() {
    let rule = "policy.rules = [{ verdict = 'deny', routes = ['n', 'm'], methods = ['get', 'put'], \
                hosts = ['a b', 'c d'], tenants = ['t t', 'u u'], tags = ['a,b', 'c,d'] }]\n";
    let said = mistakes(&format!("{TO}{rule}"));
    for part in [
        "n", "m", "get", "put", "a b", "c d", "t t", "u u", "a,b", "c,d",
    ] {
        let told = [
            format!(": `{part}` "),
            format!("there is no route `{part}`"),
        ];
        assert!(
            told.iter().any(|told| said.contains(told)),
            "{part}: {said}"
        );
    }
}

// req: KN-13
#[test]
fn a_mistake_is_told_where_it_stands_whatever_its_neighbours_set() {
    let route = "[[gateway.routes]]\nupstream = 'main'\nsplit = [{ upstream = 'main', weight = 1 },\n\
                 { upstream = 'nobody', weight = 1 }]\n\
                 set_request = { x = '1' }\nset_response = { 'a b' = '1', connection = 'x' }\n\
                 remove_request = ['x']\nremove_response = ['c d']\n";
    let said = mistakes(&format!("{TO}{route}"));
    for part in [
        "test.toml:6:14: gateway.routes[0].split[1].upstream: there is no upstream `nobody`",
        "test.toml:8:16: gateway.routes[0].set_response: `a b` or its value is no header",
        "test.toml:8:16: gateway.routes[0].set_response: `connection` is about a connection",
        "test.toml:10:19: gateway.routes[0].remove_response: `c d` is no header name",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    let doors = "listen = ['127.0.0.1:1', '127.0.0.1:3', '127.0.0.1:3']\n\
                 tls.listen = ['127.0.0.1:1', '127.0.0.1:2', '127.0.0.1:2']\n\
                 tls.certificates = [{ cert = '/nope/a.pem', key = '/nope/a.key' }]\n";
    let said = mistakes(&format!("{TO}{doors}"));
    for part in [
        "test.toml:3:10: gateway.listen: 127.0.0.1:1 is listened on twice",
        "test.toml:4:14: gateway.tls.listen: 127.0.0.1:2 is listened on twice",
        "test.toml:3:10: gateway.listen: 127.0.0.1:3 is listened on twice",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
}
