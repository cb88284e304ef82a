//! What a terminal can show, and how wide it is.

use rustix::termios::tcgetwinsize;

use crate::base::limits::cli::COLUMNS_DEFAULT;

/// Columns that text is laid out for at least; on a narrower screen the terminal wraps it.
const COLUMNS_MIN: usize = 20;

/// How text looks on a terminal.
#[derive(Clone, Copy, Debug)]
pub struct Look {
    /// Asks for the width of the screen: a window may change while a conversation goes on.
    pub columns: fn() -> usize,
    /// Bullets, check boxes and the like are in ASCII.
    pub is_ascii: bool,
    /// Bold, colours and the like are shown.
    pub is_styled: bool,
}

impl Default for Look {
    fn default() -> Self {
        Self {
            columns: || COLUMNS_DEFAULT,
            is_ascii: false,
            is_styled: true,
        }
    }
}

impl Look {
    /// What standard output can show, according to the environment: `TERM=dumb` and a locale that is
    /// not UTF-8 get ASCII; `TERM=dumb` and `NO_COLOR` (no-color.org) get no styles.
    pub fn detect() -> Self {
        Self::read(|name| std::env::var(name).ok().filter(|value| !value.is_empty()))
    }

    fn read(variable: impl Fn(&str) -> Option<String>) -> Self {
        let is_dumb = variable("TERM").is_some_and(|terminal| terminal == "dumb");
        // The first of these counts (POSIX, 8.2). Without any, most terminals show UTF-8 all the same.
        let names = ["LC_ALL", "LC_CTYPE", "LANG"];
        let is_foreign = names.into_iter().find_map(&variable).is_some_and(|locale| {
            let locale = locale.to_ascii_lowercase();
            !locale.contains("utf-8") && !locale.contains("utf8")
        });
        Self {
            columns: screen_columns,
            is_ascii: is_dumb || is_foreign,
            is_styled: !is_dumb && variable("NO_COLOR").is_none(),
        }
    }
}

/// The width of the terminal on standard output. A serial console does not tell it.
fn screen_columns() -> usize {
    match tcgetwinsize(std::io::stdout()) {
        Ok(size) if size.ws_col > 0 => usize::from(size.ws_col).max(COLUMNS_MIN),
        _ => COLUMNS_DEFAULT,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_says_what_a_terminal_can_show() {
        for (set, is_ascii, is_styled) in [
            (&[][..], false, true),
            (&[("LANG", "de_CH.UTF-8")], false, true),
            (&[("LANG", "C")], true, true),
            (&[("LANG", "C"), ("LC_ALL", "C.utf8")], false, true),
            (&[("LC_CTYPE", "POSIX"), ("LANG", "C.UTF-8")], true, true),
            (&[("TERM", "dumb"), ("LANG", "C.UTF-8")], true, false),
            (&[("NO_COLOR", "1")], false, false),
        ] {
            let find = |name: &str| set.iter().find(|(key, _)| *key == name);
            let look = Look::read(|name| find(name).map(|(_, value)| (*value).to_owned()));
            assert_eq!(
                (look.is_ascii, look.is_styled),
                (is_ascii, is_styled),
                "{set:?}"
            );
        }
    }
}
