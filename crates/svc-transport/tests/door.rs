//! The transport's door over real sockets. Each test has a house of its own.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of a test, which ends where they fail"
)]

#[path = "door/attacks.rs"]
mod attacks;
#[path = "door/flow.rs"]
mod flow;
#[path = "door/hostile.rs"]
mod hostile;
#[path = "door/house.rs"]
mod house;
#[path = "door/keys.rs"]
mod keys;
#[path = "door/life.rs"]
mod life;
#[path = "door/peer.rs"]
mod peer;
#[path = "door/rooms.rs"]
mod rooms;
