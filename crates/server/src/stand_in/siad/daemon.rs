//! The state of the daemon: uploaded data, and the contracts that pay for it.

use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;
use std::time::Duration;

use super::contracts::{Account, SECTOR_BYTES, Terms};
use super::files::{File, Redundancy};
use crate::config::sia::Siad;

/// Maximum number of files.
const FILES_MAX: usize = 1_000_000;
/// The block height when the daemon starts, as in February 2018.
const FIRST_HEIGHT: u64 = 142_000;
/// Number of blocks that an unsynced daemon lacks.
const MISSING_BLOCKS: u64 = 1_000;
const BLOCK: Duration = Duration::from_secs(600);

/// The budget of the renter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Allowance {
    pub(super) funds: u128,
    pub(super) hosts: u64,
    pub(super) period_blocks: u64,
    pub(super) renew_window_blocks: u64,
}

/// The state of a daemon at an instant.
#[derive(Debug)]
pub(super) struct Daemon {
    pub(super) config: Siad,
    started: Duration,
    /// The instant that this state describes.
    now: Duration,
    pub(super) unlocked: bool,
    pub(super) allowance: Option<Allowance>,
    /// Time at which contracts began to form, which requires an allowance and an unlocked wallet.
    forming_since: Option<Duration>,
    pub(super) files: BTreeMap<String, File>,
    /// Names of incomplete files. The first file is uploaded first.
    queue: VecDeque<String>,
    /// Sectors on hosts. The number includes the sectors of deleted files, because sectors stay until contracts end.
    sectors: u64,
    /// Bytes that the bandwidth allows to send, but that do not fill a sector yet.
    unsent_bytes: u64,
    downloaded_bytes: u64,
}

impl Daemon {
    pub(super) fn new(config: Siad, now: Duration) -> Self {
        let unlocked = !config.locked;
        Self {
            config,
            started: now,
            now,
            unlocked,
            allowance: None,
            forming_since: None,
            files: BTreeMap::new(),
            queue: VecDeque::new(),
            sectors: 0,
            unsent_bytes: 0,
            downloaded_bytes: 0,
        }
    }

    /// Advances the state to `now`: uploads as much as the bandwidth and the contracts' funds allowed since the last
    /// call.
    pub(super) fn advance(&mut self, now: Duration) {
        let up = self.up_time(now).saturating_sub(self.up_time(self.now));
        self.now = self.now.max(now);
        let bytes = up.as_nanos() * u128::from(self.config.bandwidth.get()) / 1_000_000_000;
        self.unsent_bytes = self.unsent_bytes.saturating_add(u64::try_from(bytes).unwrap_or(u64::MAX));
        self.upload();
    }

    fn upload(&mut self) {
        let mut room = self.sectors_max().saturating_sub(self.sectors);
        while let Some(name) = self.queue.front() {
            let Some(file) = self.files.get_mut(name).filter(|file| !file.is_complete()) else {
                self.queue.pop_front();
                continue;
            };
            let sectors = (self.unsent_bytes / SECTOR_BYTES).min(file.pieces_needed() - file.pieces).min(room);
            file.pieces += sectors;
            self.sectors += sectors;
            self.unsent_bytes -= sectors * SECTOR_BYTES;
            room -= sectors;
            if !file.is_complete() {
                if room == 0 {
                    self.unsent_bytes = 0;
                }
                return;
            }
        }
        // Unused bandwidth is not saved for later.
        self.unsent_bytes = 0;
    }

    fn elapsed(&self) -> Duration {
        self.now.saturating_sub(self.started)
    }

    /// Returns the daemon's total uptime at a given time.
    fn up_time(&self, at: Duration) -> Duration {
        let elapsed = at.saturating_sub(self.started);
        let Some(restarts) = self.config.restarts.filter(|restarts| !restarts.every.is_zero()) else { return elapsed };
        let count = elapsed.as_nanos() / restarts.every.as_nanos();
        let Some(before) = count.checked_sub(1) else { return elapsed };
        let length = restarts.length.min(restarts.every).as_nanos();
        let in_last = (elapsed.as_nanos() % restarts.every.as_nanos()).min(length);
        let down = u64::try_from(before * length + in_last).unwrap_or(u64::MAX);
        elapsed.saturating_sub(Duration::from_nanos(down))
    }

    pub(super) fn is_restarting(&self) -> bool {
        self.config.restarts.filter(|restarts| !restarts.every.is_zero()).is_some_and(|restarts| {
            let in_period = self.elapsed().as_nanos() % restarts.every.as_nanos();
            self.elapsed() >= restarts.every && in_period < restarts.length.as_nanos()
        })
    }

    pub(super) fn is_synced(&self) -> bool {
        self.elapsed() >= self.config.sync_after
    }

    pub(super) fn height(&self) -> u64 {
        let passed = u64::try_from(self.elapsed().as_nanos() / BLOCK.as_nanos()).unwrap_or(u64::MAX);
        let height = FIRST_HEIGHT.saturating_add(passed);
        if self.is_synced() { height } else { height - MISSING_BLOCKS }
    }

    /// Unlocks the wallet.
    pub(super) fn unlock(&mut self) {
        self.unlocked = true;
        self.begin_forming();
    }

    /// Sets the allowance. Existing contracts do not change.
    pub(super) fn set_allowance(&mut self, allowance: Allowance) {
        if self.forming_since.is_none() {
            self.allowance = Some(allowance);
            self.begin_forming();
        }
    }

    fn begin_forming(&mut self) {
        if self.unlocked && self.allowance.is_some() && self.forming_since.is_none() {
            self.forming_since = Some(self.now);
        }
    }

    /// Returns the number of contracts to form, limited by the wallet's money.
    fn contracts_wanted(&self) -> u64 {
        let (Some(terms), Some(allowance)) = (self.terms(), self.allowance) else { return 0 };
        let affordable = self.config.wallet_hastings.checked_div(terms.cost).unwrap_or(0);
        allowance.hosts.min(self.config.hosts.get()).min(u64::try_from(affordable).unwrap_or(u64::MAX))
    }

    /// Returns the number of contracts formed so far.
    pub(super) fn contract_count(&self) -> u64 {
        let Some(since) = self.forming_since else { return 0 };
        let (passed, all) = (self.now.saturating_sub(since).as_nanos(), self.config.forming.as_nanos());
        if passed >= all {
            return self.contracts_wanted();
        }
        u64::try_from(u128::from(self.contracts_wanted()) * passed / all).unwrap_or(u64::MAX)
    }

    pub(super) fn terms(&self) -> Option<Terms> {
        let Allowance { funds, hosts, period_blocks, .. } = self.allowance?;
        Some(Terms { cost: funds.checked_div(u128::from(hosts))?, period_blocks })
    }

    /// Returns the maximum number of sectors that the contracts can pay for.
    fn sectors_max(&self) -> u64 {
        self.terms().map_or(0, |terms| terms.sectors_max().saturating_mul(self.contract_count()))
    }

    /// Returns the accounting of a contract. Sectors and downloads are distributed evenly over all contracts.
    pub(super) fn account(&self, index: u64) -> Option<Account> {
        let (terms, count) = (self.terms()?, self.contract_count());
        let share = |all: u64| all.checked_div(count).map(|each| each + u64::from(index < all % count));
        let mut account = terms.account(share(self.sectors)?, share(self.downloaded_bytes)?);
        if self.is_storage_understated() {
            account.storage -= account.storage / 100;
        }
        Some(account)
    }

    fn is_storage_understated(&self) -> bool {
        let period = self.config.falling_storage.filter(|period| !period.is_zero());
        period.is_some_and(|period| self.elapsed().as_nanos() / period.as_nanos() % 2 == 1)
    }

    /// Returns the money in the wallet.
    pub(super) fn balance(&self) -> u128 {
        let cost = self.terms().map_or(0, |terms| terms.cost);
        self.config.wallet_hastings.saturating_sub(cost * u128::from(self.contract_count()))
    }

    pub(super) fn file_count(&self) -> usize {
        self.files.len()
    }

    /// Begins to upload a file.
    pub(super) fn add_file(
        &mut self,
        name: &str,
        source: PathBuf,
        bytes: u64,
        redundancy: Redundancy,
    ) -> Result<(), String> {
        if self.files.contains_key(name) {
            return Err("a file already exists at that location".to_owned());
        }
        let (have, need) = (self.contract_count(), (2 * redundancy.data + redundancy.parity) / 2);
        if have < need {
            return Err(format!("not enough contracts to upload file: got {have}, needed {need}"));
        }
        if self.files.len() >= FILES_MAX {
            return Err("the stand-in keeps at most 1,000,000 files".to_owned());
        }
        self.files.insert(name.to_owned(), File::new(source, bytes, redundancy));
        self.queue.push_back(name.to_owned());
        Ok(())
    }

    /// Deletes a file. The sectors of the file stay on the hosts.
    pub(super) fn delete_file(&mut self, name: &str) -> Result<(), &'static str> {
        let file = self.files.remove(name).ok_or("no file known with that path")?;
        if !file.is_complete() {
            self.queue.retain(|queued| queued != name);
        }
        Ok(())
    }

    /// Renames a file.
    pub(super) fn rename_file(&mut self, from: &str, to: &str) -> Result<(), &'static str> {
        if to.is_empty() {
            return Err("filename must be a nonempty string");
        }
        if !self.files.contains_key(from) {
            return Err("no file known with that path");
        }
        if self.files.contains_key(to) {
            return Err("a file already exists at that location");
        }
        if let Some(file) = self.files.remove(from) {
            self.files.insert(to.to_owned(), file);
        }
        for queued in self.queue.iter_mut().filter(|queued| *queued == from) {
            to.clone_into(queued);
        }
        Ok(())
    }

    /// Records the download of file bytes.
    pub(super) fn note_download(&mut self, bytes: u64) {
        self.downloaded_bytes = self.downloaded_bytes.saturating_add(bytes);
    }
}
