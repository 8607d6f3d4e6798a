//! Pools of upstream endpoints: balancing, health, breakers, slow start, DNS, and the connections themselves.
