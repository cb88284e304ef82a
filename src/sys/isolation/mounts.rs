//! Mounts: which one a file is on, and where else the same files are visible
//! (proc_pid_mountinfo(5)).

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Statx, StatxFlags};

use crate::sys::at::{self, Status};

/// Room for the table of most machines.
const TABLE_BYTES: usize = 4096;

/// A place within a file system, whatever it is mounted on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// The file system, as the table of mounts numbers it.
    device: Vec<u8>,
    path: PathBuf,
}

impl Location {
    /// Whether the other one is this place or within it.
    pub fn contains(&self, other: &Self) -> bool {
        self.device == other.device && other.path.starts_with(&self.path)
    }
}

struct Mount {
    number: u64,
    origin: Location,
    point: PathBuf,
}

/// The mounts that this process sees.
pub struct Mounts(Vec<Mount>);

impl Mounts {
    /// Reads the table as it is now.
    pub fn read() -> io::Result<Self> {
        // A file of /proc has no size by which std could read it at once.
        let mut table = Vec::with_capacity(TABLE_BYTES);
        File::open("/proc/self/mountinfo")?.read_to_end(&mut table)?;
        let lines = table.split(|byte| *byte == b'\n');
        Ok(Self(lines.filter_map(mount).collect()))
    }

    /// What a mount shows at its top; none for a mount that is gone.
    pub fn origin(&self, number: u64) -> Option<&Location> {
        self.find(number).map(|mount| &mount.origin)
    }

    /// The place of an open file or folder in its file system.
    pub fn location(&self, handle: impl AsFd) -> io::Result<Option<Location>> {
        let mount = self.find(number_of(&handle)?);
        let path = fs::read_link(format!("/proc/self/fd/{}", handle.as_fd().as_raw_fd()))?;
        Ok(mount.and_then(|mount| {
            Some(Location {
                device: mount.origin.device.clone(),
                path: joined(&mount.origin.path, path.strip_prefix(&mount.point).ok()?),
            })
        }))
    }

    /// All paths at which mounts show a place, or a part of it. `exempt` may be visible if it is within.
    pub fn paths_to(&self, place: &Location, exempt: Option<&Location>) -> Vec<PathBuf> {
        let shown = |mount: &Mount| {
            let origin = &mount.origin;
            if origin.contains(place) {
                let rest = place.path.strip_prefix(&origin.path).ok()?;
                return Some(joined(&mount.point, rest));
            }
            let is_exempt =
                exempt.is_some_and(|exempt| place.contains(exempt) && exempt.contains(origin));
            (place.contains(origin) && !is_exempt).then(|| mount.point.clone())
        };
        self.0.iter().filter_map(shown).collect()
    }

    fn find(&self, number: u64) -> Option<&Mount> {
        self.0.iter().find(|mount| mount.number == number)
    }
}

/// Joins without a slash at the end, which would ask for a folder.
fn joined(path: &Path, rest: &Path) -> PathBuf {
    if rest.as_os_str().is_empty() {
        path.to_owned()
    } else {
        path.join(rest)
    }
}

/// What an open file or folder is, and the number of the mount that it is on.
pub fn status_and_number(handle: impl AsFd) -> io::Result<(Status, u64)> {
    match ask(&handle, StatxFlags::BASIC_STATS) {
        Some(found) => Ok((at::status_of_statx(&found), found.stx_mnt_id)),
        None => Ok((at::status(&handle)?, number_as_text(handle)?)),
    }
}

/// The number of the mount that an open file or folder is on.
pub fn number_of(handle: impl AsFd) -> io::Result<u64> {
    match ask(&handle, StatxFlags::empty()) {
        Some(found) => Ok(found.stx_mnt_id),
        None => number_as_text(handle),
    }
}

/// The answer of statx(2) if it has all of this and the number of the mount. It does not before kernel 5.8, or where an old
/// system call filter does not know the call.
fn ask(handle: impl AsFd, wanted: StatxFlags) -> Option<Statx> {
    let wanted = wanted | StatxFlags::MNT_ID;
    let found = rustix::fs::statx(handle, "", AtFlags::EMPTY_PATH, wanted).ok()?;
    (found.stx_mask & wanted.bits() == wanted.bits()).then_some(found)
}

fn number_as_text(handle: impl AsFd) -> io::Result<u64> {
    let own = format!("/proc/self/fdinfo/{}", handle.as_fd().as_raw_fd());
    let text = fs::read_to_string(own)?;
    let number = text.lines().find_map(|line| line.strip_prefix("mnt_id:"));
    number
        .and_then(|number| number.trim().parse().ok())
        .ok_or_else(|| io::ErrorKind::InvalidData.into())
}

fn mount(line: &[u8]) -> Option<Mount> {
    let mut fields = line.split(|byte| *byte == b' ');
    let number = std::str::from_utf8(fields.next()?).ok()?.parse().ok()?;
    let device = fields.nth(1)?.to_vec();
    let mut path = || Some(PathBuf::from(OsString::from_vec(unescaped(fields.next()?))));
    Some(Mount {
        number,
        origin: Location {
            device,
            path: path()?,
        },
        point: path()?,
    })
}

/// Undoes `\040` and its like.
pub(super) fn unescaped(field: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((first, after)) = rest.split_first() {
        let code = match first {
            b'\\' => after.get(..3),
            _ => None,
        };
        let code = code.and_then(|code| std::str::from_utf8(code).ok());
        match code.and_then(|code| u8::from_str_radix(code, 8).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[3..];
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Mounts {
        let text = br"1 0 8:1 / / rw - ext4 /dev/a rw
2 1 8:1 /home/me/.peacrab/state /srv/w/state rw - ext4 /dev/a rw
3 1 8:1 /home /mnt/a\040b rw shared:1 - ext4 /dev/a rw
4 1 8:1 /home/me/.peacrab/workspace/x /srv/x rw - ext4 /dev/a rw
5 1 8:2 /home /other rw - ext4 /dev/b rw
6 1 8:1 /home/me/.peacrab2 /srv/y rw - ext4 /dev/a rw";
        Mounts(
            text.split(|byte| *byte == b'\n')
                .filter_map(mount)
                .collect(),
        )
    }

    fn location(path: &str) -> Location {
        Location {
            device: b"8:1".to_vec(),
            path: path.into(),
        }
    }

    #[test]
    fn a_place_is_found_wherever_mounts_show_it_or_a_part_of_it() {
        let table = table();
        let workspace = location("/home/me/.peacrab/workspace");
        let paths = table.paths_to(&location("/home/me/.peacrab"), Some(&workspace));
        let wanted = ["/home/me/.peacrab", "/srv/w/state", "/mnt/a b/me/.peacrab"];
        assert_eq!(paths, wanted.map(PathBuf::from));
        // A workspace around the home exempts nothing in there.
        let around = table.paths_to(&location("/home/me/.peacrab"), Some(&location("/home/me")));
        assert_eq!(around.len(), 4, "{around:?}");
        assert_eq!(table.origin(5).unwrap().path, Path::new("/home"));
        assert!(table.origin(9).is_none());
        assert!(mount(b"").is_none() && mount(b"1 2 3").is_none());
    }

    #[test]
    fn an_open_folder_is_found_in_its_file_system() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("in")).unwrap();
        let mounts = Mounts::read().unwrap();
        let find = |path: &Path| {
            let handle = std::fs::File::open(path).unwrap();
            assert!(mounts.origin(number_of(&handle).unwrap()).is_some());
            mounts.location(&handle).unwrap().unwrap()
        };
        let (outer, inner) = (find(folder.path()), find(&folder.path().join("in")));
        assert!(outer.contains(&inner) && outer.contains(&outer) && !inner.contains(&outer));
    }
}
