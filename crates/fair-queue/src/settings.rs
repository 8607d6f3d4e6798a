//! What a queue is made from, and every way in which it can be wrong.

use thiserror::Error;

/// The highest weight of a class or tenant.
pub const MAX_WEIGHT: u32 = 1 << 20;
/// The highest quantum, so that a turn's credit cannot overflow.
pub const MAX_QUANTUM: u64 = 1 << 40;
/// The most items a queue may hold.
pub const MAX_ITEMS: usize = 1 << 24;
/// The most slots there may be.
pub const MAX_LIMIT: usize = (1 << 30) - 1;
/// The most classes there may be.
pub const MAX_CLASSES: usize = 64;

/// A class of work, by its place in [`Settings::classes`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Class(pub u16);

impl Class {
    /// The first of the default classes: nobody known.
    pub const ANON: Self = Self(0);
    /// The second: a known tenant.
    pub const AUTHED: Self = Self(1);
    /// The third: the node's own work.
    pub const INTERNAL: Self = Self(2);

    pub(crate) fn index(self) -> usize {
        usize::from(self.0)
    }
}

/// A class's name and weight.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClassSpec {
    /// For labels.
    pub name: String,
    /// Its share against the other classes.
    pub weight: u32,
}

/// What happens to a newcomer that finds the queue full of unexpired work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Overflow {
    /// The newcomer is refused.
    #[default]
    RejectNew,
    /// The oldest item of its own tenant makes room, or else that of the tenant who holds most.
    DropOldest,
}

/// Everything a queue must know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The classes, addressed by position.
    pub classes: Vec<ClassSpec>,
    /// Cost units that a member of weight 1 may spend in a turn.
    pub quantum: u64,
    /// The highest cost of one item. Never above the quantum: so each turn serves somebody.
    pub max_cost: u64,
    /// Items waiting in all.
    pub max_items: usize,
    /// Items waiting of one tenant.
    pub max_items_per_tenant: usize,
    /// Whether a tenant may also hold no more than is left free: then the queue never fills up with those who flood
    /// it, however many they are, and whoever has little waiting finds room.
    pub room_for_newcomers: bool,
    /// What happens when one of these bounds is reached.
    pub overflow: Overflow,
    /// Places for work at the same time.
    pub limit: usize,
}

impl Default for Settings {
    fn default() -> Self {
        let class = |name: &str, weight| ClassSpec {
            name: name.to_owned(),
            weight,
        };
        Self {
            classes: vec![class("anon", 1), class("authed", 5), class("internal", 10)],
            quantum: 1,
            max_cost: 1,
            max_items: 512,
            max_items_per_tenant: 64,
            room_for_newcomers: false,
            overflow: Overflow::RejectNew,
            limit: 32,
        }
    }
}

/// Why settings, or a live change of them, are refused.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum SettingsError {
    /// No class, or too many.
    #[error("there must be 1 to {MAX_CLASSES} classes")]
    Classes,
    /// A class that is not in the settings.
    #[error("there is no class {}", .0.0)]
    UnknownClass(Class),
    /// A weight of zero would starve; a huge one overflows.
    #[error("a weight must be 1 to {MAX_WEIGHT}")]
    Weight,
    /// A quantum of zero would serve nobody.
    #[error("the quantum must be 1 to {MAX_QUANTUM}")]
    Quantum,
    /// Work that costs more than a turn brings would break the bound.
    #[error("the highest cost must be 1 to the quantum")]
    MaxCost,
    /// A queue without room.
    #[error("the queue must have room for 1 to {MAX_ITEMS} items")]
    MaxItems,
    /// A tenant without room, or with more than there is.
    #[error("a tenant must have room for 1 to all items of the queue")]
    MaxItemsPerTenant,
    /// No slot, or too many.
    #[error("there must be 1 to {MAX_LIMIT} slots")]
    Limit,
}

impl Settings {
    /// The first thing that is wrong.
    pub fn validate(&self) -> Result<(), SettingsError> {
        let within = |ok, error| if ok { Ok(()) } else { Err(error) };
        within(
            (1..=MAX_CLASSES).contains(&self.classes.len()),
            SettingsError::Classes,
        )?;
        self.classes
            .iter()
            .try_for_each(|class| check_weight(class.weight))?;
        check_quantum(self.quantum, 1)?;
        within(
            (1..=self.quantum).contains(&self.max_cost),
            SettingsError::MaxCost,
        )?;
        within(
            (1..=MAX_ITEMS).contains(&self.max_items),
            SettingsError::MaxItems,
        )?;
        within(
            (1..=self.max_items).contains(&self.max_items_per_tenant),
            SettingsError::MaxItemsPerTenant,
        )?;
        check_limit(self.limit)
    }
}

pub(crate) fn check_weight(weight: u32) -> Result<(), SettingsError> {
    match weight {
        1..=MAX_WEIGHT => Ok(()),
        _ => Err(SettingsError::Weight),
    }
}

pub(crate) fn check_quantum(quantum: u64, max_cost: u64) -> Result<(), SettingsError> {
    match quantum {
        0 => Err(SettingsError::Quantum),
        _ if quantum > MAX_QUANTUM => Err(SettingsError::Quantum),
        _ if quantum < max_cost => Err(SettingsError::MaxCost),
        _ => Ok(()),
    }
}

pub(crate) fn check_limit(limit: usize) -> Result<(), SettingsError> {
    match limit {
        1..=MAX_LIMIT => Ok(()),
        _ => Err(SettingsError::Limit),
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;
