use super::*;
use crate::source::Format;

#[test]
fn every_file_is_a_valid_set() {
    for set in Set::all() {
        assert_eq!(Set::named(set.name()), Some(*set));
        let Content::File(text) = set.content else { continue };
        let file = SetFile::parse(text).unwrap_or_else(|error| panic!("{}: {error}", set.name()));
        for request in &file.request {
            assert!(request.path.starts_with('/'), "{}: {}", set.name(), request.path);
            let format = request.format().unwrap_or_else(|error| panic!("{}: {error}", set.name()));
            let names: Vec<String> = match format {
                Format::Json(picked) => picked.into_iter().map(|picked| picked.column.name).collect(),
                Format::Metrics(picked) => picked.into_iter().map(|picked| picked.column.name).collect(),
                Format::Numbers(numbers) => numbers.picked.into_iter().map(|picked| picked.column.name).collect(),
            };
            let distinct: std::collections::HashSet<&String> = names.iter().collect();
            assert_eq!(distinct.len(), names.len(), "{}: {names:?}", set.name());
        }
    }
    assert!(Set::all().iter().all(|set| !set.about().is_empty()));
    assert_eq!(Set::named("gone"), None);
}

#[test]
fn the_addresses_of_a_set_are_below_the_url() {
    let urls = |set: &str, url: &str| {
        let mut urls = Vec::new();
        let mut connect = |address: &Address| -> Result<Endpoint, ()> {
            urls.push((address.url.clone(), address.headers.join(";")));
            Err(())
        };
        let failed = Set::named(set).unwrap().sources(url, &mut connect);
        assert!(failed.is_err());
        urls
    };
    let owned = |url: &str, headers: &str| vec![(url.to_owned(), headers.to_owned())];
    assert_eq!(
        urls("siad", "http://:pw@localhost:9980"),
        owned("http://:pw@localhost:9980/renter/contracts", SiadSource::HEADER)
    );
    assert_eq!(urls("node", "http://h:9100"), owned("http://h:9100/metrics", ""));
    assert_eq!(urls("nginx", "http://h/status?full"), owned("http://h/status?full", ""));
    let lotus = owned("http://h:1234/rpc/v1", "Content-Type: application/json");
    assert_eq!(urls("lotus-miner", "http://h:1234/?miner=f01234"), lotus);
    assert!(urls("lotus-miner", "http://h:1234/").is_empty(), "nothing is connected without the miner");
}
