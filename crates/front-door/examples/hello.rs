//! A door that says hello: `cargo run --release -p front-door --example hello -- 127.0.0.1:8080`.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use front_door::{DoorSettings, Fault, InPlace, Service, Visit, serve};
use http::{Response, StatusCode};
use http_body_util::Full;
use kernel::Kernel;
use kernel::drain::{Phase, Plan};
use kernel::serve::Door;
use kernel::supervisor::Supervisor;
use kernel::tree::{Child, ChildSpec, Restart};

static DOOR: ChildSpec = ChildSpec {
    name: "door",
    doc: "says hello",
    depends_on: &[],
    phase: Phase::Intake,
    restart: Restart::Always,
    essential: true,
};

struct Hello;

impl Service for Hello {
    type Body = Full<Bytes>;

    async fn call(&self, _request: InPlace<'_>, _visit: &Visit) -> Response<Full<Bytes>> {
        Response::new(Full::new(Bytes::from_static(b"hello\n")))
    }

    fn refuse(&self, fault: Fault, _visit: &Visit) -> Response<Bytes> {
        let mut answer = Response::new(Bytes::from_static(b"refused\n"));
        *answer.status_mut() = match fault {
            Fault::Malformed => StatusCode::BAD_REQUEST,
            Fault::HeadTooLarge => StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
            Fault::TargetTooLong => StatusCode::URI_TOO_LONG,
            Fault::Panic => StatusCode::INTERNAL_SERVER_ERROR,
        };
        answer
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let address = std::env::args().nth(1).ok_or("say where to listen")?;
    let door = Door::bind("hello", address.parse()?)?;
    let settings = Arc::new(DoorSettings::default());
    let child = Child::new(&DOOR, move |context| {
        let settings = settings.clone();
        let live = move || settings.clone();
        serve(context, door.clone(), live, Arc::new(Hello))
    });
    let (kernel, publisher) = Kernel::new();
    let plan = || Plan {
        accept_grace: Duration::ZERO,
        deadline: Duration::from_secs(3),
    };
    Supervisor::new(kernel, publisher, vec![child])?
        .run(plan)
        .await;
    Ok(())
}
