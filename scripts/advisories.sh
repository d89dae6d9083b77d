#!/usr/bin/env bash
# Checks all dependencies against the RustSec advisory database, which it fetches from GitHub. Maintainers run it before
# each release and once a week. `.ci/run` does all other checks of dependencies.
set -euo pipefail
cd "$(dirname "$0")/.."
for manifest in Cargo.toml fuzz/Cargo.toml; do
    cargo deny --locked --manifest-path "$manifest" --config deny.toml check advisories
done
