//! The values of a client's load that are shares, such as the used share of a core. Both the writer and the reader of
//! records check these values.

use measure::ClientLoad;

/// Returns all shares of the client's load.
pub(crate) fn shares(client: &ClientLoad) -> [f64; 11] {
    let ClientLoad {
        busy,
        unread,
        run_delay,
        run_delay_sum,
        steal,
        throttled,
        nic,
        descriptors,
        ports,
        frozen,
        host_busy,
        cpu_nanos: _,
    } = *client;
    [busy, unread, run_delay, run_delay_sum, steal, throttled, nic, descriptors, ports, frozen, host_busy]
}
