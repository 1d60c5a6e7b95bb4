//! Agents that do exactly what an attacker wants: what counts is not that they are talked out of it but that it comes to
//! nothing. Each test has its positive control, in which the guard is off and the attack works.

mod canary;
mod ci;
mod git;
mod guards;
mod reach;
