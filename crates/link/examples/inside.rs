//! Runs two shell commands at the two ends of an emulated path, and prints the packet and byte counts of both
//! directions.
//!
//! ```console
//! $ cargo run --release --example inside -p link -- 1Gbit/s,40ms 1Gbit/s 'iperf3 -s -1' 'iperf3 -c 198.18.0.2 -R'
//! ```

use link::spec::{Direction, LinkSpec};
use link::tun::{Path, Settings};
use std::error::Error;
use std::process::Command;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [down, up, far, near, congestion @ ..] = &arguments[..] else {
        return Err("usage: inside DOWN UP COMMAND-AT-THE-FAR-END COMMAND-AT-THE-NEAR-END [CONGESTION-CONTROL]".into());
    };
    let spec = LinkSpec { down: down.parse()?, up: up.parse()? };
    let settings = Settings { congestion: congestion.first().cloned(), ..Settings::default() };
    link::permissions::gain()?;
    let path = Path::open(&spec, &settings)?;
    println!("near {}, far {}, {}", path.near().address(), path.far().address(), path.near().congestion());
    let mut server = Command::new("sh");
    path.far().host(server.args(["-c", far]))?;
    let mut server = server.spawn()?;
    std::thread::sleep(std::time::Duration::from_millis(300));
    let mut client = Command::new("sh");
    path.near().host(client.args(["-c", near]))?;
    let status = client.status()?;
    let _ = server.kill();
    let _ = server.wait();
    for direction in [Direction::Down, Direction::Up] {
        let counts = path.counts(direction);
        println!("{direction:?}: {counts:?} {:?} busy {:.1} %", counts.health(), counts.busy_share() * 100.0);
    }
    std::process::exit(status.code().unwrap_or(1));
}
