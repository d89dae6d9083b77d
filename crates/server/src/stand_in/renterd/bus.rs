//! The control API: buckets, lists of objects, contracts, wallet, settings, metrics.

use std::time::{Duration, SystemTime};

use hyper::header::{self, HeaderValue};
use percent_encoding::percent_decode_str;
use serde::Deserialize;

use super::documents::{Bucket, Consensus, ObjectInfo, ObjectPage, ObjectStats, WalletMetric};
use super::reply::{empty, json, line, not_allowed, not_found};
use super::time::{parse_rfc3339, rfc3339};
use super::{Call, RenterdStandIn, discard, document};
use crate::hyper_front::request_body::{Broken, RequestBody};
use crate::hyper_front::service::ServiceResponse;
use crate::s3::shelf::{Listed, ShelfError};

/// Maximum number of intervals in a series.
const INTERVALS_MAX: u64 = 1000;
/// Maximum number of objects on a page.
const PAGE_MAX: usize = 1_000_000;

impl RenterdStandIn {
    pub(super) async fn bus(&self, call: &Call<'_>, body: RequestBody) -> Result<ServiceResponse, Broken> {
        if let Some(action) = call.path.strip_prefix("/multipart/") {
            return self.multipart(call, action, body).await;
        }
        match (call.method(), call.path) {
            ("POST", "/buckets") => return self.create_bucket(body).await,
            ("PUT", "/autopilot" | "/settings/upload") => return self.replace_settings(call, body).await,
            _ => {}
        }
        let response = match call.method() {
            "GET" => self.bus_get(call),
            "DELETE" => self.bus_delete(call),
            _ => not_allowed("GET"),
        };
        discard(call.parts, body, response).await
    }

    fn bus_get(&self, call: &Call<'_>) -> ServiceResponse {
        if let Some(prefix) = call.below("/objects") {
            return self.list(call, prefix);
        }
        if let Some(key) = call.below("/object") {
            return self.object_info(call, key);
        }
        if let Some(name) = call.path.strip_prefix("/bucket/") {
            return self.bucket(name);
        }
        if let Some(key) = call.path.strip_prefix("/metric/") {
            return self.metric(call, key);
        }
        match call.path {
            "/consensus/state" => {
                let renter = self.renter();
                let last_block_time = rfc3339(SystemTime::now());
                let state = Consensus { block_height: renter.height(), last_block_time, synced: renter.is_synced() };
                json("bus GET consensus/state", &state)
            }
            "/wallet" => json("bus GET wallet", &self.renter().wallet()),
            "/contracts" => self.contracts(call),
            "/buckets" => {
                let buckets = self.shelf.buckets().into_iter().map(|(name, created)| Bucket::new(name, created));
                json("bus GET buckets", &none_if_empty(buckets.collect()))
            }
            "/stats/objects" => self.stats(call),
            "/settings/upload" => json("bus GET settings/upload", &self.upload_settings()),
            "/autopilot" => json("bus GET autopilot", &self.autopilot_settings()),
            "/slabbuffers" => match self.renter().slab_buffers() {
                buffers if buffers.is_empty() => super::reply::empty_list("bus GET slabbuffers"),
                buffers => json("bus GET slabbuffers", &buffers),
            },
            "/state" => json("bus GET state", &super::documents::state("bus", self.started)),
            _ => not_found(),
        }
    }

    fn bus_delete(&self, call: &Call<'_>) -> ServiceResponse {
        if let Some(key) = call.below("/object") {
            let bucket = call.form().value("bucket");
            if bucket.is_empty() {
                return line(400, "'bucket' parameter is required");
            }
            return self.delete_object("bus DELETE object", &bucket, key);
        }
        match call.path.strip_prefix("/bucket/").map(|name| self.shelf.delete_bucket(name)) {
            Some(Ok(())) => empty("bus DELETE bucket"),
            Some(Err(ShelfError::BucketNotEmpty)) => line(409, "bucket not empty"),
            Some(Err(_)) => line(404, "bucket not found"),
            None => not_found(),
        }
    }

    async fn create_bucket(&self, body: RequestBody) -> Result<ServiceResponse, Broken> {
        #[derive(Deserialize)]
        struct Request {
            name: String,
        }
        let Request { name } = match document(body).await? {
            Ok(request) => request,
            Err(refusal) => return Ok(*refusal),
        };
        if !is_bucket_name(&name) {
            let rules = "https://docs.aws.amazon.com/AmazonS3/latest/userguide/bucketnamingrules.html";
            let message = format!("the bucket name doesn't comply with the S3 bucket naming convention ({rules})");
            return Ok(line(400, &message));
        }
        Ok(match self.shelf.create_bucket(&name) {
            Ok(()) => empty("bus POST buckets"),
            Err(ShelfError::BucketExists) => line(409, "bucket already exists"),
            Err(error) => line(500, &format!("failed to create bucket: {error:?}")),
        })
    }

    fn bucket(&self, name: &str) -> ServiceResponse {
        match self.shelf.buckets().into_iter().find(|(found, _)| found == name) {
            Some((name, created)) => json("bus GET bucket", &Bucket::new(name, created)),
            None => line(404, "bucket not found"),
        }
    }

    fn contracts(&self, call: &Call<'_>) -> ServiceResponse {
        let contracts = match &*call.form().value("filtermode") {
            "" | "active" | "all" | "good" => self.renter().contracts(),
            // The stand-in never archives contracts.
            "archived" => Vec::new(),
            mode => {
                let modes = "must be one of [active, archived, all, good]";
                return line(400, &format!("invalid filter mode '{mode}', {modes}"));
            }
        };
        json("bus GET contracts", &none_if_empty(contracts))
    }

    fn list(&self, call: &Call<'_>, prefix: &str) -> ServiceResponse {
        let form = call.form();
        let (bucket, delimiter, marker) = (form.value("bucket"), form.value("delimiter"), form.value("marker"));
        if !matches!(&*delimiter, "" | "/") {
            return line(500, &format!("failed to query objects: unsupported delimiter: '{delimiter}'"));
        }
        let Ok(limit) = form.number::<i64>("limit") else {
            return line(400, "invalid form value \"limit\": invalid syntax");
        };
        let most = limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(PAGE_MAX).min(PAGE_MAX);
        let buckets = if bucket.is_empty() {
            self.shelf.buckets().into_iter().map(|(name, _)| name).collect()
        } else {
            vec![bucket]
        };
        let (mut objects, mut has_more) = (Vec::new(), false);
        for bucket in &buckets {
            let (listed, more) = self.shelf.list(bucket, prefix, &delimiter, &marker, most - objects.len());
            has_more |= more;
            objects.extend(listed.into_iter().map(|listed| match listed {
                Listed::Item(item) => ObjectInfo::of_item(bucket, item),
                Listed::Prefix(prefix) => ObjectInfo::of_directory(bucket, prefix),
            }));
        }
        let next_marker = objects.last().filter(|_| has_more).map(|object| object.key.clone()).unwrap_or_default();
        json("bus GET objects", &ObjectPage { has_more, next_marker, objects: none_if_empty(objects) })
    }

    fn object_info(&self, call: &Call<'_>, key: &str) -> ServiceResponse {
        let bucket = call.form().value("bucket");
        if bucket.is_empty() {
            return line(400, "'bucket' parameter is required");
        }
        match self.shelf.get(&bucket, key) {
            Ok(item) => json("bus GET object", &ObjectInfo::of_item(&bucket, item)),
            Err(_) => line(404, "object not found"),
        }
    }

    fn stats(&self, call: &Call<'_>) -> ServiceResponse {
        let wanted = call.form().value("bucket");
        let buckets: Vec<String> = self.shelf.buckets().into_iter().map(|(name, _)| name).collect();
        if !wanted.is_empty() && !buckets.contains(&wanted) {
            return line(500, "couldn't get objects stats: bucket not found");
        }
        let mut stats = ObjectStats { min_health: 1, ..ObjectStats::default() };
        for bucket in buckets.iter().filter(|bucket| wanted.is_empty() || **bucket == wanted) {
            for listed in self.shelf.list(bucket, "", "", "", usize::MAX).0 {
                if let Listed::Item(item) = listed {
                    stats.num_objects += 1;
                    stats.total_objects_size += item.bytes;
                }
            }
            for upload in self.shelf.uploads(bucket) {
                let parts = self.shelf.parts(bucket, &upload.key, &upload.name).unwrap_or_default();
                stats.num_unfinished_objects += 1;
                stats.total_unfinished_objects_size += parts.iter().map(|part| part.bytes).sum::<u64>();
            }
        }
        let renter = self.renter();
        stats.total_sectors_size = renter.sectors_bytes();
        stats.total_uploaded_size = renter.contracts_bytes();
        let prometheus = call.form().value("response") == "prometheus";
        if prometheus { prometheus_stats(&stats) } else { json("bus GET stats/objects", &stats) }
    }

    fn upload_settings(&self) -> serde_json::Value {
        let renter = self.renter();
        let redundancy = renter.redundancy;
        serde_json::json!({
            "packing": { "enabled": renter.packing, "slabBufferMaxSizeSoft": 1_u64 << 32 },
            "redundancy": { "minShards": redundancy.min_shards, "totalShards": redundancy.total_shards },
        })
    }

    fn autopilot_settings(&self) -> serde_json::Value {
        let renter = self.renter();
        let usual = || {
            serde_json::json!({
                "enabled": true,
                "contracts": {
                    "amount": renter.config.contracts,
                    "period": 6048,
                    "renewWindow": 2016,
                    "download": 1_000_000_000_000_u64,
                    "upload": 1_000_000_000_000_u64,
                    "storage": 4_000_000_000_000_u64,
                    "prune": false,
                },
                "hosts": { "maxConsecutiveScanFailures": 10, "maxDowntimeHours": 336, "minProtocolVersion": "1.6.0" },
            })
        };
        renter.autopilot.clone().unwrap_or_else(usual)
    }

    async fn replace_settings(&self, call: &Call<'_>, body: RequestBody) -> Result<ServiceResponse, Broken> {
        let change: serde_json::Value = match document(body).await? {
            Ok(change) => change,
            Err(refusal) => return Ok(*refusal),
        };
        if call.path == "/autopilot" {
            let mut settings = self.autopilot_settings();
            for part in ["enabled", "contracts", "hosts"] {
                if let Some(value) = change.get(part).filter(|value| !value.is_null()) {
                    settings[part] = value.clone();
                }
            }
            self.renter().autopilot = Some(settings);
            return Ok(empty("bus PUT autopilot"));
        }
        let number =
            |name: &str| change.get("redundancy").and_then(|part| part.get(name)).and_then(serde_json::Value::as_u64);
        let (Some(min_shards), Some(total_shards)) = (number("minShards"), number("totalShards")) else {
            return Ok(line(400, "couldn't decode request type: redundancy is missing"));
        };
        if min_shards < 1 || total_shards < min_shards || total_shards > 255 {
            return Ok(line(400, "invalid redundancy settings"));
        }
        let packing =
            change.get("packing").and_then(|packing| packing.get("enabled")).and_then(serde_json::Value::as_bool);
        let mut renter = self.renter();
        renter.redundancy = super::renter::Redundancy { min_shards, total_shards };
        renter.packing = packing.unwrap_or(renter.packing);
        Ok(empty("bus PUT settings/upload"))
    }

    /// Returns a series. The stand-in keeps no history, so only the current interval has an entry.
    fn metric(&self, call: &Call<'_>, key: &str) -> ServiceResponse {
        // A plus sign in a time is not decoded to a space.
        let query = call.target.query.unwrap_or_default().split('&');
        let start = query.filter_map(|pair| pair.strip_prefix("start=")).next().unwrap_or_default();
        let start = percent_decode_str(start).decode_utf8_lossy();
        let (count, interval) = (call.form().number::<u64>("n"), call.form().number::<u64>("interval"));
        let Some(start) = parse_rfc3339(&start) else { return line(400, "parameter 'start' is required") };
        let count = match count {
            Ok(Some(0)) => return line(400, "'n' has to be greater than zero"),
            Ok(Some(count)) => count,
            _ => return line(400, "parameter 'n' is required"),
        };
        let Some(interval) = interval.ok().flatten().filter(|milliseconds| *milliseconds > 0) else {
            return line(400, "parameter 'interval' is required");
        };
        if !matches!(key, "contract" | "wallet" | "contractprune") {
            return line(400, &format!("unknown metric '{key}'"));
        }
        if count > INTERVALS_MAX {
            return line(400, "max number of intervals exceeds maximum of 1000");
        }
        let passed =
            SystemTime::now().duration_since(start).ok().map(|passed| passed.as_millis() / u128::from(interval));
        let present = passed.and_then(|index| u64::try_from(index).ok()).filter(|index| *index < count);
        let timestamp = present.map(|index| rfc3339(start + Duration::from_millis(index.saturating_mul(interval))));
        let renter = self.renter();
        match (key, timestamp) {
            ("contract", Some(at)) => json("bus GET metric/contract", &[renter.contract_metric(at)]),
            ("wallet", Some(at)) => json("bus GET metric/wallet", &[WalletMetric::new(at, &renter.wallet())]),
            _ => super::reply::empty_list("bus GET metric"),
        }
    }
}

/// Returns the list, or `None` if it is empty. For an empty list, renterd writes `null`.
fn none_if_empty<T>(list: Vec<T>) -> Option<Vec<T>> {
    Some(list).filter(|list| !list.is_empty())
}

/// Returns whether a name is valid for a bucket: 3 to 63 lower-case letters, digits and hyphens.
fn is_bucket_name(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let bytes = name.as_bytes();
    let ends = bytes.first().copied().is_some_and(plain) && bytes.last().copied().is_some_and(plain);
    let inner = bytes.iter().all(|byte| plain(*byte) || *byte == b'-');
    (3..=63).contains(&bytes.len()) && ends && inner && !name.starts_with("xn--") && !name.ends_with("-s3alias")
}

/// Creates the response with statistics for Prometheus.
fn prometheus_stats(stats: &ObjectStats) -> ServiceResponse {
    let lines = [
        ("numobjects", stats.num_objects),
        ("numunfinishedobjects", stats.num_unfinished_objects),
        ("minhealth", stats.min_health.into()),
        ("totalobjectssize", stats.total_objects_size),
        ("totalunfinishedobjectssize", stats.total_unfinished_objects_size),
        ("totalsectorssize", stats.total_sectors_size),
        ("totaluploadedsize", stats.total_uploaded_size),
    ];
    let text: Vec<String> = lines.iter().map(|(name, value)| format!("renterd_stats_{name} {value}")).collect();
    let mut response = super::reply::whole(200, text.join("\n"));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    ServiceResponse { operation: Some("bus GET stats/objects".into()), ..ServiceResponse::new(response) }
}
