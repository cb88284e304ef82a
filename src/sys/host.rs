//! What machine this is.

/// The kernel's name, release and machine, such as `Linux 6.12.20 aarch64` (uname(2)).
pub fn kernel() -> String {
    let uname = rustix::system::uname();
    let part = |part: &std::ffi::CStr| part.to_string_lossy().into_owned();
    format!(
        "{} {} {}",
        part(uname.sysname()),
        part(uname.release()),
        part(uname.machine())
    )
}

/// The host's name.
pub fn name() -> String {
    rustix::system::uname()
        .nodename()
        .to_string_lossy()
        .into_owned()
}

/// The board's model where the firmware tells it, such as `Raspberry Pi 4 Model B Rev 1.4`.
pub fn board() -> Option<String> {
    let model = std::fs::read_to_string("/proc/device-tree/model").ok()?;
    Some(model.trim_end_matches('\0').trim().to_owned()).filter(|model| !model.is_empty())
}
