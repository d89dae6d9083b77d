//! Private network namespaces, which a bridge connects. The namespaces have no names, and no connection to the network
//! of this machine. They exist only as long as a process uses them, so nothing remains after a crash.

use super::{peer, skip};
use std::io::Write;
use std::net::Ipv4Addr;
use std::process::{Command, Stdio};
use std::sync::Arc;
use sys::namespace::Network;

/// A network namespace with one address.
#[derive(Clone)]
pub struct Node {
    network: Arc<Network>,
    pub address: Ipv4Addr,
}

/// A network of its own.
pub struct Namespaces {
    /// The namespace of the bridge, from which all others can be reached.
    pub parent: Node,
    pub clients: Vec<Node>,
    pub servers: Node,
}

impl Namespaces {
    /// Makes the namespaces. Returns `None` to skip the test if a program is missing, or if this system does not allow
    /// namespaces.
    pub fn new(clients: u8) -> Option<Self> {
        peer("iproute2", Command::new("ip").arg("-V").output().ok())?;
        let parent = Node::new(1)?;
        let nodes = (11..).take(usize::from(clients)).chain([100]).map(Node::new).collect::<Option<Vec<Node>>>()?;
        let bridge = format!(
            "link set lo up\nlink add bridge0 type bridge\nlink set bridge0 up\naddress add {}/24 dev bridge0\n\
             link add probe0 type veth peer name probe1\nlink delete probe0\n",
            parent.address
        );
        if let Err(why) = parent.ip(&bridge) {
            skip(&format!("no bridge can be made in a network namespace: {why}"));
            return None;
        }
        for (number, node) in nodes.iter().enumerate() {
            let (there, address) = (node.network.place(), node.address);
            let cable = format!(
                "link add end{number} type veth peer name eth0 netns {}\nlink set end{number} master bridge0 up\n",
                there.display()
            );
            parent.ip(&cable).expect("a namespace can be connected");
            let near = format!("link set lo up\naddress add {address}/24 dev eth0\nlink set eth0 up\n");
            node.ip(&near).expect("a namespace can have an address");
        }
        let (servers, clients) = nodes.split_last()?;
        Some(Self { parent, clients: clients.to_vec(), servers: servers.clone() })
    }

    /// Cuts the client of this number off from all other namespaces, without a sign on either side.
    pub fn cut_off(&self, client: usize) {
        self.parent.ip(&format!("link set end{client} nomaster\n")).expect("a cable can be unplugged");
    }

    /// Connects the client of this number again.
    pub fn connect_again(&self, client: usize) {
        self.parent.ip(&format!("link set end{client} master bridge0\n")).expect("a cable can be plugged in");
    }
}

impl Node {
    /// Makes an empty namespace. The thread that calls stays in its own.
    fn new(number: u8) -> Option<Self> {
        let made = std::thread::spawn(Network::unshare).join().expect("the thread does not panic");
        let network = made.map_err(|why| skip(&format!("no network namespace can be made: {why}"))).ok()?;
        Some(Self { network: Arc::new(network), address: Ipv4Addr::new(10, 77, 0, number) })
    }

    /// Makes a command run in this namespace. Its process ends with the thread that starts it.
    pub fn host(&self, command: &mut Command) {
        self.network.host(command).expect("a descriptor can be copied");
    }

    /// Moves the calling thread to this namespace, with the processes that it starts from now on.
    pub fn enter(&self) {
        self.network.enter().expect("the namespace can be entered");
    }

    /// Calls a function in this namespace. Sockets that the function opens stay in the namespace.
    pub fn within<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        let inside = || {
            self.enter();
            work()
        };
        std::thread::scope(|scope| scope.spawn(inside).join()).expect("the thread does not panic")
    }

    /// Runs commands of `ip`, one per line. Returns the first error message if one fails.
    fn ip(&self, commands: &str) -> Result<(), String> {
        let mut ip = Command::new("ip");
        self.host(ip.args(["-batch", "-"]).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped()));
        let mut running = ip.spawn().expect("ip can be started");
        let mut input = running.stdin.take().expect("the input is a pipe");
        // If ip has failed already, its error message is more useful than that of the pipe.
        let _ = input.write_all(commands.as_bytes());
        drop(input);
        let ended = running.wait_with_output().expect("ip ends");
        let why = String::from_utf8_lossy(&ended.stderr);
        if ended.status.success() { Ok(()) } else { Err(why.lines().next().unwrap_or_default().to_owned()) }
    }
}
