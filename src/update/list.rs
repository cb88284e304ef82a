//! The list of checksums of a release, in the format of sha256sum(1). Pure.

use super::version::Version;
use super::{ARCHITECTURES, texts};
use crate::base::hex::unhex;

/// Files in that list.
const FILES_MAX: usize = 100;
/// Bytes of a file's name in that list; ours have up to 30.
const NAME_BYTES: usize = 100;

/// A SHA-256 checksum.
pub type Checksum = [u8; 32];

/// The files of a release with their checksums.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checksums(Vec<(String, Checksum)>);

/// A program of a release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// The file's name, such as `peacrab-0.2.0-armv7`.
    pub name: String,
    /// Its version.
    pub version: Version,
    /// The architecture that it was built for.
    pub architecture: &'static str,
    /// The checksum of the file.
    pub checksum: Checksum,
}

impl Checksums {
    /// Reads the list. An error says what is wrong with it.
    pub fn parse(text: &[u8]) -> Result<Self, String> {
        let text = std::str::from_utf8(text).map_err(|_| texts::LIST_IS_NOT_TEXT.to_owned())?;
        let mut files: Vec<(String, Checksum)> = Vec::new();
        for (index, line) in text.lines().enumerate() {
            let broken = || texts::broken_line(index + 1);
            if files.len() == FILES_MAX {
                return Err(texts::too_many_files(FILES_MAX));
            }
            let (checksum, name) = read_line(line).ok_or_else(broken)?;
            if files.iter().any(|(known, _)| known == name) {
                return Err(texts::listed_twice(name));
            }
            files.push((name.to_owned(), checksum));
        }
        Ok(Self(files))
    }

    /// The programs in the list.
    pub fn programs(&self) -> impl Iterator<Item = Program> {
        self.0.iter().filter_map(|(name, checksum)| {
            let (version, architecture) = read_name(name)?;
            Some(Program {
                name: name.clone(),
                version,
                architecture,
                checksum: *checksum,
            })
        })
    }

    /// The program for an architecture. An error says why there is none; two versions in one release
    /// are one too many.
    pub fn program(&self, architecture: &str) -> Result<Program, String> {
        let mut found = self
            .programs()
            .filter(|program| program.architecture == architecture);
        match (found.next(), found.next()) {
            (Some(program), None) => Ok(program),
            (Some(_), Some(_)) => Err(texts::several_versions(architecture)),
            (None, _) => {
                let others: Vec<&str> = self.programs().map(|one| one.architecture).collect();
                Err(texts::no_program(architecture, &others.join(", ")))
            }
        }
    }
}

/// A line: 64 hexadecimal digits, a space, a space or `*`, and a name without a folder.
fn read_line(line: &str) -> Option<(Checksum, &str)> {
    let (digits, rest) = line.split_once(' ')?;
    let name = rest.strip_prefix([' ', '*'])?;
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-+~".contains(&byte);
    let is_name = (1..=NAME_BYTES).contains(&name.len())
        && !name.starts_with('.')
        && name.bytes().all(is_plain);
    let checksum = Checksum::try_from(unhex(digits)?).ok()?;
    is_name.then_some((checksum, name))
}

/// The version and the architecture in the name of a program; `None` for other files.
pub fn read_name(name: &str) -> Option<(Version, &'static str)> {
    let (version, architecture) = name.strip_prefix("peacrab-")?.rsplit_once('-')?;
    let known = ARCHITECTURES
        .into_iter()
        .find(|known| *known == architecture)?;
    Some((Version::parse(version)?, known))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn line(byte: u8, name: &str) -> String {
        format!("{}  {name}\n", format!("{byte:02x}").repeat(32))
    }

    #[test]
    fn the_program_of_an_architecture_is_found() {
        let text = [
            line(1, "install.sh"),
            line(2, "peacrab-0.2.0-armv6"),
            line(0xAB, "peacrab-0.2.0-armv7"),
            line(4, "peacrab-0.2.0-armv7.tar.gz"),
            line(5, "peacrab_0.2.0_armhf.deb"),
        ];
        let list = Checksums::parse(text.concat().as_bytes()).unwrap();
        let program = list.program("armv7").unwrap();
        assert_eq!(program.name, "peacrab-0.2.0-armv7");
        assert_eq!(program.version.to_string(), "0.2.0");
        assert_eq!(program.checksum, [0xAB; 32]);
        let missing = list.program("riscv64").unwrap_err();
        assert!(
            missing.contains("riscv64") && missing.contains("armv6, armv7"),
            "{missing}"
        );
        let both = text.concat() + &line(6, "peacrab-0.3.0-armv7");
        let both = Checksums::parse(both.as_bytes()).unwrap();
        assert!(both.program("armv7").is_err());
    }

    #[test]
    fn a_list_that_is_not_like_ours_is_refused() {
        let good = line(1, "a");
        let short = &good[1..];
        for odd in [
            "x".to_owned(),
            short.to_owned(),
            good.replace("  a", " a"),
            good.replace("  a", "  ../a"),
            good.replace("  a", "  .a"),
            good.replace("  a", "  a b"),
            good.replace("  a", "  "),
            good.replace("01", "0g"),
            format!("{good}\n{good}"),
            good.repeat(2),
            format!("{good}{}", line(2, "a")),
            line(1, &"a".repeat(NAME_BYTES + 1)),
        ] {
            assert!(Checksums::parse(odd.as_bytes()).is_err(), "{odd:?}");
        }
        assert!(Checksums::parse(&[0xff]).is_err());
        let lines = |count| {
            (0..count)
                .map(|n| line(1, &format!("f{n}")))
                .collect::<String>()
        };
        assert!(Checksums::parse(lines(FILES_MAX).as_bytes()).is_ok());
        assert!(Checksums::parse(lines(FILES_MAX + 1).as_bytes()).is_err());
        assert!(Checksums::parse(good.replace("  a", " *a").as_bytes()).is_ok());
    }

    proptest! {
        #[test]
        fn a_written_list_is_read_back(
            files in prop::collection::btree_map("[a-z0-9][a-z0-9._-]{0,20}", any::<[u8; 32]>(), 0..20),
        ) {
            let hex = |sum: &[u8; 32]| sum.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
            let text: String = files.iter().map(|(name, sum)| format!("{}  {name}\n", hex(sum))).collect();
            let list = Checksums::parse(text.as_bytes()).unwrap();
            prop_assert_eq!(list.0, files.into_iter().collect::<Vec<_>>());
        }

        #[test]
        fn any_bytes_are_a_list_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            if let Ok(list) = Checksums::parse(&bytes) {
                prop_assert!(list.programs().count() <= list.0.len());
            }
        }
    }
}
