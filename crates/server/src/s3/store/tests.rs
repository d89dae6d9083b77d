use super::objects::PART_BYTES_MIN;
use super::*;
use proptest::prelude::*;
use std::fs;
use std::path::Path;

fn config(store: StoreIn, store_max: Option<u64>) -> S3Config {
    S3Config { store, store_max, bucket: None, access_key: String::new(), secret_key: String::new() }
}

fn open(path: &Path) -> Store {
    Store::open(&config(StoreIn::Directory(path.to_owned()), None)).unwrap()
}

fn info(etag: &str) -> ObjectInfo {
    ObjectInfo {
        etag: etag.to_owned(),
        modified: SystemTime::now(),
        headers: Headers::default(),
        metadata: BTreeMap::new(),
        checksums: BTreeMap::new(),
    }
}

fn content(store: &Store, bytes: &[u8]) -> Content {
    let mut writing = store.writer().unwrap();
    writing.write(bytes).unwrap();
    writing.finish()
}

fn put(store: &Store, key: &str, bytes: &[u8]) {
    store.put("b", key, info("e"), content(store, bytes)).unwrap();
}

fn names(store: &Store) -> Vec<String> {
    let page = store.list("b", ListRequest { most: 1000, ..ListRequest::default() }).unwrap();
    page.entries.iter().map(|entry| entry.name().to_owned()).collect()
}

/// Returns every file below a directory, with its content.
fn files(root: &Path) -> BTreeMap<std::path::PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(root).unwrap() {
        let path = entry.unwrap().path();
        if fs::symlink_metadata(&path).unwrap().is_dir() {
            files.extend(self::files(&path));
        } else {
            files.insert(path.clone(), fs::read(&path).unwrap());
        }
    }
    files
}

#[test]
fn later_server_finds_complete_objects() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    store.create_bucket("b").unwrap();
    store.create_bucket("gone").unwrap();
    store.delete_bucket("gone").unwrap();
    put(&store, "kept", b"first");
    put(&store, "kept", b"second");
    put(&store, "deleted", b"x");
    store.delete("b", "deleted").unwrap();
    let upload = store.begin("b", "unfinished", Headers::default(), BTreeMap::new()).unwrap();
    let part = UploadedPart { md5: [0; 16], info: info("p"), content: content(&store, b"part") };
    store.put_part("b", "unfinished", &upload, 1, part).unwrap();
    // This imitates a killed process, which cleans up nothing.
    std::mem::forget(store);

    let store = open(directory.path());
    assert_eq!(store.bucket_names().len(), 1);
    assert_eq!(names(&store), ["kept"]);
    let object = store.get("b", "kept").unwrap();
    assert_eq!((object.content.bytes(), object.info.etag.as_str()), (6, "e"));
    assert!(matches!(store.with_upload("b", "unfinished", &upload, |_| ()), Err(StoreError::NoSuchUpload)));
    // The mark, the bucket, the object and its content.
    assert_eq!(files(directory.path()).len(), 4);
    assert_eq!(store.quota.used(), 6);
}

#[test]
fn directory_with_other_files_is_rejected_and_unchanged() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("thesis.txt"), "mine").unwrap();
    let error = Store::open(&config(StoreIn::Directory(directory.path().to_owned()), None)).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::DirectoryNotEmpty);
    assert_eq!(files(directory.path()).len(), 1);
}

#[test]
fn symbolic_links_in_the_store_are_not_followed() {
    let directory = tempfile::tempdir().unwrap();
    let (root, outside) = (directory.path().join("store"), directory.path().join("outside"));
    fs::write(&outside, "secret").unwrap();
    let store = open(&root);
    store.create_bucket("b").unwrap();
    put(&store, "k", b"mine");
    let object = store.get("b", "k").unwrap();
    let data = object.content.files().next().unwrap().to_owned();
    fs::remove_file(&data).unwrap();
    std::os::unix::fs::symlink(&outside, &data).unwrap();
    let body = std::pin::pin!(object.content.read(0, 4));
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    let read = hyper::body::Body::poll_frame(body, &mut context);
    assert!(matches!(read, std::task::Poll::Ready(Some(Err(_)))), "{read:?}");
    drop((object, store));
    assert!(Store::open(&config(StoreIn::Directory(root), None)).is_err());
    assert_eq!(fs::read(&outside).unwrap(), b"secret");
}

#[test]
fn full_store_accepts_more_after_a_deletion() {
    let store = Store::open(&config(StoreIn::Memory, Some(10))).unwrap();
    store.create_bucket("b").unwrap();
    put(&store, "k", b"12345678");
    let mut writing = store.writer().unwrap();
    let full = store.error_of(writing.write(b"123").unwrap_err());
    assert!(matches!(full, StoreError::Full(8)), "{full:?}");
    drop(writing);
    store.delete("b", "k").unwrap();
    put(&store, "k", b"1234567890");
    assert_eq!(store.quota.used(), 10);
}

#[test]
fn completion_accepts_only_the_right_parts() {
    let store = Store::open(&config(StoreIn::Memory, None)).unwrap();
    store.create_bucket("b").unwrap();
    let upload = store.begin("b", "k", Headers::default(), BTreeMap::new()).unwrap();
    let large = vec![0; PART_BYTES_MIN as usize];
    for (number, bytes) in [(1, large.as_slice()), (2, b"small".as_slice()), (5, b"last".as_slice())] {
        let part = UploadedPart { md5: [0; 16], info: info(&number.to_string()), content: content(&store, bytes) };
        store.put_part("b", "k", &upload, number, part).unwrap();
    }
    let ask = |named: &[(i32, &str)]| {
        let named: Vec<_> = named.iter().map(|(number, etag)| (*number, Some((*etag).to_owned()))).collect();
        store.complete("b", "k", &upload, &named).map(|completed| completed.parts.len())
    };
    assert!(matches!(ask(&[(1, "1"), (2, "2"), (5, "5")]), Err(StoreError::PartTooSmall)));
    assert!(matches!(ask(&[(5, "5"), (1, "1")]), Err(StoreError::PartOrder)));
    assert!(matches!(ask(&[(1, "1"), (1, "1")]), Err(StoreError::PartOrder)));
    assert!(matches!(ask(&[(1, "other")]), Err(StoreError::BadPart)));
    assert!(matches!(ask(&[(3, "3")]), Err(StoreError::BadPart)));
    assert!(matches!(ask(&[]), Err(StoreError::BadPart)));
    assert!(matches!(store.abort("b", "other", &upload), Err(StoreError::NoSuchUpload)));
    assert!(matches!(ask(&[(1, "1"), (5, "5")]), Ok(2)));
    assert!(matches!(ask(&[(1, "1"), (5, "5")]), Err(StoreError::NoSuchUpload)));
    assert_eq!(store.quota.used(), 0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn no_key_leads_out_of_the_directory(
        keys in prop::collection::vec("(\\.\\.|\\.|/|\0|%2e|[a-z]|\u{e9}|store|outside){1,8}", 1..8),
    ) {
        let directory = tempfile::tempdir().unwrap();
        let (root, outside) = (directory.path().join("store"), directory.path().join("outside"));
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("a"), "secret").unwrap();
        let store = open(&root);
        store.create_bucket("b").unwrap();
        let absolute = outside.join("a").display().to_string();
        let keys: Vec<String> = keys.into_iter().chain([absolute, "../outside/a".to_owned()]).collect();
        for key in &keys {
            put(&store, key, key.as_bytes());
        }
        for key in &keys {
            let object = store.get("b", key).unwrap();
            prop_assert_eq!(object.content.bytes(), key.len() as u64);
            prop_assert!(object.content.files().all(|path| path.parent() == Some(&root.canonicalize().unwrap())));
        }
        let others = files(directory.path()).into_iter().filter(|(path, _)| !path.starts_with(&root));
        prop_assert_eq!(others.collect::<Vec<_>>(), vec![(outside.join("a"), b"secret".to_vec())]);
        for key in &keys {
            store.delete("b", key).unwrap();
        }
        prop_assert!(names(&store).is_empty());
        prop_assert_eq!(files(&root).len(), 2, "the mark and the bucket");
    }
}
