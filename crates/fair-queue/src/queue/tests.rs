mod bound;
mod laws;
mod ledger;
mod model;
mod shortcut;
