//! Who is asking: API keys, JWT, capability tokens, and a bounded cache of what was verified.
