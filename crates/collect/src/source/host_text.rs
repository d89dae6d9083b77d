//! The kernel's statistics of a host, as sections of text with numbers. This host and remote hosts have the same text
//! format.

/// Start of the line that names a section.
pub(super) const MARK: &str = "@@ ";
/// Size of a sector in `/proc/diskstats`. The kernel uses the same size for all disks.
const SECTOR_BYTES: u64 = 512;

/// Returns the text of a section, or an empty text if there is none.
pub(super) fn section<'t>(text: &'t str, name: &str) -> &'t str {
    let mut rest = text;
    while let Some(at) = rest.find(MARK) {
        let begins_line = at == 0 || rest.as_bytes()[at - 1] == b'\n';
        let after = &rest[at + MARK.len()..];
        let (title, body) = after.split_once('\n').unwrap_or((after, ""));
        if begins_line && title == name {
            let end = body.find(&format!("\n{MARK}")).map_or(body.len(), |end| end + 1);
            // If a section is empty, the mark of the next section follows directly.
            return if body.starts_with(MARK) { "" } else { &body[..end] };
        }
        rest = after;
    }
    ""
}

/// Returns a field of `/proc/meminfo` in bytes.
pub(super) fn memory_bytes(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// Returns the bytes read and written by all disks, from `/proc/diskstats`. Partitions and devices on top of other
/// devices are omitted, because the numbers of the disk already include them.
pub(super) fn disk_bytes(text: &str) -> Option<(u64, u64)> {
    let disk = |line: &str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let name = *fields.get(2)?;
        Some((name.to_owned(), fields.get(5)?.parse::<u64>().ok()?, fields.get(9)?.parse::<u64>().ok()?))
    };
    let disks: Vec<(String, u64, u64)> = text.lines().filter_map(disk).collect();
    let is_whole = |name: &str| {
        let stacked = ["loop", "ram", "zram", "dm-", "md", "sr", "fd"].iter().any(|prefix| name.starts_with(prefix));
        !stacked && !disks.iter().any(|(other, ..)| is_partition(name, other))
    };
    let whole = disks.iter().filter(|(name, ..)| is_whole(name));
    let sums = whole.fold((0_u64, 0_u64), |(read, written), (_, sectors_read, sectors_written)| {
        (read.saturating_add(*sectors_read), written.saturating_add(*sectors_written))
    });
    let (read, written) = (!disks.is_empty()).then_some(sums)?;
    Some((read.saturating_mul(SECTOR_BYTES), written.saturating_mul(SECTOR_BYTES)))
}

/// Returns whether a device is a partition of a disk: `sda1` of `sda`, `nvme0n1p1` of `nvme0n1`.
fn is_partition(name: &str, disk: &str) -> bool {
    let Some(rest) = name.strip_prefix(disk) else { return false };
    let after_digit = disk.ends_with(|letter: char| letter.is_ascii_digit());
    let number = if after_digit { rest.strip_prefix('p') } else { Some(rest) };
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Returns the available bytes of the file system in the output of `df -Pk`.
pub(super) fn available_bytes(text: &str) -> Option<u64> {
    text.lines().nth(1)?.split_whitespace().nth(3)?.parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::host_counters::{Ticks, card_bytes};
    use proptest::prelude::*;

    const TEXT: &str = "\
@@ stat
cpu  100 5 50 800 40 1 2 3 9 9
cpu0 100 5 50 800 40 1 2 3 9 9
@@ empty
@@ meminfo
MemTotal:        2048 kB
MemAvailable:    1024 kB
HugePages_Total:       0
@@ diskstats
   8       0 sda 100 0 2000 10 200 0 4000 20 0 30 30
   8       1 sda1 90 0 1900 10 190 0 3900 20 0 30 30
 259       0 nvme0n1 1 0 10 1 1 0 20 1 0 1 1
 259       1 nvme0n1p1 1 0 9 1 1 0 19 1 0 1 1
 253       0 dm-0 1 0 99 1 1 0 99 1 0 1 1
   7       0 loop0 1 0 99 1 1 0 99 1 0 1 1
@@ net/dev
Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo: 1000      10    0    0    0     0          0         0     1000      10    0    0    0     0       0          0
  eth0:77 10 0 0 0 0 0 0 88 10 0 0 0 0 0 0
@@ df
Filesystem     1024-blocks     Used Available Capacity Mounted on
/dev/sda1         10000000  4000000   6000000      40% /
";

    #[test]
    fn sections_have_their_numbers() {
        let ticks = Ticks::parse(section(TEXT, "stat")).unwrap();
        assert_eq!(ticks, Ticks { idle: 800, waiting: 40, stolen: 3, all: 1001 });
        assert_eq!(memory_bytes(section(TEXT, "meminfo"), "MemAvailable"), Some(1 << 20));
        assert_eq!(memory_bytes(section(TEXT, "meminfo"), "MemFree"), None);
        assert_eq!(disk_bytes(section(TEXT, "diskstats")), Some((2010 * 512, 4020 * 512)));
        let cards = card_bytes(section(TEXT, "net/dev"));
        assert_eq!((cards.len(), cards["lo"], cards["eth0"]), (2, (1000, 1000), (77, 88)));
        assert_eq!(available_bytes(section(TEXT, "df")), Some(6_000_000 * 1024));
        assert_eq!((section(TEXT, "empty"), section(TEXT, "gone"), section("", "stat")), ("", "", ""));
    }

    #[test]
    fn partitions_are_told_from_disks() {
        for (name, disk) in [("sda1", "sda"), ("nvme0n1p12", "nvme0n1"), ("mmcblk0p1", "mmcblk0"), ("vdb3", "vdb")] {
            assert!(is_partition(name, disk), "{name}");
        }
        for (name, disk) in [("sdaa", "sda"), ("sda", "sda"), ("nvme0n11", "nvme0n1"), ("sdb1", "sda")] {
            assert!(!is_partition(name, disk), "{name}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "[@ \nscpudf:a0-9k B-]{0,60}") {
            let _ = (Ticks::parse(&text), memory_bytes(&text, "a"), disk_bytes(&text), card_bytes(&text));
            let _ = (available_bytes(&text), section(&text, "a"));
        }
    }
}
