//! Settings made ready for looking up: names resolved, mistakes collected.

use std::collections::HashMap;
use std::sync::Arc;

use crate::api_key::ApiKeys;
use crate::capability::RootKeys;
use crate::identity::{Class, Identity, Method, UnixSeconds};
use crate::jwt::{Authorities, Authority};
use crate::limits::Limits;
use crate::secret::Seed;
use crate::settings::{
    ApiKeySetting, Audience, CacheEntries, Issuer, Root, Settings, SettingsError, Standing, Subject,
};
use crate::tenant::{TAGS_MAX, TenantKeys, is_name, is_tenant};

const LEEWAY_SECONDS_MAX: u64 = 600;

type Tags = Box<[Box<str>]>;

pub(crate) struct Tables {
    pub(crate) api_keys: ApiKeys,
    pub(crate) authorities: Authorities,
    pub(crate) roots: RootKeys,
    pub(crate) subjects: HashMap<Box<str>, Arc<Identity>>,
    pub(crate) by_word: Option<(Class, Tags)>,
    pub(crate) tenant_keys: TenantKeys,
    classes: Vec<String>,
    mistakes: Vec<SettingsError>,
}

impl Tables {
    pub(crate) fn new(settings: Settings, seed: &Seed) -> Result<Self, Vec<SettingsError>> {
        let mut tables = Self {
            api_keys: ApiKeys::default(),
            authorities: Authorities::default(),
            roots: RootKeys::default(),
            subjects: HashMap::new(),
            by_word: None,
            tenant_keys: TenantKeys::new(seed),
            classes: settings.classes,
            mistakes: Vec::new(),
        };
        tables.check_classes();
        if !(1..=CacheEntries::MAX).contains(&settings.cache_entries.0) {
            tables.mistakes.push(SettingsError::CacheEntries);
        }
        settings
            .api_keys
            .into_iter()
            .for_each(|key| tables.add_api_key(key));
        settings
            .issuers
            .into_iter()
            .for_each(|issuer| tables.add_issuer(issuer));
        settings
            .roots
            .into_iter()
            .for_each(|root| tables.add_root(root));
        settings
            .subjects
            .into_iter()
            .for_each(|subject| tables.add_subject(subject));
        tables.by_word = settings
            .trusted_header
            .map(|standing| tables.standing("the trusted header", &standing));
        match tables.mistakes.is_empty() {
            true => Ok(tables),
            false => Err(tables.mistakes),
        }
    }

    pub(crate) fn class(&self, name: &str) -> Option<Class> {
        let at = self.classes.iter().position(|class| class == name)?;
        Some(Class(at as u16))
    }

    fn check_classes(&mut self) {
        for (at, class) in self.classes.iter().enumerate() {
            if !is_name(class) || at > usize::from(u16::MAX) {
                self.mistakes.push(SettingsError::BadName {
                    of: "the list of classes".to_owned(),
                    name: class.clone(),
                });
            }
            if self.classes[..at].contains(class) {
                self.mistakes.push(SettingsError::Twice {
                    of: format!("class `{class}`"),
                });
            }
        }
    }

    fn add_api_key(&mut self, key: ApiKeySetting) {
        let of = format!("API key {}", key.hash);
        let identity = self.identity(&of, &key.tenant, &key.standing, key.until, Method::ApiKey);
        let fresh = self.api_keys.add(key.hash, identity);
        self.once(fresh, of);
    }

    fn add_subject(&mut self, subject: Subject) {
        let of = format!("subject `{}`", subject.name);
        let identity = self.identity(
            &of,
            &subject.tenant,
            &subject.standing,
            None,
            Method::Certificate,
        );
        let before = self
            .subjects
            .insert(subject.name.into(), Arc::new(identity));
        self.once(before.is_none(), of);
    }

    fn add_root(&mut self, root: Root) {
        let of = format!("root key `{}`", root.key.id());
        self.resolved(&of, &root.class);
        let fresh = self.roots.add(root.key, &root.class);
        self.once(fresh, of);
    }

    fn add_issuer(&mut self, issuer: Issuer) {
        let of = format!("issuer `{}`", issuer.iss);
        let known = self
            .authorities
            .all()
            .iter()
            .any(|other| other.name() == issuer.iss);
        self.once(!known, of.clone());
        self.mistakes
            .extend(issuer_faults(&issuer).map(|what| SettingsError::Issuer {
                of: of.clone(),
                what,
            }));
        let class = self.resolved(&of, &issuer.class);
        let classes = issuer.classes.iter();
        let classes = classes.map(|(value, class)| (value.clone(), self.resolved(&of, class)));
        let classes = classes.collect();
        self.check_tags(&of, &issuer.tags);
        self.authorities.add(Authority::new(issuer, class, classes));
    }

    fn identity(
        &mut self,
        of: &str,
        tenant: &str,
        standing: &Standing,
        until: Option<UnixSeconds>,
        how: Method,
    ) -> Identity {
        if !is_tenant(tenant) {
            self.mistakes.push(SettingsError::BadTenant {
                of: of.to_owned(),
                tenant: tenant.to_owned(),
            });
        }
        let (class, tags) = self.standing(of, standing);
        Identity {
            tenant: tenant.into(),
            key: self.tenant_keys.key(tenant),
            class,
            tags,
            until,
            how,
            limits: Limits::default(),
        }
    }

    fn standing(&mut self, of: &str, standing: &Standing) -> (Class, Tags) {
        self.check_tags(of, &standing.tags);
        let tags = standing.tags.iter().map(|tag| tag.as_str().into());
        (self.resolved(of, &standing.class), tags.collect())
    }

    fn check_tags(&mut self, of: &str, tags: &[String]) {
        let beyond = tags.iter().skip(TAGS_MAX);
        let bad = tags
            .iter()
            .find(|tag| !is_name(tag))
            .or(beyond.into_iter().next());
        self.mistakes.extend(bad.map(|tag| SettingsError::BadName {
            of: of.to_owned(),
            name: tag.clone(),
        }));
    }

    /// Any class in place of one that is not there: the mistake is noted, and nothing is made of such settings.
    fn resolved(&mut self, of: &str, class: &str) -> Class {
        let found = self.class(class);
        if found.is_none() {
            self.mistakes.push(SettingsError::UnknownClass {
                of: of.to_owned(),
                class: class.to_owned(),
            });
        }
        found.unwrap_or(Class(0))
    }

    fn once(&mut self, fresh: bool, of: String) {
        if !fresh {
            self.mistakes.push(SettingsError::Twice { of });
        }
    }
}

fn issuer_faults(issuer: &Issuer) -> impl Iterator<Item = &'static str> {
    let faults = [
        (issuer.iss.is_empty(), "its name is empty"),
        (
            issuer.audience == Audience::OneOf(Vec::new()),
            "no audience is listed, so no token could be meant for us",
        ),
        (issuer.algorithms.is_empty(), "no algorithm is listed"),
        (
            issuer.leeway_s > LEEWAY_SECONDS_MAX,
            "its clock may be off by ten minutes at most",
        ),
        (
            issuer.tenant_claim.is_empty(),
            "the tenant's claim has no name",
        ),
        (
            !issuer.tenant_prefix.is_empty() && !is_tenant(&issuer.tenant_prefix),
            "the tenant's prefix is not visible ASCII",
        ),
    ];
    faults
        .into_iter()
        .filter_map(|(wrong, what)| wrong.then_some(what))
}
