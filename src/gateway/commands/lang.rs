//! `/lang`: the language of the bot's own texts in a chat.

use super::Call;
use crate::agent::commands::CommandAnswer;
use crate::base::access::Role;
use crate::base::error::{Error, Result};
use crate::base::language::{Language, texts};
use crate::base::message::CommandButton;
use crate::gateway::Gateway;
use crate::text::markup::inline_code;
use crate::text::one_line;

/// Goes back to the language of the app.
const AUTO: &str = "auto";
/// Languages in a row of buttons.
const BUTTONS_IN_ROW: usize = 2;
/// Characters shown of a name that is not known.
const NAME_CHARS: usize = 40;

texts! {
    /// The language was chosen before.
    fn chosen(name) { "I speak {name} here.", "我在这里使用{name}。" }
    /// The language is that of the person's app.
    fn as_app(name) { "I speak {name} here, because your app does.", "我在这里使用{name}，与你的应用一致。" }
    /// Above a list of languages.
    fn how() {
        "Choose another language with `/lang NAME`; `/lang auto` goes back to that of your app.",
        "用 `/lang 名称` 选择其他语言；`/lang auto` 恢复为应用的语言。",
    }
    /// The language was chosen now.
    fn set(name) { "From now on I speak {name} here.", "从现在起，我在这里使用{name}。" }
    fn unset(name) {
        "I follow the language of your app again. Now it is {name}.",
        "我会再次跟随你的应用的语言，现在是{name}。",
    }
    fn unknown(name) { "I don't speak {name}. /lang lists the languages.", "我不会{name}。发送 /lang 查看可用语言。" }
    /// The label of a button.
    fn auto_button() { "Like my app", "跟随应用" }
}

impl Gateway {
    /// Answers `/lang`, in the language that is chosen with it.
    pub(super) fn answer_lang(&self, call: &Call<'_>) -> Result<CommandAnswer> {
        let (message, languages) = (call.message, &self.parts.languages);
        let chat = message.address();
        match call.argument {
            "" => {
                let describe = match languages.chosen(&chat) {
                    Some(_) => chosen,
                    None => as_app,
                };
                let text = describe(call.language, &call.language.own_name());
                let may_choose = message.role == Role::Owner || !message.is_group;
                Ok(offer(text, may_choose, call.language))
            }
            auto if auto.eq_ignore_ascii_case(AUTO) => {
                languages.choose(&chat, None)?;
                let language = languages.get(&chat);
                Ok(unset(language, &language.own_name()).into())
            }
            name => {
                let unknown = || {
                    let name = inline_code(&one_line(name, NAME_CHARS));
                    Error::Usage(unknown(call.language, &name))
                };
                let language = Language::named(name).ok_or_else(unknown)?;
                languages.choose(&chat, Some(language))?;
                Ok(set(language, &language.own_name()).into())
            }
        }
    }
}

/// The languages, as buttons for those who may press one.
fn offer(mut text: String, may_choose: bool, language: Language) -> CommandAnswer {
    if !may_choose {
        return text.into();
    }
    text += language.sentence_space();
    text += how(language);
    let button = |label: &str, argument: &str| CommandButton {
        label: label.to_owned(),
        command: format!("/lang {argument}"),
    };
    let mut buttons: Vec<CommandButton> = Language::ALL
        .iter()
        .map(|one| button(one.own_name(), one.code()))
        .collect();
    buttons.push(button(auto_button(language), AUTO));
    CommandAnswer {
        text,
        is_private: false,
        buttons: buttons.chunks(BUTTONS_IN_ROW).map(<[_]>::to_vec).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_is_in_each_language() {
        crate::base::language::check_table(TABLE);
    }

    #[test]
    fn each_language_is_a_button_for_those_who_may_choose() {
        let answer = offer("Hello.".to_owned(), true, Language::German);
        let buttons = answer.buttons.concat();
        assert_eq!(buttons.len(), Language::ALL.len() + 1);
        assert_eq!(buttons[2].label, "Deutsch");
        assert_eq!(buttons[2].command, "/lang de");
        for button in &buttons[..Language::ALL.len()] {
            let name = button.command.trim_start_matches("/lang ");
            assert_eq!(Language::named(name), Language::named(&button.label));
        }
        let read = offer("Hello.".to_owned(), false, Language::German);
        assert!(read.buttons.is_empty() && read.text == "Hello.");
    }
}
