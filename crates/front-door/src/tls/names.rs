//! Which certificate goes with which name.

use std::collections::BTreeMap;
use std::sync::Arc;

use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;

/// Certificates by the names they are for. Of two for one name, the first counts.
#[derive(Debug, Default)]
pub(super) struct Names {
    /// A name that begins with `*.` stands for every name with one label in that place.
    by_name: BTreeMap<String, Arc<CertifiedKey>>,
    default: Option<Arc<CertifiedKey>>,
}

impl Names {
    /// Adds a certificate under all the names it is for; says whether there are any.
    pub(super) fn add(&mut self, key: &Arc<CertifiedKey>) -> bool {
        let certificate = key.cert.first().map(webpki::EndEntityCert::try_from);
        let Some(Ok(certificate)) = certificate else {
            return false;
        };
        let mut any = false;
        for name in certificate.valid_dns_names() {
            any = true;
            let known = self.by_name.entry(name.to_ascii_lowercase());
            known.or_insert_with(|| key.clone());
        }
        any
    }

    pub(super) fn set_default(&mut self, key: Arc<CertifiedKey>) {
        self.default = Some(key);
    }

    pub(super) fn listed(&self) -> Vec<String> {
        self.by_name.keys().cloned().collect()
    }

    fn find(&self, name: &str) -> Option<&Arc<CertifiedKey>> {
        let name = name.to_ascii_lowercase();
        self.by_name.get(&name).or_else(|| {
            let (_, parent) = name.split_once('.')?;
            self.by_name.get(&format!("*.{parent}"))
        })
    }
}

impl ResolvesServerCert for Names {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let named = hello.server_name().and_then(|name| self.find(name));
        named.or(self.default.as_ref()).cloned()
    }
}
