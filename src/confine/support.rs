//! What the kernel offers for the walls, found out by trying, and which of it is taken.

use std::path::Path;

use super::Exec;
use super::policy::{Namespaces, Task, Walls};
use super::run::Said;
use super::settings::Choice;
use crate::error::{Error, Result};
use crate::limits::confine as bounds;
use crate::sys::{landlock, seccomp};

/// What the kernel offers.
#[derive(Clone, Debug)]
pub struct Offer {
    /// Whether it filters system calls.
    pub system_calls: bool,
    /// The version of Landlock; 0: none.
    pub landlock: u32,
    /// The namespaces that work, or why none do.
    pub namespaces: Result<Namespaces, String>,
    /// What is missing in a command's view that is no wall, such as /proc.
    pub notes: Vec<String>,
}

impl Offer {
    /// The walls that a choice takes. An error says what is missing and what to change.
    pub fn walls(&self, choice: Choice) -> Result<Walls> {
        let namespaces = match choice {
            Choice::Auto | Choice::Namespaces => self.namespaces.clone().unwrap_or_default(),
            Choice::Landlock | Choice::Off => Namespaces::None,
        };
        let landlock = match choice {
            Choice::Auto | Choice::Landlock => self.landlock,
            Choice::Namespaces | Choice::Off => 0,
        };
        let off = choice == Choice::Off;
        let walls = Walls {
            namespaces,
            landlock,
            system_calls: !off,
        };
        let enough = walls.own_view() || landlock > 0;
        match off || (enough && self.system_calls) {
            true => Ok(walls),
            false => Err(self.refusal(choice)),
        }
    }

    fn refusal(&self, choice: Choice) -> Error {
        let namespaces = match (choice, &self.namespaces) {
            (Choice::Landlock, _) => "namespaces are not wanted".to_owned(),
            (_, Err(why)) => format!("namespaces do not work ({why})"),
            (_, Ok(_)) => "namespaces work".to_owned(),
        };
        let landlock = match (choice, self.landlock) {
            (Choice::Namespaces, _) => "Landlock is not wanted",
            (_, 0) => "the kernel has no Landlock",
            _ => "Landlock works",
        };
        let filter = if self.system_calls {
            ""
        } else {
            ", and it does not filter system calls"
        };
        Error::Failed(format!(
            "commands are not run here: {namespaces}, {landlock}{filter}. Allow user namespaces \
             (sysctl kernel.unprivileged_userns_clone=1, user.max_user_namespaces, \
             kernel.apparmor_restrict_unprivileged_userns=0), or start the kernel with \
             lsm=landlock, or set \"tools.exec.sandbox\" to \"auto\"; \"off\" runs commands without \
             any wall"
        ))
    }
}

impl Exec {
    /// Finds out what the kernel offers. It takes a few milliseconds.
    pub fn offer(&self) -> Offer {
        let mut notes = Vec::new();
        Offer {
            system_calls: seccomp::available(),
            landlock: landlock::version(),
            namespaces: self.namespaces(&mut notes),
            notes,
        }
    }

    /// Tries the namespaces with a command that does nothing: on some systems they can be made and
    /// are then of no use (AppArmor on Ubuntu), on others they cannot be made at all.
    fn namespaces(&self, notes: &mut Vec<String>) -> Result<Namespaces, String> {
        let mut first = None;
        for namespaces in [Namespaces::User, Namespaces::Plain] {
            if namespaces == Namespaces::Plain && !crate::sys::process::is_administrator() {
                continue;
            }
            let said = self
                .try_walls(namespaces)
                .map_err(|error| error.to_string())?;
            match (said.failed, said.confined) {
                (None, true) => {
                    *notes = said.notes;
                    return Ok(namespaces);
                }
                (failed, _) => {
                    let why = failed.unwrap_or_else(|| "the first process was killed".to_owned());
                    first.get_or_insert(why);
                }
            }
        }
        Err(first.unwrap_or_default())
    }

    fn try_walls(&self, namespaces: Namespaces) -> Result<Said> {
        let walls = Walls {
            namespaces,
            landlock: 0,
            system_calls: seccomp::available(),
        };
        let policy = self.policy(walls, Task::Shell(":".into()), Path::new("/"));
        let mut running = self.start(&policy)?;
        let mut buffer = [0; bounds::STATUS_BYTES];
        let watch = crate::clock::Stopwatch::start();
        while watch.elapsed() < bounds::TRY_TIME {
            let left = bounds::TRY_TIME.saturating_sub(watch.elapsed());
            match running.hear(&mut buffer, left) {
                Ok(heard) if !heard.over => {}
                _ => break,
            }
        }
        Ok(std::mem::take(&mut running.said))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offer(landlock: u32, namespaces: Result<Namespaces, String>) -> Offer {
        Offer {
            system_calls: true,
            landlock,
            namespaces,
            notes: Vec::new(),
        }
    }

    #[test]
    fn auto_takes_all_that_works_and_needs_one_of_the_two() {
        let forbidden = || Err("not permitted".to_owned());
        let both = offer(7, Ok(Namespaces::User)).walls(Choice::Auto).unwrap();
        assert_eq!((both.own_view(), both.landlock), (true, 7));
        let one = offer(2, forbidden()).walls(Choice::Auto).unwrap();
        assert_eq!((one.own_view(), one.landlock), (false, 2));
        let other = offer(0, Ok(Namespaces::Plain)).walls(Choice::Auto).unwrap();
        assert_eq!((other.own_view(), other.landlock), (true, 0));
        let none = offer(0, forbidden())
            .walls(Choice::Auto)
            .unwrap_err()
            .to_string();
        assert!(
            none.contains("not permitted") && none.contains("sysctl"),
            "{none}"
        );
    }

    #[test]
    fn a_choice_is_not_replaced_by_another_one() {
        let forbidden = offer(7, Err("not permitted".to_owned()));
        assert!(forbidden.walls(Choice::Namespaces).is_err());
        assert!(
            offer(0, Ok(Namespaces::User))
                .walls(Choice::Landlock)
                .is_err()
        );
        let alone = offer(7, Ok(Namespaces::User))
            .walls(Choice::Namespaces)
            .unwrap();
        assert_eq!(alone.landlock, 0);
    }

    #[test]
    fn nothing_runs_without_the_filter_unless_all_is_off() {
        let mut offer = offer(7, Ok(Namespaces::User));
        offer.system_calls = false;
        assert!(offer.walls(Choice::Auto).is_err());
        assert_eq!(offer.walls(Choice::Off).unwrap(), Walls::default());
    }
}
