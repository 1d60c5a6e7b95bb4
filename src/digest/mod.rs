//! From log bytes to the part worth reading.
