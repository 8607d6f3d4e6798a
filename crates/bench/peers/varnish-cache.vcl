# A cache in memory before the origin. Fair: what it is asked for once it keeps for an hour, and one flight for
# all who want the same is what it does by default.
vcl 4.1;

backend default {
    .host = "{{host}}";
    .port = "{{port}}";
}

sub vcl_backend_response {
    set beresp.ttl = 1h;
}
