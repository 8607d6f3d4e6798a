//! What is asked for.

use std::net::SocketAddr;

use crate::load::request;

/// Answers of one size.
#[derive(Clone, Copy, Debug)]
pub(super) struct Case {
    pub(super) name: &'static str,
    pub(super) bytes: usize,
    pub(super) connections: usize,
    /// Whether instructions are counted and not time.
    pub(super) instructions: bool,
}

const fn hit(name: &'static str, bytes: usize) -> Case {
    Case {
        name,
        bytes,
        connections: 64,
        instructions: false,
    }
}

impl Case {
    pub(super) const ALL: &[Self] = &[
        hit("hit, 1 KiB", 1024),
        hit("hit, 10 KiB", 10 * 1024),
        hit("hit, 40 KiB", 40 * 1024),
        hit("hit, 512 KiB", 512 * 1024),
        Self {
            connections: 8,
            instructions: true,
            ..hit("instructions, 10 KiB", 10 * 1024)
        },
    ];

    pub(super) fn unit(&self) -> &'static str {
        match self.instructions {
            true => "instructions",
            false => "µs",
        }
    }

    /// As many headers as a map in a browser sends, without those that only browsers' makers read.
    pub(super) fn request(&self, target: SocketAddr, path: &str) -> Vec<u8> {
        let headers = [
            ("User-Agent", "bench/1"),
            ("Accept", "*/*"),
            ("Accept-Encoding", "gzip, deflate, br, zstd"),
            ("Referer", "http://localhost/map"),
        ];
        request("GET", target, path, &headers, b"")
    }
}
