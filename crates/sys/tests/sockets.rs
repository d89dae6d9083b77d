//! Tests of sockets with real loopback connections.

use std::io::ErrorKind;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use sys::arrival::ArrivalTimestamps;
use sys::clock::realtime;
use sys::{Connected, Events, Interest, Poller, Socket};

const ANY_PORT: (Ipv4Addr, u16) = (Ipv4Addr::LOCALHOST, 0);
const LONG: Duration = Duration::from_secs(10);

fn wait_for(socket: &Socket, interest: Interest) {
    let poller = Poller::new().unwrap();
    let mut events = Events::with_capacity(1);
    poller.add(socket, 0, interest).unwrap();
    poller.wait(&mut events, Some(LONG)).unwrap();
    assert_eq!(events.len(), 1, "no event within {LONG:?}");
}

/// Returns a connected pair of sockets. The first socket is the side that connected. Both sockets are non-blocking.
fn tcp_pair() -> (Socket, Socket) {
    let listener = Socket::listen_tcp(ANY_PORT.into(), 8, false).unwrap();
    let (client, connected) = Socket::connect_tcp(listener.local_addr().unwrap(), None).unwrap();
    if connected == Connected::Pending {
        wait_for(&client, Interest::Write);
    }
    assert!(client.take_error().unwrap().is_none());
    wait_for(&listener, Interest::Read);
    let (server, peer) = listener.accept().unwrap();
    assert_eq!(peer, Some(client.local_addr().unwrap()));
    server.set_nodelay(true).unwrap();
    (client, server)
}

fn send_all(socket: &Socket, mut bytes: &[u8]) {
    while !bytes.is_empty() {
        match socket.send(bytes) {
            Ok(sent) => bytes = &bytes[sent..],
            Err(error) if error.kind() == ErrorKind::WouldBlock => wait_for(socket, Interest::Write),
            Err(error) => panic!("{error}"),
        }
    }
}

fn recv_some(socket: &Socket, room: &mut [u8]) -> usize {
    loop {
        match socket.recv(room) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => wait_for(socket, Interest::Read),
            result => return result.unwrap(),
        }
    }
}

#[test]
fn discard_counts_exactly_and_leaves_the_rest() {
    let (client, server) = tcp_pair();
    let body = 1_000_003;
    let sender = std::thread::spawn(move || {
        send_all(&server, &vec![b'x'; body]);
        send_all(&server, b"next head");
    });
    let (mut discarded, mut calls) = (0, 0);
    while discarded < body {
        match client.discard((body - discarded).min(70_000)) {
            Ok(bytes) => {
                assert!((1..=70_000).contains(&bytes));
                discarded += bytes;
                calls += 1;
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => wait_for(&client, Interest::Read),
            Err(error) => panic!("{error}"),
        }
    }
    assert!(discarded == body && calls >= body / 70_000);
    let mut rest = Vec::new();
    let mut room = [0; 64];
    loop {
        match recv_some(&client, &mut room) {
            0 => break,
            bytes => rest.extend_from_slice(&room[..bytes]),
        }
    }
    sender.join().unwrap();
    assert_eq!(rest, b"next head");
    assert_eq!(client.discard(10).unwrap(), 0, "discarding at the end of the stream must return 0");
}

#[test]
fn discard_fails_on_unix_sockets_which_otherwise_work_like_tcp() {
    let path = std::env::temp_dir().join(format!("plimsoll-sys-{}.sock", std::process::id()));
    let listener = Socket::listen_unix(&path, 4).unwrap();
    let (client, connected) = Socket::connect_unix(&path).unwrap();
    assert_eq!(connected, Connected::Now);
    let (server, peer) = listener.accept().unwrap();
    std::fs::remove_file(&path).unwrap();
    assert_eq!(peer, None);
    assert!(!server.is_tcp() && !client.is_tcp());
    server.set_nodelay(true).unwrap();
    send_all(&server, b"hello");
    assert_eq!(client.discard(5).unwrap_err().kind(), ErrorKind::Unsupported);
    assert_eq!(client.local_addr().unwrap_err().kind(), ErrorKind::Unsupported);
    let mut room = [0; 8];
    assert_eq!(recv_some(&client, &mut room), 5, "a failed discard must not consume bytes");
}

#[test]
fn an_empty_socket_would_block_and_a_half_closed_one_ends() {
    let (client, server) = tcp_pair();
    assert_eq!(client.recv(&mut [0; 4]).unwrap_err().kind(), ErrorKind::WouldBlock);
    assert_eq!(client.discard(4).unwrap_err().kind(), ErrorKind::WouldBlock);
    assert_eq!(client.send_more(b"first ").unwrap(), 6);
    assert_eq!(client.send(b"second").unwrap(), 6);
    client.shutdown_write().unwrap();
    let (mut all, mut room) = (Vec::new(), [0; 32]);
    loop {
        match recv_some(&server, &mut room) {
            0 => break,
            bytes => all.extend_from_slice(&room[..bytes]),
        }
    }
    assert_eq!(all, b"first second");
    send_all(&server, b"still");
    assert_eq!(recv_some(&client, &mut room), 5, "the other direction must stay open");
}

#[test]
fn dropping_a_socket_with_reset_resets_the_peer() {
    let (client, server) = tcp_pair();
    server.reset_on_close().unwrap();
    drop(server);
    wait_for(&client, Interest::Read);
    assert_eq!(client.recv(&mut [0; 4]).unwrap_err().kind(), ErrorKind::ConnectionReset);
    assert_eq!(client.send(b"x").unwrap_err().kind(), ErrorKind::BrokenPipe);
}

#[test]
fn a_refused_connection_returns_its_error() {
    // The port is used by a connection, but nothing listens on it.
    let (client, _server) = tcp_pair();
    let closed = client.local_addr().unwrap();
    let refused = match Socket::connect_tcp(closed, None) {
        Err(error) => error,
        Ok((socket, _)) => {
            wait_for(&socket, Interest::Write);
            socket.take_error().unwrap().expect("connecting to a port without a listener must fail")
        }
    };
    assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
}

#[test]
fn a_connection_uses_the_requested_local_address() {
    let listener = Socket::listen_tcp(ANY_PORT.into(), 8, false).unwrap();
    let from = Ipv4Addr::new(127, 0, 0, 77);
    let (client, _) = Socket::connect_tcp(listener.local_addr().unwrap(), Some(from.into())).unwrap();
    wait_for(&listener, Interest::Read);
    let (_, peer) = listener.accept().unwrap();
    assert_eq!(peer.map(|peer| peer.ip()), Some(from.into()));
    assert_eq!(client.local_addr().unwrap().ip(), from);
}

#[test]
fn ports_are_shared_only_with_reuse_port_on_all_sockets() {
    let first = Socket::listen_tcp(ANY_PORT.into(), 1, true).unwrap();
    let address: SocketAddr = first.local_addr().unwrap();
    let second = Socket::listen_tcp(address, 1, true).unwrap();
    assert_eq!(second.local_addr().unwrap(), address);
    assert_eq!(Socket::listen_tcp(address, 1, false).unwrap_err().kind(), ErrorKind::AddrInUse);
}

#[test]
fn low_water_delays_readiness_until_enough_bytes_arrived() {
    let (client, server) = tcp_pair();
    client.set_receive_low_water(1_000).unwrap();
    let poller = Poller::new().unwrap();
    let mut events = Events::with_capacity(1);
    poller.add(&client, 0, Interest::Read).unwrap();
    send_all(&server, &[1; 999]);
    poller.wait(&mut events, Some(Duration::from_millis(50))).unwrap();
    assert!(events.is_empty(), "999 of 1000 bytes must not make the socket readable");
    send_all(&server, &[1]);
    poller.wait(&mut events, Some(LONG)).unwrap();
    assert_eq!(events.len(), 1);
}

#[test]
fn a_blocking_read_ends_at_its_timeout() {
    let (client, _server) = tcp_pair();
    client.set_blocking(true).unwrap();
    client.set_read_timeout(Some(Duration::from_millis(5))).unwrap();
    client.set_write_timeout(Some(Duration::from_millis(5))).unwrap();
    assert_eq!(client.recv(&mut [0; 4]).unwrap_err().kind(), ErrorKind::WouldBlock);
    let mut sent = 0_u64;
    let full = loop {
        match client.send(&[0; 64 << 10]) {
            Ok(bytes) => sent += bytes as u64,
            Err(error) => break error,
        }
    };
    assert_eq!(full.kind(), ErrorKind::WouldBlock, "sending must block after {sent} bytes that were not read");
}

#[test]
fn received_bytes_have_arrival_times() {
    let _timestamps = ArrivalTimestamps::start().unwrap();
    let (client, server) = tcp_pair();
    let mut room = [0; 100];
    // The kernel needs some time to start timestamps.
    for _ in 0..500 {
        let before = realtime();
        send_all(&server, b"123");
        wait_for(&client, Interest::Read);
        let sent = realtime();
        std::thread::sleep(Duration::from_millis(5));
        let (bytes, came) = client.recv_with_arrival(&mut room).unwrap();
        assert_eq!(&room[..bytes], b"123");
        if let Some(came) = came {
            assert!(before <= came && came <= sent, "{before:?}, {came:?}, {sent:?}");
            let nothing = client.recv_with_arrival(&mut room).unwrap_err();
            assert_eq!(nothing.kind(), ErrorKind::WouldBlock);
            return;
        }
    }
    panic!("no read had an arrival time");
}

#[test]
fn the_arrival_time_is_that_of_the_newest_byte() {
    let _timestamps = ArrivalTimestamps::start().unwrap();
    let (client, server) = tcp_pair();
    let mut room = [0; 100];
    for _ in 0..100 {
        send_all(&server, b"1");
        std::thread::sleep(Duration::from_millis(5));
        let between = realtime();
        send_all(&server, b"2");
        std::thread::sleep(Duration::from_millis(2));
        match client.recv_with_arrival(&mut room).unwrap() {
            (2, Some(came)) => return assert!(came >= between, "{came:?}, {between:?}"),
            (_, _) => continue,
        }
    }
    panic!("no read had an arrival time");
}
