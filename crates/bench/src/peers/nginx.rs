//! nginx's configs. One process: what it is measured with is what a worker does.

use std::net::SocketAddr;

use super::launch::ACCESS_LOG;
use super::{Door, Place};

/// A tuned proxy: connections kept on both sides, nothing written to disk.
pub fn tuned(place: &Place) -> String {
    let (listen, tls) = match place.door {
        Door::Plain => ("", ""),
        Door::Http2 => (" http2", ""),
        Door::Tls => (" ssl", TLS),
    };
    let (address, log) = (place.listen, access_log(place));
    let upstream = upstream(place, "");
    whole(
        16_384,
        &format!(
            "{log}
    keepalive_requests 1000000000;
    client_body_buffer_size 32k;
    proxy_buffers 16 16k;
    {upstream}
    server {{
        listen {address}{listen} backlog=4096;
        {tls}
        {KEPT_LOCATION}
    }}"
        ),
    )
}

const TLS: &str = "ssl_certificate cert.pem;
        ssl_certificate_key key.pem;
        ssl_protocols TLSv1.2 TLSv1.3;
        ssl_session_cache shared:tls:10m;";

const KEPT_LOCATION: &str = "location / {
            proxy_pass http://origin;
            proxy_http_version 1.1;
            proxy_set_header Connection \"\";
            proxy_set_header Host $host;
            proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
        }";

/// Files beside the config, opened once and sent by the kernel.
pub fn files(listen: SocketAddr) -> String {
    whole(
        16_384,
        &format!(
            "access_log off;
    keepalive_requests 1000000000;
    sendfile on;
    tcp_nopush on;
    open_file_cache max=100 inactive=1h;
    open_file_cache_valid 1h;
    default_type application/octet-stream;
    server {{
        listen {listen} backlog=4096;
        root .;
    }}"
        ),
    )
}

/// As Debian packages it, with the one line that makes it a proxy.
pub fn packaged(place: &Place) -> String {
    let (address, origin) = (place.listen, place.origin);
    whole(
        768,
        &format!(
            "access_log access.log;
    sendfile on;
    tcp_nopush on;
    gzip on;
    server {{
        listen {address};
        location / {{ proxy_pass http://{origin}; }}
    }}"
        ),
    )
}

/// As many at once as the origin has places; who comes beyond is refused.
pub fn max_conns(place: &Place, limit: usize) -> String {
    let upstream = upstream(place, &format!(" max_conns={limit}"));
    let address = place.listen;
    whole(
        16_384,
        &format!(
            "access_log off;
    {upstream}
    server {{
        listen {address} backlog=4096;
        {KEPT_LOCATION}
    }}"
        ),
    )
}

/// So many at once of each tenant.
pub fn limit_conn(place: &Place, per_tenant: usize) -> String {
    let (address, upstream) = (place.listen, upstream(place, ""));
    whole(
        16_384,
        &format!(
            "access_log off;
    limit_conn_zone $http_x_tenant zone=tenants:10m;
    {upstream}
    server {{
        listen {address} backlog=4096;
        limit_conn tenants {per_tenant};
        {KEPT_LOCATION}
    }}"
        ),
    )
}

fn upstream(place: &Place, more: &str) -> String {
    let origin = place.origin;
    format!(
        "upstream origin {{
        zone origin 64k;
        server {origin}{more};
        keepalive 512;
        keepalive_requests 1000000000;
    }}"
    )
}

fn access_log(place: &Place) -> String {
    match place.access_log {
        true => format!("access_log {ACCESS_LOG} combined;"),
        false => "access_log off;".to_owned(),
    }
}

fn whole(connections: usize, http: &str) -> String {
    format!(
        "daemon off;
master_process off;
pid nginx.pid;
error_log stderr crit;
worker_rlimit_nofile 20000;
events {{ worker_connections {connections}; }}
http {{
    client_body_temp_path tmp;
    proxy_temp_path tmp;
    fastcgi_temp_path tmp;
    uwsgi_temp_path tmp;
    scgi_temp_path tmp;
    {http}
}}
"
    )
}
