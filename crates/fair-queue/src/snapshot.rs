//! The queue as a console shows it: who waits, who is served how much against what is due.

use std::time::Duration;

use crate::ages::Ages;
use crate::moment::Moment;
use crate::queue::Queue;
use crate::settings::Class;

/// One moment of a queue.
#[derive(Clone, Debug, PartialEq)]
pub struct Snapshot {
    /// Slots there are; zero from a core without slots.
    pub limit: usize,
    /// Slots out.
    pub in_use: usize,
    /// Items waiting.
    pub waiting: usize,
    /// Dispatches per second while somebody waited, once measured.
    pub drain_per_second: Option<f64>,
    /// How long dispatched work had waited.
    pub ages: Ages,
    /// Every class, in the order of the settings.
    pub classes: Vec<ClassView>,
    /// The tenants that have most waiting.
    pub tenants: Vec<TenantView>,
}

/// One class.
#[derive(Clone, Debug, PartialEq)]
pub struct ClassView {
    /// As in the settings.
    pub name: String,
    /// Its weight now.
    pub weight: u32,
    /// Items waiting.
    pub waiting: usize,
    /// Slots out.
    pub inflight: usize,
    /// What it may still spend in its turn; below zero it owes.
    pub tokens: i64,
    /// Cost served since the queue began.
    pub served: i64,
    /// How long its oldest item has waited.
    pub oldest: Duration,
}

/// One tenant of a class.
#[derive(Clone, Debug, PartialEq)]
pub struct TenantView {
    /// Its class.
    pub class: Class,
    /// Its id.
    pub tenant: u64,
    /// Its weight in the class.
    pub weight: u32,
    /// Items waiting.
    pub waiting: usize,
    /// How long its oldest item has waited.
    pub oldest: Duration,
    /// What it may still spend in its turn; below zero it owes.
    pub deficit: i64,
    /// Its part of what its class was served since it came into play, 0 to 1.
    pub share: f64,
    /// The part that its weight gives it among the tenants that wait, 0 to 1.
    pub due: f64,
}

impl<T> Queue<T> {
    /// What a console shows, with so many tenants.
    pub fn snapshot(&self, now: Duration, top: usize) -> Snapshot {
        let mut tenants = self.tenants(now);
        let mut oldest = vec![Duration::ZERO; self.classes.len()];
        for tenant in &tenants {
            let class = &mut oldest[tenant.class.index()];
            *class = (*class).max(tenant.oldest);
        }
        tenants.sort_by(|a, b| b.waiting.cmp(&a.waiting).then(a.tenant.cmp(&b.tenant)));
        tenants.truncate(top);
        Snapshot {
            limit: 0,
            in_use: 0,
            waiting: self.waiting,
            drain_per_second: self.drain.per_second(),
            ages: self.ages,
            classes: self.class_views(&oldest),
            tenants,
        }
    }

    /// How long refused work of this tenant would have to wait: at most until all that waits has
    /// been dispatched, and no longer than its own share takes to bring its turn.
    pub fn retry_after(&self, class: Class, tenant: u64) -> Option<Duration> {
        let rate = self.drain.per_second().filter(|rate| *rate > 0.0)?;
        let state = self.classes.get(class.index())?;
        let key = crate::flows::Key {
            tenant,
            class: class.0,
        };
        let flow = self.flows.find(key).map(|id| self.flows.get(id));
        let (weight, ahead) =
            flow.map_or((1, 0), |flow| (flow.member.weight, flow.row.len as usize));
        let newcomer = if ahead == 0 { u64::from(weight) } else { 0 };
        let in_class = f64::from(weight) / (state.busy_weight + newcomer) as f64;
        let busy = self.classes.iter().filter(|other| other.waiting > 0);
        let busy: u64 = busy.map(|other| u64::from(other.spec.weight)).sum();
        let idle = if state.waiting == 0 {
            state.spec.weight
        } else {
            0
        };
        let of_all = f64::from(state.spec.weight) / (busy + u64::from(idle)) as f64;
        let by_share = (ahead + 1) as f64 / (rate * in_class * of_all);
        let by_all = (self.waiting + 1) as f64 / rate;
        Duration::try_from_secs_f64(by_share.min(by_all)).ok()
    }

    fn tenants(&self, now: Duration) -> Vec<TenantView> {
        let view = |flow: &crate::flows::Flow| {
            let class = &self.classes[usize::from(flow.class)];
            let first = self.items.first(&flow.row);
            let of_class = (class.served - flow.class_served_before).max(1);
            TenantView {
                class: Class(flow.class),
                tenant: flow.tenant,
                weight: flow.member.weight,
                waiting: flow.row.len as usize,
                oldest: first.map_or(Duration::ZERO, |first| first.since.until(Moment::of(now))),
                deficit: flow.member.deficit,
                share: flow.served as f64 / of_class as f64,
                due: f64::from(flow.member.weight) / class.busy_weight as f64,
            }
        };
        let waiting = self.flows.iter().filter(|(_, flow)| flow.row.len > 0);
        waiting.map(|(_, flow)| view(flow)).collect()
    }

    fn class_views(&self, oldest: &[Duration]) -> Vec<ClassView> {
        self.classes
            .iter()
            .zip(oldest)
            .map(|(class, oldest)| ClassView {
                name: class.spec.name.clone(),
                weight: class.spec.weight,
                waiting: class.waiting,
                inflight: 0,
                tokens: class.member.deficit,
                served: class.served,
                oldest: *oldest,
            })
            .collect()
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;
