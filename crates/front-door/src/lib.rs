//! The HTTP door of a service: TLS, HTTP/1.1 and HTTP/2, PROXY protocol, bounds and timeouts, drain.
