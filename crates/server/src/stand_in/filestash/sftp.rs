//! Files of an SFTP server, for Filestash's sftp backend. All requests of a login use one connection, one after the
//! other. While a request waits for the SFTP server, it blocks a thread of this server.
//!
//! The system's `ssh` program implements SSH. This module implements the part of SFTP version 3
//! (draft-ietf-secsh-filexfer-02) that listing and reading need.

use std::collections::HashMap;
use std::fmt;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use sha2::{Digest, Sha256};

use super::packets::{Attributes, Entry, PacketReader, read_names};
use crate::content::pattern::Pattern;
use crate::content::source::{Produced, Source};

/// Maximum time to wait for the SFTP server.
const PATIENCE: Duration = Duration::from_secs(10);
/// Maximum number of open connections. A login above this limit first closes all open connections.
const CONNECTIONS_MAX: usize = 64;
/// Maximum size of a packet from the SFTP server. OpenSSH has the same limit.
const PACKET_MAX: usize = 256 * 1024;
/// Maximum number of entries in a listed directory.
const ENTRIES_MAX: usize = 100_000;
/// Maximum number of bytes in one read. Every server supports this size.
const READ_MAX: u64 = 32 * 1024;

/// A login: server, user name and key.
#[derive(Clone)]
pub(super) struct Login {
    host: String,
    port: u16,
    user: String,
    /// A private key in OpenSSH format.
    key: String,
}

/// An error of an SFTP call.
#[derive(Debug)]
pub(super) enum SftpError {
    /// The server refused with this code.
    Status(u32),
    /// The connection failed and cannot be used again.
    Broken(io::Error),
}

impl From<io::Error> for SftpError {
    fn from(error: io::Error) -> Self {
        Self::Broken(error)
    }
}

impl SftpError {
    /// Returns the HTTP status and message that Filestash uses for this error.
    pub(super) fn status_and_message(&self) -> (u16, &'static str) {
        match self {
            Self::Status(NO_SUCH_FILE) => (404, "Not Found"),
            Self::Status(PERMISSION_DENIED) => (403, "Forbidden"),
            Self::Status(_) => (500, "Internal Server Error"),
            Self::Broken(_) => (502, "the sftp server does not answer"),
        }
    }
}

impl Login {
    /// Reads the parameters of a login. Returns `None` if a parameter is missing, or if `ssh` could interpret it as an
    /// option.
    pub(super) fn read(login: &serde_json::Value) -> Option<Self> {
        let text = |name: &str| login.get(name).and_then(serde_json::Value::as_str);
        let is_plain = |text: &&str| {
            let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_' | b':');
            !text.is_empty() && !text.starts_with('-') && text.bytes().all(plain)
        };
        Some(Self {
            host: text("hostname").filter(is_plain)?.to_owned(),
            port: text("port").unwrap_or("22").parse().ok()?,
            user: text("username").filter(is_plain)?.to_owned(),
            key: text("password").filter(|key| key.starts_with("-----BEGIN "))?.to_owned(),
        })
    }

    fn identity(&self) -> [u8; 32] {
        Sha256::digest(format!("{}\0{}\0{}\0{}", self.host, self.port, self.user, self.key)).into()
    }
}

/// The connections of all logins. The key is a hash that identifies the login.
#[derive(Default)]
pub(super) struct SftpPool(Mutex<HashMap<[u8; 32], Arc<Mutex<SftpClient>>>>);

impl fmt::Debug for SftpPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SftpPool").finish_non_exhaustive()
    }
}

impl SftpPool {
    /// Returns the connection of a login. Opens a connection if the login has none, or if its connection is broken.
    pub(super) fn client(&self, login: &Login) -> io::Result<Arc<Mutex<SftpClient>>> {
        let mut clients = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let identity = login.identity();
        if let Some(client) = clients.get(&identity)
            && !lock(client).broken
        {
            return Ok(Arc::clone(client));
        }
        if clients.len() >= CONNECTIONS_MAX {
            clients.clear();
        }
        let client = Arc::new(Mutex::new(SftpClient::open(login)?));
        clients.insert(identity, Arc::clone(&client));
        Ok(client)
    }
}

pub(super) fn lock(client: &Mutex<SftpClient>) -> std::sync::MutexGuard<'_, SftpClient> {
    client.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A connection to an SFTP server.
pub(super) struct SftpClient {
    stream: UnixStream,
    ssh: Child,
    last_id: u32,
    broken: bool,
}

impl Drop for SftpClient {
    fn drop(&mut self) {
        let _ = self.ssh.kill();
        let _ = self.ssh.wait();
    }
}

const INIT: u8 = 1;
const VERSION: u8 = 2;
const OPEN: u8 = 3;
const CLOSE: u8 = 4;
const READ: u8 = 5;
const OPENDIR: u8 = 11;
const READDIR: u8 = 12;
const STAT: u8 = 17;
const STATUS: u8 = 101;
const HANDLE: u8 = 102;
const DATA: u8 = 103;
const NAME: u8 = 104;
const ATTRS: u8 = 105;

const AT_END: u32 = 1;
const NO_SUCH_FILE: u32 = 2;
const PERMISSION_DENIED: u32 = 3;

impl SftpClient {
    fn open(login: &Login) -> io::Result<Self> {
        // ssh reads keys only from files.
        let mut key = tempfile::NamedTempFile::new()?;
        key.write_all(login.key.trim_end().as_bytes())?;
        key.write_all(b"\n")?;
        let (stream, theirs) = UnixStream::pair()?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let mut ssh = Command::new("ssh");
        ssh.args(["-F", "none", "-s", "-l", &login.user, "-p", &login.port.to_string(), "-i"]).arg(key.path());
        for option in [
            "BatchMode=yes",
            "IdentitiesOnly=yes",
            "PreferredAuthentications=publickey",
            "StrictHostKeyChecking=no",
            "UserKnownHostsFile=/dev/null",
            "LogLevel=ERROR",
            "ConnectTimeout=10",
        ] {
            ssh.args(["-o", option]);
        }
        ssh.args(["--", &login.host, "sftp"]).env_remove("SSH_AUTH_SOCK");
        let output: OwnedFd = theirs.try_clone()?.into();
        let input: OwnedFd = theirs.into();
        ssh.stdin(Stdio::from(input)).stdout(Stdio::from(output)).stderr(Stdio::null());
        let child = ssh.spawn()?;
        // `Command` has the other end of the socket. If that end stayed open in this process, reads would not detect
        // the end of ssh.
        drop(ssh);
        let mut client = Self { stream, ssh: child, last_id: 0, broken: false };
        client.stream.write_all(&[0, 0, 0, 5, INIT, 0, 0, 0, 3])?;
        let (kind, _) = client.packet()?;
        if kind != VERSION {
            return Err(io::ErrorKind::InvalidData.into());
        }
        Ok(client)
    }

    /// Lists a directory, without `.` and `..`.
    pub(super) fn list(&mut self, path: &str) -> Result<Vec<Entry>, SftpError> {
        let handle = self.handle(OPENDIR, &[path.as_bytes()], &[])?;
        let mut entries = Vec::new();
        let ended = loop {
            match self.call(READDIR, &[&handle], &[], NAME) {
                Ok(body) => match read_names(&body, &mut entries) {
                    Ok(()) if entries.len() < ENTRIES_MAX => {}
                    Ok(()) => break Ok(()),
                    Err(error) => break Err(self.mark_broken(error)),
                },
                Err(SftpError::Status(AT_END)) => break Ok(()),
                Err(error) => break Err(error),
            }
        };
        let closed = self.close(&handle);
        ended.and(closed).map(|()| entries)
    }

    /// Returns the size of a file.
    pub(super) fn size(&mut self, path: &str) -> Result<u64, SftpError> {
        let body = self.call(STAT, &[path.as_bytes()], &[], ATTRS)?;
        Attributes::read(&mut PacketReader(&body)).map(|found| found.size).map_err(|error| self.mark_broken(error))
    }

    /// Opens a file for reading and returns its handle.
    pub(super) fn open_file(&mut self, path: &str) -> Result<Vec<u8>, SftpError> {
        // Read access, no attributes.
        self.handle(OPEN, &[path.as_bytes()], &[0, 0, 0, 1, 0, 0, 0, 0])
    }

    /// Reads up to 32 KiB at an offset. Returns no bytes at the end of the file.
    fn read(&mut self, handle: &[u8], offset: u64, most: u64) -> Result<Vec<u8>, SftpError> {
        let most = u32::try_from(most.min(READ_MAX)).unwrap_or(u32::MAX);
        let tail = [&offset.to_be_bytes()[..], &most.to_be_bytes()].concat();
        match self.call(READ, &[handle], &tail, DATA) {
            Ok(body) => PacketReader(&body).bytes().map(<[u8]>::to_vec).map_err(|error| self.mark_broken(error)),
            Err(SftpError::Status(AT_END)) => Ok(Vec::new()),
            Err(error) => Err(error),
        }
    }

    fn close(&mut self, handle: &[u8]) -> Result<(), SftpError> {
        match self.call(CLOSE, &[handle], &[], STATUS) {
            Ok(_) | Err(SftpError::Status(0)) => Ok(()),
            Err(error) => Err(error),
        }
    }

    fn handle(&mut self, kind: u8, texts: &[&[u8]], tail: &[u8]) -> Result<Vec<u8>, SftpError> {
        let body = self.call(kind, texts, tail, HANDLE)?;
        PacketReader(&body).bytes().map(<[u8]>::to_vec).map_err(|error| self.mark_broken(error))
    }

    fn mark_broken(&mut self, error: io::Error) -> SftpError {
        self.broken = true;
        SftpError::Broken(error)
    }

    /// Sends a request that consists of strings and the bytes of `tail`. Returns the body of the response, without its
    /// ID.
    fn call(&mut self, kind: u8, texts: &[&[u8]], tail: &[u8], expected: u8) -> Result<Vec<u8>, SftpError> {
        let response = self.exchange(kind, texts, tail).map_err(|error| self.mark_broken(error))?;
        match response {
            (found, body) if found == expected && found != STATUS => Ok(body),
            (STATUS, body) => Err(match PacketReader(&body).number() {
                Ok(code) => SftpError::Status(code),
                Err(error) => self.mark_broken(error),
            }),
            _ => Err(self.mark_broken(io::ErrorKind::InvalidData.into())),
        }
    }

    fn exchange(&mut self, kind: u8, texts: &[&[u8]], tail: &[u8]) -> io::Result<(u8, Vec<u8>)> {
        self.last_id = self.last_id.wrapping_add(1);
        let id = self.last_id.to_be_bytes();
        let mut request = vec![0, 0, 0, 0, kind];
        request.extend_from_slice(&id);
        for text in texts {
            request.extend_from_slice(&length(text.len())?);
            request.extend_from_slice(text);
        }
        request.extend_from_slice(tail);
        let bytes = length(request.len() - 4)?;
        request[..4].copy_from_slice(&bytes);
        self.stream.write_all(&request)?;
        let (kind, body) = self.packet()?;
        match body.split_first_chunk::<4>() {
            Some((found, rest)) if *found == id => Ok((kind, rest.to_vec())),
            _ => Err(io::ErrorKind::InvalidData.into()),
        }
    }

    /// Reads the next packet. Returns its kind and its body.
    fn packet(&mut self) -> io::Result<(u8, Vec<u8>)> {
        let mut head = [0; 5];
        self.stream.read_exact(&mut head)?;
        let [a, b, c, d, kind] = head;
        let bytes = u32::from_be_bytes([a, b, c, d]) as usize;
        if !(1..=PACKET_MAX).contains(&bytes) {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let mut body = vec![0; bytes - 1];
        self.stream.read_exact(&mut body)?;
        Ok((kind, body))
    }
}

fn length(bytes: usize) -> io::Result<[u8; 4]> {
    u32::try_from(bytes).map(u32::to_be_bytes).map_err(|_| io::ErrorKind::InvalidInput.into())
}

/// A range of a remote file, which is read while it is sent.
pub(super) struct RemoteFile {
    pub(super) client: Arc<Mutex<SftpClient>>,
    pub(super) handle: Vec<u8>,
    pub(super) next: u64,
    /// Bytes left to read.
    pub(super) left: u64,
}

impl fmt::Debug for RemoteFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RemoteFile").field("next", &self.next).field("left", &self.left).finish_non_exhaustive()
    }
}

impl Drop for RemoteFile {
    fn drop(&mut self) {
        let _ = lock(&self.client).close(&self.handle);
    }
}

impl Source for RemoteFile {
    fn produce(&mut self, _: &Pattern, room: usize, out: &mut Vec<u8>) -> io::Result<Produced> {
        if self.left == 0 {
            return Ok(Produced::End);
        }
        let piece = lock(&self.client).read(&self.handle, self.next, self.left.min(room as u64));
        match piece {
            Ok(piece) if piece.is_empty() => Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(piece) => {
                let bytes = (piece.len() as u64).min(self.left);
                self.next += bytes;
                self.left -= bytes;
                out.extend_from_slice(&piece);
                Ok(Produced::Piece)
            }
            Err(SftpError::Broken(error)) => Err(error),
            Err(SftpError::Status(_)) => Err(io::ErrorKind::Other.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logins_cannot_contain_ssh_options() {
        let login = |host: &str, user: &str, key: &str| {
            let login = serde_json::json!({ "type": "sftp", "hostname": host, "username": user, "password": key });
            Login::read(&login).is_some()
        };
        let key = "-----BEGIN OPENSSH PRIVATE KEY-----";
        assert!(login("127.0.0.1", "me", key) && login("::1", "a.b-c", key));
        for (host, user, key) in [
            ("-oProxyCommand=x", "me", key),
            ("h", "-oProxyCommand=x", key),
            ("h o", "me", key),
            ("h", "", key),
            ("h", "me", "secret"),
        ] {
            assert!(!login(host, user, key), "{host} {user}");
        }
    }
}
