//! The S3 commands against MinIO. The counts of client and server agree, and every written byte can be read back.

use crate::support::versitygw::{ACCESS_KEY, SECRET_KEY, run};
use crate::support::{Minio, Report, Running, TestDir, shared_cores};
use crate::versitygw::{gone, good, kinds};

#[test]
fn counts_of_s3_commands_equal_minios() {
    let _cores = shared_cores();
    let Some(server) = Minio::start() else { return };
    let place = TestDir::new();
    let plimsoll = |words: &str| good(run(&place, &server.endpoint(), &words.split(' ').collect::<Vec<_>>()));
    let objects = "--count 40 --size 10..200KiB";
    let mut written = 0;
    for how in ["unsigned", "signed", "chunks", "chunks-trailer", "unsigned-trailer"] {
        let location = format!("s3://bucket/{how}");
        plimsoll(&format!("prepare {location} --make-bucket -c 4 --payload {how} --print none {objects}"));
        let again = plimsoll(&format!("prepare {location} {objects}"));
        assert!(again.stdout.contains("nothing was written"), "{}", again.stdout);
        let got = plimsoll(&format!("get {location} -c 4 --order once --verify --json {objects}"));
        assert_eq!(kinds(&Report::read(&got))["get"].0, 40, "{how}");
        written += 40;
    }

    let parts = "--count 3 --size 5MiB,12MiB,15MiB";
    let put = plimsoll(&format!("put s3://bucket/parts -c 2 --multipart 5MiB --parts 3 --json {parts}"));
    assert_eq!(kinds(&Report::read(&put))["put-multipart"], (3, 32 << 20));
    let got = plimsoll(&format!("get s3://bucket/parts --order once --verify --json {parts}"));
    assert_eq!(kinds(&Report::read(&got))["get"], (3, 32 << 20));

    let weights = "--get 30 --get-range 15 --range 4KiB --head 20 --put 20 --delete 10 --delete-batch 5 --list 5";
    let mixed = plimsoll(&format!("mix s3://bucket/signed {weights} --verify -c 4 -n 600 --json"));
    let mixed = kinds(&Report::read(&mixed));
    assert_eq!(mixed.values().map(|(ok, _)| ok).sum::<u64>(), 600);
    assert_eq!(mixed["get-range"].1, mixed["get-range"].0 * 4096);

    let cleaned = gone(&plimsoll("cleanup s3://bucket/signed"));
    assert_eq!(cleaned.0, 40);
    let answered = server.answered();
    let of = |operation: &str| answered.get(operation).copied().unwrap_or_default();
    assert_eq!(of("PutObject"), (written + 5 + mixed["put"].0, 0), "{answered:?}");
    assert_eq!(of("PutObjectPart"), (1 + 3 + 3, 0), "{answered:?}");
    assert_eq!((of("NewMultipartUpload"), of("CompleteMultipartUpload")), ((3, 0), (3, 0)), "{answered:?}");
    assert_eq!(of("HeadObject").0, mixed["head"].0, "{answered:?}");
    let got = written + 3 + mixed["get"].0 + mixed["get-range"].0;
    // Each of these commands requests the description of its dataset: `prepare`, `mix` and `cleanup`. Five of these
    // requests find no description.
    assert_eq!(of("GetObject"), (got + 12, 5), "{answered:?}");
}

#[test]
fn minio_gives_the_keys_of_a_role() {
    let _cores = shared_cores();
    let Some(server) = Minio::start() else { return };
    let place = TestDir::new();
    place.write(
        "config",
        format!(
            "[profile base]\naws_access_key_id = {ACCESS_KEY}\naws_secret_access_key = {SECRET_KEY}\n\
             [profile reader]\nrole_arn = arn:minio:iam:::role/reader\nsource_profile = base\nduration_seconds = 900\n"
        ),
    );
    let plimsoll = |words: &[&str]| {
        let mut command = place.command(words);
        command.env_remove("AWS_ACCESS_KEY_ID").env_remove("AWS_SECRET_ACCESS_KEY");
        command.env("AWS_CONFIG_FILE", place.path("config")).env("AWS_SHARED_CREDENTIALS_FILE", place.path("none"));
        // MinIO's token service has the same address as its storage.
        command.env("AWS_PROFILE", "reader").env("AWS_ENDPOINT_URL", server.endpoint());
        Running::of(command).end()
    };
    let objects = ["--count", "20", "--size", "1KiB"];
    good(plimsoll(&[&["prepare", "s3://bucket/role", "--make-bucket"], &objects[..]].concat()));
    let got =
        good(plimsoll(&[&["get", "s3://bucket/role", "--order", "once", "--verify", "--json"], &objects[..]].concat()));
    assert_eq!(kinds(&Report::read(&got))["get"].0, 20);
    // A wrong secret of the base profile: MinIO checks the signature of the request for the role.
    let config = std::fs::read_to_string(place.path("config")).expect("the file is there");
    place.write("config", config.replace(SECRET_KEY, "wrong-secret-key"));
    let refused = plimsoll(&["get", "s3://bucket/role/0", "-n", "1"]);
    refused.expect(4);
    assert!(refused.stderr.contains("SignatureDoesNotMatch"), "{}", refused.stderr);
}
