//! Round-trip times and losses of some connections, measured once per interval.

use crate::network::{Address, Network};
use crate::run_loop::RunLoop;
use crate::run_loop::attempt::exchange::State;
use measure::evidence::PathSample;

/// Maximum number of connections that are sampled at a time. Each sample costs a system call.
const SAMPLES_MAX: usize = 16;
/// Maximum number of addresses whose shortest round trip is kept.
const ADDRESSES_MAX: usize = 64;

/// Shortest round-trip time to each address over all connections. A single connection may never have had a short round
/// trip, for example if packets queued on the path all the time.
#[derive(Debug, Default)]
pub(in crate::run_loop) struct PathSamples {
    shortest: Vec<(Address, u64)>,
}

impl PathSamples {
    /// Returns the sample. The shortest round trip of the sample is replaced with the minimum over all samples for this
    /// address.
    fn compared(&mut self, address: &Address, sample: PathSample) -> PathSample {
        let place = self.shortest.iter().position(|(known, _)| known == address);
        let Some(place) = place else {
            if self.shortest.len() < ADDRESSES_MAX {
                self.shortest.push((address.clone(), sample.shortest));
            }
            return sample;
        };
        let known = &mut self.shortest[place].1;
        *known = sample.shortest.min(*known);
        PathSample { shortest: *known, ..sample }
    }
}

impl<N: Network> RunLoop<'_, N> {
    /// Samples some connections. The sampled connections are evenly spread over the table, so that both old and new
    /// connections are sampled.
    pub(in crate::run_loop) fn sample_paths(&mut self, net: &mut N) {
        let step = self.pool.connections.len().div_ceil(SAMPLES_MAX).max(1);
        let connections = self.pool.connections.iter().map(|(_, connection)| connection);
        let opened = connections.filter(|connection| connection.exchange.state != State::Opening);
        let sockets = opened.map(|connection| (&connection.exchange.address, connection.transport.socket()));
        let paths = &mut self.recorder.current_mut().evidence.network_paths;
        for (address, socket) in sockets.step_by(step) {
            if let Some(sample) = net.path(socket) {
                paths.add(&self.path_samples.compared(address, sample));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shortest_round_trip_belongs_to_the_address() {
        let address = |port: u16| Address::Tcp(([127, 0, 0, 1], port).into());
        let sample = |shortest| PathSample { round_trip: 900, shortest, ..PathSample::default() };
        let mut watch = PathSamples::default();
        assert_eq!(watch.compared(&address(1), sample(100)).shortest, 100);
        assert_eq!(watch.compared(&address(2), sample(700)).shortest, 700, "another address may be far away");
        assert_eq!(watch.compared(&address(1), sample(800)).shortest, 100);
        assert_eq!(watch.compared(&address(1), sample(50)).shortest, 50);
        for port in 0..1000 {
            watch.compared(&address(port), sample(1));
        }
        assert_eq!(watch.shortest.len(), ADDRESSES_MAX);
    }
}
