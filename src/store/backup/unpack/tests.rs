use super::*;
use crate::sandbox::files::gzip::Gzip;
use crate::sandbox::files::tar::{self, Kind, Member};
use proptest::prelude::*;
use std::io::Write;

fn member(path: &str, kind: Kind, content: &[u8]) -> Vec<u8> {
    let header = tar::header(&Member {
        path: path.as_bytes(),
        kind,
        size: content.len() as u64,
        mode: 0o640,
        modified: 1_795_330_800,
    });
    let padding = vec![0; padding(content.len() as u64)];
    [header, content.to_vec(), padding].concat()
}

fn file(path: &str, content: &[u8]) -> Vec<u8> {
    member(path, Kind::File, content)
}

/// A member whose header has other bytes at a place, with the right sum.
fn forged(path: &str, at: usize, bytes: &[u8]) -> Vec<u8> {
    let mut blocks = file(path, b"");
    blocks[at..at + bytes.len()].copy_from_slice(bytes);
    blocks[148..156].fill(b' ');
    let sum: u32 = blocks[..BLOCK].iter().map(|byte| u32::from(*byte)).sum();
    blocks[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    blocks
}

fn packed(members: &[Vec<u8>]) -> Vec<u8> {
    let mut gzip = Gzip::new(Vec::new()).unwrap();
    gzip.write_all(&members.concat()).unwrap();
    gzip.write_all(&tar::END).unwrap();
    gzip.finish().unwrap()
}

fn read(archive: &[u8]) -> Result<Vec<(Entry, Vec<u8>)>, String> {
    let mut found = Vec::new();
    Gunzip::new(archive)
        .and_then(|mut from| {
            read_tar(&mut from, &mut |entry, content| {
                let mut bytes = Vec::new();
                content.read_to_end(&mut bytes)?;
                found.push((entry.clone(), bytes));
                Ok(())
            })
        })
        .map_err(|error| error.to_string())?;
    Ok(found)
}

#[test]
fn what_was_packed_comes_out_of_it() {
    let long = format!("{}/{}", "d".repeat(120), "ü".repeat(60));
    let archive = packed(&[
        member("./", Kind::Folder, b""),
        member("a/", Kind::Folder, b""),
        file("./a/b", &[7; 1000]),
        file(&long, b"x"),
        file("empty", b""),
    ]);
    let found = read(&archive).unwrap();
    let paths: Vec<_> = found
        .iter()
        .map(|(entry, _)| entry.path.to_str().unwrap())
        .collect();
    assert_eq!(paths, ["a", "a/b", &*long, "empty"]);
    assert_eq!(found[1].1, [7; 1000]);
    let (entry, _) = &found[1];
    assert_eq!((entry.mode, entry.modified), (0o640, 1_795_330_800));
    assert!(found[0].0.is_folder && !entry.is_folder);
}

#[test]
fn a_prefix_as_other_programs_write_it_is_part_of_the_path() {
    let found = read(&packed(&[forged("b", 345, b"a")])).unwrap();
    assert_eq!(found[0].0.path, Path::new("a/b"));
}

#[test]
fn content_that_is_not_read_is_passed_over() {
    let archive = packed(&[file("a", &[1; 3000]), file("b", b"2")]);
    let mut names = 0;
    let mut from = Gunzip::new(&*archive).unwrap();
    read_tar(&mut from, &mut |_, _| {
        names += 1;
        Ok(())
    })
    .unwrap();
    assert_eq!(names, 2);
}

#[test]
fn a_short_file_of_another_kind_is_not_called_damaged() {
    for (bytes, words) in [
        (&b"hi"[..], "it is not a backup"),
        (b"some words that are longer", "it is not a backup"),
        (b"\x1f\x8b\x08\xff0123456789", "it is not a backup"),
        (b"\x1f\x8b\x08", "damaged or was cut off"),
        (b"", "damaged or was cut off"),
    ] {
        let error = read(bytes).unwrap_err();
        assert!(error.contains(words), "{bytes:?}: {error}");
    }
}

#[test]
fn what_leads_elsewhere_or_is_more_than_a_file_is_refused() {
    let deep = "d/".repeat(DEPTH_MAX + 1);
    for (name, bad, words) in [
        ("absolute", file("/etc/passwd", b"x"), "leads elsewhere"),
        ("up", file("a/../../b", b"x"), "leads elsewhere"),
        ("up first", file("../b", b"x"), "leads elsewhere"),
        ("long name", file(&"n".repeat(256), b"x"), "too long"),
        ("long path", file(&"abc/".repeat(1100), b"x"), "too long"),
        ("deep", file(&format!("{deep}x"), b"x"), "too deep"),
        ("no name", file("./", b"x"), "has no name"),
        ("hard link", forged("a", 156, b"1"), "link or a device"),
        ("link", forged("a", 156, b"2"), "link or a device"),
        ("device", forged("a", 156, b"3"), "link or a device"),
        ("fifo", forged("a", 156, b"6"), "link or a device"),
        ("sparse", forged("a", 156, b"S"), "link or a device"),
        ("huge", forged("a", 124, b"77777777777\0"), "cut off"),
        ("size", forged("a", 124, b"x7777777777\0"), "odd"),
        ("sum", vec![7; BLOCK], "cut off"),
    ] {
        let archive = packed(&[file("first", b"1"), bad, file("last", b"2")]);
        let error = read(&archive).unwrap_err();
        assert!(error.contains(words), "{name}: {error}");
    }
}

#[test]
fn more_than_the_bounds_is_refused_before_it_is_read() {
    let record = format!("size={}\n", TOTAL_BYTES_MAX + 1);
    let record = format!("{} {record}", record.len() + 3);
    let huge = [
        member("pax", Kind::Extended, record.as_bytes()),
        file("a", b""),
    ]
    .concat();
    let error = read(&packed(&[huge])).unwrap_err();
    assert!(error.contains("more than"), "{error}");
    let many = file("a", b"").repeat(ENTRIES_MAX + 1);
    let error = read(&packed(&[many])).unwrap_err();
    assert!(error.contains("more than"), "{error}");
    let extended = member("pax", Kind::Extended, &[b'x'; 17 * 1024]);
    let error = read(&packed(&[extended])).unwrap_err();
    assert!(error.contains("too long"), "{error}");
}

#[test]
fn something_behind_the_end_is_refused() {
    let mut archive = packed(&[file("a", b"1")]);
    archive.push(0);
    assert!(read(&archive).is_err());
    let behind = [file("a", b"1"), tar::END.to_vec(), file("b", b"2")];
    let error = read(&packed(&behind)).unwrap_err();
    assert!(error.contains("follows"), "{error}");
    assert!(read(b"").is_err() && read(b"PK\x03\x04 not gzip at all").is_err());
}

proptest! {
    #[test]
    fn a_cut_or_a_changed_bit_is_noticed(at in 0.0..1.0_f64, bit in 0..8_u8) {
        let content: Vec<u8> = (0..2000_u32).map(|at| ((at * at) >> 3) as u8).collect();
        let archive = packed(&[file("a", &content), file("b/c", b"2")]);
        let whole = read(&archive).unwrap();
        let at = (at * archive.len() as f64) as usize;
        prop_assert!(read(&archive[..at]).is_err());
        let mut other = archive.clone();
        other[at] ^= 1 << bit;
        // The head has bytes that say nothing, such as the time.
        prop_assert!(at < 10 || read(&other).is_err() || read(&other).unwrap() == whole);
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..2000)) {
        let _ = read_tar(&mut &*bytes, &mut |_, _| Ok(()));
        let _ = read(&packed(&[bytes]));
    }
}
