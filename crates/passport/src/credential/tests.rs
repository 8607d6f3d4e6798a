use super::*;

type Values<'a> = &'a [&'a str];

fn found_where<'a>(
    accepted: &[Kind],
    authorization: Values<'a>,
    api_key: Values<'a>,
    trusted_header: Values<'a>,
    certificate: Option<&'a str>,
) -> Result<Credential<'a>, Denied> {
    fn values<'a>(texts: Values<'a>) -> impl Iterator<Item = &'a [u8]> {
        texts.iter().map(|text| text.as_bytes())
    }
    let offered = Offered {
        authorization: values(authorization),
        api_key: values(api_key),
        trusted_header: values(trusted_header),
        certificate,
    };
    credential_of(offered, |kind| accepted.contains(&kind))
}

const ALL: &[Kind] = &[Kind::ApiKey, Kind::Passport, Kind::Token, Kind::Certificate];

fn found<'a>(
    authorization: Values<'a>,
    api_key: Values<'a>,
    trusted_header: Values<'a>,
    certificate: Option<&'a str>,
) -> Result<Credential<'a>, Denied> {
    found_where(ALL, authorization, api_key, trusted_header, certificate)
}

// req: GW-12
// attack: H-02, H-03
#[test]
fn what_is_of_a_kind_that_is_not_good_here_is_no_credential() {
    let long = format!("Bearer {}", "a".repeat(CREDENTIAL_BYTES_MAX + 1));
    let foreign = [
        "Bearer e.y.J",
        "Bearer mp1_AA",
        "Bearer a b",
        "Bearer",
        "bearer \u{e9}",
        &long,
    ];
    let subject = Some("svc.example");
    let certificate = Ok(Credential::ClientCertificate {
        subject: "svc.example",
    });
    let own = Ok(Credential::ApiKey("k"));
    for value in foreign {
        let kinds = &[Kind::Certificate];
        assert_eq!(
            found_where(kinds, &[value], &["k"], &[], subject),
            certificate
        );
        let kinds = &[Kind::ApiKey];
        assert_eq!(found_where(kinds, &[value], &["k"], &[], subject), own);
        let lines = [value, "Basic b"];
        let none = found_where(kinds, &lines, &[], &[], subject);
        assert_eq!(none, Ok(Credential::None), "{value}");
    }
    let two = found_where(
        &[Kind::ApiKey],
        &["Bearer e.y.J", "Bearer mk_a"],
        &[],
        &[],
        None,
    );
    assert_eq!(
        two,
        Err(Denied::Ambiguous),
        "which of them counts is not clear"
    );
    let both = found_where(&[Kind::ApiKey], &["Bearer mk_a"], &["k"], &[], None);
    assert_eq!(both, Err(Denied::Ambiguous));
    let token = found_where(&[Kind::Token], &["Bearer e.y.J"], &["k", "l"], &[], subject);
    assert_eq!(token, Ok(Credential::Bearer("e.y.J")));
}

#[test]
fn the_scheme_is_read_in_any_case() {
    for value in ["Bearer abc", "bearer abc", "BEARER  abc"] {
        assert_eq!(
            found(&[value], &[], &[], None),
            Ok(Credential::Bearer("abc"))
        );
    }
    for value in ["Bearer", "Bearer ", "Bearer a b", "Bearer \u{e9}"] {
        assert_eq!(
            found(&[value], &[], &[], None),
            Err(Denied::Malformed),
            "{value}"
        );
    }
    for value in ["Basic YTpi", "Bearerabc", "", "bear"] {
        assert_eq!(
            found(&[value], &[], &[], None),
            Ok(Credential::None),
            "{value}"
        );
    }
}

// attack: H-03
#[test]
fn two_credentials_are_none() {
    let ambiguous = Err(Denied::Ambiguous);
    assert_eq!(found(&["Bearer a", "Bearer a"], &[], &[], None), ambiguous);
    assert_eq!(found(&["Bearer a", "Basic b"], &[], &[], None), ambiguous);
    assert_eq!(found(&[], &["a", "a"], &[], None), ambiguous);
    assert_eq!(found(&["Bearer a"], &["a"], &[], None), ambiguous);
    assert_eq!(found(&[], &[], &["acme", "acme"], None), ambiguous);
    assert_eq!(
        found(&["Basic b"], &["a"], &[], None),
        Ok(Credential::ApiKey("a"))
    );
}

// req: GW-12
#[test]
fn a_trusted_hop_speaks_before_the_headers_and_these_before_the_certificate() {
    let subject = Some("svc.example");
    assert_eq!(
        found(&["Bearer a"], &["k"], &["acme"], subject),
        Ok(Credential::TrustedHeader("acme"))
    );
    assert_eq!(
        found(&["Bearer a"], &[], &[], subject),
        Ok(Credential::Bearer("a"))
    );
    let certificate = Credential::ClientCertificate {
        subject: "svc.example",
    };
    assert_eq!(found(&["Basic x"], &[], &[], subject), Ok(certificate));
    assert_eq!(found(&[], &[], &[], None), Ok(Credential::None));
}

// attack: H-03
#[test]
fn what_is_longer_than_the_limit_is_not_looked_at() {
    let long = "a".repeat(CREDENTIAL_BYTES_MAX);
    assert_eq!(
        found(&[], &[&long], &[], None),
        Ok(Credential::ApiKey(&long))
    );
    let longer = "a".repeat(CREDENTIAL_BYTES_MAX + 1);
    assert_eq!(found(&[], &[&longer], &[], None), Err(Denied::TooLong));
    assert_eq!(
        found(&[], &[], &[&"a".repeat(65_536)], None),
        Err(Denied::BadTenant)
    );
}

#[test]
fn debug_tells_the_kind_and_not_the_secret() {
    assert_eq!(format!("{:?}", Credential::ApiKey("hush")), "ApiKey(..)");
    assert_eq!(format!("{:?}", Credential::Bearer("hush")), "Bearer(..)");
}
