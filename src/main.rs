//! The `fixpoint` program.

use std::process::ExitCode;

#[tokio::main]
async fn main() -> ExitCode {
    // Before any client is built: two TLS providers in one tree would make rustls panic at first use.
    let _ = rustls::crypto::ring::default_provider().install_default();
    fixpoint::cli::main().await
}
