//! Commands around a trial.

/// Setting with the name of a cache's state. No command has a flag for this setting; only hooks and reports use it.
pub const CACHE_STATE: &str = "cache";

/// Setting with the emulated link between client and target.
pub const LINK: &str = "link";

/// Setting with the number of agents that make the load of a trial.
pub const AGENTS: &str = "agents";

/// Shell commands that run before, during and after a trial. For example, these commands bring a cache into the state
/// to be measured, check this state, and clean up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hooks {
    /// Command that runs before the trial and prepares the state to be measured.
    pub before: Option<String>,
    /// Command that runs right before the trial and checks the state. The trial is measured only if the command
    /// succeeds.
    pub check: Option<String>,
    /// Command that runs while the trial runs, for example a profiler of the server. The command is stopped when the
    /// trial ends.
    pub during: Option<String>,
    /// Command that runs after the trial.
    pub after: Option<String>,
}

impl Hooks {
    /// Names of the hooks, in the order in which they run.
    pub const KEYS: [&str; 4] = ["before", "check", "during", "after"];

    /// Returns all hooks with their names, in the order in which they run.
    #[must_use]
    pub fn named(&self) -> [(&'static str, Option<&str>); 4] {
        let Self { before, check, during, after } = self;
        let commands = [before, check, during, after];
        std::array::from_fn(|index| (Self::KEYS[index], commands[index].as_deref()))
    }

    /// Returns these hooks, with missing ones replaced by the hooks of `wider`.
    #[must_use]
    pub fn or(self, wider: &Self) -> Self {
        let Self { before, check, during, after } = wider;
        Self {
            before: self.before.or_else(|| before.clone()),
            check: self.check.or_else(|| check.clone()),
            during: self.during.or_else(|| during.clone()),
            after: self.after.or_else(|| after.clone()),
        }
    }
}
