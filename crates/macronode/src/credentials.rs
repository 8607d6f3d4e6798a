//! `key` and `passport`: credentials made, narrowed and read at the command line.

use std::io::Read;
use std::time::Duration;

use kernel::clock;
use passport::{
    ApiKey, Caveat, Credential, Grant, Methods, Passport, Root, RootKey, Seed, UnixSeconds,
    Verifier, is_tenant, random,
};
use serde_json::{Value, json};
use svc_gateway::metrics::CLASSES;

use crate::cli::{AttenuateArgs, ConfigArgs, InspectArgs, KeyCommand, MintArgs, PassportCommand};
use crate::config::load_config;
use crate::exit::Exit;
use crate::table::plain;

/// Longest text read from standard input: no passport is longer.
const MOST_INPUT: u64 = 64 * 1024;

/// Why nothing was made: a sentence for people, and how the command ends.
type Refused = (Exit, String);

/// Makes an API key.
pub(crate) fn key(command: &KeyCommand) -> Exit {
    let KeyCommand::New { tenant } = command;
    said(new_key(tenant))
}

/// Makes, narrows or shows a passport.
pub(crate) fn passport(command: &PassportCommand) -> Exit {
    match command {
        PassportCommand::Mint(args) => said(mint(args, now())),
        PassportCommand::Attenuate(args) => {
            said(given(&args.passport).and_then(|text| attenuate(&text, args, now())))
        }
        PassportCommand::Inspect(args) => inspect(args),
    }
}

fn said(made: Result<String, Refused>) -> Exit {
    match made {
        Ok(text) => {
            println!("{text}");
            Exit::Ok
        }
        Err((exit, why)) => {
            eprintln!("error: {why}");
            exit
        }
    }
}

fn usage(why: impl ToString) -> Refused {
    (Exit::Usage, why.to_string())
}

fn now() -> UnixSeconds {
    UnixSeconds(clock::unix_time().as_secs())
}

fn after(now: UnixSeconds, span: Duration) -> UnixSeconds {
    UnixSeconds(now.0.saturating_add(span.as_secs()))
}

fn drawn<const N: usize>() -> Result<[u8; N], Refused> {
    let bytes = random().ok_or((
        Exit::Internal,
        "the system gives no random numbers".to_owned(),
    ))?;
    Ok(*bytes)
}

fn new_key(tenant: &str) -> Result<String, Refused> {
    if !is_tenant(tenant) {
        return Err(usage("a tenant has 1 to 128 visible ASCII characters"));
    }
    let key = ApiKey::from_random(&drawn()?);
    // A tenant may have quotes in it.
    let tenant = Value::from(tenant);
    Ok(format!(
        "{}\n\n# For the config; whoever reads it cannot make the key from it.\n\
         [[gateway.identity.keys]]\ntenant = {tenant}\nhash = \"{}\"",
        key.text(),
        key.hash()
    ))
}

/// The root key of a config, if it has one, and the class of passports that name none.
fn root(args: &ConfigArgs) -> Result<Option<Root>, Refused> {
    let loaded = load_config(args).map_err(|mistakes| (Exit::Config, mistakes.to_string()))?;
    let identity = loaded.text.gateway.map(|gateway| gateway.identity);
    let Some(text) = identity.and_then(|identity| identity.passport) else {
        return Ok(None);
    };
    text.root().map(Some).map_err(|why| (Exit::Config, why))
}

fn mint(args: &MintArgs, now: UnixSeconds) -> Result<String, Refused> {
    let missing = "the config has no [gateway.identity.passport] with a root_key; name one with --config FILE";
    let root = root(&args.config)?.ok_or((Exit::Config, missing.to_owned()))?;
    known(&args.classes)?;
    let grant = Grant {
        classes: args.classes.clone(),
        tags: args.tags.clone(),
        ..Grant::to(&args.tenant, after(now, args.lasts))
    };
    minted(&root.key, drawn()?, grant)
}

/// A gateway refuses a passport with a class that it does not have.
fn known(classes: &[String]) -> Result<(), Refused> {
    match classes
        .iter()
        .find(|class| !CLASSES.contains(&class.as_str()))
    {
        None => Ok(()),
        Some(other) => Err(usage(format!(
            "there is no class `{}`; known are: {}",
            plain(other),
            CLASSES.join(", ")
        ))),
    }
}

fn minted(root: &RootKey, nonce: [u8; 16], grant: Grant) -> Result<String, Refused> {
    let passport = root.mint(nonce, grant).map_err(usage)?;
    Ok(passport.to_text().to_string())
}

fn attenuate(text: &str, args: &AttenuateArgs, now: UnixSeconds) -> Result<String, Refused> {
    let mut passport = Passport::inspect(text).map_err(usage)?;
    let caveats = caveats(args, now)?;
    if caveats.is_empty() {
        return Err(usage("nothing to add: give --for, --path, --methods, …"));
    }
    for caveat in &caveats {
        passport = passport.attenuate(caveat).map_err(usage)?;
    }
    Ok(passport.to_text().to_string())
}

fn caveats(args: &AttenuateArgs, now: UnixSeconds) -> Result<Vec<Caveat>, Refused> {
    let some = |names: &[String]| (!names.is_empty()).then(|| names.to_vec());
    let methods = match args.methods.is_empty() {
        true => None,
        false => {
            let methods = Methods::of(args.methods.iter().map(String::as_str));
            Some(methods.ok_or(usage("a method is not one that is known"))?)
        }
    };
    let all = [
        args.lasts.map(|span| Caveat::Until(after(now, span))),
        some(&args.classes).map(Caveat::Classes),
        some(&args.tags).map(Caveat::Tags),
        args.path.clone().map(Caveat::Path),
        methods.map(Caveat::Methods),
        args.max_body.map(Caveat::BodyBytesMax),
    ];
    Ok(all.into_iter().flatten().collect())
}

/// What was given as an argument, or comes from standard input.
fn given(passport: &str) -> Result<String, Refused> {
    if passport != "-" {
        return Ok(passport.to_owned());
    }
    let mut text = String::new();
    let read = std::io::stdin().take(MOST_INPUT).read_to_string(&mut text);
    read.map_err(|error| usage(format_args!("standard input: {error}")))?;
    Ok(text.trim().to_owned())
}

fn inspect(args: &InspectArgs) -> Exit {
    let shown = given(&args.passport).and_then(|text| {
        let passport = Passport::inspect(&text).map_err(usage)?;
        let verdict = match root(&args.config)? {
            Some(root) => Some(verify(root, &text, now())?),
            None => None,
        };
        Ok((description(&passport, verdict.as_deref()), verdict))
    });
    match shown {
        Ok((description, verdict)) => {
            match args.json {
                true => println!("{description:#}"),
                false => print!("{}", page(&description, now())),
            }
            match verdict.as_deref() {
                None | Some(GOOD) => Exit::Ok,
                Some(_) => Exit::Refused,
            }
        }
        Err(refused) => said(Err(refused)),
    }
}

/// The verdict on a passport that is good.
const GOOD: &str = "good now";

fn verify(root: Root, text: &str, now: UnixSeconds) -> Result<String, Refused> {
    let settings = passport::Settings {
        classes: CLASSES.map(str::to_owned).to_vec(),
        roots: vec![root],
        ..passport::Settings::default()
    };
    let broken = |why: String| (Exit::Config, why);
    let verifier = Verifier::new(settings, &Seed::from_bytes(drawn()?));
    let verifier = verifier.map_err(|errors| broken(format!("{errors:?}")))?;
    Ok(match verifier.verify(Credential::Bearer(text), now) {
        Ok(_) => GOOD.to_owned(),
        Err(denied) => denied.to_string(),
    })
}

fn description(passport: &Passport, verdict: Option<&str>) -> Value {
    let grant = passport.grant();
    let nonce: String = passport
        .nonce()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    json!({
        "root_key": passport.root(),
        "id": nonce,
        "tenant": grant.tenant,
        "until": grant.until.0,
        "classes": grant.classes,
        "tags": grant.tags,
        "caveats": passport.caveats().collect::<Vec<_>>(),
        "verdict": verdict,
    })
}

fn page(description: &Value, now: UnixSeconds) -> String {
    let words = |value: &Value| match value {
        Value::Array(words) => {
            let words: Vec<_> = words.iter().filter_map(Value::as_str).collect();
            plain(&words.join("  "))
        }
        value => plain(value.as_str().unwrap_or_default()),
    };
    let until = description["until"].as_u64().unwrap_or_default();
    let left = match until.checked_sub(now.0) {
        Some(left) if left > 0 => format!("for {left} s more"),
        _ => "it has ended".to_owned(),
    };
    let verdict = match description["verdict"].as_str() {
        Some(verdict) => plain(verdict),
        None => "not verified: that takes a config with the root key".to_owned(),
    };
    let row = |name: &str, value: String| format!("{name:<9} {value}").trim_end().to_owned() + "\n";
    [
        row("tenant", words(&description["tenant"])),
        row("until", format!("{until} ({left})")),
        row("classes", words(&description["classes"])),
        row("tags", words(&description["tags"])),
        row("caveats", words(&description["caveats"])),
        row("root key", words(&description["root_key"])),
        row("id", words(&description["id"])),
        row("verdict", verdict),
    ]
    .concat()
}

#[cfg(test)]
mod tests;
