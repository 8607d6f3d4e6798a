//! What is sent through the servers.

use std::net::SocketAddr;

use crate::load::request;
use crate::peers::Door;

/// One kind of traffic.
#[derive(Clone, Copy, Debug)]
pub(super) struct Case {
    pub(super) name: &'static str,
    pub(super) door: Door,
    pub(super) access_log: bool,
    pub(super) connections: usize,
    pub(super) path: &'static str,
    /// Sent with POST when there is one.
    pub(super) body_bytes: usize,
    pub(super) drive: Drive,
}

/// Who plays the clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Drive {
    Closed,
    H2load,
    Handshakes { resumed: bool },
    Instructions,
}

const PLAIN: Case = Case {
    name: "1 KiB, 64 connections",
    door: Door::Plain,
    access_log: false,
    connections: 64,
    path: "/bytes/1024",
    body_bytes: 0,
    drive: Drive::Closed,
};

impl Case {
    pub(super) const ALL: &[Self] = &[
        PLAIN,
        Self {
            name: "1 KiB, 512 connections",
            connections: 512,
            ..PLAIN
        },
        Self {
            name: "64 KiB, 64 connections",
            path: "/bytes/65536",
            ..PLAIN
        },
        Self {
            name: "POST 16 KiB, 64 connections",
            body_bytes: 16 * 1024,
            ..PLAIN
        },
        Self {
            name: "1 KiB, access log",
            access_log: true,
            ..PLAIN
        },
        Self {
            name: "HTTP/2, 1 KiB, 8 × 32 streams",
            door: Door::Http2,
            drive: Drive::H2load,
            ..PLAIN
        },
        Self {
            name: "TLS 1.3, full handshake",
            door: Door::Tls,
            drive: Drive::Handshakes { resumed: false },
            ..PLAIN
        },
        Self {
            name: "TLS 1.3, resumed handshake",
            door: Door::Tls,
            drive: Drive::Handshakes { resumed: true },
            ..PLAIN
        },
        Self {
            name: "instructions, 1 KiB",
            connections: 8,
            drive: Drive::Instructions,
            ..PLAIN
        },
    ];

    pub(super) fn unit(&self) -> &'static str {
        match self.drive {
            Drive::Instructions => "instructions",
            _ => "µs",
        }
    }

    /// As many headers as a plain client of an API sends.
    pub(super) fn request(&self, target: SocketAddr) -> Vec<u8> {
        let headers = [
            ("User-Agent", "bench/1"),
            ("Accept", "*/*"),
            ("X-Tenant", "bench"),
        ];
        let method = if self.body_bytes > 0 { "POST" } else { "GET" };
        let body = vec![b'x'; self.body_bytes];
        request(method, target, self.path, &headers, &body)
    }
}
