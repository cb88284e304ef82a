//! Floor 5: releases of this program, and how one takes the place of another.
//!
//! A release is a folder, here or on a server: the programs, `SHA256SUMS` with a checksum for each file, and
//! `SHA256SUMS.sig`, the Ed25519 signature of that list. Nothing of a release is read before its signature
//! has been verified with the key that is built into this program. `version` and `list` are PURE.

mod install;
pub mod key;
pub mod list;
mod source;
pub mod staged;
mod texts;
pub mod version;

pub use install::{Installed, check_program, package_of};
pub use source::{Release, Source};
pub use staged::Staged;
pub use version::{Version, current};

/// The names of the architectures that releases have programs for.
pub const ARCHITECTURES: [&str; 5] = ["armv6", "armv7", "arm64", "riscv64", "x86_64"];

/// The one that this program was built for, which is not always the board's: on ARM a program for ARMv6
/// also runs on later processors. Compilers that do not tell the version of ARM get the older one.
pub const ARCHITECTURE: &str = match () {
    () if cfg!(all(target_arch = "arm", target_feature = "v7")) => "armv7",
    () if cfg!(target_arch = "arm") => "armv6",
    () if cfg!(target_arch = "aarch64") => "arm64",
    () if cfg!(target_arch = "riscv64") => "riscv64",
    () if cfg!(target_arch = "x86_64") => "x86_64",
    () => "unknown",
};

/// The list of checksums.
pub const LIST: &str = "SHA256SUMS";

/// Its signature.
pub const SIGNATURE: &str = "SHA256SUMS.sig";
