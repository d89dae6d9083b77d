//! The servers of `s3://` locations. A request goes only to a server that the user named.

use super::s3::serve;
use crate::support::versitygw::{ACCESS_KEY, SECRET_KEY};
use crate::support::{Ended, Nginx, Running, Setup, TestDir, shared_cores};

const LOCATION: &str = "s3://bucket/set";

/// Runs a command in an environment with keys, a region, these variables, and this `~/.aws/config`.
fn run(place: &TestDir, config: &str, variables: &[(&str, &str)], words: &[&str]) -> Ended {
    std::fs::create_dir_all(place.path(".aws")).unwrap();
    place.write(".aws/config", config);
    let mut command = place.command(words);
    let others = ["AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_PROFILE", "AWS_CONFIG_FILE"];
    others.iter().for_each(|name| {
        command.env_remove(name);
    });
    command.env("HOME", place.path("")).env("AWS_REGION", "eu-central-1");
    command.env("AWS_ACCESS_KEY_ID", ACCESS_KEY).env("AWS_SECRET_ACCESS_KEY", SECRET_KEY);
    command.envs(variables.iter().copied());
    Running::of(command).end()
}

/// The test covers all commands that accept `s3://`. If only the environment sets a region, none of these commands may
/// send a request.
#[test]
fn without_a_server_no_request_is_sent() {
    let _cores = shared_cores();
    let place = TestDir::new();
    place.write("study.yaml", "name: s\ncommand: get s3://bucket/key -n 1\n");
    let dataset = ["--count", "2", "--size", "1KiB"];
    let with_dataset = |words: &[&'static str]| [words, &dataset[..]].concat();
    let commands = [
        vec!["get", "s3://bucket/key", "-n", "1"],
        vec!["get", "s3://bucket/key", "-n", "1", "--anonymous"],
        with_dataset(&["get", LOCATION, "-n", "1"]),
        with_dataset(&["put", LOCATION]),
        with_dataset(&["mix", LOCATION, "-n", "1"]),
        vec!["mix", LOCATION, "-n", "1"],
        with_dataset(&["prepare", LOCATION]),
        vec!["cleanup", LOCATION],
        vec!["line", "s3://bucket/key"],
    ];
    let config = "[default]\nregion = us-west-2\n";
    for words in commands {
        let ended = run(&place, config, &[], &words);
        let named = ended.stderr.contains("no S3 server given") && ended.stderr.contains("--endpoint http://");
        assert!(named && ended.code == Some(2) && ended.stderr.lines().count() == 1, "{words:?}: {ended:?}");
        assert!(ended.stdout.is_empty(), "{words:?}: {ended:?}");
    }
    let ended =
        run(&place, config, &[], &["get", "s3://bucket/key", "-n", "1", "--endpoint", "aws,http://127.0.0.1:9"]);
    assert!(ended.code == Some(2) && ended.stderr.contains("cannot be combined"), "{ended:?}");
    for command in ["redirects", "owners"] {
        let ended = run(&place, config, &[], &[command, LOCATION, "--names", "study.yaml"]);
        assert!(ended.code == Some(2) && ended.stderr.lines().count() == 1, "{command}: {ended:?}");
    }
}

#[test]
fn requests_go_to_the_server_of_a_profile_or_its_services() {
    let _cores = shared_cores();
    let place = TestDir::new();
    let (server, endpoint) = serve(&place, &[]);
    let nowhere = "http://127.0.0.1:1";
    let config = format!(
        "[default]\nendpoint_url = {endpoint}\n[profile by-services]\nservices = here\nendpoint_url = {nowhere}\n\
         [services here]\ns3 =\n  endpoint_url = {endpoint}\n[profile nowhere]\nendpoint_url = {nowhere}\n"
    );
    let dataset = ["--count", "3", "--size", "1KiB", "--print", "none"];
    let put = [&["put", LOCATION][..], &dataset].concat();
    let made = [&["prepare", LOCATION, "--make-bucket"][..], &dataset].concat();
    run(&place, &config, &[], &made).expect(0);
    run(&place, &config, &[("AWS_PROFILE", "by-services")], &put).expect(0);
    run(&place, &config, &[("AWS_PROFILE", "nowhere"), ("AWS_ENDPOINT_URL", &endpoint)], &put).expect(0);
    let flag = [&put[..], &["--endpoint", &endpoint]].concat();
    run(&place, &config, &[("AWS_PROFILE", "nowhere")], &flag).expect(0);
    let ended = run(&place, &config, &[("AWS_PROFILE", "nowhere")], &put);
    assert!(ended.code == Some(4) && ended.stderr.contains("127.0.0.1:1"), "{ended:?}");
    let ended = run(&place, &config, &[("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "true")], &put);
    assert!(ended.code == Some(2) && ended.stderr.contains("no S3 server given"), "{ended:?}");
    let ended = run(&place, "[default]\nendpoint_url = localhost\n", &[], &put);
    assert!(ended.code == Some(2) && ended.stderr.contains("endpoint_url of profile default"), "{ended:?}");
    server.stop();
}

#[test]
fn redirects_do_not_lead_from_s3_to_another_host() {
    let _cores = shared_cores();
    let Some(other) = Nginx::start(Setup::default()) else { return };
    let moved = format!("location ~ ^/bucket/ {{ return 307 {}; }}", other.url("/f/1k"));
    let Some(named) = Nginx::start(Setup { server: moved.leak(), ..Setup::default() }) else { return };
    let place = TestDir::new();
    let endpoint = named.url("");
    let get = ["get", "s3://bucket/key", "-n", "3", "--anonymous", "--endpoint", &endpoint];
    let ended = run(&place, "", &[], &get);
    assert!(ended.code == Some(1) && ended.stdout.contains("redirect_denied"), "{ended:?}");
    assert!(ended.stdout.contains("--allow-other-hosts"), "{ended:?}");
    run(&place, "", &[], &[&get[..], &["--allow-other-hosts"]].concat()).expect(0);
    // With URLs, redirects to other hosts are part of the load, as in clusters.
    place.run(["get", &named.url("/bucket/key"), "-n", "3"]).expect(0);
    assert_eq!((named.quit().len(), other.quit().len()), (9, 6));
}
