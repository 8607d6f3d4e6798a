//! Each server with each of its known remedies.

use crate::peers::{Kind, Place, haproxy, macronode, nginx};

use super::PLACES;

/// A server and its config.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Contender {
    NginxPackaged,
    NginxMaxConns,
    NginxLimitConn,
    HaproxyQueue,
    HaproxyExpert,
    OursLimited,
    OursFound,
}

impl Contender {
    pub(super) const ALL: [Self; 7] = [
        Self::NginxPackaged,
        Self::NginxMaxConns,
        Self::NginxLimitConn,
        Self::HaproxyQueue,
        Self::HaproxyExpert,
        Self::OursLimited,
        Self::OursFound,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::NginxPackaged => "nginx packaged",
            Self::NginxMaxConns => "nginx max_conns=32",
            Self::NginxLimitConn => "nginx limit_conn 16",
            Self::HaproxyQueue => "HAProxy queue",
            Self::HaproxyExpert => "HAProxy expert",
            Self::OursLimited => "macronode limit=32",
            Self::OursFound => "macronode no limit",
        }
    }

    /// What a reader has to know of the config.
    pub(super) fn about(self) -> &'static str {
        match self {
            Self::NginxPackaged => "Debian's `nginx.conf` and `proxy_pass`",
            Self::NginxMaxConns => "`max_conns=32` at the upstream",
            Self::NginxLimitConn => "`limit_conn` of 16 by `X-Tenant`",
            Self::HaproxyQueue => "server `maxconn 32`, `timeout queue 100ms`",
            Self::HaproxyExpert => {
                "server `maxconn 32`, `timeout queue 500ms`, `set-priority-class sc0_conn_cur` by `X-Tenant`"
            }
            Self::OursLimited => "one upstream with `limit = 32`, everything else by default",
            Self::OursFound => "one upstream, everything by default: the limit is found",
        }
    }

    pub(super) fn kind(self) -> Kind {
        match self {
            Self::NginxPackaged | Self::NginxMaxConns | Self::NginxLimitConn => Kind::Nginx,
            Self::HaproxyQueue | Self::HaproxyExpert => Kind::Haproxy,
            Self::OursLimited | Self::OursFound => Kind::Macronode,
        }
    }

    pub(super) fn config(self, place: &Place, weights: &[(&str, u32)]) -> String {
        match self {
            Self::NginxPackaged => nginx::packaged(place),
            Self::NginxMaxConns => nginx::max_conns(place, PLACES),
            Self::NginxLimitConn => nginx::limit_conn(place, PLACES / 2),
            Self::HaproxyQueue => haproxy::queue(place, PLACES, 100),
            Self::HaproxyExpert => haproxy::expert(place, PLACES, 500),
            Self::OursLimited => macronode::overload(place, Some(PLACES), weights),
            Self::OursFound => macronode::overload(place, None, weights),
        }
    }
}
