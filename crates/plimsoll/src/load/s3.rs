//! The flags of S3: servers, addressing of buckets, and signatures.

use crate::credentials::{self, Credentials, DEFAULT_REGION, Surroundings, origin};
use crate::failure::Failure;
use clap::ValueEnum;
use engine::plan::{Auth, S3Payload, SignaturePlace, Spread};
use measure::units::parse_span;
use std::sync::Arc;
use std::time::Duration;
use wire::Origin;
use wire::checksum::Algorithm;
use wire::s3::Addressing;
use wire::sigv4::{MAX_EXPIRY_SECONDS, SharedKeys, Signer, Streaming, Trailer};

/// The settings of S3.
#[derive(clap::Args, Debug)]
#[group(skip)]
#[command(next_help_heading = "S3")]
pub struct Args {
    /// Servers of s3:// locations, separated by commas, e.g. http://host:9000. Use aws for Amazon S3 [default:
    /// AWS_ENDPOINT_URL, or the server in the AWS profile].
    #[arg(long, value_name = "URL", value_delimiter = ',', hide_short_help = true)]
    pub endpoint: Vec<String>,
    /// Region for signatures. Without an endpoint, this flag also selects Amazon S3 in this region [default:
    /// AWS_REGION, the profile's, or us-east-1].
    #[arg(long, value_name = "NAME", hide_short_help = true)]
    pub region: Option<String>,
    /// Where requests name the bucket: in the path, or in the host (bucket.server) [default: path, or host for Amazon
    /// S3].
    #[arg(long, value_enum, value_name = "STYLE", hide_possible_values = true, hide_short_help = true)]
    pub bucket_in: Option<BucketIn>,
    /// Signature of bodies: unsigned, signed, chunks (sign each chunk), chunks-trailer (sign each chunk and add a
    /// checksum), or unsigned-trailer (only add a checksum).
    #[arg(
        long,
        value_enum,
        default_value = "unsigned",
        value_name = "HOW",
        hide_possible_values = true,
        hide_short_help = true
    )]
    pub payload: Payload,
    /// Checksum in the trailer of a body: crc32, crc32c, crc64nvme, sha1, sha256.
    #[arg(long, value_name = "NAME", value_parser = trailer, default_value = "crc32c", hide_short_help = true)]
    pub checksum: Trailer,
    /// Put the signature into the URL (presigned URLs), valid for this long.
    #[arg(long, value_name = "TIME", value_parser = expiry, hide_short_help = true)]
    pub presign: Option<u32>,
    /// Do not sign requests.
    #[arg(long, conflicts_with_all = ["presign", "access_key", "profile"], hide_short_help = true)]
    pub anonymous: bool,
    /// Choice of the server for each request, if there are several: round-robin, random, least-loaded.
    #[arg(
        long,
        value_enum,
        default_value = "round-robin",
        value_name = "HOW",
        hide_possible_values = true,
        hide_short_help = true
    )]
    pub spread: SpreadOver,
    /// Source of the keys.
    #[command(flatten)]
    pub credentials: credentials::Args,
}

/// Place of the bucket's name in a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum BucketIn {
    /// `http://host/bucket/key`.
    Path,
    /// `http://bucket.host/key`.
    Host,
}

/// Signature of bodies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Payload {
    /// Bodies are not signed.
    Unsigned,
    /// A hash of the whole body is signed.
    Signed,
    /// Bodies are sent in signed chunks.
    Chunks,
    /// Bodies are sent in signed chunks, and a checksum follows.
    ChunksTrailer,
    /// Bodies are not signed, and a checksum follows.
    UnsignedTrailer,
}

/// Distribution of requests over several servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SpreadOver {
    /// Each server in turn.
    RoundRobin,
    /// A random server.
    Random,
    /// The server with the fewest operations in flight.
    LeastLoaded,
}

/// Value of `--endpoint` for Amazon S3.
const AMAZON: &str = "aws";

/// A server that the user named.
enum Server {
    Named(Vec<Origin>),
    /// Amazon S3, in the region of the signature.
    Amazon,
}

fn trailer(text: &str) -> Result<Trailer, String> {
    let known = Algorithm::ALL.into_iter().filter_map(Trailer::new);
    let name = |trailer: &Trailer| trailer.name().trim_start_matches("x-amz-checksum-");
    known
        .into_iter()
        .find(|trailer| name(trailer) == text)
        .ok_or_else(|| format!("`{text}` is not a checksum of S3: use crc32, crc32c, crc64nvme, sha1 or sha256"))
}

fn expiry(text: &str) -> Result<u32, String> {
    let span: Duration = parse_span(text).map_err(|error| error.to_string())?;
    let seconds = u32::try_from(span.as_secs()).ok().filter(|seconds| (1..=MAX_EXPIRY_SECONDS).contains(seconds));
    seconds.ok_or_else(|| "a presigned request can be valid for 1s to 7d".to_owned())
}

/// The servers, and the form of requests for their objects.
pub struct Service {
    /// The servers.
    pub endpoints: Vec<Origin>,
    /// Place of the bucket's name in a request.
    pub addressing: Addressing,
    /// Authentication of requests.
    pub auth: Auth,
}

impl Args {
    /// Returns the distribution of requests over several servers.
    pub fn spread(&self) -> Spread {
        match self.spread {
            SpreadOver::RoundRobin => Spread::RoundRobin,
            SpreadOver::Random => Spread::Random,
            SpreadOver::LeastLoaded => Spread::LeastLoaded,
        }
    }

    /// Returns the servers and keys from the flags, the environment or a profile.
    ///
    /// # Errors
    /// Fails if no server or no keys are found, or if a value is invalid.
    pub fn service(&self) -> Result<Service, Failure> {
        let around = Surroundings::new(&credentials::process_variable);
        // Find the server first. Without a server, the command fails before it requests keys from a metadata service.
        let server = self.server(&around)?;
        let found = match self.anonymous {
            true => None,
            false => Credentials::find(&self.credentials, &around)?,
        };
        let region = self.region.clone().or_else(|| found.as_ref()?.region.clone()).or_else(|| around.region());
        let (endpoints, usual) = match server {
            Server::Named(origins) => (origins, Addressing::Path),
            Server::Amazon => (vec![amazon(region.as_deref())?], Addressing::VirtualHost),
        };
        let region = region.unwrap_or_else(|| DEFAULT_REGION.to_owned());
        let addressing = match self.bucket_in {
            Some(BucketIn::Host) => Addressing::VirtualHost,
            Some(BucketIn::Path) => Addressing::Path,
            None => usual,
        };
        let auth = match (found, self.anonymous) {
            (_, true) => Auth::S3Anonymous,
            (Some(found), false) => {
                let keys = Arc::new(SharedKeys::new(found.keys.clone()));
                credentials::keep_current(&found, &self.credentials, &keys);
                Auth::S3 {
                    signer: Box::new(Signer::with_shared(keys, &region, "s3")),
                    place: self.presign.map_or(SignaturePlace::Header, SignaturePlace::Query),
                    payload: self.payload(),
                }
            }
            (None, false) => {
                return Err(Failure::usage(
                    "no keys for S3: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or use --profile, or --access-key with --secret-key @FILE, or --anonymous",
                ));
            }
        };
        Ok(Service { endpoints, addressing, auth })
    }

    /// Returns the servers that the user named. Only `--endpoint aws` and `--region` select Amazon S3. A region in the
    /// environment or a profile does not select Amazon S3, so that no load goes to the internet by accident.
    fn server(&self, around: &Surroundings) -> Result<Server, Failure> {
        if !self.endpoint.is_empty() {
            return match self.endpoint.iter().any(|text| text == AMAZON) {
                true if self.endpoint.len() > 1 => Err(Failure::usage(format!(
                    "--endpoint {AMAZON} cannot be combined with other servers: leave out the other servers"
                ))),
                true => Ok(Server::Amazon),
                false => {
                    let origins = self.endpoint.iter().map(|text| origin(text, &"--endpoint"));
                    origins.collect::<Result<_, _>>().map(Server::Named)
                }
            };
        }
        match (
            credentials::configured(credentials::Service::S3, &self.credentials.active_profile(around), around)?,
            &self.region,
        ) {
            (Some((url, named_by)), _) => Ok(Server::Named(vec![origin(&url, &named_by)?])),
            (None, Some(_)) => Ok(Server::Amazon),
            (None, None) => Err(Failure::usage(
                "no S3 server given: use --endpoint http://host:9000, or --endpoint aws --region NAME for Amazon S3",
            )),
        }
    }

    /// Returns whether a checksum follows each body.
    pub fn has_trailer(&self) -> bool {
        matches!(self.payload, Payload::ChunksTrailer | Payload::UnsignedTrailer)
    }

    fn payload(&self) -> S3Payload {
        match self.payload {
            Payload::Unsigned => S3Payload::Unsigned,
            Payload::Signed => S3Payload::Signed,
            Payload::Chunks => S3Payload::Chunks(Streaming::Signed),
            Payload::ChunksTrailer => S3Payload::Chunks(Streaming::SignedTrailer(self.checksum)),
            Payload::UnsignedTrailer => S3Payload::Chunks(Streaming::UnsignedTrailer(self.checksum)),
        }
    }
}

/// Returns Amazon's server for a region.
fn amazon(region: Option<&str>) -> Result<Origin, Failure> {
    let region = region.ok_or_else(|| {
        Failure::usage(format!(
            "--endpoint {AMAZON} needs a region: add --region NAME, for example --region eu-central-1"
        ))
    })?;
    // Other characters are refused, because they could change the host of the URL.
    if region.is_empty() || !region.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-') {
        let region = region.escape_debug();
        return Err(Failure::usage(format!(
            "`{region}` is not a region of Amazon S3: use --region NAME, or --endpoint URL"
        )));
    }
    let domain = if region.starts_with("cn-") { "amazonaws.com.cn" } else { "amazonaws.com" };
    origin(&format!("https://s3.{region}.{domain}"), &"--region")
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Words {
        #[command(flatten)]
        args: Args,
    }

    /// Returns the server for these flags and environment variables.
    fn server(words: &[&str], variables: &[(&str, &str)]) -> Result<String, String> {
        let args = Words::parse_from(["x"].iter().chain(words)).args;
        let variable = |name: &str| {
            let found = variables.iter().find(|(variable, _)| *variable == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        let around = Surroundings::new(&variable);
        let region = args.region.clone().or_else(|| around.region());
        let origin = match args.server(&around).map_err(Failure::into_message)? {
            Server::Named(origins) => origins[0].clone(),
            Server::Amazon => amazon(region.as_deref()).map_err(Failure::into_message)?,
        };
        Ok(origin.to_string())
    }

    #[test]
    fn amazon_is_used_only_on_request() {
        const REGION: [(&str, &str); 1] = [("AWS_REGION", "eu-central-1")];
        let amazon = |host: &str| Ok(format!("{host}:443"));
        assert!(server(&[], &REGION).unwrap_err().contains("no S3 server given"));
        assert!(server(&[], &[]).unwrap_err().contains("--endpoint aws"));
        assert_eq!(server(&["--region", "us-west-2"], &REGION), amazon("s3.us-west-2.amazonaws.com"));
        assert_eq!(server(&["--endpoint", "aws"], &REGION), amazon("s3.eu-central-1.amazonaws.com"));
        assert_eq!(
            server(&["--endpoint", "aws", "--region", "cn-north-1"], &[]),
            amazon("s3.cn-north-1.amazonaws.com.cn")
        );
        assert!(server(&["--endpoint", "aws"], &[]).unwrap_err().contains("needs a region"));
        let configured = [REGION[0], ("AWS_ENDPOINT_URL", "http://near:9000")];
        assert_eq!(server(&["--region", "us-west-2"], &configured), Ok("near:9000".to_owned()));
        for region in ["evil.example#", "x@evil.example/", "a.b", ""] {
            let refused = server(&["--endpoint", "aws", "--region", region], &[]).unwrap_err();
            assert!(refused.contains("is not a region"), "{region}: {refused}");
        }
    }
}
