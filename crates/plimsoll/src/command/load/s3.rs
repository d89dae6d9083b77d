//! The flags of S3: whom to ask, where the bucket stands, how requests are signed.

use crate::credentials::{self, Credentials, Surroundings};
use crate::failure::Failure;
use clap::ValueEnum;
use engine::plan::{Auth, Carried, S3Payload, Spread};
use measure::units::parse_span;
use std::time::Duration;
use wire::checksum::Algorithm;
use wire::s3::Addressing;
use wire::sigv4::{MAX_EXPIRY_SECONDS, Signer, Streaming, Trailer};
use wire::{Origin, Url};

/// How S3 is spoken.
#[derive(clap::Args, Debug)]
#[group(skip)]
#[command(next_help_heading = "S3")]
pub struct Args {
    /// Server of s3:// locations, like http://host:9000; several with commas [default: AWS_ENDPOINT_URL, or Amazon's].
    #[arg(long, value_name = "URL", value_delimiter = ',', hide_short_help = true)]
    pub endpoint: Vec<String>,
    /// Region to sign for [default: AWS_REGION, the profile's, or us-east-1].
    #[arg(long, value_name = "NAME", hide_short_help = true)]
    pub region: Option<String>,
    /// Where the bucket stands: path, or host as in bucket.server [default: path, for Amazon host].
    #[arg(long, value_enum, value_name = "STYLE", hide_possible_values = true, hide_short_help = true)]
    pub bucket_in: Option<BucketIn>,
    /// How bodies are signed: unsigned, signed, chunks (each signed), chunks-trailer, unsigned-trailer (checksum only).
    #[arg(
        long,
        value_enum,
        default_value = "unsigned",
        value_name = "HOW",
        hide_possible_values = true,
        hide_short_help = true
    )]
    pub payload: Payload,
    /// Checksum that follows bodies sent with a trailer: crc32, crc32c, crc64nvme, sha1, sha256.
    #[arg(long, value_name = "NAME", value_parser = trailer, default_value = "crc32c", hide_short_help = true)]
    pub checksum: Trailer,
    /// Sign in the query, as presigned URLs are, good for this long.
    #[arg(long, value_name = "TIME", value_parser = expiry, hide_short_help = true)]
    pub presign: Option<u32>,
    /// Do not sign.
    #[arg(long, conflicts_with_all = ["presign", "access_key", "profile"], hide_short_help = true)]
    pub anonymous: bool,
    /// Which of several servers is asked: round-robin, random, least-loaded.
    #[arg(
        long,
        value_enum,
        default_value = "round-robin",
        value_name = "HOW",
        hide_possible_values = true,
        hide_short_help = true
    )]
    pub spread: SpreadOver,
    /// Where keys come from.
    #[command(flatten)]
    pub credentials: credentials::Args,
}

/// Where the bucket stands in a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum BucketIn {
    /// `http://host/bucket/key`.
    Path,
    /// `http://bucket.host/key`.
    Host,
}

/// How bodies are signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Payload {
    /// Not at all.
    Unsigned,
    /// By a hash of the whole.
    Signed,
    /// In signed chunks.
    Chunks,
    /// In signed chunks, with a checksum behind them.
    ChunksTrailer,
    /// With a checksum behind the body.
    UnsignedTrailer,
}

/// Which of several servers is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SpreadOver {
    /// Each in turn.
    RoundRobin,
    /// One at random.
    Random,
    /// The one with the fewest operations in flight.
    LeastLoaded,
}

const DEFAULT_REGION: &str = "us-east-1";

fn trailer(text: &str) -> Result<Trailer, String> {
    let known = Algorithm::ALL.into_iter().filter_map(Trailer::new);
    let name = |trailer: &Trailer| trailer.name().trim_start_matches("x-amz-checksum-");
    known
        .into_iter()
        .find(|trailer| name(trailer) == text)
        .ok_or_else(|| format!("`{text}` is not a checksum of S3: write crc32, crc32c, crc64nvme, sha1 or sha256"))
}

fn expiry(text: &str) -> Result<u32, String> {
    let span: Duration = parse_span(text).map_err(|error| error.to_string())?;
    let seconds = u32::try_from(span.as_secs()).ok().filter(|seconds| (1..=MAX_EXPIRY_SECONDS).contains(seconds));
    seconds.ok_or_else(|| "a presigned request is good for 1s to 7d".to_owned())
}

/// Servers, and how to ask them.
pub struct Service {
    /// The servers.
    pub endpoints: Vec<Origin>,
    /// Where the bucket stands.
    pub addressing: Addressing,
    /// Who asks.
    pub auth: Auth,
}

impl Args {
    /// Which of several origins is asked.
    pub fn spread(&self) -> Spread {
        match self.spread {
            SpreadOver::RoundRobin => Spread::RoundRobin,
            SpreadOver::Random => Spread::Random,
            SpreadOver::LeastLoaded => Spread::LeastLoaded,
        }
    }

    /// What the flags, the environment and the files of credentials come to.
    pub fn service(&self) -> Result<Service, Failure> {
        let around = Surroundings::new(&credentials::process_variable);
        let found = match self.anonymous {
            true => None,
            false => Credentials::find(&self.credentials, &around)?,
        };
        let variable = |name: &str| credentials::process_variable(name).filter(|value| !value.is_empty());
        let region = self.region.clone().or_else(|| found.as_ref()?.region.clone());
        let region = region.or_else(|| around.region()).unwrap_or_else(|| DEFAULT_REGION.to_owned());
        let mut typed = self.endpoint.clone();
        if typed.is_empty() {
            typed.extend(variable("AWS_ENDPOINT_URL_S3").or_else(|| variable("AWS_ENDPOINT_URL")));
        }
        let amazon = typed.is_empty();
        if amazon {
            typed.push(format!("https://s3.{region}.amazonaws.com"));
        }
        let endpoints = typed.iter().map(|text| endpoint(text)).collect::<Result<Vec<_>, _>>()?;
        let addressing = match self.bucket_in {
            Some(BucketIn::Host) => Addressing::VirtualHost,
            Some(BucketIn::Path) => Addressing::Path,
            None if amazon => Addressing::VirtualHost,
            None => Addressing::Path,
        };
        let auth = match (found, self.anonymous) {
            (_, true) => Auth::S3Anonymous,
            (Some(found), false) => Auth::S3 {
                signer: Box::new(Signer::new(found.keys, &region, "s3")),
                carried: self.presign.map_or(Carried::Header, Carried::Query),
                payload: self.payload(),
            },
            (None, false) => {
                return Err(Failure::usage(
                    "no keys for S3: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, name a --profile, write --access-key with --secret-key @FILE, or --anonymous",
                ));
            }
        };
        Ok(Service { endpoints, addressing, auth })
    }

    /// Whether a checksum follows each body.
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

fn endpoint(text: &str) -> Result<Origin, Failure> {
    let refused = |why: &str| Failure::usage(format!("--endpoint `{}`: {why}", crate::redact::url_text(text)));
    let url = Url::parse(text).map_err(|error| refused(&error.to_string()))?;
    if url.credentials().is_some() {
        return Err(refused("keys do not belong there: write --access-key, or set AWS_ACCESS_KEY_ID"));
    }
    if url.target() != "/" {
        return Err(refused("write the server alone, like http://host:9000; the bucket stands in s3://BUCKET"));
    }
    Ok(url.origin().clone())
}
