//! The `macronode` binary.

use std::process::ExitCode;

/// A request makes some forty small allocations; the system's allocator takes twice as long over them.
#[global_allocator]
static HEAP: macronode::Heap = macronode::Heap;

fn main() -> ExitCode {
    macronode::main()
}
