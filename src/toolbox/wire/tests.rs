use super::*;
use proptest::prelude::*;

const CAPS: Caps = Caps { files: 20, file_bytes: 1000, total_bytes: 5000 };

fn change() -> impl Strategy<Value = Change> {
    let path = "[a-zä/.]{1,40}";
    prop_oneof![
        (path, any::<u32>(), prop::collection::vec(any::<u8>(), 0..200))
            .prop_map(|(path, mode, bytes)| Change::File { path, mode, bytes }),
        path.prop_map(|path| Change::Removed { path }),
    ]
}

fn skipped() -> impl Strategy<Value = Skipped> {
    let why = prop::sample::select(vec![Why::Nested, Why::Large, Why::Unreadable, Why::Name]);
    ("[a-z/]{1,40}", why).prop_map(|(path, why)| Skipped { path, why })
}

fn written(snapshot: &Snapshot) -> Vec<u8> {
    let mut wire = Vec::new();
    for change in &snapshot.changes {
        put(&mut wire, change).unwrap();
    }
    for skipped in &snapshot.skipped {
        put_skipped(&mut wire, skipped).unwrap();
    }
    answer(&mut wire, Ok(())).unwrap();
    wire
}

fn read(mut wire: &[u8]) -> Result<Snapshot, WireError> {
    futures::executor::block_on(read_snapshot(&mut wire, &CAPS))
}

proptest! {
    #[test]
    fn what_is_written_is_read(
        changes in prop::collection::vec(change(), 0..20),
        skipped in prop::collection::vec(skipped(), 0..20),
    ) {
        let snapshot = Snapshot { changes, skipped };
        prop_assert_eq!(read(&written(&snapshot)).unwrap(), snapshot);
    }

    #[test]
    fn a_stream_cut_anywhere_is_an_error(
        changes in prop::collection::vec(change(), 1..5),
        at in any::<prop::sample::Index>(),
    ) {
        let wire = written(&Snapshot { changes, skipped: vec![] });
        let cut = at.index(wire.len());
        prop_assert!(matches!(read(&wire[..cut]), Err(WireError::Truncated)));
    }

    /// Bounded fuzzing: damaged streams and plain noise end in an answer within the caps or in an error.
    #[test]
    fn noise_never_passes_the_caps(
        changes in prop::collection::vec(change(), 0..10),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..10),
        noise in prop::collection::vec(any::<u8>(), 0..100),
    ) {
        let mut wire = written(&Snapshot { changes, skipped: vec![] });
        for (at, byte) in damage {
            let at = at.index(wire.len());
            wire[at] = byte;
        }
        wire.extend(noise);
        if let Ok(snapshot) = read(&wire) {
            prop_assert!(snapshot.changes.len() <= CAPS.files && snapshot.skipped.len() <= CAPS.files);
        }
    }
}

#[test]
fn each_cap_holds_whatever_the_toolbox_was_told() {
    let file = |bytes| Change::File { path: "a".into(), mode: 0o100644, bytes: vec![0; bytes] };
    let refused = |changes: Vec<Change>| {
        let error = read(&written(&Snapshot { changes, skipped: vec![] })).unwrap_err();
        assert!(matches!(error, WireError::TooMuch(_)), "{error}");
    };
    refused(vec![file(1001)]);
    refused(vec![file(1000); 6]);
    refused(vec![file(1); 21]);
    refused(vec![Change::Removed { path: "p".repeat(4097) }]);
    assert_eq!(
        read(&written(&Snapshot { changes: vec![file(1000); 5], skipped: vec![] })).unwrap().changes.len(),
        5
    );
}

#[test]
fn a_forged_length_reserves_nothing() {
    // 4 GiB announced, nothing sent: refused by the header alone.
    assert!(matches!(read(b"F\xff\xff\xff\xff"), Err(WireError::TooMuch(_))));
}

#[test]
fn a_refusal_is_told_in_the_toolboxs_words() {
    let mut wire = Vec::new();
    answer(&mut wire, Err("the workspace is not empty".into())).unwrap();
    let mut sent = Vec::new();
    let error = futures::executor::block_on(seed(&mut sent, &mut &wire[..], b"PACK")).unwrap_err();
    assert_eq!(error.to_string(), "the toolbox: the workspace is not empty");
    let mut pack = Vec::new();
    receive_pieces(&mut &sent[..], |piece| {
        pack.extend_from_slice(piece);
        Ok(())
    })
    .unwrap();
    assert_eq!(pack, b"PACK");
}

/// A header is cheap to forge: what it promises is not taken before it is known to be within the cap.
#[test]
fn evil_t27_a_frame_over_its_cap_is_not_taken() {
    use crate::domain::fault::{Fault, seed};
    let promised = CAPS.frame() + 1;
    let wire = [&frame::header(Kind::File, promised).unwrap()[..], &vec![b'x'; promised]].concat();
    let left = || {
        let mut rest = &wire[..];
        assert!(futures::executor::block_on(read_snapshot(&mut rest, &CAPS)).is_err());
        rest.len()
    };
    assert_eq!(left(), promised);
    seed(Some(Fault::FramesUncapped));
    let without = left();
    seed(None);
    assert_eq!(without, 0, "the control: it is taken whole");
}
