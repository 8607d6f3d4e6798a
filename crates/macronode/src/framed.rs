//! `oap`: a node's transport from the outside, for people and scripts.

use std::io::{Read as _, Write as _};

use bytes::Bytes;
use oap::bridge::take_fields;
use oap::client::{Failure, Response};
use oap::limits::CHUNK_BYTES_MAX;

use crate::cli::{OapCommand, PeerArgs, SendArgs, StreamArgs};
use crate::exit::Exit;
use peer::{Question, dial};

mod load;
mod peer;

/// Does what was asked.
pub(crate) fn oap(command: &OapCommand) -> Exit {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => return say(Exit::Internal, format_args!("no runtime: {error}")),
    };
    let done = runtime.block_on(async {
        match command {
            OapCommand::Hello(args) => hello(args).await,
            OapCommand::Send(args) => send(args).await,
            OapCommand::Stream(args) => stream(args).await,
            OapCommand::Bench(args) => load::bench(args).await,
        }
    });
    match done {
        Ok(exit) => exit,
        Err(Trouble::Usage(why)) => say(Exit::Usage, format_args!("{why}")),
        Err(Trouble::Failed(why)) => say(Exit::Unreachable, format_args!("{why}")),
    }
}

/// Why nothing was answered.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// What was asked for makes no sense.
    Usage(String),
    /// The node did not answer.
    Failed(Failure),
}

impl From<Failure> for Trouble {
    fn from(failure: Failure) -> Self {
        Trouble::Failed(failure)
    }
}

fn say(exit: Exit, why: std::fmt::Arguments<'_>) -> Exit {
    eprintln!("error: {why}");
    exit
}

async fn hello(args: &PeerArgs) -> Result<Exit, Trouble> {
    let client = dial(args)?;
    let agreed = client.ready().await?;
    client.shutdown().await;
    let text = serde_json::to_string_pretty(&agreed);
    println!(
        "{}",
        text.map_err(|error| Trouble::Usage(error.to_string()))?
    );
    Ok(Exit::Ok)
}

async fn send(args: &SendArgs) -> Result<Exit, Trouble> {
    let client = dial(&args.peer)?;
    let question = Question::of(&args.ask)?;
    let payload = question.with(args.payload.as_bytes());
    let response = client.call(&question.ask, payload).await?;
    let exit = show(response, question.bridged).await?;
    client.shutdown().await;
    Ok(exit)
}

async fn stream(args: &StreamArgs) -> Result<Exit, Trouble> {
    let client = dial(&args.peer)?;
    let question = Question::of(&args.ask)?;
    let (upload, pending) = client.open(&question.ask, question.with(b"")).await?;
    let sending = async {
        let mut upload = upload;
        while let Some(piece) = piece_of_input().await {
            upload.send(piece).await?;
        }
        upload.end(Bytes::new()).await
    };
    let hearing = async {
        let response = pending.answer().await?;
        show(response, question.bridged).await
    };
    // A server may answer before it has heard all, and then it hears no more.
    let (sent, heard) = tokio::join!(sending, hearing);
    let exit = match (heard, sent) {
        (Ok(exit), _) => exit,
        (Err(_), Err(failure)) => return Err(failure.into()),
        (Err(trouble), Ok(())) => return Err(trouble),
    };
    client.shutdown().await;
    Ok(exit)
}

/// The next of standard input, nothing at its end.
async fn piece_of_input() -> Option<Bytes> {
    let read = tokio::task::block_in_place(|| {
        let mut piece = vec![0; CHUNK_BYTES_MAX];
        let read = std::io::stdin().lock().read(&mut piece)?;
        piece.truncate(read);
        Ok::<_, std::io::Error>(piece)
    });
    read.ok().filter(|piece| !piece.is_empty()).map(Bytes::from)
}

/// The status, and over the bridge the head, on standard error; what follows on standard output.
async fn show(mut response: Response, bridged: bool) -> Result<Exit, Trouble> {
    let (status, problem) = (response.status(), response.problem());
    eprintln!("{status}");
    if bridged && problem.is_none() {
        let fields = take_fields(response.first());
        let fields = fields.map_err(|refusal| Trouble::Usage(refusal.to_string()))?;
        for (name, value) in &fields {
            eprintln!("{name}: {}", String::from_utf8_lossy(value.as_bytes()));
        }
    }
    let mut out = std::io::stdout().lock();
    while let Some(piece) = response.next().await? {
        let written = out.write_all(&piece).and_then(|()| out.flush());
        if written.is_err() {
            break;
        }
    }
    Ok(match status {
        ..400 => Exit::Ok,
        _ => Exit::Refused,
    })
}
