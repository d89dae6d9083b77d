//! Responses of a security token service (STS) to `AssumeRole`. The XML of these responses has the same form and limits
//! as the XML of S3.

use super::error::ErrorCode;
use super::xml::{Element, XmlError};
use crate::sigv4::Secret;
use std::fmt;

/// Temporary keys of a role: `AssumeRoleResponse`.
#[derive(Clone, PartialEq, Eq)]
pub struct AssumedRole {
    /// The access key.
    pub access_key: Box<str>,
    /// The secret key.
    pub secret: Secret,
    /// The session token.
    pub token: Secret,
    /// The time of expiry as in the message, for example `2026-11-26T13:30:00Z`.
    pub expiration: Box<str>,
}

impl AssumedRole {
    /// Parses a message.
    ///
    /// # Errors
    /// Fails if this is another kind of message, or if one of the four values is missing.
    pub fn parse(bytes: &[u8]) -> Result<Self, XmlError> {
        let root = Element::parse_named(bytes, "AssumeRoleResponse")?;
        let result = root.children("AssumeRoleResult").next().ok_or(XmlError::Missing("AssumeRoleResult"))?;
        let keys = result.children("Credentials").next().ok_or(XmlError::Missing("Credentials"))?;
        let text = |name| keys.required(name).map(str::trim_ascii);
        Ok(Self {
            access_key: text("AccessKeyId")?.into(),
            secret: Secret::new(text("SecretAccessKey")?),
            token: Secret::new(text("SessionToken")?),
            expiration: text("Expiration")?.into(),
        })
    }

    /// Returns the code in an error message of a token service; `None` if this is another kind of message.
    #[must_use]
    pub fn refusal(bytes: &[u8]) -> Option<ErrorCode> {
        let root = Element::parse(bytes).ok()?;
        // Some services have a list of errors, as EC2 does.
        let list = root.children("Errors").next();
        let error = if root.is("Error") { &root } else { list.unwrap_or(&root).children("Error").next()? };
        error.text("Code").map(ErrorCode::from_name)
    }
}

impl fmt::Debug for AssumedRole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AssumedRole(hidden)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example in the reference of AWS STS, shortened.
    const EXAMPLE: &str = "<AssumeRoleResponse xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\">\n<AssumeRoleResult>\n\
        <SourceIdentity>Alice</SourceIdentity><AssumedRoleUser><Arn>arn:aws:sts::123456789012:assumed-role/demo/TestAR</Arn>\
        <AssumedRoleId>ARO123EXAMPLE123:TestAR</AssumedRoleId></AssumedRoleUser><Credentials>\n\
        <AccessKeyId>ASIAIOSFODNN7EXAMPLE</AccessKeyId>\n\
        <SecretAccessKey>wJalrXUtnFEMI/K7MDENG/bPxRfiCYzEXAMPLEKEY</SecretAccessKey>\n<SessionToken>\n\
        AQoDYXdzEPT//////////wEXAMPLEtc764bNrC9SAPBSM22wDOk4x4HIZ8j4FZTwdQWLWsKWHGBuFqwAeMicRXmxfpSPfIeoIYRqTflfKD8YUuw=\n\
        </SessionToken><Expiration>2019-11-09T13:34:41Z</Expiration></Credentials><PackedPolicySize>6</PackedPolicySize>\n\
        </AssumeRoleResult><ResponseMetadata><RequestId>c6104cbe-af31-11e0-8154-cbc7ccf896c7</RequestId></ResponseMetadata>\n\
        </AssumeRoleResponse>";

    #[test]
    fn the_example_of_the_reference_is_parsed() {
        let parsed = AssumedRole::parse(EXAMPLE.as_bytes()).unwrap();
        assert_eq!(&*parsed.access_key, "ASIAIOSFODNN7EXAMPLE");
        assert_eq!(parsed.secret.reveal(), "wJalrXUtnFEMI/K7MDENG/bPxRfiCYzEXAMPLEKEY");
        assert!(parsed.token.reveal().starts_with("AQoD") && parsed.token.reveal().ends_with("YUuw="));
        assert_eq!(&*parsed.expiration, "2019-11-09T13:34:41Z");
        assert!(!format!("{parsed:?}").contains("wJalr"));
    }

    #[test]
    fn other_messages_are_refused() {
        for name in ["AssumeRoleResult", "Credentials", "AccessKeyId", "SecretAccessKey", "SessionToken", "Expiration"]
        {
            let without = EXAMPLE.replace(&format!("<{name}>"), "<x>").replace(&format!("</{name}>"), "</x>");
            assert_eq!(AssumedRole::parse(without.as_bytes()), Err(XmlError::Missing(name)));
        }
        assert!(AssumedRole::parse(b"<Error><Code>AccessDenied</Code></Error>").is_err());
        assert!(AssumedRole::parse(b"{}").is_err());
    }

    #[test]
    fn codes_of_errors_are_found() {
        let nested = b"<ErrorResponse><Error><Type>Sender</Type><Code>AccessDenied</Code><Message>m</Message></Error>\
                       <RequestId>r</RequestId></ErrorResponse>";
        assert_eq!(AssumedRole::refusal(nested), Some(ErrorCode::AccessDenied));
        let list = b"<ErrorResponse><Errors><Error><Code>AccessDenied</Code></Error></Errors></ErrorResponse>";
        assert_eq!(AssumedRole::refusal(list), Some(ErrorCode::AccessDenied));
        assert_eq!(AssumedRole::refusal(b"<Error><Code>ExpiredToken</Code></Error>"), Some(ErrorCode::ExpiredToken));
        assert_eq!(AssumedRole::refusal(EXAMPLE.as_bytes()), None);
        assert_eq!(AssumedRole::refusal(b"no"), None);
    }
}
