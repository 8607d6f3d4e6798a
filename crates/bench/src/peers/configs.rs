//! The configs of all servers, as files that people read: each begins with why it is fair.

pub(super) const NGINX_TUNED: &str = include_str!("../../peers/nginx-tuned.conf");
pub(super) const NGINX_RELOAD: &str = include_str!("../../peers/nginx-reload.conf");
pub(super) const NGINX_FILES: &str = include_str!("../../peers/nginx-files.conf");
pub(super) const NGINX_CACHE: &str = include_str!("../../peers/nginx-cache.conf");
pub(super) const NGINX_PACKAGED: &str = include_str!("../../peers/nginx-packaged.conf");
pub(super) const NGINX_MAX_CONNS: &str = include_str!("../../peers/nginx-max-conns.conf");
pub(super) const NGINX_LIMIT_CONN: &str = include_str!("../../peers/nginx-limit-conn.conf");
pub(super) const HAPROXY_TUNED: &str = include_str!("../../peers/haproxy-tuned.cfg");
pub(super) const HAPROXY_QUEUE: &str = include_str!("../../peers/haproxy-queue.cfg");
pub(super) const HAPROXY_EXPERT: &str = include_str!("../../peers/haproxy-expert.cfg");
pub(super) const VARNISH_CACHE: &str = include_str!("../../peers/varnish-cache.vcl");
pub(super) const GATEWAY: &str = include_str!("../../peers/macronode-gateway.toml");
pub(super) const OVERLOAD: &str = include_str!("../../peers/macronode-overload.toml");
pub(super) const PACKS: &str = include_str!("../../peers/macronode-packs.toml");
pub(super) const WORKERS: &str = include_str!("../../peers/macronode-workers.toml");
pub(super) const CACHE: &str = include_str!("../../peers/macronode-cache.toml");

/// By file name, for the report.
pub const ALL: &[(&str, &str)] = &[
    ("nginx-tuned.conf", NGINX_TUNED),
    ("nginx-reload.conf", NGINX_RELOAD),
    ("nginx-files.conf", NGINX_FILES),
    ("nginx-cache.conf", NGINX_CACHE),
    ("nginx-packaged.conf", NGINX_PACKAGED),
    ("nginx-max-conns.conf", NGINX_MAX_CONNS),
    ("nginx-limit-conn.conf", NGINX_LIMIT_CONN),
    ("haproxy-tuned.cfg", HAPROXY_TUNED),
    ("haproxy-queue.cfg", HAPROXY_QUEUE),
    ("haproxy-expert.cfg", HAPROXY_EXPERT),
    ("varnish-cache.vcl", VARNISH_CACHE),
    ("macronode-gateway.toml", GATEWAY),
    ("macronode-overload.toml", OVERLOAD),
    ("macronode-packs.toml", PACKS),
    ("macronode-cache.toml", CACHE),
    ("macronode-workers.toml", WORKERS),
];

/// Puts values in for `{{name}}`. Config and names are compiled in together, so that none is ever missing.
pub(super) fn fill(config: &str, values: &[(&str, &str)]) -> String {
    let mut text = config.to_owned();
    for (name, value) in values {
        let place = format!("{{{{{name}}}}}");
        assert!(text.contains(&place), "no config has a place for `{name}`");
        text = text.replace(&place, value);
    }
    let open = text
        .find("{{")
        .map(|at| text[at..].chars().take(20).collect::<String>());
    assert_eq!(open, None, "a place of the config was left empty");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_put_into_their_places() {
        let filled = fill("listen {{listen}}; # {{listen}} {x}", &[("listen", "1:2")]);
        assert_eq!(filled, "listen 1:2; # 1:2 {x}");
    }

    #[test]
    #[should_panic(expected = "left empty")]
    fn a_place_without_a_value_is_a_mistake() {
        fill("listen {{listen}}; {{origin}}", &[("listen", "1:2")]);
    }

    #[test]
    #[should_panic(expected = "no config has a place")]
    fn a_value_without_a_place_is_a_mistake() {
        fill("listen", &[("listen", "1:2")]);
    }
}
