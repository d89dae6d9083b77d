//! File operations: sending without copying, files in memory, preallocation, disk space.

use std::ffi::CString;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use crate::kernel_call::{check, check_size, own};
use crate::socket::Socket;

/// Sends up to `max` bytes of `file` from `offset` on, without copying them through this process. Returns the number of
/// bytes sent, which is 0 at the end of the file. Fails with `WouldBlock` if the socket's buffer is full. Does not
/// change the file's position.
pub fn sendfile(out: &Socket, file: &impl AsFd, offset: u64, max: usize) -> io::Result<usize> {
    let mut position = file_offset(offset)?;
    let from = file.as_fd().as_raw_fd();
    // SAFETY: `position` lives during the call, which reads and writes it.
    check_size(unsafe { libc::sendfile(out.as_raw_fd(), from, &raw mut position, max) })
}

/// Opens a file to read it. Does not wait for a writer, even if the path leads to a pipe.
pub fn open_without_waiting(path: &Path) -> io::Result<File> {
    File::options().read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY).open(path)
}

/// Creates a file in memory with `content`. The `name` is only visible in `/proc`.
pub fn memory_file(name: &str, content: &[u8]) -> io::Result<File> {
    let name = CString::new(name)?;
    // SAFETY: `name` is a C string that lives during the call.
    let fd = own(unsafe { libc::memfd_create(name.as_ptr(), libc::MFD_CLOEXEC) })?;
    let mut file = File::from(fd);
    file.write_all(content)?;
    Ok(file)
}

/// Allocates disk space for `bytes` bytes, so that a full disk is detected before writing. The size of the file becomes
/// at least `bytes`.
pub fn preallocate(file: &File, bytes: u64) -> io::Result<()> {
    let length = file_offset(bytes)?;
    // SAFETY: the call takes only numbers, so it accesses no memory.
    check(unsafe { libc::fallocate(file.as_raw_fd(), 0, 0, length) })?;
    Ok(())
}

/// The space of a file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiskSpace {
    /// Total size in bytes.
    pub total_bytes: u64,
    /// Free space in bytes that unprivileged programs can use.
    pub available_bytes: u64,
}

/// Returns the space of the file system that contains `path`.
pub fn disk_space(path: &Path) -> io::Result<DiskSpace> {
    let path = CString::new(path.as_os_str().as_bytes())?;
    // SAFETY: all-zero bytes are a valid `statvfs`.
    let mut found: libc::statvfs = unsafe { std::mem::zeroed() };
    // SAFETY: `path` is a C string that lives during the call, and `found` is valid for writing.
    check(unsafe { libc::statvfs(path.as_ptr(), &raw mut found) })?;
    let bytes = |blocks: u64| blocks.saturating_mul(found.f_frsize);
    Ok(DiskSpace { total_bytes: bytes(found.f_blocks), available_bytes: bytes(found.f_bavail) })
}

fn file_offset(bytes: u64) -> io::Result<libc::off_t> {
    libc::off_t::try_from(bytes).map_err(|_| io::ErrorKind::InvalidInput.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::net::{Ipv4Addr, TcpStream};

    #[test]
    fn sendfile_sends_the_requested_slice() {
        let content: Vec<u8> = (0..100_000_u32).map(|n| (n % 251) as u8).collect();
        let file = memory_file("slice", &content).unwrap();
        let listener = Socket::listen_tcp((Ipv4Addr::LOCALHOST, 0).into(), 1, false).unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        listener.set_blocking(true).unwrap();
        let (server, _) = listener.accept().unwrap();
        server.set_blocking(true).unwrap();

        let (first, mut sent) = (777, 0);
        while sent < 5_000 {
            sent += sendfile(&server, &file, first + sent as u64, 5_000 - sent).unwrap();
        }
        assert_eq!(
            sendfile(&server, &file, content.len() as u64, 10).unwrap(),
            0,
            "nothing is sent at the end of the file"
        );
        drop(server);
        let mut received = Vec::new();
        client.read_to_end(&mut received).unwrap();
        assert_eq!(received, content[777..5_777]);
    }

    #[test]
    fn preallocation_sets_the_size_of_the_file() {
        let file = memory_file("room", b"abc").unwrap();
        preallocate(&file, 10_000).unwrap();
        assert_eq!(file.metadata().unwrap().len(), 10_000);
        assert_eq!(preallocate(&file, u64::MAX).unwrap_err().kind(), io::ErrorKind::InvalidInput);
        assert!(memory_file("a\0b", b"").is_err());
    }

    #[test]
    fn the_space_of_a_file_system_is_known() {
        let root = disk_space(Path::new("/")).unwrap();
        assert!(root.total_bytes > 1 << 20 && root.available_bytes <= root.total_bytes, "{root:?}");
        assert_eq!(disk_space(Path::new("/no such path")).unwrap_err().kind(), io::ErrorKind::NotFound);
        assert!(disk_space(Path::new("a\0b")).is_err());
    }
}
