//! Every key of the config does something.
