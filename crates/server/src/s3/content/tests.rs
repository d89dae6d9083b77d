use super::writer::ContentWriter;
use super::*;
use proptest::prelude::*;
use std::fs;

fn all(mut reading: ContentReader) -> Vec<u8> {
    let mut out = Vec::new();
    while let Some(bytes) = reading.next_piece().unwrap() {
        out.extend_from_slice(&bytes);
    }
    out
}

fn written(mut writing: ContentWriter, bytes: &[u8]) -> Content {
    bytes.chunks(300_000).for_each(|chunk| writing.write(chunk).unwrap());
    writing.finish()
}

#[test]
fn quota_is_given_back_with_the_last_reader() {
    let quota = Quota::new(Some(1000));
    let first = written(ContentWriter::memory(&quota), &[7; 600]);
    let mut second = ContentWriter::memory(&quota);
    second.write(&[0; 400]).unwrap();
    assert!(matches!(second.write(&[0; 1]), Err(WriteError::Full)));
    assert_eq!(quota.used(), 1000);
    drop(second);
    let reading = first.read(0, 600);
    drop(first);
    assert_eq!((quota.used(), all(reading)), (600, vec![7; 600]));
    assert_eq!(quota.used(), 0);
}

#[test]
fn files_are_removed_after_use_unless_they_are_kept() {
    let directory = tempfile::tempdir().unwrap();
    let quota = Quota::new(None);
    let file = |name: &str| directory.path().join(name);
    drop(written(ContentWriter::file(file("given-up"), &quota).unwrap(), b"x"));
    let kept = written(ContentWriter::file(file("kept"), &quota).unwrap(), b"abc");
    kept.set_removed_after_use(false);
    drop(kept);
    let doomed = Content::of_files(vec![file("kept")], &quota).unwrap();
    doomed.set_removed_after_use(true);
    let reading = doomed.read(1, 2);
    drop(doomed);
    assert_eq!(all(reading), b"bc");
    assert_eq!((quota.used(), fs::read_dir(directory.path()).unwrap().count()), (0, 0));
}

#[test]
fn symbolic_link_in_place_of_a_file_is_not_followed() {
    let directory = tempfile::tempdir().unwrap();
    let (secret, link) = (directory.path().join("secret"), directory.path().join("link"));
    fs::write(&secret, "secret").unwrap();
    std::os::unix::fs::symlink(&secret, &link).unwrap();
    let quota = Quota::new(None);
    assert!(Content::of_files(vec![link.clone()], &quota).is_err());
    assert!(ContentWriter::file(link, &quota).is_err());
    assert_eq!(fs::read(&secret).unwrap(), b"secret");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn any_range_of_any_parts_is_right(
        sizes in prop::collection::vec(0_usize..2_500_000, 1..4),
        in_files in any::<bool>(),
        first in any::<prop::sample::Index>(),
        last in any::<prop::sample::Index>(),
    ) {
        let directory = tempfile::tempdir().unwrap();
        let quota = Quota::new(None);
        let (mut content, mut truth) = (Content::default(), Vec::new());
        for (number, size) in sizes.into_iter().enumerate() {
            let bytes: Vec<u8> = (0..size).map(|at| (at % 251 + number) as u8).collect();
            let writing = if in_files {
                ContentWriter::file(directory.path().join(number.to_string()), &quota).unwrap()
            } else {
                ContentWriter::memory(&quota)
            };
            content.append(&written(writing, &bytes));
            truth.extend_from_slice(&bytes);
        }
        prop_assert_eq!((content.bytes(), quota.used()), (truth.len() as u64, truth.len() as u64));
        let (first, last) = (first.index(truth.len() + 1), last.index(truth.len() + 1));
        let (first, last) = (first.min(last), first.max(last));
        prop_assert!(all(content.read(first as u64, (last - first) as u64)) == truth[first..last]);
    }
}
