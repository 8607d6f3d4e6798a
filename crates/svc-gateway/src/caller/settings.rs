//! The config's identities as the verifier takes them.

use std::sync::Arc;

use passport::{
    ApiKeySetting, Audience, Issuer, KeyHash, Root, RootKey, Seed, Settings, Standing, Subject,
    Verifier,
};

use crate::config::{ClassName, IdentityText, JwtText, PassportText};
use crate::metrics::CLASSES;

/// The one who verifies, if the config says how: the one there was, if that says the same.
pub(crate) fn verifier(
    identity: &IdentityText,
    seed: &Seed,
    before: Option<(&IdentityText, &Arc<Verifier>)>,
) -> Result<Option<Arc<Verifier>>, String> {
    if !identity.has_means() {
        return Ok(None);
    }
    if let Some((known, verifier)) = before
        && matters(known) == matters(identity)
    {
        return Ok(Some(verifier.clone()));
    }
    // Tenants that the config knows are of the class it says there, whatever they show.
    let standing = |tags: &[String]| Standing {
        class: word(ClassName::Authed).to_owned(),
        tags: tags.to_vec(),
    };
    let mut settings = Settings {
        classes: CLASSES.iter().map(|class| (*class).to_owned()).collect(),
        ..Settings::default()
    };
    for key in &identity.keys {
        settings.api_keys.push(ApiKeySetting {
            hash: key
                .hash
                .parse::<KeyHash>()
                .map_err(|error| error.to_string())?,
            tenant: key.tenant.clone(),
            standing: standing(&key.tags),
            until: None,
        });
    }
    for subject in &identity.certificates {
        settings.subjects.push(Subject {
            name: subject.subject.clone(),
            tenant: subject.tenant.clone(),
            standing: standing(&subject.tags),
        });
    }
    settings.issuers.extend(identity.jwt.as_ref().map(issuer));
    if let Some(passport) = &identity.passport {
        settings.roots.push(passport.root()?);
    }
    settings.trusted_header = identity.tenant_header.as_ref().map(|_| standing(&[]));
    let made = match before {
        Some((_, verifier)) => verifier.renewed(settings, seed),
        None => Verifier::new(settings, seed),
    };
    match made {
        Ok(verifier) => Ok(Some(Arc::new(verifier))),
        Err(errors) => Err(errors
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join("; ")),
    }
}

/// What of it says who is good: whatever else changes, nobody has to be verified anew.
fn matters(identity: &IdentityText) -> IdentityText {
    IdentityText {
        required: false,
        key_header: None,
        tenant_header: identity.tenant_header.as_ref().map(|_| String::new()),
        jwt: identity.jwt.as_ref().map(|jwt| JwtText {
            refresh_s: 0,
            ..jwt.clone()
        }),
        ..identity.clone()
    }
}

impl PassportText {
    /// The root key with the class of passports that name none, or what is wrong with it.
    pub fn root(&self) -> Result<Root, String> {
        let secret = root_secret(self.root_key.expose());
        let secret = secret.ok_or("identity.passport.root_key: not 64 hexadecimal digits")?;
        let key = RootKey::new(&self.key_id, &secret).map_err(|error| error.to_string())?;
        let class = word(self.class).to_owned();
        Ok(Root { key, class })
    }
}

/// The 32 bytes that 64 hexadecimal digits stand for.
pub(crate) fn root_secret(text: &str) -> Option<[u8; 32]> {
    let digits = text.as_bytes();
    let mut secret = [0; 32];
    if digits.len() != 64 {
        return None;
    }
    for (byte, pair) in secret.iter_mut().zip(digits.chunks_exact(2)) {
        let digit = |digit: u8| (digit as char).to_digit(16);
        *byte = (digit(pair[0])? * 16 + digit(pair[1])?) as u8;
    }
    Some(secret)
}

fn issuer(jwt: &JwtText) -> Issuer {
    Issuer {
        tenant_claim: jwt.tenant_claim.clone(),
        tags_claim: jwt.tags_claim.clone(),
        ..Issuer::new(
            &jwt.issuer,
            Audience::OneOf(vec![jwt.audience.clone()]),
            word(ClassName::Authed),
        )
    }
}

fn word(class: ClassName) -> &'static str {
    CLASSES[crate::plan::class(class).0 as usize]
}
