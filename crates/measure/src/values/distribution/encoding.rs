//! The form of distributions in records. A record has the exact moments of a distribution, and a histogram in
//! HdrHistogram's V2 encoding as base64.

use super::{Distribution, Moments, RESOLUTION, SIGNIFICANT_DIGITS};
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer as HdrReader, Serializer as _, V2Serializer};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A distribution in a record.
#[derive(Serialize, Deserialize)]
pub(super) struct Record {
    #[serde(flatten)]
    pub moments: Moments,
    /// HdrHistogram V2 encoding, in base64.
    pub hdr: String,
}

impl Serialize for Distribution {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut bytes = Vec::new();
        if let Some(histogram) = &self.histogram {
            V2Serializer::new().serialize(histogram.as_ref(), &mut bytes).map_err(serde::ser::Error::custom)?;
        }
        Record { moments: self.moments, hdr: BASE64.encode(bytes) }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Distribution {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        use serde::de::Error;
        let record = Record::deserialize(deserializer)?;
        let bytes = BASE64.decode(record.hdr).map_err(D::Error::custom)?;
        if bytes.is_empty() && record.moments.count == 0 {
            return Ok(Self::default());
        }
        check_encoding(&bytes).map_err(D::Error::custom)?;
        let mut histogram: Histogram<u64> = HdrReader::new()
            .deserialize(&mut bytes.as_slice())
            .map_err(|error| D::Error::custom(format!("not an HdrHistogram: {error:?}")))?;
        histogram.auto(true);
        let Moments { count, min, max, .. } = record.moments;
        if count > COUNT_MAX {
            return Err(D::Error::custom("more values than an interval can hold"));
        }
        if histogram.len() != count || min > max || !histogram.equivalent(histogram.max(), max) {
            return Err(D::Error::custom("histogram and moments hold different values"));
        }
        Ok(Self { histogram: Some(Box::new(histogram)), moments: record.moments })
    }
}

/// Length of the V2 header in bytes. The header contains: cookie, length of the payload, offset, digits, lowest value,
/// highest value, ratio.
pub(super) const HEADER_BYTES: usize = 40;
/// Maximum number of values in one saved distribution. No client records this many values in a second. Even the sum
/// over all kinds and intervals of a run fits into 64 bits, as the histogram requires for its own sums.
const COUNT_MAX: u64 = 1 << 36;

/// Rejects encodings that this module never writes. Such encodings could make the decoder panic or use gigabytes of
/// memory.
fn check_encoding(bytes: &[u8]) -> Result<(), &'static str> {
    let (header, payload) = bytes.split_at_checked(HEADER_BYTES).ok_or("the histogram has no header")?;
    // The decoder allocates memory for the payload length in the header before it checks whether the payload exists.
    let length = u32::try_from(payload.len()).map_err(|_| "the histogram is too long")?;
    if header[4..8] != length.to_be_bytes() {
        return Err("the histogram's length differs from its header");
    }
    // With more digits or a finer resolution, the counters would need gigabytes of memory.
    if header[12..16] != u32::from(SIGNIFICANT_DIGITS).to_be_bytes() || header[16..24] != RESOLUTION.to_be_bytes() {
        return Err("the histogram does not have three significant digits and a resolution of 64");
    }
    // Nine bytes 0xFF in a row encode the only number that the decoder cannot negate. The encoding of a count up to
    // `COUNT_MAX` never contains nine of them in a row.
    if payload.windows(9).any(|window| window == [0xFF; 9]) {
        return Err("the histogram has an impossible count");
    }
    Ok(())
}
