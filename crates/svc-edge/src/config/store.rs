//! Where objects are kept, as it is written.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::S3Text;

/// The store of objects.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug)]
#[serde(deny_unknown_fields, default)]
pub struct StoreText {
    /// Its directory, which belongs to this node alone; absent: in memory only.
    #[schemars(length(min = 1, max = 4096), extend("x-reload" = "restart"))]
    pub dir: Option<String>,
    /// Bytes of all objects together; the least used make room.
    #[schemars(range(min = 0, max = 1_125_899_906_842_624_u64), extend("x-reload" = "restart"))]
    pub bytes: u64,
    /// Bytes of one object.
    #[schemars(range(min = 0, max = 1_099_511_627_776_u64), extend("x-reload" = "restart"))]
    pub object_bytes: u64,
    /// Objects at once.
    #[schemars(range(min = 1, max = 100_000_000), extend("x-reload" = "restart"))]
    pub objects: u64,
    /// A bucket that answers of origins are kept in as well; absent: none.
    pub s3: Option<S3Text>,
}

impl Default for StoreText {
    fn default() -> Self {
        Self {
            dir: None,
            bytes: 256 * 1024 * 1024,
            object_bytes: 64 * 1024 * 1024,
            objects: 1_000_000,
            s3: None,
        }
    }
}
