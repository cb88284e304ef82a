//! Bounds of connections.

use std::time::Duration;

/// Time for a name to be resolved. musl's resolver itself gives up after 10 s.
pub const RESOLVE_TIMEOUT: Duration = Duration::from_secs(10);
/// Time to reach a host over all its addresses, with a proxy's tunnel and the TLS handshake.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(15);
/// Addresses of a name that are tried. They share the time to connect, so that more of them
/// would leave each too little.
pub const ADDRESSES: usize = 8;
/// Stack of the thread that resolves a name. getaddrinfo of musl needs about 10 kB.
pub const RESOLVER_STACK_BYTES: usize = 128 * 1024;
/// Bytes of a socket's send buffer. The system's own choice grows to 4 MiB, which a line of 40 kB/s
/// needs minutes to drain: nobody would see progress, and the wait for the reply would run out.
/// The system doubles it for its own needs; at 100 ms to the server it allows 1 MB/s and more.
pub const SEND_BUFFER_BYTES: usize = 128 * 1024;
/// TLS sessions remembered for resumption, so that the second handshake is cheap. rustls counts
/// eight to a server: these are the model's, its fallback's and a channel's.
pub const TLS_SESSIONS: usize = 24;
/// Bytes of the table of TCP sockets that are read, 150 each: a busy server has a thousand.
pub const SOCKETS_BYTES: usize = 1024 * 1024;
/// Bytes of the file of added certificates; the roots of a whole distribution are 250 kB.
pub const CA_FILE_BYTES: usize = 1024 * 1024;
