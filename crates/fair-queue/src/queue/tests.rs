mod bound;
mod laws;
mod ledger;
mod model;
mod room;
mod shortcut;
