//! Waiting for a turn: a place at the upstream, and one of the route's.

use std::sync::Arc;
use std::time::Duration;

use fair_queue::Refused;

use crate::backend::Backend;
use crate::journey::Journey;
use crate::plan::Route;
use crate::reject::Refusal;

/// A place in fair order, then one of the route's. Who has to wait for that holds no place meanwhile, which would stand
/// empty: it has its turn again when it may use it.
pub(crate) async fn admit(
    journey: &mut Journey,
    backend: &Arc<Backend>,
    route: &Route,
    until: Duration,
    brings_more: bool,
) -> Result<(), Refusal> {
    if !journey.plan.is_let_in() {
        return Err(Refusal::NodeBusy);
    }
    let asked_at = journey.seen;
    take_place(journey, backend, route, until, (asked_at, brings_more)).await?;
    let Some(gate) = &route.gate else {
        return Ok(());
    };
    if let Some(lease) = gate.enter_if_free(journey.seen) {
        journey.gated(lease.into_owned());
        return Ok(());
    }
    journey.steps_back();
    let asked_again_at = journey.seen;
    journey.waits();
    let lease = gate.enter_owned(journey.seen, Some(until)).await;
    let lease = lease.map_err(|busy| Refusal::RouteBusy(busy.retry_after()))?;
    journey.gated(lease);
    journey.look();
    take_place(
        journey,
        backend,
        route,
        until,
        (asked_again_at, brings_more),
    )
    .await
}

async fn take_place(
    journey: &mut Journey,
    backend: &Arc<Backend>,
    route: &Route,
    until: Duration,
    (asked_at, brings_more): (Duration, bool),
) -> Result<(), Refusal> {
    let Some(caller) = &journey.caller else {
        return Err(Refusal::Internal);
    };
    let (slots, usual) = (&backend.body.slots, backend.body.usual.get());
    let work = caller.work(latest_start(journey.seen, until, usual));
    let work = work.cost(route.cost);
    journey.waits();
    let entered = slots.enter(work, usual, journey.seen, brings_more);
    match entered.await {
        Ok(place) => journey.placed(backend, place, asked_at),
        Err(refused) => {
            let late = journey.look() >= until;
            return Err(turned_away(refused, late, || slots.advice(work, usual)));
        }
    }
    Ok(())
}

/// When it is too late to begin: who has a place with no time left to use it wastes the place, and the answer too. At
/// least half of the time there is may be spent waiting, however slow the upstream was.
fn latest_start(now: Duration, until: Duration, usual: Duration) -> Duration {
    until.saturating_sub(usual.min(until.saturating_sub(now) / 2))
}

fn turned_away(refused: Refused, late: bool, advice: impl FnOnce() -> Duration) -> Refusal {
    match refused {
        Refused::Full => Refusal::QueueFull(advice()),
        Refused::TenantFull => Refusal::ShareFull(advice()),
        Refused::Dropped => Refusal::Dropped(advice()),
        Refused::Expired if late => Refusal::DeadlineInQueue,
        Refused::Expired => Refusal::WaitedLong(advice()),
        Refused::Closed => Refusal::Draining,
        Refused::UnknownClass | Refused::Weight | Refused::Cost => Refusal::Internal,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // req: GW-09, GW-02
    #[test]
    fn nobody_begins_with_less_time_left_than_it_takes_yet_half_of_it_may_be_waited() {
        let ms = Duration::from_millis;
        assert_eq!(latest_start(ms(100), ms(2_100), ms(50)), ms(2_050));
        assert_eq!(latest_start(ms(100), ms(2_100), ms(0)), ms(2_100));
        assert_eq!(latest_start(ms(100), ms(2_100), ms(60_000)), ms(1_100));
        assert_eq!(latest_start(ms(300), ms(200), ms(50)), ms(200));
    }
}
