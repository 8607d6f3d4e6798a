//! A key looked up once: what it gives entry by does not touch the table again.

use std::fmt;
use std::time::Duration;

use crate::entry::Entry;
use crate::keep::Keep;
use crate::lease::Lease;
use crate::limit::LimitError;
use crate::rejection::Rejection;
use crate::sync::Arc;
use crate::wait::Wait;

/// A key and its entry, in one allocation. In this order: a lookup reads the key and then counts a
/// reference just before it, which should not take two cache lines.
#[repr(C)]
pub(crate) struct Node<K> {
    pub(crate) key: K,
    pub(crate) entry: Entry,
}

/// A key's entry. As long as it exists the entry is not evicted, so keep it as long as the key is
/// in use (a connection, a route) and no longer.
pub struct KeyHandle<K> {
    node: Arc<Node<K>>,
    /// A key beyond the cap shares two entries with others and takes the less busy one.
    spare: Option<Arc<Node<K>>>,
}

impl<K> KeyHandle<K> {
    pub(crate) fn own(node: Arc<Node<K>>) -> Self {
        Self { node, spare: None }
    }

    pub(crate) fn shared(node: Arc<Node<K>>, spare: Arc<Node<K>>) -> Self {
        Self {
            node,
            spare: Some(spare),
        }
    }

    /// A slot now or a refusal now.
    #[inline]
    pub fn try_enter(&self, now: Duration) -> Result<Lease<'_, K>, Rejection> {
        let node = self.chosen();
        let pass = node.entry.try_enter(now)?;
        Ok(Lease::new(Keep::borrowed(node), pass, now))
    }

    /// Like [`try_enter`](Self::try_enter), free of the handle's lifetime.
    pub fn try_enter_owned(&self, now: Duration) -> Result<Lease<'static, K>, Rejection> {
        self.try_enter(now).map(Lease::into_owned)
    }

    /// A slot if one is free now, else nothing. That there was none is not counted: who is told so may still wait.
    #[inline]
    pub fn enter_if_free(&self, now: Duration) -> Option<Lease<'_, K>> {
        let node = self.chosen();
        let pass = node.entry.enter_fast(now).ok()?;
        Some(Lease::new(Keep::borrowed(node), pass, now))
    }

    /// Like [`try_enter_owned`](Self::try_enter_owned), with the handle's own reference.
    pub(crate) fn into_lease(self, now: Duration) -> Result<Lease<'static, K>, Rejection> {
        let node = self.into_chosen();
        let pass = node.entry.try_enter(now)?;
        Ok(Lease::new(Keep::owned(node), pass, now))
    }

    /// Whether it is that key's, with an entry of its own.
    #[cfg(feature = "tower")]
    #[inline]
    pub(crate) fn is_own_of(&self, key: &K) -> bool
    where
        K: Eq,
    {
        self.spare.is_none() && self.node.key == *key
    }

    /// A slot if one is free, else the handle, to wait by; the attempt is not counted. Always part of who asks: else
    /// the lease would go through memory on its way there, in parts.
    #[cfg(feature = "tower")]
    #[inline(always)]
    pub(crate) fn enter_at_once(self, now: Duration) -> Result<Lease<'static, K>, Self> {
        // Chosen once: entering changes which of two is the less busy.
        let which = self.less_busy();
        match self.get(which).entry.enter_fast(now) {
            Ok(pass) => Ok(Lease::new(Keep::owned(self.take(which)), pass, now)),
            Err(_) => Err(self),
        }
    }

    /// Like [`enter_owned`](Self::enter_owned), with the handle's own reference.
    #[cfg(feature = "tower")]
    pub(crate) fn into_enter(self, now: Duration) -> crate::Enter<'static, K> {
        crate::Enter::new(Wait::new(Keep::owned(self.into_chosen()), now, None))
    }

    fn into_chosen(self) -> Arc<Node<K>> {
        let which = self.less_busy();
        self.take(which)
    }

    fn take(self, which: Which) -> Arc<Node<K>> {
        match (which, self.spare) {
            (Which::Spare, Some(spare)) => spare,
            _ => self.node,
        }
    }

    /// A slot in order of arrival; waits at most for the key's `wait_timeout` and until the
    /// deadline. A deadline that has passed is refused even where a slot is free.
    ///
    /// This is the bare future; with the feature `tokio` there is [`enter`](Self::enter), which
    /// brings the timer along.
    #[inline]
    pub fn wait(&self, now: Duration, deadline: Option<Duration>) -> Wait<'_, K> {
        Wait::new(Keep::borrowed(self.chosen()), now, deadline)
    }

    /// Like [`wait`](Self::wait), free of the handle's lifetime.
    pub fn wait_owned(&self, now: Duration, deadline: Option<Duration>) -> Wait<'static, K> {
        Wait::new(Keep::owned(Arc::clone(self.chosen())), now, deadline)
    }

    /// A slot in order of arrival; waits at most for the key's `wait_timeout` and until the
    /// deadline. A deadline that has passed is refused even where a slot is free.
    ///
    /// # Panics
    /// When it has to wait outside of a tokio runtime with a timer.
    #[cfg(feature = "tokio")]
    #[inline]
    pub fn enter(&self, now: Duration, deadline: Option<Duration>) -> crate::Enter<'_, K> {
        crate::Enter::new(self.wait(now, deadline))
    }

    /// Like [`enter`](Self::enter), free of the handle's lifetime.
    #[cfg(feature = "tokio")]
    pub fn enter_owned(
        &self,
        now: Duration,
        deadline: Option<Duration>,
    ) -> crate::Enter<'static, K> {
        crate::Enter::new(self.wait_owned(now, deadline))
    }

    /// Another limit from now on. Lowering sends nobody away and admits nobody until enough have
    /// left; raising lets waiters in at once. For a key beyond the cap it moves the limits of the
    /// entries it shares.
    pub fn resize(&self, max: u32) -> Result<(), LimitError> {
        if let Some(spare) = &self.spare {
            spare.entry.resize(max)?;
        }
        self.node.entry.resize(max)
    }

    /// How many are inside.
    pub fn in_flight(&self) -> u32 {
        self.sum(Entry::in_flight)
    }

    /// How many may be.
    pub fn limit(&self) -> u32 {
        self.sum(Entry::limit)
    }

    /// How many wait.
    pub fn waiting(&self) -> u32 {
        self.sum(Entry::waiting)
    }

    /// Whether the key has no entry of its own, the table being full.
    pub fn is_shared(&self) -> bool {
        self.spare.is_some()
    }

    /// Whether the gate was closed.
    pub fn is_closed(&self) -> bool {
        self.node.entry.is_closed()
    }

    fn sum(&self, of: impl Fn(&Entry) -> u32) -> u32 {
        let spare = self.spare.as_ref().map_or(0, |spare| of(&spare.entry));
        of(&self.node.entry) + spare
    }

    #[inline]
    fn chosen(&self) -> &Arc<Node<K>> {
        self.get(self.less_busy())
    }

    #[inline]
    fn get(&self, which: Which) -> &Arc<Node<K>> {
        match (which, &self.spare) {
            (Which::Spare, Some(spare)) => spare,
            _ => &self.node,
        }
    }

    #[inline]
    fn less_busy(&self) -> Which {
        match &self.spare {
            Some(spare) if load(&spare.entry) < load(&self.node.entry) => Which::Spare,
            _ => Which::Node,
        }
    }
}

/// One of the two entries of a key beyond the cap.
#[derive(Clone, Copy)]
enum Which {
    Node,
    Spare,
}

fn load(entry: &Entry) -> u64 {
    u64::from(entry.in_flight()) + u64::from(entry.waiting())
}

impl<K> Clone for KeyHandle<K> {
    fn clone(&self) -> Self {
        Self {
            node: Arc::clone(&self.node),
            spare: self.spare.clone(),
        }
    }
}

impl<K: fmt::Debug> fmt::Debug for KeyHandle<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyHandle")
            .field("key", &self.node.key)
            .field("entry", &self.node.entry)
            .finish_non_exhaustive()
    }
}
