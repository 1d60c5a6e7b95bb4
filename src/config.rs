//! Configuration: defaults < file < environment < flags; the only reader of the environment.
