//! Loom models of the shell, and the bugs they must catch.

use model_kit::explore;
use model_kit::hand::poll_once;

mod shell;
