//! Turns inbox entries into effects; the only place that touches everything below it.
