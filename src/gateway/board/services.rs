//! PURE: what is asked about the services of the system, and the command lines that answer it. All of a line is
//! fixed but for a unit's name, which is checked and quoted.

use std::fmt::Write;

/// Bytes of a name of a unit (systemd.unit(5)).
const UNIT_BYTES: usize = 255;
/// Lines of a log when no number is named: what a phone shows without scrolling for long.
const LOG_LINES: usize = 30;
/// The most lines of a log; a long output comes as a file.
const LOG_LINES_MAX: usize = 2000;

/// What `/logs` is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Logs<'a> {
    /// The newest warnings of the system.
    Warnings,
    /// The last lines of a unit.
    Last(&'a str, usize),
    /// The lines of a unit as they come.
    Follow(&'a str),
}

/// What is done to a service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// It is started.
    Start,
    /// It is stopped.
    Stop,
    /// It is restarted.
    Restart,
}

/// What `/svc` is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Services<'a> {
    /// Failed services, and those that a person has added.
    List,
    /// How one is.
    Status(&'a str),
    /// A change, and when its button was made, in seconds since 1970; `None` while it is not confirmed.
    Change(&'a str, Change, Option<Confirmed>),
}

/// That a person has confirmed something: with a button, which has the time at which it was made, or by typing
/// `now`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Confirmed {
    /// With the button of a question of this time, in seconds since 1970.
    Pressed(i64),
    /// By typing.
    Typed,
}

/// Reads what follows a request that has to be confirmed: nothing, `now`, or `now SECONDS`. `None` for anything
/// else.
pub fn parse_confirmed<'a>(words: &mut impl Iterator<Item = &'a str>) -> Option<Option<Confirmed>> {
    let confirmed = match (words.next(), words.next()) {
        (None, _) => None,
        (Some("now"), None) => Some(Confirmed::Typed),
        (Some("now"), Some(time)) => Some(Confirmed::Pressed(time.parse().ok()?)),
        _ => return None,
    };
    words.next().is_none().then_some(confirmed)
}

impl<'a> Logs<'a> {
    /// Reads the argument; `None` when it is not understood.
    pub fn parse(argument: &'a str) -> Option<Self> {
        let mut words = argument.split_whitespace();
        let Some(unit) = words.next() else {
            return Some(Self::Warnings);
        };
        let unit = check_unit(unit)?;
        let asked = match words.next() {
            None => Self::Last(unit, LOG_LINES),
            Some("follow" | "-f") => Self::Follow(unit),
            Some(count) => match count.parse() {
                Ok(count @ 1..=LOG_LINES_MAX) => Self::Last(unit, count),
                _ => return None,
            },
        };
        words.next().is_none().then_some(asked)
    }

    /// The command line that says why the journal cannot be read: with `-q` it would not.
    pub const CHECK: &'static str = "exec journalctl --no-pager -o short -n 1";

    /// The command line that looks for a unit: it ends with [`NO_UNIT`] where neither systemd nor the journal knows it.
    pub fn find(unit: &str) -> String {
        format!(
            "command -v systemctl >/dev/null || exit 0; LC_ALL=C systemctl cat -- '{unit}' 2>&1 >/dev/null | \
             grep -q 'No files found' || exit 0; journalctl -q --no-pager -n 1 -u '{unit}' | grep -q . || exit {NO_UNIT}"
        )
    }

    /// The command line.
    pub fn line(self) -> String {
        let arguments = match self {
            Self::Warnings => format!("-b -p warning -n {LOG_LINES}"),
            Self::Last(unit, count) => format!("-n {count} -u '{unit}'"),
            Self::Follow(unit) => format!("-n 10 -f -u '{unit}'"),
        };
        format!(
            "command -v journalctl >/dev/null || exit {MISSING}; exec journalctl -q --no-pager -o short {arguments}"
        )
    }
}

/// Whether `/logs` with this argument goes on until it is stopped.
pub fn is_following(argument: &str) -> bool {
    matches!(Logs::parse(argument), Some(Logs::Follow(_)))
}

/// Whether systemd manages this machine: systemctl may be installed where something else does, as in a container.
const RUNS_SYSTEMD: &str = "command -v systemctl >/dev/null && [ \"$(systemctl is-system-running 2>/dev/null)\" != offline ]";

/// The status of a line that found no program for its task.
pub const MISSING: i32 = 93;
/// The status of a line that found no such unit.
pub const NO_UNIT: i32 = 94;

impl Change {
    /// Its word, for systemctl and for people's commands.
    pub fn word(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Stop => "stop",
            Self::Restart => "restart",
        }
    }
}

impl<'a> Services<'a> {
    /// Reads the argument; `None` when it is not understood.
    pub fn parse(argument: &'a str) -> Option<Self> {
        let mut words = argument.split_whitespace();
        let Some(unit) = words.next() else {
            return Some(Self::List);
        };
        let unit = check_unit(unit)?;
        let change = match words.next() {
            None | Some("status") if words.clone().next().is_none() => {
                return Some(Self::Status(unit));
            }
            Some("start") => Change::Start,
            Some("stop") => Change::Stop,
            Some("restart") => Change::Restart,
            _ => return None,
        };
        Some(Self::Change(unit, change, parse_confirmed(&mut words)?))
    }

    /// The command line that ends with [`MISSING`] where nothing here could manage a unit.
    pub fn check(unit: &str) -> String {
        by_system("exit 0", unit, None)
    }

    /// The command line.
    pub fn line(self) -> String {
        match self {
            Self::List => {
                // Files in /etc that are no links are units that a person has put there.
                format!(
                    "if {RUNS_SYSTEMD}; then \
                     systemctl --no-pager --plain --no-legend list-units --failed; \
                     cd /etc/systemd/system 2>/dev/null && for unit in *.service; do \
                     if [ -f \"$unit\" ] && [ ! -L \"$unit\" ]; then \
                     echo \"own $unit $(systemctl is-active \"$unit\")\"; fi; done; true; \
                     elif command -v rc-status >/dev/null; then exec rc-status; \
                     elif command -v service >/dev/null; then exec service --status-all; \
                     else ls /etc/init.d; fi"
                )
            }
            Self::Status(unit) => by_system(
                &format!("exec systemctl --no-pager -l -n 5 status '{unit}'"),
                unit,
                Some("status"),
            ),
            Self::Change(unit, change, _) => {
                let word = change.word();
                let line = format!(
                    "{}; status=$?",
                    with_rights(&format!("systemctl {word} '{unit}'"))
                );
                let systemd =
                    format!("{line}; systemctl is-active '{unit}' 2>/dev/null; exit $status");
                by_system(&systemd, unit, Some(word))
            }
        }
    }
}

/// Runs a line of systemctl, with sudo where sudo allows it without a password.
pub fn with_rights(line: &str) -> String {
    format!(
        "if [ \"$(id -u)\" != 0 ] && sudo -n -l {line} >/dev/null 2>&1; then sudo -n {line}; else {} </dev/null; fi",
        line.replacen("systemctl", "systemctl --no-ask-password", 1)
    )
}

/// A line for systemd where it runs, or the same for OpenRC, System V and OpenWrt; without a word nothing is run there.
fn by_system(systemd: &str, unit: &str, word: Option<&str>) -> String {
    let name = unit.strip_suffix(".service").unwrap_or(unit);
    let run = |program: &str| match word {
        Some(word) => format!("exec {program} {word}"),
        None => "exit 0".to_owned(),
    };
    let (openrc, init) = (
        run(&format!("rc-service '{name}'")),
        run(&format!("'/etc/init.d/{name}'")),
    );
    format!(
        "if {RUNS_SYSTEMD}; then {systemd}; \
         elif command -v rc-service >/dev/null; then {openrc}; \
         elif [ -x '/etc/init.d/{name}' ]; then {init}; \
         else exit {MISSING}; fi"
    )
}

/// A name of a unit, if it is one: so checked it is harmless between quotes, and not an option.
pub fn check_unit(name: &str) -> Option<&str> {
    let is_allowed = |char: char| char.is_ascii_alphanumeric() || ":_.@-".contains(char);
    let is_unit = !name.is_empty()
        && name.len() <= UNIT_BYTES
        && !name.starts_with(['-', '.'])
        && name.chars().all(is_allowed);
    is_unit.then_some(name)
}

/// What a list of services says: the failed ones, and the own ones with their states.
pub fn read_list(output: &str) -> (Vec<&str>, Vec<(&str, &str)>) {
    let (mut failed, mut own) = (Vec::new(), Vec::new());
    for line in output.lines() {
        // systemctl marks failed units.
        let mut words = line.trim_start_matches(['●', '*', ' ']).split_whitespace();
        match (words.next(), words.next(), words.next()) {
            (Some("own"), Some(unit), Some(state)) => {
                own.extend(check_unit(unit).map(|unit| (unit, state)))
            }
            (Some(unit), Some(_), Some(_)) if unit.contains('.') => failed.extend(check_unit(unit)),
            _ => {}
        }
    }
    (failed, own)
}

/// Whether an output says that rights are missing.
pub fn lacks_rights(output: &str) -> bool {
    const SIGNS: [&str; 6] = [
        "nteractive authentication required",
        "ccess denied",
        "ermission denied",
        "peration not permitted",
        "must be root",
        "ust be superuser",
    ];
    SIGNS.iter().any(|sign| output.contains(sign))
}

/// What lets an account manage services, and restart the machine: a file for polkit.
pub fn polkit_rule(account: &str) -> String {
    let mut rule = "sudo tee /etc/polkit-1/rules.d/50-peacrab.rules <<'END'\n".to_owned();
    let _ = write!(
        rule,
        "polkit.addRule(function(action, subject) {{\n  \
           if (subject.user == \"{account}\" &&\n      \
               (action.id == \"org.freedesktop.systemd1.manage-units\" ||\n       \
                action.id.indexOf(\"org.freedesktop.login1.reboot\") == 0 ||\n       \
                action.id.indexOf(\"org.freedesktop.login1.power-off\") == 0))\n    \
             return polkit.Result.YES;\n}});\nEND"
    );
    rule
}

/// The same as a line for sudo, for services that may use it.
pub fn sudoers_line(account: &str) -> String {
    format!(
        "echo '{account} ALL=(root) NOPASSWD: /usr/bin/systemctl' | sudo tee /etc/sudoers.d/peacrab"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn logs_are_asked_for_by_unit_and_lines() {
        assert_eq!(Logs::parse(""), Some(Logs::Warnings));
        assert_eq!(Logs::parse("nginx"), Some(Logs::Last("nginx", LOG_LINES)));
        assert_eq!(Logs::parse("nginx 5"), Some(Logs::Last("nginx", 5)));
        assert_eq!(
            Logs::parse("wg-quick@wg0 follow"),
            Some(Logs::Follow("wg-quick@wg0"))
        );
        for wrong in [
            "nginx 0",
            "nginx five",
            "nginx 999999",
            "nginx 5 6",
            "-f",
            "a'b",
            "$(x)",
            "a;b",
            ".",
            "a b",
        ] {
            assert_eq!(Logs::parse(wrong), None, "{wrong}");
        }
        assert!(is_following("nginx follow") && !is_following("nginx") && !is_following(""));
        assert!(Logs::Last("nginx", 5).line().ends_with("-n 5 -u 'nginx'"));
    }

    #[test]
    fn services_are_changed_only_when_confirmed() {
        let change = |confirmed| Some(Services::Change("nginx", Change::Restart, confirmed));
        assert_eq!(Services::parse(""), Some(Services::List));
        assert_eq!(Services::parse("nginx"), Some(Services::Status("nginx")));
        assert_eq!(
            Services::parse("nginx status"),
            Some(Services::Status("nginx"))
        );
        assert_eq!(Services::parse("nginx restart"), change(None));
        assert_eq!(
            Services::parse("nginx restart now"),
            change(Some(Confirmed::Typed))
        );
        let pressed = Some(Confirmed::Pressed(1_795_435_200));
        assert_eq!(
            Services::parse("nginx restart now 1795435200"),
            change(pressed)
        );
        for wrong in [
            "nginx kill",
            "nginx restart please",
            "nginx restart now x",
            "nginx restart now 1 2",
            "nginx status x",
            "--now start",
        ] {
            assert_eq!(Services::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_list_is_read() {
        let output = "● nginx.service loaded failed failed A web server\n\
                      own backup.service inactive\nown odd'name.service active\nnonsense\n";
        let (failed, own) = read_list(output);
        assert_eq!(failed, ["nginx.service"]);
        assert_eq!(own, [("backup.service", "inactive")]);
    }

    #[test]
    fn missing_rights_are_recognised_and_how_to_get_them_names_the_account() {
        assert!(lacks_rights(
            "Failed to restart nginx.service: Interactive authentication required."
        ));
        assert!(lacks_rights("Failed to stop x: Access denied\n"));
        assert!(!lacks_rights("Job for nginx.service failed."));
        assert!(polkit_rule("pi").contains("subject.user == \"pi\""));
        assert!(sudoers_line("pi").contains("'pi ALL=(root) NOPASSWD: /usr/bin/systemctl'"));
    }

    proptest! {
        /// A shell reads the name as one word, whatever it is.
        #[test]
        fn no_argument_leaves_its_quotes(argument in ".{0,40}") {
            if let Some(Logs::Last(unit, _)) = Logs::parse(&argument) {
                prop_assert!(!unit.contains(['\'', '\\', '\n', ' ', '$', '`']));
                prop_assert!(!unit.starts_with('-'));
            }
            let _ = Services::parse(&argument);
        }
    }
}
