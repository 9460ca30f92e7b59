//! The room of derived state: indexes folded from the ledger's records, rebuilt on any doubt.
