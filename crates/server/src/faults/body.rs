//! Faults of one response body.

/// The faults of one response body.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct BodyFaults {
    /// The number of bytes after which the body breaks off.
    pub(crate) cut: Option<u64>,
    /// Offset of the wrong byte. If the body is known to be too short for this offset, its last byte is wrong.
    pub(crate) flip: Option<u64>,
}

impl BodyFaults {
    /// Returns these faults. A fault that is not set here is taken from `other`.
    pub(crate) fn or(self, other: Self) -> Self {
        Self { cut: self.cut.or(other.cut), flip: self.flip.or(other.flip) }
    }

    /// Returns the offset at which a body of `length` bytes breaks off. `None` if the body does not break off. If the
    /// length is unknown, the body may also end before this offset.
    pub(crate) fn breaks_at(self, length: Option<u64>) -> Option<u64> {
        self.cut.filter(|cut| length.is_none_or(|length| *cut < length))
    }

    /// Returns the offset of the wrong byte in a body of `length` bytes.
    pub(super) fn wrong_byte(self, length: Option<u64>) -> Option<u64> {
        let last = length.map_or(u64::MAX, |length| length.saturating_sub(1));
        self.flip.map(|wrong| wrong.min(last))
    }

    /// Inverts the wrong byte if it lies in `piece`, which begins at offset `at` of a body of `length` bytes.
    pub(crate) fn apply(self, at: u64, length: Option<u64>, piece: &mut [u8]) {
        let Some(wrong) = self.wrong_byte(length) else { return };
        let index = wrong.checked_sub(at).and_then(|index| usize::try_from(index).ok());
        if let Some(byte) = index.and_then(|index| piece.get_mut(index)) {
            *byte = !*byte;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_byte_is_wrong_wherever_the_pieces_lie() {
        for (flip, wrong) in [(0, 0), (4, 4), (5, 5), (9, 9), (10, 9), (u64::MAX, 9)] {
            let body_faults = BodyFaults { flip: Some(flip), ..BodyFaults::default() };
            let mut body = [0_u8; 10];
            let (first, second) = body.split_at_mut(5);
            body_faults.apply(0, Some(10), first);
            body_faults.apply(5, Some(10), second);
            let changed: Vec<usize> = (0..10).filter(|at| body[*at] != 0).collect();
            assert_eq!((changed, body[wrong]), (vec![wrong], 0xff), "{flip}");
        }
        let cut = BodyFaults { cut: Some(3), flip: None };
        let lengths = [Some(10), Some(4), Some(3), Some(0), None];
        assert_eq!(lengths.map(|length| cut.breaks_at(length)), [Some(3), Some(3), None, None, Some(3)]);
        assert_eq!(BodyFaults::default().breaks_at(None), None);
        assert_eq!(BodyFaults::default().or(cut), cut);
    }
}
