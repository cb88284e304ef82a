//! PURE: why a watch cannot see what it is about.

use std::io::{Error, ErrorKind};

use super::texts;
use crate::base::language::Language;
use crate::text::markup::plain;

/// Why a watch cannot see what it is about. It may change: a file may come, and a service may be installed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Blind {
    /// The file does not exist.
    NoFile,
    /// The file cannot be read, and why.
    Unreadable(String),
    /// The folder does not exist whose disk is meant.
    NoFolder,
    /// No unit has this name.
    NoService,
    /// The name of the host is not known.
    NoName,
    /// The board does not have this value, such as a temperature.
    NotReported,
    /// The journal cannot be read, and why.
    NoJournal(String),
    /// There is no program that reads the journal.
    NoJournalctl,
}

impl Blind {
    /// Why a file could not be opened.
    pub fn of_file(error: &Error) -> Self {
        match error.kind() {
            ErrorKind::NotFound => Self::NoFile,
            _ => Self::Unreadable(error.to_string()),
        }
    }

    /// The reason as a part of a sentence, as Markdown.
    pub fn describe(&self, language: Language) -> String {
        match self {
            Self::NoFile => texts::no_file(language).to_owned(),
            Self::Unreadable(why) => texts::unreadable(language, &plain(why)),
            Self::NoFolder => texts::no_folder(language).to_owned(),
            Self::NoService => texts::no_service(language).to_owned(),
            Self::NoName => texts::no_name(language).to_owned(),
            Self::NotReported => texts::not_reported(language).to_owned(),
            Self::NoJournal(why) => texts::no_journal(language, &plain(why)),
            Self::NoJournalctl => {
                let why = texts::no_journalctl(language);
                texts::no_journal(language, &why)
            }
        }
    }
}
