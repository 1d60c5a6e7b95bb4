//! Package managers, with what this machine's own are configured to use: read when the test runs, and skipped with a word where
//! one of them is not here.

use super::*;
use fixpoint::app::mirrors::mirrors;
use std::process::Command as Local;

/// What this machine's package manager of that name uses; `None`, with a plain message, where it uses nothing.
async fn used_by(manager: &str) -> Option<Vec<String>> {
    let mirrors = mirrors().await;
    let entries: Vec<String> = mirrors
        .into_iter()
        .filter(|mirror| mirror.users.contains(&manager))
        .map(|mirror| mirror.entry)
        .collect();
    if entries.is_empty() {
        eprintln!("skipped: {manager} is not configured to use anything on this machine");
        return None;
    }
    Some(entries)
}

/// What a program of this machine says.
fn said(program: &str, arguments: &[&str]) -> String {
    let output = Local::new(program).args(arguments).output().unwrap();
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

fn must(ran: Ran) -> String {
    assert_eq!(ran.code, 0, "{}\n{}", ran.out, ran.err);
    ran.out
}

/// What is not on the list is not reached: the control that goes with each success.
async fn nothing_else(room: &Room) {
    let ran = room.sh("curl -sS --max-time 120 https://elsewhere.example.org/").await;
    assert!(ran.code != 0 && ran.err.contains("403"), "{}", ran.err);
    assert!(room.refused().contains(&"elsewhere.example.org:443".to_owned()));
}

#[tokio::test]
async fn npm_installs_by_the_way_out() {
    let (Some(provider), Some(entries)) = (docker().await, used_by("npm").await) else { return };
    let room = Room::open(&provider, &entries).await;
    let registry = said("npm", &["config", "get", "registry"]);
    let script =
        format!("npm install --registry '{registry}' --no-audit --no-fund is-odd 2>&1 && ls node_modules");
    let out = must(room.sh(&script).await);
    assert!(out.contains("is-odd") && out.contains("is-number"), "{out}");
    nothing_else(&room).await;
    room.sandbox.stop().await.unwrap();
}

#[tokio::test]
async fn pip_installs_by_the_way_out() {
    let (Some(provider), Some(entries)) = (docker().await, used_by("pip").await) else { return };
    let room = Room::open(&provider, &entries).await;
    let index = said("pip", &["config", "get", "global.index-url"]);
    let index = if index.is_empty() { String::new() } else { format!("--index-url '{index}'") };
    let script = format!(
        "python3 -m venv ~/v && ~/v/bin/pip install {index} six 2>&1 && ~/v/bin/python -c 'import six; print(six.__name__)'"
    );
    let out = must(room.sh(&script).await);
    assert!(out.trim_end().ends_with("six"), "{out}");
    nothing_else(&room).await;
    room.sandbox.stop().await.unwrap();
}

#[tokio::test]
async fn apt_downloads_by_the_way_out() {
    let (Some(provider), Some(entries)) = (docker().await, used_by("apt").await) else { return };
    let room = Room::open(&provider, &entries).await;
    for file in std::fs::read_dir("/etc/apt/sources.list.d").unwrap().flatten() {
        let name = file.file_name().into_string().unwrap();
        if name.ends_with(".sources") || name.ends_with(".list") {
            room.write(&format!("/tmp/apt/parts/{name}"), &std::fs::read_to_string(file.path()).unwrap())
                .await;
        }
    }
    room.write("/tmp/apt/list", &std::fs::read_to_string("/etc/apt/sources.list").unwrap_or_default()).await;
    // As nobody in particular, with folders of one's own.
    let apt = "apt-get -o Dir::State=/tmp/apt/state -o Dir::State::status=/var/lib/dpkg/status -o Dir::Cache=/tmp/apt/cache \
               -o Dir::Etc::SourceList=/tmp/apt/list -o Dir::Etc::SourceParts=/tmp/apt/parts -o APT::Sandbox::User= \
               -o Acquire::Check-Valid-Until=false -o Acquire::Check-Date=false -o Acquire::Languages=none";
    let script = format!(
        "mkdir -p /tmp/apt/state/lists/partial /tmp/apt/cache/archives/partial && {apt} update 2>&1 && cd /tmp && {apt} download hello \
         2>&1 && ls /tmp/hello_*.deb"
    );
    let out = must(room.sh(&script).await);
    assert!(out.contains("/tmp/hello_") && !out.contains("Err:"), "{out}");
    nothing_else(&room).await;
    room.sandbox.stop().await.unwrap();
}

#[tokio::test]
async fn cargo_fetches_by_the_way_out() {
    let Some(entries) = used_by("cargo").await else { return };
    // The default image has no cargo; the one that the release is built in has.
    const WITH_CARGO: &str = "rust:1.95-bookworm";
    let there = Local::new("docker").args(["image", "inspect", WITH_CARGO]).output();
    if !there.is_ok_and(|output| output.status.success()) {
        eprintln!("skipped: the engine has no image {WITH_CARGO}");
        return;
    }
    let Some(provider) = docker_with(DockerSettings { image: WITH_CARGO.into(), ..settings() }).await else {
        return;
    };
    let room = Room::open(&provider, &entries).await;
    let home =
        std::env::var("CARGO_HOME").unwrap_or_else(|_| format!("{}/.cargo", std::env::var("HOME").unwrap()));
    if let Ok(config) = std::fs::read_to_string(format!("{home}/config.toml")) {
        room.write("/home/agent/.cargo/config.toml", &config).await;
    }
    room.write("Cargo.toml", "[package]\nname = \"a\"\nedition = \"2021\"\n\n[dependencies]\nitoa = \"1\"\n")
        .await;
    room.write("src/lib.rs", "").await;
    let script = "export CARGO_HOME=/home/agent/.cargo; cargo fetch 2>&1; status=$?; ls $CARGO_HOME/registry/src/*; exit $status";
    let out = must(room.sh(script).await);
    assert!(out.contains("itoa-1"), "{out}");
    nothing_else(&room).await;
    room.sandbox.stop().await.unwrap();
}

/// The same file inside and outside: by TLS that ends at the host, and from a server of this machine in clear text.
#[tokio::test(flavor = "multi_thread")]
async fn throughput_beside_the_same_download_outside() {
    let (Some(provider), Some(mut entries)) = (docker().await, used_by("npm").await) else { return };
    let plain = plain_server().await;
    entries.push(format!("127.0.0.1:{plain} private"));
    let room = Room::open(&provider, &entries).await;
    let tarball = said("npm", &["view", "typescript@5.4.5", "dist.tarball"]);
    for url in [tarball, format!("http://127.0.0.1:{plain}/")] {
        // What stands for the loopback in `no_proxy` is not meant here: it is this machine's.
        let curl = format!(
            "curl -sS --noproxy '' -o /dev/null -w '%{{speed_download}} %{{size_download}} %{{http_code}}' {url}"
        );
        let outside = tokio::task::block_in_place(|| said("sh", &["-c", &curl]));
        let inside = must(room.sh(&curl).await);
        let speed = |said: &str| said.split(' ').next().unwrap().parse::<f64>().unwrap() / 1e6;
        let size = inside.split(' ').nth(1).unwrap().parse::<f64>().unwrap() / 1e6;
        assert!(inside.ends_with("200"), "{inside}");
        let (inside, outside) = (speed(&inside), speed(&outside));
        let kind = if url.starts_with("https") { "TLS" } else { "clear text" };
        eprintln!(
            "{kind}, {size:.0} MB: {inside:.0} MB/s inside, {outside:.0} outside: {:.2}",
            inside / outside
        );
    }
    room.sandbox.stop().await.unwrap();
}

/// Sends 256 MB to everybody who asks.
async fn plain_server() -> u16 {
    use tokio::io::AsyncReadExt;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let _ = stream.read(&mut [0; 4096]).await;
                let head = "HTTP/1.1 200 OK\r\nContent-Length: 268435456\r\nConnection: close\r\n\r\n";
                let _ = stream.write_all(head.as_bytes()).await;
                let piece = vec![b'x'; 1 << 20];
                for _ in 0..256 {
                    let _ = stream.write_all(&piece).await;
                }
            });
        }
    });
    port
}
