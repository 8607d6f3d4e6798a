//! Everything the overlay answers, as one table: what it serves, bounds and describes is made from it.

use std::time::Duration;

use http::Method;
use schemars::{JsonSchema, Schema, SchemaGenerator};

use super::acts::{LimitAsked, PurgeAsked, Purged, Requested, Set, WeightAsked};
use super::config::Role;
use super::reject::Refusal;
use super::views::{
    ConfigView, EndpointsView, GatesView, PacksView, QueuesView, ReadinessView, RoutesView,
    ServicesView, StatusView, TenantsView,
};

/// A path, its method, what it is for and what bounds it.
pub(crate) struct Route {
    pub(crate) verb: Verb,
    /// With `{name}` where a name stands.
    pub(crate) path: &'static str,
    /// What it is called in the document, in the log and as a gate.
    pub(crate) name: &'static str,
    pub(crate) doc: &'static str,
    pub(crate) need: Role,
    pub(crate) deed: Deed,
    /// The status of what is not refused.
    pub(crate) status: u16,
    /// What the body must be; absent: none is read.
    pub(crate) takes: Option<SchemaOf>,
    pub(crate) gives: Gives,
    /// How long it may take, from the whole head until the answer begins.
    pub(crate) deadline: Duration,
    /// How many may be asking at once.
    pub(crate) at_once: u32,
}

/// The methods.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verb {
    Get,
    Post,
    Put,
}

impl Verb {
    /// The method's name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Verb::Get => "GET",
            Verb::Post => "POST",
            Verb::Put => "PUT",
        }
    }

    /// What `Allow` says where this is the method. What may be read with GET may be with HEAD.
    fn allowed(self) -> &'static str {
        match self {
            Verb::Get => "GET, HEAD",
            other => other.name(),
        }
    }

    fn is(self, method: &Method) -> bool {
        *method == self.name() || (self == Verb::Get && *method == Method::HEAD)
    }
}

/// Makes the schema of a type.
pub(crate) type SchemaOf = fn(&mut SchemaGenerator) -> Schema;

/// What an answer holds.
#[derive(Clone, Copy)]
pub(crate) enum Gives {
    Json(SchemaOf),
    Events,
    Document,
}

/// What is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Deed {
    Status,
    Services,
    Readiness,
    Queues,
    Gates,
    Tenants,
    Routes,
    Endpoints,
    Packs,
    Config,
    Events,
    OpenApi,
    Reload,
    Drain,
    Purge,
    SetWeight,
    SetLimit,
}

const fn reads(path: &'static str, name: &'static str, doc: &'static str, deed: Deed) -> Route {
    Route {
        verb: Verb::Get,
        path,
        name,
        doc,
        need: Role::Read,
        deed,
        status: 200,
        takes: None,
        gives: Gives::Document,
        deadline: Duration::from_secs(2),
        at_once: 16,
    }
}

const fn view<T: JsonSchema>(
    path: &'static str,
    name: &'static str,
    doc: &'static str,
    deed: Deed,
) -> Route {
    Route {
        gives: Gives::Json(schema_of::<T>),
        ..reads(path, name, doc, deed)
    }
}

const fn acts<T: JsonSchema>(
    path: &'static str,
    name: &'static str,
    doc: &'static str,
    deed: Deed,
) -> Route {
    Route {
        verb: Verb::Post,
        need: Role::Operate,
        gives: Gives::Json(schema_of::<T>),
        deadline: Duration::from_secs(5),
        at_once: 4,
        ..reads(path, name, doc, deed)
    }
}

fn schema_of<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<T>()
}

/// Streams of events at once.
pub(crate) const EVENT_STREAMS: u32 = 16;

/// Everything there is.
pub(crate) static ROUTES: [Route; 17] = [
    view::<StatusView>(
        "/v1/status",
        "status",
        "who the node is, how far it has come, where it listens",
        Deed::Status,
    ),
    view::<ServicesView>(
        "/v1/services",
        "services",
        "each supervised service: its life, since when, how often restarted, whether ready",
        Deed::Services,
    ),
    view::<ReadinessView>(
        "/v1/readiness",
        "readiness",
        "whether the node is ready, and each service's reason; 200 either way",
        Deed::Readiness,
    ),
    view::<QueuesView>(
        "/v1/queues",
        "queues",
        "each queue: depth, capacity, what was dropped or refused",
        Deed::Queues,
    ),
    view::<GatesView>(
        "/v1/gates",
        "gates",
        "limits on how many at once, the hardest pressed first",
        Deed::Gates,
    ),
    view::<TenantsView>(
        "/v1/tenants",
        "tenants",
        "tenants of the gateway: share against weight, age of what waits, refusals by reason",
        Deed::Tenants,
    ),
    view::<RoutesView>(
        "/v1/routes",
        "routes",
        "routes of the gateway and what was answered there",
        Deed::Routes,
    ),
    view::<EndpointsView>(
        "/v1/endpoints",
        "endpoints",
        "upstreams of the gateway and their endpoints: state, breaker, latency, connections",
        Deed::Endpoints,
    ),
    view::<PacksView>(
        "/v1/packs",
        "packs",
        "packs of the edge, and why one cannot be served",
        Deed::Packs,
    ),
    view::<ConfigView>(
        "/v1/config",
        "config",
        "the config in force with secrets masked, its number, what came of the last reload, and what was set by hand",
        Deed::Config,
    ),
    Route {
        gives: Gives::Events,
        at_once: EVENT_STREAMS,
        ..reads(
            "/v1/events",
            "events",
            "kernel events as server-sent events: `snapshot` first, then `health`, `config`, `crashed`, `shutdown`; \
             `lagged` with a count and a snapshot to who fell behind. `Last-Event-ID` takes up where an earlier \
             stream ended",
            Deed::Events,
        )
    },
    reads(
        "/openapi.json",
        "openapi",
        "this table as an OpenAPI 3.1 document",
        Deed::OpenApi,
    ),
    Route {
        status: 202,
        ..acts::<Requested>(
            "/v1/reload",
            "reload",
            "reloads the config; /v1/config and `config` events say what came of it",
            Deed::Reload,
        )
    },
    Route {
        status: 202,
        ..acts::<Requested>(
            "/v1/drain",
            "drain",
            "begins the drain, after which the node ends; asking again changes nothing",
            Deed::Drain,
        )
    },
    Route {
        takes: Some(schema_of::<PurgeAsked>),
        ..acts::<Purged>(
            "/v1/purge",
            "purge",
            "forgets what the edge keeps of origins, by path, beginning of paths, or tag",
            Deed::Purge,
        )
    },
    Route {
        verb: Verb::Put,
        takes: Some(schema_of::<WeightAsked>),
        ..acts::<Set>(
            "/v1/tenants/{name}/weight",
            "set-weight",
            "gives a tenant of the config another weight, until the next config is in force",
            Deed::SetWeight,
        )
    },
    Route {
        verb: Verb::Put,
        takes: Some(schema_of::<LimitAsked>),
        ..acts::<Set>(
            "/v1/gates/{name}/limit",
            "set-limit",
            "gives the gate of a route or an opcode (`transport:2:1`) another limit, until the next config is in force",
            Deed::SetLimit,
        )
    },
];

impl Route {
    /// Every refusal this route itself may answer with; those of heads that never became a request aside.
    pub(crate) fn refusals(&self) -> Vec<Refusal> {
        let mut all = vec![Refusal::Unauthorized, Refusal::BadToken, Refusal::Forbidden];
        match self.need {
            Role::Read => all.push(Refusal::Misdirected),
            Role::Operate => all.push(Refusal::CrossSite),
        }
        all.push(Refusal::Busy);
        if self.takes.is_some() {
            all.extend([
                Refusal::BodyTooLarge,
                Refusal::BodyTooSlow,
                Refusal::MediaType,
                Refusal::BadBody(String::new()),
                Refusal::ServiceOff,
                Refusal::Deadline,
            ]);
        }
        match self.deed {
            Deed::SetWeight => all.push(Refusal::UnknownTenant),
            Deed::SetLimit => all.push(Refusal::UnknownGate),
            _ => {}
        }
        all
    }

    /// What stands at `{name}` if this is the path; `Some("")` where the path has no name in it.
    fn matches<'p>(&self, path: &'p str) -> Option<&'p str> {
        let Some((before, after)) = self.path.split_once("{name}") else {
            return (self.path == path).then_some("");
        };
        let name = path.strip_prefix(before)?.strip_suffix(after)?;
        (!name.is_empty() && !name.contains('/')).then_some(name)
    }
}

/// A route and the name in its path, as it stands there.
#[derive(Clone, Copy)]
pub(crate) struct Found<'p> {
    pub(crate) index: usize,
    pub(crate) route: &'static Route,
    pub(crate) name: &'p str,
}

/// The route of a request.
pub(crate) fn find<'p>(method: &Method, path: &'p str) -> Result<Found<'p>, Refusal> {
    // No path has two methods; a test says so.
    for (index, route) in ROUTES.iter().enumerate() {
        if let Some(name) = route.matches(path) {
            return match route.verb.is(method) {
                true => Ok(Found { index, route, name }),
                false => Err(Refusal::OtherMethod(route.verb.allowed())),
            };
        }
    }
    Err(Refusal::NotFound)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    // req: ND-07
    #[test]
    fn every_route_has_a_deadline_a_bound_and_a_path_of_its_own() {
        let paths: BTreeSet<_> = ROUTES.iter().map(|route| route.path).collect();
        let names: BTreeSet<_> = ROUTES.iter().map(|route| route.name).collect();
        assert_eq!((paths.len(), names.len()), (ROUTES.len(), ROUTES.len()));
        for route in &ROUTES {
            assert!(
                !route.deadline.is_zero() && route.at_once > 0,
                "{}",
                route.name
            );
            let changes = route.verb != Verb::Get;
            assert_eq!(changes, route.need == Role::Operate, "{}", route.name);
        }
    }

    // req: ND-09
    #[test]
    fn a_path_is_found_by_its_method_and_its_name() {
        let found = find(&Method::PUT, "/v1/tenants/gold/weight");
        let found = found.unwrap_or_else(|refusal| panic!("{refusal:?}"));
        assert_eq!((found.route.deed, found.name), (Deed::SetWeight, "gold"));
        assert!(find(&Method::HEAD, "/v1/status").is_ok());
        for (method, path, refusal) in [
            (Method::GET, "/v1", Refusal::NotFound),
            (Method::GET, "/v1/status/", Refusal::NotFound),
            (Method::PUT, "/v1/tenants//weight", Refusal::NotFound),
            (Method::PUT, "/v1/tenants/a/b/weight", Refusal::NotFound),
            (Method::PUT, "/v1/status", Refusal::OtherMethod("GET, HEAD")),
            (Method::GET, "/v1/drain", Refusal::OtherMethod("POST")),
            (
                Method::GET,
                "/v1/gates/a/limit",
                Refusal::OtherMethod("PUT"),
            ),
        ] {
            assert_eq!(find(&method, path).err(), Some(refusal), "{method} {path}");
        }
    }
}
