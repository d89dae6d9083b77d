//! The keys of a role, from a token service (STS). A profile names the role, and the keys that may use it.
//!
//! Requests go only to a service that the user named. There is no default service.

use super::endpoint::{self, NamedBy, Service};
use super::profile::{Profile, by_program};
use super::profile_keys;
use super::{Credentials, DEFAULT_REGION, Source, Surroundings, expiry, instance_metadata};
use crate::failure::Failure;
use crate::single_request;
use engine::plan::{Auth, BodyPlan, RequestPlan, S3Payload, SignaturePlace};
use engine::single_requests::exchange;
use measure::{AttemptClass, OpKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use wire::percent::parameter;
use wire::s3::AssumedRole;
use wire::sigv4::{Keys, Secret, Signer};
use wire::{Header, Origin};

/// Maximum length of a chain of roles, in which each role is used with the keys of another role.
const ROLES_MAX: usize = 5;
/// Name of the session, if the profile has none. The logs of the service show it.
const SESSION: &str = "plimsoll";
/// Validity of keys, in seconds, that the service permits.
const SECONDS: std::ops::RangeInclusive<u32> = 900..=43_200;
/// Maximum time of a request.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Environment variable that names the metadata service.
const METADATA_ENDPOINT: &str = "AWS_EC2_METADATA_SERVICE_ENDPOINT";
/// Settings that need a login or a token, which this program cannot get.
const UNSUPPORTED: [&str; 2] = ["mfa_serial", "web_identity_token_file"];

/// A role of a profile.
#[derive(Debug)]
pub(super) struct Role {
    profile: String,
    path: PathBuf,
    keys: KeySource,
    request: AssumeRole,
}

/// The source of the keys that may use a role.
#[derive(Debug)]
enum KeySource {
    Profile(String),
    Environment,
    Metadata,
}

/// The parameters of a request.
#[derive(Debug)]
struct AssumeRole {
    arn: String,
    session: String,
    external_id: Option<String>,
    seconds: Option<u32>,
    region: Option<String>,
}

impl Role {
    /// Returns the role that a profile names; `None` if it names no role.
    pub(super) fn of(profile: &Profile) -> Result<Option<Self>, Failure> {
        let text = |name| profile.setting(name).map(|(text, _)| text.to_owned());
        let Some((arn, path)) = profile.setting("role_arn") else {
            return match profile.setting("source_profile").or_else(|| profile.setting("credential_source")) {
                Some((_, path)) if text("aws_access_key_id").is_none() && text("credential_process").is_none() => {
                    Err(profile.refused(path, "names the source of a role's keys, but no role: add role_arn"))
                }
                _ => Ok(None),
            };
        };
        for setting in UNSUPPORTED {
            if let Some((_, path)) = profile.setting(setting) {
                let other = "name another profile with a `credential_process`, for example";
                let why = format!("uses {setting}, which is not supported: {other} `aws configure export-credentials`");
                return Err(profile.refused(path, &why));
            }
        }
        let request = AssumeRole {
            arn: arn.to_owned(),
            session: text("role_session_name").unwrap_or_else(|| SESSION.to_owned()),
            external_id: text("external_id"),
            seconds: seconds(profile)?,
            region: text("region"),
        };
        Ok(Some(Self {
            profile: profile.name.clone(),
            path: path.to_owned(),
            keys: KeySource::of(profile, path)?,
            request,
        }))
    }

    /// Asks the token service for keys. `asked` has the names of the profiles whose roles need these keys.
    pub(super) fn request_credentials(&self, around: &Surroundings, asked: &[String]) -> Result<Credentials, Failure> {
        let active = asked.first().unwrap_or(&self.profile);
        let Some((url, named_by)) = endpoint::configured(Service::Sts, active, around)? else {
            return Err(self.refused(
                "uses role_arn, but no token service is named: set AWS_ENDPOINT_URL_STS, \
                 for example to https://sts.eu-central-1.amazonaws.com",
            ));
        };
        let origin = endpoint::origin(&url, &named_by)?;
        if asked.contains(&self.profile) || asked.len() >= ROLES_MAX {
            return Err(self.refused("has a source_profile that leads back to it, or more than 5 roles in a row"));
        }
        let found = self.source(around, asked)?;
        let region = around.region().or_else(|| self.request.region.clone()).or(found.region);
        let region = region.unwrap_or_else(|| DEFAULT_REGION.to_owned());
        let ca = around.get("AWS_CA_BUNDLE").map(PathBuf::from);
        let plan = single_request::plan(&url, ca, TIMEOUT)?;
        let body = Some(BodyPlan::of_bytes(Arc::from(self.request.form().into_bytes())));
        let headers = Header::parse("Content-Type: application/x-www-form-urlencoded").into_iter().collect();
        let request = RequestPlan { headers, body, ..RequestPlan::new("POST", OpKind::Request) };
        let auth = Auth::S3 {
            signer: Box::new(Signer::new(found.keys.clone(), &region, "sts")),
            place: SignaturePlace::Header,
            payload: S3Payload::Signed,
        };
        let failed = |why: &str| self.failed(&origin, &named_by, why);
        let op = exchange(&engine::plan::Plan { auth, ..plan }, request).map_err(|error| failed(&error.to_string()))?;
        let Some(op) = op else { return Err(failed("the request did not end")) };
        let message = op.message.as_deref().unwrap_or_default();
        match op.status {
            None => Err(failed(op.outcome.cause.about())),
            Some(200) if op.outcome.class == AttemptClass::Ok => self.parsed(message, &failed),
            Some(200) => Err(failed(op.outcome.cause.about())),
            Some(status) => Err(failed(&format!("status {status}{}", code(message, &found.keys)))),
        }
    }

    fn parsed(&self, message: &[u8], failed: &dyn Fn(&str) -> Failure) -> Result<Credentials, Failure> {
        let AssumedRole { access_key, secret, token, expiration } =
            AssumedRole::parse(message).map_err(|error| failed(&format!("its response has no keys ({error})")))?;
        let expires = expiry(&expiration).ok_or_else(|| failed("its response has no valid time of expiry"))?;
        let source = Source::Role(self.profile.clone(), self.path.clone());
        let keys = Credentials::checked(&access_key, secret, Some(token), source)?;
        Ok(Credentials { expires: Some(expires), ..keys })
    }

    /// Returns the keys that may use the role.
    fn source(&self, around: &Surroundings, asked: &[String]) -> Result<Credentials, Failure> {
        match &self.keys {
            KeySource::Profile(name) => {
                let asked: Vec<String> = asked.iter().chain([&self.profile]).cloned().collect();
                profile_keys::find(name, around, &asked)?.ok_or_else(|| {
                    self.refused(&format!("has source_profile = {}, which has no keys", name.escape_debug()))
                })
            }
            KeySource::Environment => Credentials::from_environment(around)?.ok_or_else(|| {
                self.refused("has credential_source = Environment: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")
            }),
            KeySource::Metadata if around.get(METADATA_ENDPOINT).is_some() => {
                instance_metadata::request_credentials(around)
            }
            KeySource::Metadata => Err(self.refused(&format!(
                "has credential_source = Ec2InstanceMetadata, but no metadata service is named: \
                 set {METADATA_ENDPOINT}, for example to http://169.254.169.254"
            ))),
        }
    }

    fn refused(&self, why: &str) -> Failure {
        Failure::usage(format!("profile `{}` in {} {why}", self.profile.escape_debug(), self.path.display()))
    }

    fn failed(&self, origin: &Origin, named_by: &NamedBy, why: &str) -> Failure {
        let name = self.profile.escape_debug();
        Failure::could_not_run(format!(
            "no keys for the role of profile `{name}` from the token service {origin} ({named_by}): {why}"
        ))
    }
}

impl KeySource {
    fn of(profile: &Profile, path: &Path) -> Result<Self, Failure> {
        let text = |name| profile.setting(name).map(|(text, _)| text);
        match (text("source_profile"), text("credential_source")) {
            (Some(name), None) => Ok(Self::Profile(name.to_owned())),
            (None, Some("Environment")) => Ok(Self::Environment),
            (None, Some("Ec2InstanceMetadata")) => Ok(Self::Metadata),
            (None, Some(_)) => Err(profile.refused(
                path,
                &format!(
                    "has a credential_source other than Environment and Ec2InstanceMetadata: {}",
                    by_program(profile)
                ),
            )),
            (None, None) => {
                Err(profile.refused(path, "uses role_arn without a source of keys: add source_profile = NAME"))
            }
            (Some(_), Some(_)) => {
                Err(profile.refused(path, "has source_profile and credential_source: remove one of them"))
            }
        }
    }
}

impl AssumeRole {
    /// Returns the parameters as a form.
    fn form(&self) -> String {
        let mut form = format!(
            "Action=AssumeRole&Version=2011-06-15&RoleArn={}&RoleSessionName={}",
            parameter(&self.arn),
            parameter(&self.session)
        );
        if let Some(id) = &self.external_id {
            form += &format!("&ExternalId={}", parameter(id));
        }
        if let Some(seconds) = self.seconds {
            form += &format!("&DurationSeconds={seconds}");
        }
        form
    }
}

/// Returns the validity of keys, in seconds, that a profile sets.
fn seconds(profile: &Profile) -> Result<Option<u32>, Failure> {
    let Some((text, path)) = profile.setting("duration_seconds") else { return Ok(None) };
    match text.parse() {
        Ok(seconds) if SECONDS.contains(&seconds) => Ok(Some(seconds)),
        _ => Err(profile.refused(path, "has a duration_seconds that is not between 900 and 43200")),
    }
}

/// Returns the code in an error message, as the end of a sentence. The message is not shown, because a hostile service
/// could repeat the keys of the request in it. For the same reason, a code that could be a part of the keys is not
/// shown.
fn code(message: &[u8], keys: &Keys) -> String {
    let Some(code) = AssumedRole::refusal(message) else { return String::new() };
    let code = code.as_str();
    let is_plain = !code.is_empty() && code.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'.');
    let overlaps = |key: &str| key.contains(code) || code.contains(key);
    let token = keys.token().map(Secret::reveal);
    let is_secret = [Some(keys.access_key()), Some(keys.secret().reveal()), token].into_iter().flatten().any(overlaps);
    if is_plain && !is_secret { format!(", {code}") } else { String::new() }
}
