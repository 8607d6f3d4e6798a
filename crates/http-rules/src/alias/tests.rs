use super::*;

fn read(name: &str) -> Option<Alias> {
    alias(&name.parse().expect("a name"))
}

// attack: A-51
#[test]
fn a_name_of_other_characters_than_letters_digits_and_dashes_is_an_alias() {
    for odd in "!#$%&'*+^`|~".chars() {
        for name in [format!("x{odd}tenant"), format!("a{odd}"), odd.to_string()] {
            assert_eq!(read(&name), Some(Alias::Other), "{name}");
        }
    }
    assert_eq!(read("x_tenant"), Some(Alias::Underscore));
    for name in ["x-tenant", "accept", "x-b3-traceid", "-", "0"] {
        assert_eq!(read(name), None, "{name}");
    }
}

// attack: A-51
#[test]
fn a_name_with_dots_is_an_alias_where_it_may_stand_for_one_that_means_something() {
    for name in [
        "x.tenant",
        "x.customer-id",
        "x-forwarded.for",
        "x-real.ip",
        "x-request.id",
        "true.client.ip",
        "content.length",
        "transfer.encoding",
        "proxy.authorization",
        "if.match",
    ] {
        assert_eq!(read(name), Some(Alias::Other), "{name}");
    }
    for name in ["x-amz-meta-a.b", "google.rpc.debuginfo-bin", "com.example"] {
        assert_eq!(read(name), Some(Alias::Dot), "{name}");
    }
}
