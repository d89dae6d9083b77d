//! Random orders from a seed. A new order in each round prevents a client from always running after the same other
//! client.

/// Generator of random numbers (SplitMix64) and random orders.
pub struct Shuffler(u64);

impl Shuffler {
    /// Creates a generator. The same seed always produces the same orders.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Shuffles `items` with the algorithm of Fisher and Yates.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, (self.number() % (last as u64 + 1)) as usize);
        }
    }

    /// Returns the next number of the SplitMix64 generator (Steele, Lea and Flood, OOPSLA 2014).
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut value = self.0;
        value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        value ^ (value >> 31)
    }

    /// Returns a number in 0..1.
    #[cfg(test)]
    pub fn unit(&mut self) -> f64 {
        (self.number() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    #[test]
    fn all_orders_are_about_equally_frequent() {
        let mut shuffler = Shuffler::new(3);
        let mut seen: HashMap<[u8; 4], u32> = HashMap::new();
        for _ in 0..24_000 {
            let mut order = [0, 1, 2, 3];
            shuffler.shuffle(&mut order);
            *seen.entry(order).or_default() += 1;
        }
        assert_eq!(seen.len(), 24);
        // Each order is expected 1000 times. The tolerance of 155 is five standard deviations.
        assert!(seen.values().all(|count| count.abs_diff(1000) < 155), "{seen:?}, seed 3");
    }

    #[test]
    fn a_seed_determines_the_orders() {
        let orders = |seed| {
            let mut shuffler = Shuffler::new(seed);
            let mut order: Vec<u32> = (0..20).collect();
            shuffler.shuffle(&mut order);
            order
        };
        assert_eq!(orders(5), orders(5));
        assert_ne!(orders(5), orders(6));
    }
}
