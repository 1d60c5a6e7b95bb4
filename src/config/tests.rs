//! What an operator can get wrong, and what the layers make of each other.
