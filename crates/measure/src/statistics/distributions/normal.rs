//! The normal distribution: its quantile function and its upper tail.
//!
//! Quantiles are computed with the function PPND16 of M. J. Wichura, "Algorithm AS 241: The Percentage Points of the
//! Normal Distribution", Applied Statistics 37 (1988), 477–484. The relative error of the algorithm is about 10⁻¹⁶. The
//! logarithm is from `libm`, which is written in Rust, so the sizes of generated objects do not depend on the machine's
//! C library.

#![allow(clippy::excessive_precision, reason = "coefficients as published")]

/// Limit of the central region: |p − ½| ≤ 0.425.
const SPLIT_CENTER: f64 = 0.425;
const CENTER: f64 = 0.180625;
/// Boundary between the near and the far tail: √(−ln p) = 5.
const SPLIT_TAIL: f64 = 5.0;
const NEAR: f64 = 1.6;

/// Rational function, as the coefficients of its numerator and denominator, highest power first.
struct Ratio([f64; 8], [f64; 8]);

const CENTRAL: Ratio = Ratio(
    [
        2.509_080_928_730_122_672_7e3,
        3.343_057_558_358_812_810_5e4,
        6.726_577_092_700_870_085_3e4,
        4.592_195_393_154_987_145_7e4,
        1.373_169_376_550_946_112_5e4,
        1.971_590_950_306_551_442_7e3,
        1.331_416_678_917_843_774_5e2,
        3.387_132_872_796_366_608_0,
    ],
    [
        5.226_495_278_852_854_561_0e3,
        2.872_908_573_572_194_267_4e4,
        3.930_789_580_009_271_061_0e4,
        2.121_379_430_158_659_586_7e4,
        5.394_196_021_424_751_107_7e3,
        6.871_870_074_920_579_083_0e2,
        4.231_333_070_160_091_125_2e1,
        1.0,
    ],
);
const NEAR_TAIL: Ratio = Ratio(
    [
        7.745_450_142_783_414_076_4e-4,
        2.272_384_498_926_918_458_6e-2,
        2.417_807_251_774_506_117_7e-1,
        1.270_458_252_452_368_382_58,
        3.647_848_324_763_204_605_04,
        5.769_497_221_460_691_405_5,
        4.630_337_846_156_545_295_9,
        1.423_437_110_749_683_577_34,
    ],
    [
        1.050_750_071_644_416_843_24e-9,
        5.475_938_084_995_344_946e-4,
        1.519_866_656_361_645_719_66e-2,
        1.481_039_764_274_800_745_9e-1,
        6.897_673_349_851_000_045_5e-1,
        1.676_384_830_183_803_849_4,
        2.053_191_626_637_758_821_87,
        1.0,
    ],
);
const FAR_TAIL: Ratio = Ratio(
    [
        2.010_334_399_292_288_132_65e-7,
        2.711_555_568_743_487_578_15e-5,
        1.242_660_947_388_078_438_6e-3,
        2.653_218_952_657_612_309_3e-2,
        2.965_605_718_285_048_912_3e-1,
        1.784_826_539_917_291_335_8,
        5.463_784_911_164_114_369_9,
        6.657_904_643_501_103_777_2,
    ],
    [
        2.044_263_103_389_939_785_64e-15,
        1.421_511_758_316_445_888_7e-7,
        1.846_318_317_510_054_681_8e-5,
        7.868_691_311_456_132_591e-4,
        1.487_536_129_085_061_485_25e-2,
        1.369_298_809_227_358_053_1e-1,
        5.998_322_065_558_879_376_9e-1,
        1.0,
    ],
);

impl Ratio {
    fn at(&self, x: f64) -> f64 {
        let polynomial = |coefficients: &[f64; 8]| coefficients.iter().fold(0.0, |value, next| value * x + next);
        polynomial(&self.0) / polynomial(&self.1)
    }
}

/// Returns the quantile `p` of the standard normal distribution, for 0 < `p` < 1. With probability `p`, a variable lies
/// below it.
#[must_use]
pub fn quantile(p: f64) -> f64 {
    let q = p - 0.5;
    if q.abs() <= SPLIT_CENTER {
        return q * CENTRAL.at(CENTER - q * q);
    }
    let tail = if q < 0.0 { p } else { 1.0 - p };
    let r = libm::sqrt(-libm::log(tail));
    let value = if r <= SPLIT_TAIL { NEAR_TAIL.at(r - NEAR) } else { FAR_TAIL.at(r - SPLIT_TAIL) };
    if q < 0.0 { -value } else { value }
}

/// Returns the probability that a standard normal variable exceeds `x`: erfc(x / √2) / 2.
#[must_use]
pub fn above(x: f64) -> f64 {
    libm::erfc(x / std::f64::consts::SQRT_2) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tail_is_the_inverse_of_the_quantiles() {
        for p in [1e-12, 1e-6, 0.01, 0.025, 0.3, 0.5, 0.8, 0.999] {
            let back = above(-quantile(p));
            assert!((back / p - 1.0).abs() < 1e-12, "{p}: {back}");
        }
        assert!((above(1.96) - 0.024_997_895_148_220_4).abs() < 1e-15, "the result must equal the published table");
    }

    /// Expected values from Python's `statistics.NormalDist().inv_cdf`, another implementation of the same algorithm,
    /// and published values (0.975: 1.95996…, 0.995: 2.57583…).
    #[test]
    fn quantiles_agree_with_another_implementation() {
        for (p, expected) in [
            (0.5, 0.0),
            (0.6, 0.253_347_103_135_799_7),
            (0.925, 1.439_531_470_938_456),
            (0.975, 1.959_963_984_540_053_6),
            (0.995, 2.575_829_303_548_9),
            (1e-9, -5.997_807_015_007_686_5),
            (1e-12, -7.034_483_825_301_132),
            (1.110_223_024_625_156_5e-16, -8.209_536_151_601_386),
        ] {
            let value = quantile(p);
            assert!((value - expected).abs() <= 4e-16 * expected.abs(), "{p}: {value}, not {expected}");
        }
    }

    #[test]
    fn quantiles_are_odd_and_increasing() {
        let mut last = f64::NEG_INFINITY;
        for step in 1..4096_u32 {
            let p = f64::from(step) / 4096.0;
            let value = quantile(p);
            assert!(value > last, "at {p}");
            assert!((value + quantile(1.0 - p)).abs() < 1e-15, "at {p}");
            last = value;
        }
    }
}
