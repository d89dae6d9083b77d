//! Parser of the text form of size distributions.

use super::{ENTRIES_MAX, Kind, SIGMA_MAX, SIZE_MAX, Sizes, Span, WEIGHT_MAX, Weighted};
use crate::error::Invalid;
use measure::units::ByteSize;
use std::str::FromStr;

const HOW: &str = "write it like 1MiB, 4KiB..1MiB, 1MiB,2MiB (in turn), 64KiB:70,1MiB:30 (by weight), \
                   loguniform:4KiB..1GiB or lognormal:median=1MiB,sigma=1.5,max=1GiB";

impl FromStr for Sizes {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let text = text.trim();
        let kind = match text.split_once(':') {
            Some(("loguniform", span)) => log_uniform(span.trim())?,
            Some(("lognormal", parameters)) => log_normal(parameters)?,
            Some((name, _)) if name.starts_with(|c: char| c.is_ascii_alphabetic()) => {
                return Err(Invalid::new(format!("`{name}` is not a distribution of sizes: {HOW}")));
            }
            Some(_) => Kind::Weighted(entries(text)?.map(weighted).collect::<Result<_, _>>()?),
            None if text.contains(',') => Kind::InTurn(entries(text)?.map(span).collect::<Result<_, _>>()?),
            None => Kind::One(span(text)?),
        };
        Ok(Self(kind))
    }
}

impl TryFrom<String> for Sizes {
    type Error = Invalid;

    fn try_from(text: String) -> Result<Self, Invalid> {
        text.parse()
    }
}

fn entries(text: &str) -> Result<impl Iterator<Item = &str>, Invalid> {
    let count = text.split(',').count();
    if count > ENTRIES_MAX {
        return Err(Invalid::new(format!("too many sizes ({count}): list at most {ENTRIES_MAX}")));
    }
    Ok(text.split(',').map(str::trim))
}

fn weighted(entry: &str) -> Result<Weighted, Invalid> {
    let Some((size, weight)) = entry.rsplit_once(':') else {
        return Err(Invalid::new(format!("`{entry}` has no weight, unlike the other sizes: write {entry}:1")));
    };
    let weight = weight.trim().parse().ok().filter(|weight| (1..=WEIGHT_MAX).contains(weight)).ok_or_else(|| {
        Invalid::new(format!("`{entry}`: a weight is a whole number from 1 to {WEIGHT_MAX}, like 64KiB:70,1MiB:30"))
    })?;
    Ok(Weighted { span: span(size)?, weight })
}

/// Parses a range such as `4KiB..1MiB`, or a single size.
fn span(text: &str) -> Result<Span, Invalid> {
    let (min, max) = match text.split_once("..") {
        Some((min, max)) => (size(min)?, size(max)?),
        None => (size(text)?, size(text)?),
    };
    if min > max {
        return Err(Invalid::new(format!("`{text}`: write the smaller size first")));
    }
    Ok(Span { min, max })
}

fn size(text: &str) -> Result<u64, Invalid> {
    if text.trim().is_empty() {
        return Err(Invalid::new(format!("a size is missing: {HOW}")));
    }
    let size: ByteSize = text.parse().map_err(|error| Invalid::new(format!("{error}")))?;
    if size > SIZE_MAX {
        return Err(Invalid::new(format!("`{}` is too large: an object can have at most {SIZE_MAX}", text.trim())));
    }
    Ok(size.0)
}

fn log_uniform(text: &str) -> Result<Kind, Invalid> {
    if !text.contains("..") {
        return Err(Invalid::new(format!("loguniform:{text} needs two sizes, like loguniform:4KiB..1GiB")));
    }
    let span = span(text)?;
    if span.min == 0 {
        return Err(Invalid::new(format!(
            "loguniform:{text}: the smallest size must be at least 1B, since 0 has no logarithm"
        )));
    }
    Ok(Kind::LogUniform(span))
}

fn log_normal(text: &str) -> Result<Kind, Invalid> {
    const EXAMPLE: &str = "like lognormal:median=1MiB,sigma=1.5,max=1GiB (and min=4KiB)";
    let (mut median, mut sigma, mut min, mut max) = (None, None, None, None);
    for parameter in text.split(',') {
        let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
        let twice = match name.trim() {
            "median" => median.replace(size(value)?).is_some(),
            "sigma" => sigma.replace(self::sigma(value.trim())?).is_some(),
            "min" => min.replace(size(value)?).is_some(),
            "max" => max.replace(size(value)?).is_some(),
            other => return Err(Invalid::new(format!("lognormal: unknown parameter `{other}`: {EXAMPLE}"))),
        };
        if twice {
            return Err(Invalid::new(format!("lognormal: {} is given twice", name.trim())));
        }
    }
    let (Some(median), Some(sigma), Some(max)) = (median, sigma, max) else {
        return Err(Invalid::new(format!("lognormal needs median, sigma and max: {EXAMPLE}")));
    };
    let min = min.unwrap_or(1);
    if !(min..=max).contains(&median) || median == 0 {
        return Err(Invalid::new(format!(
            "lognormal: the median ({}) must be above 0 and between min ({}) and max ({})",
            ByteSize(median),
            ByteSize(min),
            ByteSize(max)
        )));
    }
    Ok(Kind::LogNormal { median, sigma, span: Span { min, max } })
}

fn sigma(text: &str) -> Result<f64, Invalid> {
    text.parse().ok().filter(|sigma| *sigma > 0.0 && *sigma <= SIGMA_MAX).ok_or_else(|| {
        Invalid::new(format!(
            "lognormal: sigma=`{text}` is not a number above 0 and up to {SIGMA_MAX}: it is the standard deviation of ln(size)"
        ))
    })
}
