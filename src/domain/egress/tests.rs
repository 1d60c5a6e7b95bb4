use super::*;
use proptest::prelude::*;

fn to(text: &str) -> Destination {
    text.parse().unwrap()
}

fn list(entries: &[&str]) -> AllowList {
    AllowList::parse(entries).unwrap()
}

/// However an address is written: either it is no destination at all, or it is known for what it is.
#[test]
fn t18_no_spelling_makes_a_closed_address_open() {
    // Refused as a spelling: what a resolver may read as an address in disguise.
    for disguised in [
        "2130706433",
        "017700000001",
        "0x7f000001",
        "0x7f.1",
        "127.1",
        "127.0.1",
        "0177.0.0.1",
        "0x7f.0.0.1",
        "127.0.0.01",
        "127.000.000.001",
        "0x7f.0x0.0x0.0x1",
        "3232235521",
        "0xa9fea9fe",
        "169.254.43518",
        "0251.0376.0251.0376",
        "1.2.3.4.5",
        "256.1.1.1",
        "127.0.0.1.",
        "localhost.",
        "0",
        "00",
        "0x0",
        "example.0x7f",
        "127.0.0.1%00",
        "[::1",
        "::1",
        "[::ffff:127.0.0.1%eth0]",
        "[fe80::1%lo]",
        "１２７.0.0.1",
        "127。0。0。1",
        "①.1.1.1",
        "a..b",
        "-a.example",
        "a-.example",
        ".example",
        "exa mple.com",
        "example.com/",
        "user@example.com",
        "*.example.com",
    ] {
        assert!(format!("{disguised}:443").parse::<Destination>().is_err(), "{disguised}");
    }
    // Known as an address, and closed.
    for never in [
        "0.0.0.0",
        "0.1.2.3",
        "169.254.169.254",
        "169.254.0.1",
        "169.254.170.2",
        "168.63.129.16",
        "100.100.100.200",
        "192.0.0.192",
        "192.0.0.1",
        "192.88.99.1",
        "224.0.0.1",
        "239.255.255.250",
        "240.0.0.1",
        "255.255.255.255",
        "[::]",
        "[::ffff:0.0.0.0]",
        "[::ffff:169.254.169.254]",
        "[::ffff:a9fe:a9fe]",
        "[::127.0.0.1]",
        "[::7f00:1]",
        "[64:ff9b::127.0.0.1]",
        "[64:ff9b::10.0.0.1]",
        "[64:ff9b::a9fe:a9fe]",
        "[64:ff9b:1::1]",
        "[2002:7f00:1::]",
        "[2002:a9fe:a9fe::1]",
        "[2002:a00:1::1]",
        "[2001:0:7f00:1::]",
        "[2001:10::1]",
        "[2001:20::1]",
        "[fe80::1]",
        "[febf::1]",
        "[fec0::1]",
        "[ff02::1]",
        "[ff0e::1]",
        "[100::1]",
        "[fd00:ec2::254]",
        "[fd20:ce::254]",
        "[2606:4700::200:5efe:7f00:1]",
        "[2606:4700::5efe:a9fe:a9fe]",
        "[4000::1]",
        "[5f00::1]",
    ] {
        let address = to(&format!("{never}:443")).address().unwrap();
        assert_eq!(reach(address), Reach::Never, "{never}");
    }
    for private in [
        "127.0.0.1",
        "127.255.255.254",
        "10.0.0.1",
        "10.255.255.255",
        "172.16.0.1",
        "172.31.255.255",
        "192.168.0.1",
        "100.64.0.1",
        "100.127.255.255",
        "192.0.2.1",
        "198.51.100.1",
        "203.0.113.1",
        "198.18.0.1",
        "198.19.255.255",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[::ffff:10.0.0.1]",
        "[0:0:0:0:0:ffff:c0a8:1]",
        "[fc00::1]",
        "[fd12:3456::1]",
        "[2001:db8::1]",
        "[3fff::1]",
    ] {
        let address = to(&format!("{private}:443")).address().unwrap();
        assert_eq!(reach(address), Reach::Private, "{private}");
    }
    for open in [
        "1.1.1.1",
        "8.8.8.8",
        "172.15.0.1",
        "172.32.0.1",
        "100.63.255.255",
        "100.128.0.1",
        "192.169.0.1",
        "223.255.255.255",
        "[2606:4700:4700::1111]",
        "[64:ff9b::1.1.1.1]",
        "[::ffff:1.1.1.1]",
        "[2a00:1450::1]",
    ] {
        let address = to(&format!("{open}:443")).address().unwrap();
        assert_eq!(reach(address), Reach::Global, "{open}");
    }
}

#[test]
fn an_entry_that_cannot_be_used_says_why() {
    for (entry, why) in [
        ("", "\"\": an entry like `mirror.example.com:443`"),
        ("a.example", "\"a.example\": it names no port: write `HOST:PORT`, such as `a.example:443`"),
        ("a.example:0", "\"a.example:0\": `0` is not a port: a number from 1 to 65535 is expected"),
        ("a.example:+80", "\"a.example:+80\": `+80` is not a port: a number from 1 to 65535 is expected"),
        (
            "https://a.example",
            "\"https://a.example\": write `HOST:PORT` alone, without `http://` or `https://`",
        ),
        (
            "*.example:443",
            "\"*.example:443\": patterns are not taken: behind one name of a shared domain is whoever rents it; write each host",
        ),
        (
            "a.example:443 psot",
            "\"a.example:443 psot\": `psot` is not one of post, private, opaque (did you mean \"post\"?)",
        ),
        (
            "a.example:443/x opaque",
            "\"a.example:443/x opaque\": of an opaque destination neither path nor method can be seen",
        ),
        (
            "a.example:443/../x",
            "\"a.example:443/../x\": `/../x` is not a plain path: no `..`, `%`, `?` or `#`",
        ),
        ("model.internal:443", "\"model.internal:443\": model.internal is the model gateway's own name"),
        (
            "0x7f.1:80",
            "\"0x7f.1:80\": `0x7f.1` is neither a host's name nor an address as four decimal numbers or `[IPv6]`",
        ),
    ] {
        assert_eq!(entry.parse::<Rule>().unwrap_err().to_string(), why);
    }
    let contrary = AllowList::parse(&["a.example:443", "a.example:443 opaque"]).unwrap_err();
    assert!(contrary.to_string().contains("the opposite"), "{contrary}");
}

#[test]
fn what_is_allowed_is_exactly_what_is_written() {
    let list = list(&[
        "Mirror.Example:443/npm",
        "mirror.example:443/check post",
        "old.example:80",
        "db.example:6432 opaque",
    ]);
    let mirror = to("mirror.example:443");
    for (method, path, expected) in [
        ("GET", "/npm", Ok(())),
        ("HEAD", "/npm/left/-/left-1.tgz", Ok(())),
        ("GET", "/npm/@scope%2fname", Ok(())),
        ("POST", "/check", Ok(())),
        ("POST", "/npm/x", Err(Reason::Method)),
        ("PUT", "/check", Err(Reason::Method)),
        ("DELETE", "/npm/x", Err(Reason::Method)),
        ("GET", "/npm-private/x", Err(Reason::Path)),
        ("GET", "/", Err(Reason::Path)),
        ("GET", "/npm/../other", Err(Reason::Path)),
        ("GET", "/npm/..%2fother", Err(Reason::Path)),
        ("GET", "/npm/%2e%2e/other", Err(Reason::Path)),
        ("GET", "/npm/%252e%252E%252fother", Err(Reason::Path)),
        ("GET", "/npm/..;a/other", Err(Reason::Path)),
        ("GET", "/npm/..%5cother", Err(Reason::Path)),
    ] {
        assert_eq!(list.request(&mirror, method, path), expected, "{method} {path}");
    }
    assert_eq!(list.request(&to("old.example:80"), "GET", "/any"), Ok(()));
    assert_eq!(list.request(&to("db.example:6432"), "GET", "/"), Err(Reason::NotTls));
    assert_eq!(list.connect(&to("db.example:6432")), Ok(Manner::Opaque));
    for other in [
        "mirror.example:80",
        "old.example:443",
        "example:443",
        "x.mirror.example:443",
        "mirror.example.evil:443",
    ] {
        assert_eq!(list.connect(&to(other)), Err(Reason::NotAllowed), "{other}");
    }
}

#[test]
fn narrowing_never_opens() {
    let all = list(&["a.example:443/x", "a.example:443/y post", "b.example:443"]);
    let narrowed = all.narrowed(&[to("a.example:443"), to("c.example:443")]);
    assert_eq!(narrowed, list(&["a.example:443/x", "a.example:443/y post"]));
    assert_eq!(all.narrowed(&[]).words(), "no network, no credential");
    assert_eq!(narrowed.words(), "no network but 1 allowed destination, no credential");
}

proptest! {
    #[test]
    fn a_destination_is_read_as_it_is_shown(host in "[a-z][a-z0-9]{0,8}(\\.[a-z][a-z0-9-]{0,8}[a-z0-9]){0,3}", port in 1u16..) {
        let destination = Destination::new(&host.to_uppercase(), port).unwrap();
        prop_assert_eq!(destination.to_string().parse::<Destination>().unwrap(), destination);
    }

    #[test]
    fn no_text_is_read_as_another(text in "\\PC{0,40}") {
        if let Ok(destination) = text.parse::<Destination>() {
            prop_assert_eq!(destination.to_string().parse::<Destination>().unwrap(), destination);
        }
    }

    #[test]
    fn refusals_are_capped_and_none_is_lost(tries in prop::collection::vec(("[a-z]{1,2}", 0usize..3), 0..300)) {
        let mut refusals = Refusals::default();
        for (to, why) in &tries {
            refusals.note(to, [Reason::NotAllowed, Reason::Path, Reason::Address][*why]);
        }
        let counted: u32 = refusals.all.iter().map(|refused| refused.count).sum();
        prop_assert_eq!((counted + refusals.more) as usize, tries.len());
        prop_assert!(refusals.all.len() <= 40);
    }
}
