use super::*;

fn two() -> (Registry, Readiness) {
    let registry = Registry::default();
    let readiness = Readiness::new(&registry, &Bus::new(&registry));
    readiness.declare("door", true, true);
    readiness.declare("helper", false, false);
    (registry, readiness)
}

// req: KN-10
#[test]
fn a_dropped_signal_means_unready() {
    let (_registry, readiness) = two();
    let signal = readiness.begin("door");
    signal.ready();
    assert_eq!(readiness.of("door"), State::Ready);
    drop(signal);
    assert_eq!(readiness.of("door"), State::Unready);
    assert!(readiness.snapshot().services[0].reason.contains("dropped"));
}

// req: KN-10
#[test]
fn an_earlier_start_cannot_speak_for_a_later_one() {
    let (_registry, readiness) = two();
    let old = readiness.begin("door");
    let new = readiness.begin("door");
    old.ready();
    assert_eq!(readiness.of("door"), State::Unready);
    new.ready();
    drop(old);
    assert_eq!(readiness.of("door"), State::Ready);
}

// req: KN-11
#[test]
fn the_node_is_as_ready_as_its_essential_services_and_degraded_by_the_others() {
    let (registry, readiness) = two();
    assert_eq!(readiness.snapshot().state, State::Unready);
    let door = readiness.begin("door");
    door.ready();
    assert_eq!(
        readiness.snapshot().state,
        State::Degraded,
        "the helper is not up"
    );
    let helper = readiness.begin("helper");
    helper.ready();
    assert_eq!(readiness.snapshot().state, State::Ready);
    helper.degraded("tired");
    assert_eq!(readiness.snapshot().state, State::Degraded);
    assert_eq!(readiness.snapshot().services[1].reason, "tired");
    let text = registry.render();
    assert!(text.contains("readyz_state{service=\"door\"} 2"), "{text}");
    assert!(
        text.contains("readyz_state{service=\"helper\"} 1"),
        "{text}"
    );
    assert!(
        text.contains("ready_dependency_unmet{dep=\"door\"} 0"),
        "{text}"
    );
}

// req: KN-06, KN-11
#[test]
fn a_crash_loop_is_degraded_even_when_the_service_says_ready() {
    let (_registry, readiness) = two();
    let door = readiness.begin("door");
    door.ready();
    readiness.set_crash_loop("door", true);
    assert_eq!(readiness.of("door"), State::Degraded);
    readiness.set_crash_loop("door", false);
    assert_eq!(readiness.of("door"), State::Ready);
}

// req: KN-08, KN-11
#[test]
fn a_draining_node_is_unready_whatever_its_services_say() {
    let (_registry, readiness) = two();
    let (door, helper) = (readiness.begin("door"), readiness.begin("helper"));
    door.ready();
    helper.ready();
    readiness.set_draining();
    let node = readiness.snapshot();
    assert_eq!((node.state, node.draining), (State::Unready, true));
}

// req: KN-12
#[test]
fn each_change_of_state_is_an_event_once() {
    let registry = Registry::default();
    let bus = Bus::new(&registry);
    let readiness = Readiness::new(&registry, &bus);
    readiness.declare("door", true, false);
    let signal = readiness.begin("door");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    runtime.block_on(async {
        let mut events = bus.subscribe("test");
        events.next().await;
        signal.ready();
        signal.ready();
        signal.degraded("a");
        signal.degraded("b");
        let health = |state| {
            crate::bus::Notice::Event(Event::Health {
                service: "door",
                state,
            })
        };
        assert_eq!(events.next().await, health(State::Ready));
        assert_eq!(events.next().await, health(State::Degraded));
        signal.unready("c");
        assert_eq!(events.next().await, health(State::Unready));
    });
}
