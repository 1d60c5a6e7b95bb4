//! Which addresses a name may lead to.
//!
//! Not by what a text looks like but by the address that would be dialled: however it was written, it comes here as bits.
//! Source: the IANA registries of special-purpose IPv4 and IPv6 addresses.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// How far an address is open to a sandbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Of the public internet.
    Global,
    /// Of a network of one's own, this machine included: only where the operator says `private` of that very destination.
    Private,
    /// Never: link-local and where clouds hand out credentials, what means "here" or "everybody", what wraps another
    /// address, what belongs to nobody.
    Never,
}

/// Where clouds hand out credentials, beside the link-local range: Azure, Alibaba, and the block of Oracle's.
const METADATA_V4: [Ipv4Addr; 2] = [Ipv4Addr::new(168, 63, 129, 16), Ipv4Addr::new(100, 100, 100, 200)];

/// How far `address` is open.
pub fn reach(address: IpAddr) -> Reach {
    match address {
        IpAddr::V4(v4) => reach_v4(v4),
        IpAddr::V6(v6) => reach_v6(v6),
    }
}

fn reach_v4(address: Ipv4Addr) -> Reach {
    if METADATA_V4.contains(&address) {
        return Reach::Never;
    }
    match address.octets() {
        [0 | 224.., ..] | [169, 254, ..] | [192, 0, 0, _] | [192, 88, 99, _] => Reach::Never,
        [10 | 127, ..] | [172, 16..=31, ..] | [192, 168, ..] | [100, 64..=127, ..] => Reach::Private,
        // Set aside for examples and measurements, which is why closed networks like to use them.
        [192, 0, 2, _] | [198, 51, 100, _] | [203, 0, 113, _] | [198, 18 | 19, ..] => Reach::Private,
        _ => Reach::Global,
    }
}

fn reach_v6(address: Ipv6Addr) -> Reach {
    let parts = address.segments();
    let inner = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        reach_v4(Ipv4Addr::new(a, b, c, d))
    };
    // What wraps an address of the old kind is as open as that, and never private: nobody names a mirror that way.
    let wrapped = |high, low| if inner(high, low) == Reach::Global { Reach::Global } else { Reach::Never };
    match parts {
        [0, 0, 0, 0, 0, 0, 0, 1] => Reach::Private,
        [0, 0, 0, 0, 0, 0xffff, high, low] => inner(high, low),
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => wrapped(high, low),
        // ISATAP, under whatever prefix.
        [.., 0 | 0x200, 0x5efe, high, low] if inner(high, low) != Reach::Global => Reach::Never,
        // AWS and Google.
        [0xfd00, 0xec2, ..] | [0xfd20, 0xce, ..] => Reach::Never,
        [0xfc00..=0xfdff, ..] => Reach::Private,
        [0x2001, 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] => Reach::Private,
        // Teredo, ORCHID and other protocols' own; 6to4.
        [0x2001, 0..=0x1ff, ..] | [0x2002, ..] => Reach::Never,
        [0x2000..=0x3fff, ..] => Reach::Global,
        _ => Reach::Never,
    }
}
