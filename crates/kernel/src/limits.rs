//! Every number that bounds something, once, with the relations between them checked by the compiler.

use std::time::Duration;

/// Events the bus keeps for a slow subscriber before it has to reconcile from the snapshot.
pub const BUS_CAPACITY: usize = 1024;
/// Units that may wait for a worker.
pub const WORK_QUEUE: usize = 512;
/// Spans that may wait for a slow sink.
pub const TELEMETRY_QUEUE: usize = 512;
/// Log lines that may wait to be written: a tenth of a second of a core that does nothing but answer and log.
pub const LOG_LINES: usize = 4096;
/// Config changes that may wait to be applied; newer ones replace older ones.
pub const CONFIG_QUEUE: usize = 64;

/// First restart delay of a crashed child: between these two, drawn at random.
pub const RESTART_FIRST_MIN: Duration = Duration::from_millis(100);
/// See [`RESTART_FIRST_MIN`].
pub const RESTART_FIRST_MAX: Duration = Duration::from_millis(500);
/// No restart waits longer than this.
pub const RESTART_CAP: Duration = Duration::from_secs(5);
/// More restarts than this within [`RESTART_WINDOW`] is a crash loop.
pub const RESTART_LOOP: usize = 5;
/// The window in which restarts are counted.
pub const RESTART_WINDOW: Duration = Duration::from_secs(60);

/// Time accepted work may take once a drain has begun, unless configured.
pub const DRAIN_DEADLINE: Duration = Duration::from_secs(3);
/// How long it may by default when a new process has taken over: nobody waits for the old one.
pub const HANDOVER_DEADLINE: Duration = Duration::from_secs(60);
/// The longest drain deadline that may be configured.
pub const DRAIN_DEADLINE_MAX: Duration = Duration::from_secs(600);
/// Time the services that only support others (config watch, reporters) have to end.
pub const SUPPORT_DEADLINE: Duration = Duration::from_millis(500);
/// Time the admin server has to answer what it was asked last.
pub const ADMIN_DEADLINE: Duration = Duration::from_millis(500);
/// Time aborted tasks have to be dropped by the runtime before they are written off.
pub const REAP_DEADLINE: Duration = Duration::from_millis(250);

/// Time a peer has to send a whole request head.
pub const HEAD_TIMEOUT: Duration = Duration::from_secs(5);
/// Time between two pieces of an answer a peer is reading.
pub const WRITE_TIMEOUT: Duration = Duration::from_secs(5);
/// Time a connection may rest between requests.
pub const IDLE_TIMEOUT: Duration = Duration::from_secs(60);
/// Time an idle connection is still listened to after the doors closed: a request already on its way is answered.
pub const LAST_LOOK: Duration = Duration::from_millis(20);
/// How often a full door asks its unused connections to leave while somebody waits for a place.
pub const CROWDED_GLANCE: Duration = Duration::from_millis(50);
/// Time a request head may take while somebody waits for a place.
pub const CROWDED_HEAD: Duration = Duration::from_millis(500);
/// Pause after an accept error that the process itself must recover from (no descriptors left).
pub const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// Connections that may wait to be accepted.
pub const BACKLOG: u32 = 1024;
/// Time after which the system asks a silent peer whether it is still there, and between two such questions.
pub const PEER_SILENCE: Duration = Duration::from_secs(30);
/// See [`PEER_SILENCE`].
pub const PEER_QUESTIONS: Duration = Duration::from_secs(10);
/// Questions without an answer after which a peer is gone.
pub const PEER_CHANCES: u32 = 3;
/// Connections the admin server holds at once.
pub const ADMIN_CONNECTIONS: usize = 256;
/// Bytes of a request head.
pub const HEAD_BYTES: usize = 32 * 1024;
/// Fields of a request head.
pub const HEAD_FIELDS: usize = 100;

/// Whoever does not yield for so long stalls.
pub const STALL: Duration = Duration::from_secs(1);
/// How often the watchdog looks.
pub const GLANCE: Duration = Duration::from_millis(100);
/// How often the runtime shows that it turns.
pub const HEARTBEAT: Duration = Duration::from_millis(100);
/// Time a process has to end by itself after its supervisor died.
pub const LAST_BREATH: Duration = Duration::from_secs(1);

/// Jobs the blocking pool runs at once; more wait in [`BLOCKING_QUEUE`].
pub const BLOCKING_THREADS: usize = 8;
/// Blocking jobs that may wait for a thread before newcomers are told `Busy`.
pub const BLOCKING_QUEUE: usize = 64;

/// Config changes closer together than this are applied as one.
pub const CONFIG_SETTLE: Duration = Duration::from_millis(50);
/// How often to see whether the config's directory is still the one that is watched.
pub const WATCH_LOOK: Duration = Duration::from_secs(1);

const _: () = {
    assert!(RESTART_FIRST_MIN.as_millis() < RESTART_FIRST_MAX.as_millis());
    assert!(RESTART_FIRST_MAX.as_millis() < RESTART_CAP.as_millis());
    assert!(RESTART_CAP.as_millis() < RESTART_WINDOW.as_millis());
    assert!(DRAIN_DEADLINE.as_millis() <= HANDOVER_DEADLINE.as_millis());
    assert!(HANDOVER_DEADLINE.as_millis() <= DRAIN_DEADLINE_MAX.as_millis());
    assert!(CROWDED_GLANCE.as_millis() < CROWDED_HEAD.as_millis());
    assert!(CROWDED_HEAD.as_millis() < HEAD_TIMEOUT.as_millis());
    assert!(HEAD_TIMEOUT.as_millis() < IDLE_TIMEOUT.as_millis());
    assert!(REAP_DEADLINE.as_millis() <= ADMIN_DEADLINE.as_millis());
    assert!(CONFIG_SETTLE.as_millis() < DRAIN_DEADLINE.as_millis());
    assert!(BLOCKING_THREADS < BLOCKING_QUEUE);
    assert!(GLANCE.as_millis() + HEARTBEAT.as_millis() < STALL.as_millis());
};
