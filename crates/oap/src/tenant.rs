//! Tenants by number: what a name is in a header.

/// The number of a tenant: the first sixteen bytes of BLAKE3 of its name. 0 is nobody's.
pub fn tenant_id(name: &str) -> u128 {
    let hash = blake3::hash(name.as_bytes());
    let (id, _rest) = hash
        .as_bytes()
        .split_first_chunk()
        .expect("it has 32 bytes");
    u128::from_be_bytes(*id)
}
