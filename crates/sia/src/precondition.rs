//! Conditions that a renter must meet before it accepts uploads.

use std::fmt;

use crate::{renterd, siad};

/// A condition for uploads that is not met. The text of the condition explains what the user can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unmet {
    /// The daemon does not have the whole blockchain.
    NotSynced {
        /// The last block that the daemon has.
        height: u64,
    },
    /// The wallet has not been created.
    NoWallet,
    /// The wallet is locked, so it cannot pay.
    WalletLocked,
    /// The wallet has no confirmed money, and there are no usable contracts.
    WalletEmpty,
    /// siad has no allowance.
    NoAllowance,
    /// renterd's autopilot, which forms contracts, is off.
    AutopilotOff,
    /// There are too few contracts.
    Contracts {
        /// Contracts that accept uploads.
        have: u64,
        /// Required number of contracts.
        need: u64,
    },
}

impl Unmet {
    /// Returns whether waiting may be enough, because the daemon itself is working on the condition.
    #[must_use]
    pub fn may_pass(self) -> bool {
        matches!(self, Self::NotSynced { .. } | Self::Contracts { .. })
    }
}

impl fmt::Display for Unmet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotSynced { height } => {
                write!(f, "the daemon is not synced and has only block {height}; wait until it has the whole chain")
            }
            Self::NoWallet => f.write_str("the daemon has no wallet; create one, e.g. with `siac wallet init`"),
            Self::WalletLocked => f.write_str("the wallet is locked; unlock it, e.g. with `siac wallet unlock`"),
            Self::WalletEmpty => f.write_str("the wallet is empty; send siacoins to it and wait for a confirmation"),
            Self::NoAllowance => f.write_str(
                "no allowance is set, so no contracts are formed; set one, e.g. with `siac renter setallowance`",
            ),
            Self::AutopilotOff => {
                f.write_str("the autopilot is off, so no contracts are formed; enable it in renterd's configuration")
            }
            Self::Contracts { have, need } => write!(
                f,
                "{have} of {need} contracts are formed; wait, or check the funds and the number of online hosts"
            ),
        }
    }
}

/// Returns the first unmet condition for uploads to siad; `None` if all are met. Conditions are checked in the order in
/// which a user must meet them. `need` is the required number of contracts. The study waited for 50 contracts.
#[must_use]
pub fn unmet_of_siad(
    consensus: &siad::Consensus,
    wallet: &siad::Wallet,
    renter: &siad::Renter,
    contracts: &siad::Contracts,
    need: u64,
) -> Option<Unmet> {
    let have = contracts.active.len() as u64;
    if !consensus.synced {
        Some(Unmet::NotSynced { height: consensus.height })
    } else if !wallet.encrypted {
        Some(Unmet::NoWallet)
    } else if !wallet.unlocked {
        Some(Unmet::WalletLocked)
    } else if have >= need {
        None
    } else if wallet.confirmed.get() == 0 && have == 0 {
        Some(Unmet::WalletEmpty)
    } else if renter.allowance.funds.get() == 0 {
        Some(Unmet::NoAllowance)
    } else {
        Some(Unmet::Contracts { have, need })
    }
}

/// Returns the first unmet condition for uploads to renterd; `None` if all are met. Conditions are checked in the order
/// in which a user must meet them. An upload needs one good contract for each shard of a slab.
#[must_use]
pub fn unmet_of_renterd(
    consensus: &renterd::Consensus,
    wallet: &renterd::Wallet,
    autopilot: &renterd::Autopilot,
    contracts: &[renterd::Contract],
    upload: &renterd::UploadSettings,
) -> Option<Unmet> {
    let usable = |contract: &&renterd::Contract| contract.is_active() && contract.usability.is_good();
    let have = contracts.iter().filter(usable).count() as u64;
    let need = upload.redundancy.total_shards;
    if !consensus.synced {
        Some(Unmet::NotSynced { height: consensus.block_height })
    } else if have >= need {
        None
    } else if !autopilot.enabled {
        Some(Unmet::AutopilotOff)
    } else if wallet.confirmed.get() == 0 && have == 0 {
        Some(Unmet::WalletEmpty)
    } else {
        Some(Unmet::Contracts { have, need })
    }
}

#[cfg(test)]
mod tests;
