use super::*;

static WORK: QueueSpec = QueueSpec {
    name: "work",
    capacity: 2,
    on_full: OnFull::RejectNew,
    doc: "test",
};
static LOGS: QueueSpec = QueueSpec {
    name: "logs",
    capacity: 2,
    on_full: OnFull::DropOldest,
    doc: "test",
};
static NEWS: QueueSpec = QueueSpec {
    name: "news",
    capacity: 2,
    on_full: OnFull::Coalesce,
    doc: "test",
};
static CELL: QueueSpec = QueueSpec {
    name: "cell",
    capacity: 1,
    on_full: OnFull::LastWriteWins,
    doc: "test",
};

fn made<T: Send + 'static>(spec: &'static QueueSpec) -> (Registry, Queues, Sender<T>, Receiver<T>) {
    let registry = Registry::default();
    let queues = Queues::new(&registry);
    let (sender, receiver) = bounded(spec, &queues);
    (registry, queues, sender, receiver)
}

// req: KN-03, KN-04
#[test]
fn a_full_reject_new_queue_says_busy_at_once_and_gives_the_item_back() {
    let (registry, _queues, sender, receiver) = made(&WORK);
    sender.try_send(1).unwrap();
    sender.try_send(2).unwrap();
    assert_eq!(sender.try_send(3), Err(Refused::Busy(3)));
    assert_eq!(receiver.try_recv(), Some(1));
    let text = registry.render();
    assert!(text.contains("queue_depth{queue=\"work\"} 1"), "{text}");
    assert!(
        text.contains("queue_refused_total{queue=\"work\"} 1"),
        "{text}"
    );
    assert!(
        text.contains("queue_dropped_total{queue=\"work\"} 0"),
        "{text}"
    );
}

// req: KN-03, KN-04
#[test]
fn a_full_drop_oldest_queue_keeps_the_newest_and_counts_what_it_shed() {
    let (registry, _queues, sender, receiver) = made(&LOGS);
    for line in 0..5 {
        sender.try_send(line).unwrap();
    }
    assert_eq!(
        (receiver.try_recv(), receiver.try_recv()),
        (Some(3), Some(4))
    );
    assert!(
        registry
            .render()
            .contains("queue_dropped_total{queue=\"logs\"} 3")
    );
}

// req: KN-03
#[test]
fn a_coalescing_queue_hands_out_only_the_newest() {
    let (registry, _queues, sender, receiver) = made(&NEWS);
    for version in 0..5 {
        sender.try_send(version).unwrap();
    }
    assert_eq!((receiver.try_recv(), receiver.try_recv()), (Some(4), None));
    assert!(
        registry
            .render()
            .contains("queue_coalesced_total{queue=\"news\"} 4")
    );
}

// req: KN-03
#[tokio::test]
async fn a_late_reader_of_a_cell_sees_the_last_write() {
    let (writer, reader) = latest(&CELL, 0);
    writer.send_replace(1);
    writer.send_replace(2);
    let mut late = reader.clone();
    assert_eq!(*late.wait_for(|value| *value == 2).await.unwrap(), 2);
}

#[tokio::test]
async fn receivers_drain_what_is_inside_after_the_last_sender_has_gone() {
    let (_registry, _queues, sender, receiver) = made(&WORK);
    sender.try_send(1).unwrap();
    drop(sender);
    assert_eq!(receiver.recv().await, Some(1));
    assert_eq!(receiver.recv().await, None);
}

#[test]
fn senders_learn_that_the_last_receiver_has_gone() {
    let (_registry, _queues, sender, receiver) = made(&WORK);
    drop(receiver);
    assert_eq!(sender.try_send(1), Err(Refused::Closed(1)));
}

#[test]
fn a_queue_that_is_gone_is_forgotten_by_status_and_gauge() {
    let (registry, queues, sender, receiver) = made(&WORK);
    sender.try_send(1).unwrap();
    assert_eq!(queues.status()[0].depth, 1);
    drop((sender, receiver));
    assert!(queues.status().is_empty());
    assert!(registry.render().contains("queue_depth{queue=\"work\"} 0"));
}

#[tokio::test]
async fn a_receiver_that_never_runs_dry_lets_others_run() {
    static DEEP: QueueSpec = QueueSpec {
        name: "deep",
        capacity: 4096,
        on_full: OnFull::RejectNew,
        doc: "test",
    };
    let (_registry, _queues, sender, receiver) = made(&DEEP);
    let endless = async {
        loop {
            sender.try_send(1).unwrap();
            receiver.recv().await;
        }
    };
    // The timer draws on the same budget, which the endless one has used up each time it is asked.
    let a_while = tokio::time::sleep(std::time::Duration::from_millis(1));
    tokio::select! {
        biased;
        () = endless => unreachable!("it is endless"),
        () = tokio::task::unconstrained(a_while) => {}
    }
}
