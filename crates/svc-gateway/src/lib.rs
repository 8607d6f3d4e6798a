//! The gateway: admission before work, fairness over tenants, deadlines, retries within a budget, drains.
