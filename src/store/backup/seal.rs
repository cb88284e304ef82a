//! Encryption of a backup with a passphrase.
//!
//! A file is a head (the 18 bytes `peacrab-backup-1` and two newlines, 16 random bytes of salt, the iterations as four
//! bytes, big-endian) and chunks. PBKDF2 with HMAC-SHA-256 makes the key of passphrase, salt and iterations. A chunk is
//! 64 KiB of the archive, or less at the end, encrypted with ChaCha20-Poly1305 (RFC 8439): 16 bytes longer. Its nonce
//! is its number, from 0 on, as eleven bytes, big-endian, and a byte that is 1 for the last chunk and 0 for the others;
//! the head is the associated data. So what is cut off, exchanged, repeated or added is noticed.

use std::io::{self, Read, Write};
use std::num::NonZeroU32;

use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, Nonce, UnboundKey};
use ring::pbkdf2::{self, PBKDF2_HMAC_SHA256};

use crate::base::secret::Secret;
use crate::sys::random;

/// How a file begins.
pub const MAGIC: &[u8; 18] = b"peacrab-backup-1\n\n";
/// Bytes of the salt.
const SALT: usize = 16;
/// Bytes of the head.
const HEAD: usize = MAGIC.len() + SALT + 4;
/// Bytes of a chunk before it is encrypted.
const CHUNK: usize = 64 * 1024;
/// Bytes that encryption adds to a chunk.
const TAG: usize = 16;
/// Iterations for the key: as OWASP advises for this function; a second or some on an old board.
const ITERATIONS: u32 = 600_000;
/// Iterations that are taken from a file: a minute or some. A file could ask for a day.
const ITERATIONS_MAX: u32 = 10_000_000;

fn damaged(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

fn key_of(passphrase: &Secret, head: &[u8; HEAD]) -> io::Result<LessSafeKey> {
    let (salt, iterations) = head[MAGIC.len()..].split_at(SALT);
    let iterations = iterations.try_into().map_or(0, u32::from_be_bytes);
    let iterations = NonZeroU32::new(iterations)
        .filter(|iterations| iterations.get() <= ITERATIONS_MAX)
        .ok_or_else(|| damaged("its encryption asks for too much work"))?;
    let mut key = [0; 32];
    let secret = passphrase.expose().as_bytes();
    pbkdf2::derive(PBKDF2_HMAC_SHA256, iterations, salt, secret, &mut key);
    let key = UnboundKey::new(&CHACHA20_POLY1305, &key);
    Ok(LessSafeKey::new(
        key.map_err(|_| io::Error::other("no cipher"))?,
    ))
}

fn nonce(number: u64, is_last: bool) -> Nonce {
    let mut bytes = [0; 12];
    bytes[3..11].copy_from_slice(&number.to_be_bytes());
    bytes[11] = u8::from(is_last);
    Nonce::assume_unique_for_key(bytes)
}

/// Encrypts into another writer. [`finish`](Sealer::finish) writes the end.
pub struct Sealer<W> {
    to: W,
    key: LessSafeKey,
    head: [u8; HEAD],
    number: u64,
    chunk: Vec<u8>,
}

impl<W: Write> Sealer<W> {
    /// Begins a file with a new salt.
    pub fn new(mut to: W, passphrase: &Secret) -> io::Result<Self> {
        let mut head = [0; HEAD];
        let salt: [u8; SALT] = random::bytes().map_err(io::Error::other)?;
        head[..MAGIC.len()].copy_from_slice(MAGIC);
        head[MAGIC.len()..HEAD - 4].copy_from_slice(&salt);
        head[HEAD - 4..].copy_from_slice(&ITERATIONS.to_be_bytes());
        to.write_all(&head)?;
        Ok(Self {
            to,
            key: key_of(passphrase, &head)?,
            head,
            number: 0,
            chunk: Vec::with_capacity(CHUNK + TAG),
        })
    }

    /// Writes the last chunk.
    pub fn finish(mut self) -> io::Result<W> {
        self.put(true)?;
        Ok(self.to)
    }

    fn put(&mut self, is_last: bool) -> io::Result<()> {
        let (nonce, head) = (nonce(self.number, is_last), Aad::from(&self.head));
        let sealed = self
            .key
            .seal_in_place_append_tag(nonce, head, &mut self.chunk);
        sealed.map_err(|_| io::Error::other("cannot encrypt"))?;
        self.to.write_all(&self.chunk)?;
        self.chunk.clear();
        self.number += 1;
        Ok(())
    }
}

impl<W: Write> Write for Sealer<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // The last chunk is never empty in an archive that is not.
        if self.chunk.len() == CHUNK {
            self.put(false)?;
        }
        let taken = bytes.len().min(CHUNK - self.chunk.len());
        self.chunk.extend(&bytes[..taken]);
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

/// Decrypts what another reader gives.
pub struct Opener<R> {
    from: R,
    key: LessSafeKey,
    head: [u8; HEAD],
    number: u64,
    /// The next chunk, still encrypted; empty at the end.
    next: Vec<u8>,
    plain: Vec<u8>,
    /// Bytes of `plain` that were given out.
    given: usize,
}

impl<R: Read> Opener<R> {
    /// Reads the head and the first chunk.
    pub fn new(mut from: R, passphrase: &Secret) -> io::Result<Self> {
        let mut head = [0; HEAD];
        from.read_exact(&mut head)?;
        if !head.starts_with(MAGIC) {
            return Err(damaged("it is not an encrypted backup"));
        }
        let key = key_of(passphrase, &head)?;
        let next = read_chunk(&mut from)?;
        Ok(Self {
            from,
            key,
            head,
            number: 0,
            next,
            plain: Vec::new(),
            given: 0,
        })
    }

    /// Decrypts the next chunk.
    fn turn_over(&mut self) -> io::Result<()> {
        let following = match self.next.len() {
            whole if whole == CHUNK + TAG => read_chunk(&mut self.from)?,
            _ => Vec::new(),
        };
        let is_last = following.is_empty();
        self.plain = std::mem::replace(&mut self.next, following);
        let (nonce, head) = (nonce(self.number, is_last), Aad::from(&self.head));
        let opened = self.key.open_in_place(nonce, head, &mut self.plain);
        let length = opened.map(|plain| plain.len());
        let length = length.map_err(|_| {
            damaged(match self.number {
                0 => "the passphrase is wrong, or the file is damaged",
                _ => "it is damaged or was cut off",
            })
        })?;
        self.plain.truncate(length);
        self.number += 1;
        self.given = 0;
        Ok(())
    }
}

impl<R: Read> Read for Opener<R> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        while self.given == self.plain.len() {
            if self.next.is_empty() && self.number > 0 {
                return Ok(0);
            }
            self.turn_over()?;
        }
        let left = &self.plain[self.given..];
        let given = left.len().min(to.len());
        to[..given].copy_from_slice(&left[..given]);
        self.given += given;
        Ok(given)
    }
}

/// A chunk as it is in the file; a shorter one only at the end.
fn read_chunk(from: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut chunk = Vec::with_capacity(CHUNK + TAG);
    from.take((CHUNK + TAG) as u64).read_to_end(&mut chunk)?;
    Ok(chunk)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sealed(content: &[u8]) -> Vec<u8> {
        let mut sealer = Sealer::new(Vec::new(), &Secret::new("correct horse")).unwrap();
        sealer.write_all(content).unwrap();
        sealer.finish().unwrap()
    }

    fn opened(file: &[u8], passphrase: &str) -> Result<Vec<u8>, String> {
        let mut content = Vec::new();
        Opener::new(file, &Secret::new(passphrase))
            .and_then(|mut opener| opener.read_to_end(&mut content))
            .map_err(|error| error.to_string())?;
        Ok(content)
    }

    #[test]
    fn what_was_encrypted_comes_back_at_every_edge_of_a_chunk() {
        for length in [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK, 3 * CHUNK + 5] {
            let content: Vec<u8> = (0..length).map(|at| (at / 7) as u8).collect();
            let file = sealed(&content);
            assert!(
                !file
                    .windows(8)
                    .any(|bytes| content.len() > 8 && bytes == &content[..8])
            );
            assert_eq!(opened(&file, "correct horse").unwrap(), content, "{length}");
        }
    }

    #[test]
    fn the_same_content_is_encrypted_differently_each_time() {
        assert_ne!(sealed(b"same")[HEAD..], sealed(b"same")[HEAD..]);
    }

    #[test]
    fn another_passphrase_and_every_change_are_noticed() {
        let file = sealed(&vec![7; 2 * CHUNK + 9]);
        let wrong = opened(&file, "wrong horse").unwrap_err();
        assert!(wrong.contains("passphrase is wrong"), "{wrong}");
        let chunk = |number: usize| HEAD + number * (CHUNK + TAG)..;
        let (first, second) = (
            &file[chunk(0)][..CHUNK + TAG],
            &file[chunk(1)][..CHUNK + TAG],
        );
        let exchanged = [&file[..HEAD], second, first, &file[chunk(2)]].concat();
        let repeated = [&file[..HEAD], first, first, &file[chunk(1)]].concat();
        let flipped = |at: usize| {
            let mut other = file.clone();
            other[at] ^= 1;
            other
        };
        for (name, other) in [
            ("cut in a chunk", file[..file.len() - 1].to_vec()),
            (
                "cut behind a chunk",
                file[..HEAD + 2 * (CHUNK + TAG)].to_vec(),
            ),
            ("cut behind the head", file[..HEAD].to_vec()),
            ("exchanged", exchanged),
            ("repeated", repeated),
            ("longer", [&*file, b"x"].concat()),
            ("salt", flipped(MAGIC.len())),
            ("head", flipped(HEAD - 1)),
            ("content", flipped(HEAD + CHUNK + TAG + 5)),
        ] {
            assert!(opened(&other, "correct horse").is_err(), "{name}");
        }
    }

    #[test]
    fn a_file_cannot_ask_for_days_of_work() {
        let mut file = sealed(b"x");
        file[HEAD - 4..HEAD].copy_from_slice(&u32::MAX.to_be_bytes());
        let error = opened(&file, "correct horse").unwrap_err();
        assert!(error.contains("too much work"), "{error}");
        file[HEAD - 4..HEAD].fill(0);
        assert!(opened(&file, "correct horse").is_err());
    }
}
