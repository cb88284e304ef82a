//! PURE: what journalctl writes that is no line of the journal.

/// How the sentences begin in which it says that it cannot read the journal, or not all of it (systemd's
/// `journal-util.c` and `journalctl.c`). Lines of the journal begin with their time.
const COMPLAINTS: [&str; 3] = [
    "Hint: You are currently not seeing",
    "No journal files were",
    "Failed to ",
];

/// Why it cannot read the journal, in its own words; `None` where it does not say so.
pub fn complaint(output: &str) -> Option<&str> {
    let line = output.lines().rfind(|line| is_complaint(line))?.trim_end();
    Some(line.strip_prefix("Hint: ").unwrap_or(line))
}

fn is_complaint(line: &str) -> bool {
    COMPLAINTS.iter().any(|words| line.starts_with(words))
}

/// Whether a line is of the journal: not a remark of journalctl about it.
pub fn is_entry(line: &str) -> bool {
    !is_complaint(line) && !line.starts_with("-- ")
}

/// The place after the last line that it wrote, if it names one (`--show-cursor`).
pub fn cursor(line: &str) -> Option<&str> {
    line.strip_prefix("-- cursor: ").map(str::trim)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_it_says_itself_is_a_complaint() {
        let hint = "Hint: You are currently not seeing messages from other users and the system.\n      \
                    Users in groups 'adm', 'systemd-journal' can see all messages.\n-- No entries --\n";
        let said = complaint(hint).unwrap();
        assert!(said.starts_with("You are currently not seeing"), "{said}");
        assert_eq!(
            complaint("No journal files were found.\n-- No entries --\n"),
            Some("No journal files were found.")
        );
        for fine in [
            "",
            "-- No entries --\n",
            "Nov 23 09:00:00 pi x[1]: No journal files were found.\n",
            "Nov 23 09:00:00 pi x[1]: this is long\n                 Failed to open the door\n",
        ] {
            assert_eq!(complaint(fine), None, "{fine}");
        }
        assert_eq!(cursor("-- cursor: s=1;i=2\n"), Some("s=1;i=2"));
        assert!(is_entry("Nov 23 09:00:00 pi x[1]: fine") && !is_entry("-- Boot 1 --"));
    }
}
