//! The flags of `serve` for TLS, HTTP/2 and S3.

use super::stand_in::System;
use super::{Args, sia};
use crate::console;
use crate::failure::Failure;
use crate::load::count;
use crate::secret_reference::expand;
use measure::units::ByteSize;
use server::{Config, HyperServer, Identity, Renterd, S3Config, StoreIn, Tls};
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};
use wire::s3::Bucket;

const HEADING: &str = "TLS, HTTP/2 and S3";

/// TLS and HTTP/2.
#[derive(clap::Args, Debug)]
#[command(next_help_heading = HEADING)]
pub struct TlsArgs {
    /// Use TLS with HTTP/2 and HTTP/1.1, and a generated certificate.
    #[arg(long)]
    pub tls: bool,
    /// Write the CA certificate that clients must trust to this file.
    #[arg(long, value_name = "FILE", requires = "tls", conflicts_with = "tls_cert")]
    pub tls_ca_out: Option<PathBuf>,
    /// Use TLS with this certificate chain (PEM) instead of a generated one.
    #[arg(long, value_name = "FILE", requires = "tls_key", hide_short_help = true)]
    pub tls_cert: Option<PathBuf>,
    /// Private key of --tls-cert (PEM).
    #[arg(long, value_name = "FILE", requires = "tls_cert", hide_short_help = true)]
    pub tls_key: Option<PathBuf>,
    /// Require client certificates signed by one of these CA certificates (PEM).
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub tls_client_ca: Option<PathBuf>,
    /// Also accept HTTP/2 without TLS, by prior knowledge.
    #[arg(long)]
    pub http2: bool,
}

/// S3 instead of files.
#[derive(clap::Args, Debug)]
#[command(next_help_heading = HEADING)]
pub struct S3Args {
    /// Serve S3 instead of files and blackhole objects.
    #[arg(long, conflicts_with = "directory")]
    pub s3: bool,
    /// Storage of S3 objects: memory or a directory.
    #[arg(long, value_name = "memory|DIR", default_value = "memory", requires = "s3")]
    pub store: PathBuf,
    /// Maximum number of bytes that S3 or renterd stores [default: 1GiB in memory].
    #[arg(long, value_name = "SIZE", hide_short_help = true)]
    pub store_max: Option<ByteSize>,
    /// Create this bucket in S3 or renterd at the start.
    #[arg(long, value_name = "NAME", value_parser = bucket, hide_short_help = true)]
    pub bucket: Option<String>,
    /// Access key to accept [default on loopback: plimsoll].
    #[arg(long, value_name = "KEY", requires = "secret_key", hide_short_help = true)]
    pub access_key: Option<String>,
    /// Secret key for --access-key; also @FILE or ${ENV} [default on loopback: plimsoll-secret].
    #[arg(long, value_name = "SECRET", requires = "s3", hide_short_help = true)]
    pub secret_key: Option<String>,
    /// Acknowledge every N-th object that is written to S3 or renterd, but do not store it.
    #[arg(long, value_name = "N", value_parser = count::<NonZeroU64>, hide_short_help = true)]
    pub lose_every: Option<NonZeroU64>,
}

/// Default maximum number of bytes that S3 stores in memory.
const MEMORY_MAX: u64 = 1 << 30;
/// Default access key, for tests on one host.
pub const ACCESS_KEY: &str = "plimsoll";
/// Secret key of [`ACCESS_KEY`]. This key is public.
pub const SECRET_KEY: &str = "plimsoll-secret";

fn bucket(name: &str) -> Result<String, String> {
    Bucket::parse(name).map(|bucket| bucket.as_str().to_owned()).map_err(|error| error.to_string())
}

/// Refuses flags that contradict each other.
pub fn check(args: &Args) -> Result<(), Failure> {
    let stores = args.s3.s3 || is_renterd(args);
    for (flag, is_given) in [
        ("--store-max", args.s3.store_max.is_some()),
        ("--bucket", args.s3.bucket.is_some()),
        ("--lose-every", args.s3.lose_every.is_some()),
    ] {
        if is_given && !stores {
            return Err(Failure::usage(format!("{flag} requires --s3 or --as renterd")));
        }
    }
    if !is_wanted(args) {
        return Ok(());
    }
    if args.liar.is_some() || args.stand_in.cluster.is_some() {
        return Err(Failure::usage(
            "--cluster and --liar support plain HTTP/1 only: leave them out, or the flags of TLS, HTTP/2 and S3",
        ));
    }
    if args.s3.s3 && (args.stand_in.stand_in.is_some() || args.stand_in.list.is_some()) {
        return Err(Failure::usage("--s3 serves only objects that clients store: leave out --as and --list"));
    }
    Ok(())
}

/// Returns whether the flags need the server that is built on hyper.
pub fn is_wanted(args: &Args) -> bool {
    let tls = &args.tls;
    let tls_or_http2 = tls.http2 || tls.tls || tls.tls_cert.is_some() || tls.tls_client_ca.is_some();
    tls_or_http2 || args.s3.s3 || is_renterd(args)
}

fn is_renterd(args: &Args) -> bool {
    args.stand_in.stand_in == Some(System::Renterd)
}

fn renterd(args: &Args) -> Result<Renterd, Failure> {
    let local = args.listen.iter().all(|address| address.ip().is_loopback());
    args.stand_in.sia.renterd(args.s3.store_max, args.s3.bucket.clone(), local)
}

/// Starts the server that is built on hyper, and prints its addresses.
pub fn start(args: &Args, config: &Config) -> Result<HyperServer, Failure> {
    let tls = tls(&args.tls)?;
    let s3 = if args.s3.s3 { Some(s3(args)?) } else { None };
    let renterd = if is_renterd(args) { Some(renterd(args)?) } else { None };
    let front = match (&s3, &renterd) {
        (Some(s3), _) => HyperServer::start_s3(config, tls.as_ref(), s3),
        (None, Some(renterd)) => HyperServer::start_renterd(config, tls.as_ref(), renterd),
        (None, None) => HyperServer::start(config, tls.as_ref()),
    };
    let front = front.map_err(|error| super::cannot_serve(&error))?;
    if let (Some(path), Some(pem)) = (&args.tls.tls_ca_out, front.ca_pem()) {
        let failed = |error| Failure::could_not_run(format!("cannot write --tls-ca-out {}: {error}", path.display()));
        std::fs::write(path, pem).map_err(failed)?;
    }
    let scheme = if tls.is_some() { "https" } else { "http" };
    args.stand_in.write_lists(scheme, front.addresses().first())?;
    let (what, path) = if s3.is_some() { ("S3 on ", String::new()) } else { ("", args.stand_in.example()) };
    for address in front.addresses() {
        console::print(&format!("serving {what}{scheme}://{address}{path}\n"))?;
    }
    for path in front.unix_paths() {
        console::print(&format!("serving {what}unix socket {}\n", path.display()))?;
    }
    if s3.is_some_and(|s3| s3.secret_key == SECRET_KEY) {
        console::print(&format!("access key {ACCESS_KEY}, secret key {SECRET_KEY}\n"))?;
    }
    if renterd.is_some_and(|renterd| renterd.password == sia::PASSWORD) {
        console::print(&format!("password of the API: {}\n", sia::PASSWORD))?;
    }
    Ok(front)
}

fn tls(args: &TlsArgs) -> Result<Option<Tls>, Failure> {
    let identity = match (&args.tls_cert, &args.tls_key) {
        (Some(certificate), Some(key)) => Identity::Files { certificate: certificate.clone(), key: key.clone() },
        _ if args.tls => Identity::SelfSigned,
        _ if args.tls_client_ca.is_some() => {
            return Err(Failure::usage("--tls-client-ca requires TLS: add --tls, or --tls-cert and --tls-key"));
        }
        _ => return Ok(None),
    };
    Ok(Some(Tls { identity, client_ca: args.tls_client_ca.clone() }))
}

fn s3(args: &Args) -> Result<S3Config, Failure> {
    let S3Args { store, store_max, bucket, access_key, secret_key, .. } = &args.s3;
    let local = args.listen.iter().all(|address| address.ip().is_loopback());
    let (access_key, secret_key) = match (access_key, secret_key) {
        (Some(access), Some(secret)) => (expand(access, "--access-key")?, expand(secret, "--secret-key")?),
        (None, Some(secret)) => (ACCESS_KEY.to_owned(), expand(secret, "--secret-key")?),
        _ if local => (ACCESS_KEY.to_owned(), SECRET_KEY.to_owned()),
        _ => {
            let why = "because other hosts can reach this address";
            return Err(Failure::usage(format!("--s3 needs --access-key and --secret-key, {why}")));
        }
    };
    if access_key.is_empty() || secret_key.is_empty() {
        return Err(Failure::usage("--access-key and --secret-key must not be empty"));
    }
    let max = store_max.map(|size| size.0);
    if store != Path::new("memory") && store.exists() && !store.is_dir() {
        let path = store.display();
        return Err(Failure::usage(format!(
            "--store {path} is not a directory; name one, or leave --store out for memory"
        )));
    }
    let (store, store_max) = if store == Path::new("memory") {
        (StoreIn::Memory, Some(max.unwrap_or(MEMORY_MAX)))
    } else {
        (StoreIn::Directory(store.clone()), max)
    };
    Ok(S3Config { store, store_max, bucket: bucket.clone(), access_key, secret_key })
}
