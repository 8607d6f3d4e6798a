//! The overlay's page of the reference: its routes and its reasons, from the tables it is served by.

use super::config::Role;
use super::reject;
use super::routes::ROUTES;
use crate::reference::{code, page, push_table};

/// The page.
pub(crate) fn overlay() -> String {
    let about = "Every path of the overlay API, which `[overlay]` switches on; [openapi.json](openapi.json) describes \
                 bodies and answers. Reading needs no token on loopback.";
    let head = ["path", "role", "deadline", "at once", "what it is for"];
    let routes = ROUTES.iter().map(|route| {
        vec![
            code(&format!("{} {}", route.verb.name(), route.path)),
            match route.need {
                Role::Read => "`read`".to_owned(),
                Role::Operate => "`operate`".to_owned(),
            },
            format!("{} s", route.deadline.as_secs()),
            route.at_once.to_string(),
            route.doc.to_owned(),
        ]
    });
    let mut text = page("Overlay API", about, &head, routes.collect());
    text.push_str(
        "\n## Reasons\n\nIn the order of a request's way, as in [reasons](reasons.md): in body, header and \
         `rejected_total{reason}`.\n\n",
    );
    let head = ["reason", "status", "worth trying again", "meaning"];
    let reasons = reject::all().into_iter().map(|refusal| {
        let retry = match refusal.retry_after() {
            Some(_) => "as `Retry-After` says",
            None => "no",
        };
        vec![
            code(refusal.reason()),
            refusal.status().to_string(),
            retry.to_owned(),
            refusal.detail().into_owned(),
        ]
    });
    push_table(&mut text, &head, reasons.collect());
    text
}
