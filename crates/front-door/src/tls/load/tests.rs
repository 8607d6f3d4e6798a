use std::fs;

use super::*;

struct Pem {
    chain: String,
    key: String,
}

fn issue(names: &[&str]) -> Pem {
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let issued = rcgen::generate_simple_self_signed(names).unwrap();
    Pem {
        chain: issued.cert.pem(),
        key: issued.signing_key.serialize_pem(),
    }
}

fn write(directory: &Path, name: &str, content: &str) -> PathBuf {
    let path = directory.join(name);
    fs::write(&path, content).unwrap();
    path
}

fn one(chain: PathBuf, key: PathBuf) -> TlsFiles {
    TlsFiles {
        certificates: vec![CertificateFiles { chain, key }],
        ..TlsFiles::default()
    }
}

// attack: I-08
#[test]
fn a_key_of_another_certificate_is_found_at_load_and_both_files_are_named() {
    let directory = tempfile::tempdir().unwrap();
    let chain = write(directory.path(), "a.pem", &issue(&["a.test"]).chain);
    let key = write(directory.path(), "b.key", &issue(&["b.test"]).key);
    let error = Tls::load(&one(chain, key)).unwrap_err();
    assert!(matches!(error, TlsError::KeyMismatch { .. }), "{error}");
    let text = error.to_string();
    assert!(text.contains("a.pem") && text.contains("b.key"), "{text}");
}

#[test]
fn every_mistake_names_its_file_and_what_to_do() {
    let directory = tempfile::tempdir().unwrap();
    let good = issue(&["a.test"]);
    let chain = write(directory.path(), "a.pem", &good.chain);
    let key = write(directory.path(), "a.key", &good.key);
    let empty = write(directory.path(), "empty.pem", "nothing here\n");
    let broken = good.chain.replace("MII", "!!!");
    let broken = write(directory.path(), "broken.pem", &broken);
    let nameless = issue(&[]);
    let nameless_chain = write(directory.path(), "nameless.pem", &nameless.chain);
    let nameless_key = write(directory.path(), "nameless.key", &nameless.key);
    let missing = directory.path().join("missing.pem");
    let cases = [
        (
            one(missing, key.clone()),
            "missing.pem",
            "check that it exists",
        ),
        (
            one(empty.clone(), key.clone()),
            "empty.pem",
            "followed by its intermediates",
        ),
        (
            one(chain.clone(), empty.clone()),
            "empty.pem",
            "unencrypted",
        ),
        (one(chain.clone(), chain.clone()), "a.pem", "private key"),
        (one(broken, key.clone()), "broken.pem", "cannot be used"),
        (
            one(nameless_chain, nameless_key),
            "nameless.pem",
            "alternative names",
        ),
        (TlsFiles::default(), "", "at least one"),
        (
            TlsFiles {
                clients: ClientCertificates::Required(empty),
                ..one(chain, key)
            },
            "empty.pem",
            "certificate",
        ),
    ];
    for (files, file, remedy) in cases {
        let error = Tls::load(&files).unwrap_err().to_string();
        assert!(error.contains(file) && error.contains(remedy), "{error}");
    }
}

#[test]
fn a_certificate_without_names_may_be_the_default() {
    let directory = tempfile::tempdir().unwrap();
    let nameless = issue(&[]);
    let chain = write(directory.path(), "a.pem", &nameless.chain);
    let key = write(directory.path(), "a.key", &nameless.key);
    let files = TlsFiles {
        first_is_default: true,
        ..one(chain, key)
    };
    assert!(Tls::load(&files).unwrap().names().is_empty());
}
