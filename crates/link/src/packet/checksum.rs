//! The Internet checksum (RFC 1071): the one's complement sum of 16-bit words.

/// Returns the sum of all parts, folded to 16 bits. Each part must have an even length.
pub fn sum(parts: &[&[u8]]) -> u16 {
    let words = parts.iter().flat_map(|part| part.chunks_exact(2));
    let mut sum: u32 = words.map(|word| u32::from(u16::from_be_bytes([word[0], word[1]]))).sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

/// Returns the sum of the pseudo header of TCP or UDP. For a packet whose checksum is completed later, the kernel
/// stores this sum in the checksum field.
pub fn pseudo_header(addresses: &[u8], protocol: u8, length: u32) -> u16 {
    sum(&[addresses, &[0, protocol], &length.to_be_bytes()])
}
