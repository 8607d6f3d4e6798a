use std::io::{PipeReader, Read};
use std::thread;
use std::time::Instant;

use serde_json::Value;
use tracing::{debug, info, info_span};

use super::*;

const EVENTS: u64 = 10_000;

struct Log {
    kernel: Kernel,
    dispatch: Dispatch,
    telemetry: Telemetry,
    reader: PipeReader,
}

/// A log into a real pipe, which holds 64 KiB and then blocks its writer until somebody reads.
fn log(format: Format, level: &str) -> Log {
    let settings = LogSettings {
        format,
        level: level.to_owned(),
    };
    let (kernel, _stages) = Kernel::new();
    let (reader, sink) = io::pipe().unwrap();
    let (dispatch, telemetry) = assemble(&settings, &kernel, sink, false, Vec::new()).unwrap();
    Log {
        kernel,
        dispatch,
        telemetry,
        reader,
    }
}

impl Log {
    fn with<T>(&self, work: impl FnOnce() -> T) -> T {
        dispatcher::with_default(&self.dispatch, work)
    }

    /// Closes and gives back what was written, line by line.
    fn lines(mut self) -> Vec<String> {
        let reader = thread::Builder::new()
            .spawn(move || {
                let mut text = String::new();
                self.reader.read_to_string(&mut text).unwrap();
                text
            })
            .unwrap();
        assert!(self.telemetry.close(Duration::from_secs(10)));
        reader.join().unwrap().lines().map(str::to_owned).collect()
    }

    fn dropped(&self) -> u64 {
        self.kernel
            .registry
            .counter(&queue::DROPPED, &[LINES.name])
            .get()
    }
}

#[expect(clippy::disallowed_methods, reason = "what is measured is real time")]
pub(super) fn timed<T>(work: impl FnOnce() -> T) -> (Duration, T) {
    let began = Instant::now();
    let done = work();
    (began.elapsed(), done)
}

fn objects(lines: &[String]) -> Vec<Value> {
    lines
        .iter()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
        .collect()
}

fn fill(log: &Log) -> Duration {
    let (took, ()) = timed(|| {
        log.with(|| {
            for number in 0..EVENTS {
                info!(number, padding = "x".repeat(100), "event");
            }
        })
    });
    took
}

// req: KN-21
// attack: K-20
#[test]
fn a_stuck_sink_slows_nobody() {
    let took = fill(&log(Format::Json, "info"));
    assert!(took < Duration::from_secs(1), "{took:?}");
}

// req: KN-21
// attack: K-20
#[test]
fn before_a_stuck_sink_every_line_is_written_or_counted() {
    let log = log(Format::Json, "info");
    fill(&log);
    let dropped = log.dropped();
    assert!(dropped > 0);

    let (told, numbers) = told_and_numbers(&objects(&log.lines()));
    assert_eq!(numbers.len() as u64 + dropped, EVENTS);
    assert_eq!(told, dropped);
    assert!(numbers.is_sorted_by(|a, b| a < b), "out of order");
    assert_eq!(numbers.last(), Some(&(EVENTS - 1)), "the newest is kept");
}

fn told_and_numbers(objects: &[Value]) -> (u64, Vec<u64>) {
    let (mut told, mut numbers) = (0, Vec::new());
    for object in objects {
        match object["number"].as_u64() {
            Some(number) => numbers.push(number),
            None => {
                let message = object["message"].as_str().unwrap();
                let count = message.strip_suffix(" log lines dropped").unwrap();
                told += count.parse::<u64>().unwrap();
            }
        }
    }
    (told, numbers)
}

// req: KN-21
// attack: K-20
#[test]
fn a_burst_of_dropped_lines_is_told_in_few_lines_not_one_each() {
    let log = log(Format::Json, "info");
    fill(&log);
    let objects = objects(&log.lines());
    let notices = objects.iter().filter(|object| object["number"].is_null());
    let notices: Vec<_> = notices.collect();
    assert!((1..=2).contains(&notices.len()), "{notices:?}");
    assert_eq!(notices[0]["level"], "WARN");
    assert_eq!(notices[0]["target"], "kernel::telemetry");
}

// req: KN-17, KN-21
// attack: K-20
#[test]
fn closing_a_stuck_log_returns_at_its_bound() {
    let log = log(Format::Human, "info");
    fill(&log);
    let (took, flushed) = timed(|| log.telemetry.close(Duration::from_millis(100)));
    assert!(!flushed);
    assert!(took >= Duration::from_millis(100), "{took:?}");
    assert!(took < Duration::from_secs(1), "{took:?}");
}

// req: KN-17
#[test]
fn dropping_a_stuck_log_does_not_block() {
    let log = log(Format::Human, "info");
    fill(&log);
    let (took, ()) = timed(|| drop(log.telemetry));
    assert!(took < Duration::from_millis(100), "{took:?}");
}

// req: KN-21
#[test]
fn closing_writes_what_is_queued_and_later_lines_go_nowhere() {
    let log = log(Format::Human, "info");
    log.with(|| (0..100).for_each(|number| info!("line {number}")));
    let dispatch = log.dispatch.clone();
    let lines = log.lines();
    assert_eq!(lines.len(), 100);
    assert!(lines[99].ends_with("line 99"), "{}", lines[99]);
    dispatcher::with_default(&dispatch, || info!("too late"));
}

// req: KN-21
#[test]
fn a_sink_that_refuses_is_counted_and_does_not_end_the_log() {
    let log = log(Format::Human, "info");
    drop(log.reader);
    let work = || (0..3).for_each(|number| info!("line {number}"));
    dispatcher::with_default(&log.dispatch, work);
    assert!(log.telemetry.close(Duration::from_secs(10)));
    let errors = log.kernel.registry.counter(&WRITE_ERRORS, &[]);
    assert_eq!(errors.get(), 3);
}

#[test]
fn a_json_line_is_an_object_with_flat_fields_and_its_span() {
    let log = log(Format::Json, "info");
    log.with(|| {
        let span = info_span!("request", route = "/a");
        let _entered = span.enter();
        info!(answer = 42, text = "a\n\"b\"", "hello");
    });
    let lines = log.lines();
    assert_eq!(lines.len(), 1);
    let object = &objects(&lines)[0];
    assert_eq!(object["level"], "INFO");
    assert_eq!(object["target"], "kernel::telemetry::tests");
    assert_eq!(object["message"], "hello");
    assert_eq!(object["answer"], 42);
    assert_eq!(object["text"], "a\n\"b\"");
    assert_eq!(object["span"]["name"], "request");
    assert_eq!(object["span"]["route"], "/a");
    let timestamp = object["timestamp"].as_str().unwrap();
    assert!(timestamp.ends_with('Z') && timestamp.as_bytes()[10] == b'T');
}

// attack: K-20
#[test]
fn a_json_line_says_what_was_meant_whatever_a_peer_puts_into_it() {
    let log = log(Format::Json, "info");
    let agent = "curl\"},{\\ \r\n\u{0}\u{1f}\u{7f}\u{1b}[2J ü \u{2028}";
    let error = io::Error::other(agent);
    log.with(|| {
        let span = info_span!("outer", inside = agent);
        let _entered = span.enter();
        info!(
            plain = agent,
            shown = %agent,
            debugged = ?agent,
            error = &error as &(dyn std::error::Error + 'static),
            least = i64::MIN,
            most = u64::MAX,
            part = -0.125,
            none = f64::NAN,
            yes = true,
            nothing = Option::<u64>::None,
            "seen {agent}"
        );
        info!("and again");
    });
    let lines = log.lines();
    assert_eq!(lines.len(), 2, "{lines:?}");
    let objects = objects(&lines);
    let object = &objects[0];
    assert_eq!(object["message"], format!("seen {agent}"));
    for name in ["plain", "shown", "error"] {
        assert_eq!(object[name], agent, "{name}");
    }
    assert_eq!(object["debugged"], format!("{agent:?}"));
    assert_eq!(object["span"]["inside"], agent);
    assert_eq!(object["least"], i64::MIN);
    assert_eq!(object["most"], u64::MAX);
    assert_eq!(object["part"], -0.125);
    assert!(object["none"].is_null());
    assert_eq!(object["yes"], true);
    assert!(object.get("nothing").is_none());
    assert_eq!(objects[1]["message"], "and again");
}

#[test]
fn a_peer_cannot_forge_a_line_or_move_the_cursor_of_who_reads() {
    let log = log(Format::Human, "info");
    let agent = "curl\r\nERROR forged \x1b[2J\u{9b}2J";
    log.with(|| {
        let span = info_span!("request", %agent);
        let _entered = span.enter();
        info!(%agent, count = 2, "seen {agent}");
    });
    let lines = log.lines();
    assert_eq!(lines.len(), 1, "{lines:?}");
    let clean = "curl\\r\\nERROR forged \\u{1b}[2J\\u{9b}2J";
    let expected = format!("seen {clean} agent={clean} count=2");
    assert!(lines[0].contains(&expected), "{lines:?}");
    assert!(!lines[0].contains(char::is_control), "{lines:?}");
}

#[test]
fn a_new_level_holds_at_once_and_a_bad_one_changes_nothing() {
    let log = log(Format::Human, "info");
    let say = |text: &str| log.with(|| debug!("{text}"));
    say("one");
    log.telemetry.set_level("debug").unwrap();
    say("two");
    assert!(log.telemetry.set_level("debgu").is_err());
    say("three");
    log.telemetry.set_level("info").unwrap();
    say("four");
    let lines = log.lines();
    let words: Vec<_> = lines
        .iter()
        .filter_map(|line| line.rsplit(' ').next())
        .collect();
    assert_eq!(words, ["two", "three"]);
}

// attack: K-20
#[test]
fn a_process_logs_once_and_its_panics_are_log_lines() {
    let (kernel, _stages) = Kernel::new();
    let settings = LogSettings {
        format: Format::Json,
        level: "off".to_owned(),
    };
    let first = init(&settings, &kernel, Vec::new()).unwrap();
    assert!(matches!(
        init(&settings, &kernel, Vec::new()),
        Err(InitError::Twice)
    ));
    assert!(first.close(Duration::from_secs(10)));
    a_backtrace_is_read_on_a_thread_of_its_own();

    panics::log_panics();
    let log = log(Format::Json, "error");
    log.with(|| {
        let caught = std::panic::catch_unwind(|| panic!("by {}", "design"));
        assert!(caught.is_err());
    });
    let objects = objects(&log.lines());
    let object = &objects[0];
    assert_eq!(object["target"], "panic");
    assert_eq!(object["message"], "by design");
    let location = object["location"].as_str().unwrap();
    assert!(location.contains("telemetry/tests.rs"), "{location}");
    assert!(object.get("backtrace").is_none(), "it is not read there");
    let _restore = std::panic::take_hook();
}

/// Part of the test above: a process has one hook.
fn a_backtrace_is_read_on_a_thread_of_its_own() {
    #[expect(
        clippy::disallowed_methods,
        reason = "two threads of a test, and two words between them"
    )]
    let (said, heard) = std::sync::mpsc::channel();
    let subscriber = Registry::default().with(Told(std::sync::Mutex::new(said)));
    std::panic::set_hook(Box::new(|info| {
        panics::log(info, std::backtrace::Backtrace::force_capture());
    }));
    dispatcher::with_default(&Dispatch::new(subscriber), || {
        let caught = std::panic::catch_unwind(|| panic!("by design"));
        assert!(caught.is_err());
    });
    let mut threads = (0..2).map(|_| heard.recv_timeout(Duration::from_secs(60)).unwrap());
    let own = thread::current().name().map(str::to_owned);
    assert_eq!(threads.next(), Some(own), "the line comes from who panics");
    assert_eq!(threads.next(), Some(Some("backtrace".to_owned())));
}

/// Says on which thread each event came.
struct Told(std::sync::Mutex<std::sync::mpsc::Sender<Option<String>>>);

impl Layer<Registry> for Told {
    fn on_event(
        &self,
        _event: &tracing::Event<'_>,
        _context: tracing_subscriber::layer::Context<'_, Registry>,
    ) {
        let name = thread::current().name().map(str::to_owned);
        // Whoever has heard enough is gone.
        let _ = self.0.lock().unwrap().send(name);
    }
}
