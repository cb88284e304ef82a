use std::collections::VecDeque;

use super::*;
use crate::config::load;
use crate::config::schema::Bot;

/// A key that the servers of the tests accept, a model that they offer, a bot's token.
const KEY: &str = "k-right";
const TOKEN: &str = "123456789:AAFm-xA_right";

/// A person with a list of answers, and servers that know [`KEY`] and [`TOKEN`].
#[derive(Default)]
struct Scene {
    /// What the person types; `None` where nobody is there.
    typed: Option<VecDeque<&'static str>>,
    offers: Vec<String>,
    /// There is no network.
    is_cut_off: bool,
    said: String,
}

impl Scene {
    fn with_person(typed: &[&'static str]) -> Self {
        Self {
            typed: Some(typed.iter().copied().collect()),
            offers: ["m-large", "m-small", "other"].map(str::to_owned).into(),
            ..Self::default()
        }
    }

    fn note(&mut self, text: &str) -> Result<()> {
        self.said += text;
        self.said.push('\n');
        Ok(())
    }
}

impl Outside for Scene {
    fn can_ask(&self) -> bool {
        self.typed.is_some()
    }

    fn ask(&mut self, question: &Question) -> Result<String> {
        self.note(&format!("{} [{}]", question.text, question.hint))?;
        let answer = self.typed.as_mut().and_then(VecDeque::pop_front);
        answer.map(str::to_owned).ok_or(Error::Stopped)
    }

    fn say(&mut self, text: &str) -> Result<()> {
        self.note(text)
    }

    fn warn(&mut self, text: &str) -> Result<()> {
        self.note(&format!("warning: {text}"))
    }

    fn list_models(&mut self, _: &str, settings: &Provider) -> Result<Trial<Offers>> {
        let base = &settings.api_base;
        Ok(match settings.api_key.expose() {
            _ if self.is_cut_off || base.contains("nowhere") => {
                Trial::Unreachable("No route.".to_owned())
            }
            _ if base.ends_with("host") => Trial::Unclear("Not found.".to_owned()),
            "k-wrong" => Trial::Refused("Wrong key.".to_owned()),
            _ => Trial::Works(Offers {
                names: self.offers.clone(),
                ..Offers::default()
            }),
        })
    }

    fn find_bot(&mut self, bot: &Bot) -> Result<Trial<String>> {
        Ok(match bot.token.expose() {
            _ if self.is_cut_off => Trial::Unreachable("No route.".to_owned()),
            TOKEN => Trial::Works("crabby_bot".to_owned()),
            _ => Trial::Refused("Refused.".to_owned()),
        })
    }

    fn find_channel(&mut self, _: &'static Service, bot: &Bot) -> Result<Trial<String>> {
        Ok(match bot.token.expose() {
            "a.b.c" => Trial::Works("crabby".to_owned()),
            _ => Trial::Refused("Refused.".to_owned()),
        })
    }

    fn check_workspace(&self, folder: &Path) -> Result<()> {
        match folder.ends_with("forbidden") {
            true => Err(Error::Config("Not that one.".to_owned())),
            false => Ok(()),
        }
    }
}

/// Settles everything with the file and the environment; returns the settings as `path=value …`, and
/// the scene.
fn settle(
    file: &str,
    environment: &[(&str, &str)],
    flags: &Arguments,
    mut scene: Scene,
) -> (Result<String>, Scene) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("config.json");
    std::fs::write(&path, file).unwrap();
    let pairs = environment.iter();
    let environment: Environment = pairs
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect();
    let loaded = load(&path, true, &environment).unwrap();
    let home = Home::find(Some(Path::new("/home/of/peacrab")), |_| None).unwrap();
    let found = Found {
        home: &home,
        folder: folder.path(),
        loaded: &loaded,
        environment: &environment,
        sources: Sources {
            providers: &loaded.config.providers,
            variable: &|name| environment.get(name).cloned(),
            sign_ins: None,
        },
    };
    let settled = gather(flags, &found, &mut scene).map(|answers| {
        let pairs = answers.wanted.iter();
        let mut words: Vec<_> = pairs
            .map(|(path, value)| format!("{path}={}", value.as_str().unwrap_or("true")))
            .collect();
        words.extend(answers.is_stopped.then(|| "stopped".to_owned()));
        words.join(" ")
    });
    let left = scene.typed.as_ref().map_or(0, VecDeque::len);
    assert_eq!(left, 0, "not everything was asked: {}", scene.said);
    (settled, scene)
}

/// What a person's answers come to in a new home; and what was said.
fn answered(typed: &[&'static str]) -> (String, String) {
    let flags = Arguments::default();
    let (settled, scene) = settle(
        "{}",
        &[("HOME", "/home/of/ann")],
        &flags,
        Scene::with_person(typed),
    );
    (settled.unwrap(), scene.said)
}

/// What flags come to in a script.
fn scripted(file: &str, environment: &[(&str, &str)], flags: &Arguments) -> Result<String> {
    settle(file, environment, flags, Scene::default()).0
}

fn flags(provider: &str, key: &str, base: &str) -> Arguments {
    let given = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    Arguments {
        provider: given(provider),
        api_key: given(key),
        api_base: given(base),
        ..Arguments::default()
    }
}

#[test]
fn a_key_of_the_environment_is_found_and_not_copied() {
    let none = Arguments::default();
    let environment = [("ZAI_API_KEY", "k-1"), ("ANTHROPIC_API_KEY", "")];
    assert_eq!(scripted("{}", &environment, &none).unwrap(), "");
    let zhipu = "agents.defaults.provider=zhipu";
    let named = flags("Z.ai", "", "");
    assert_eq!(scripted("{}", &environment, &named).unwrap(), zhipu);
    let enter = Scene::with_person(&["", "", "", "", ""]);
    let (settled, scene) = settle("{}", &environment, &none, enter);
    assert_eq!(settled.unwrap(), zhipu);
    assert!(scene.said.contains("[use $ZAI_API_KEY]"), "{}", scene.said);
    let given = flags("zhipu", "k-1", "");
    assert_eq!(
        scripted("{}", &environment, &given).unwrap(),
        format!("{zhipu} providers.zhipu.apiKey=k-1"),
        "a key that is given is kept"
    );
}

#[test]
fn what_is_there_is_kept_unless_a_flag_says_otherwise() {
    let file = r#"{"agents": {"defaults": {"provider": "Claude", "model": "m"}},
                   "providers": {"Anthropic": {"apiKey": "k-old"}}}"#;
    let none = Arguments::default();
    assert_eq!(scripted(file, &[], &none).unwrap(), "");
    assert_eq!(
        scripted(file, &[], &flags("anthropic", "k-new", "")).unwrap(),
        "providers.Anthropic.apiKey=k-new",
        "also under another spelling"
    );
    assert_eq!(
        scripted(file, &[], &flags("openai", "k-new", "")).unwrap(),
        "agents.defaults.provider=openai providers.openai.apiKey=k-new agents.defaults.model=",
        "the model was the other provider's"
    );
    let enter = Scene::with_person(&["", "", "", "", ""]);
    assert_eq!(settle(file, &[], &none, enter).0.unwrap(), "");
}

#[test]
fn a_person_is_asked_what_no_flag_says() {
    let (settled, said) = answered(&["ChatGPT", KEY, "2", "~/w", TOKEN]);
    assert_eq!(
        settled,
        "agents.defaults.provider=openai providers.openai.apiKey=k-right \
         agents.defaults.model=m-small agents.defaults.workspace=~/w \
         channels.telegram.token=123456789:AAFm-xA_right channels.telegram.enabled=true"
    );
    for text in [
        "Connected: openai offers 3 models.",
        "   2  m-small\n",
        "Which model? [gpt-6.1-sol]",
        "Model: m-small",
        "It is @crabby_bot.",
    ] {
        assert!(said.contains(text), "{text:?} in {said}");
    }
}

#[test]
fn a_server_of_ones_own_has_a_name_and_an_address() {
    let (settled, said) = answered(&["mine", "192.168.1.20:8000", "", "", "", ""]);
    assert_eq!(
        settled,
        "agents.defaults.provider=mine providers.mine.apiBase=http://192.168.1.20:8000"
    );
    assert!(said.contains("Which model? [m-large]"), "{said}");
    // One whose API has another path, and is not found at the first try.
    let (settled, _) = answered(&["mine", "https://host/", "", "", "", ""]);
    assert!(settled.ends_with("apiBase=https://host/v1"), "{settled}");
}

#[test]
fn without_a_provider_there_is_no_question_for_a_model() {
    let (settled, said) = answered(&["", "", ""]);
    assert_eq!(settled, "");
    assert!(!said.contains("Which model?"), "{said}");
    assert!(!said.contains("--"), "a flag is named: {said}");
}

#[test]
fn each_wrong_answer_is_asked_again_with_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    let file: &'static str = file.display().to_string().leak();
    let (settled, said) = answered(&[
        "opnai",
        "",
        "two words",
        "k-wrong",
        KEY,
        "9",
        "m-",
        "lrage",
        "large",
        "name",
        file,
        "/forbidden",
        "",
        "hello",
        "123:wrong",
        TOKEN,
    ]);
    assert_eq!(
        settled,
        "agents.defaults.provider=openai providers.openai.apiKey=k-right \
         agents.defaults.model=m-large \
         channels.telegram.token=123456789:AAFm-xA_right channels.telegram.enabled=true"
    );
    let mut rest = &*said;
    for text in [
        "Unknown provider \"opnai\". Did you mean openai?",
        "[openai]",
        "A key has no spaces in it.",
        "openai refused the API key: Wrong key.",
        "[keep it anyway]",
        "Connected:",
        "The list has the numbers 1 to 3.",
        "   2  m-small\n",
        "openai does not list a model named lrage.",
        "Model: m-large",
        "Enter a full path",
        "is a file, not a folder",
        "Not that one.",
        "That is not a bot token.",
        "Refused.",
        "It is @crabby_bot.",
    ] {
        let Some((_, after)) = rest.split_once(text) else {
            panic!("{text:?} in {rest}");
        };
        rest = after;
    }
}

#[test]
fn a_name_that_cannot_be_one_is_rejected() {
    for (typed, expected) in [
        ("http://localhost:8000/v1", texts::NAME_IS_ADDRESS),
        ("sk-0123456789abcdef0123456789abcdef", texts::NAME_IS_KEY),
        ("my server", texts::NAME_IS_ODD),
        ("a.b", texts::NAME_IS_ODD),
    ] {
        let (_, said) = answered(&[typed, "skip", "", ""]);
        assert!(said.contains(expected), "{typed}: {said}");
        assert!(!said.contains("0123456789abcdef"), "{said}");
    }
}

#[test]
fn an_address_that_is_none_is_asked_for_again_and_a_token_can_be_skipped() {
    for typed in ["my server", "not a url", "http://a b/v1"] {
        let (settled, said) =
            answered(&["mine", typed, "http://host/v1", KEY, "?", "", "", "SKIP"]);
        assert!(said.contains(texts::NOT_AN_ADDRESS), "{typed}: {said}");
        assert!(said.contains(texts::NOT_A_MODEL), "{said}");
        assert!(!said.contains(texts::NOT_A_TOKEN), "{said}");
        assert!(
            settled.starts_with("agents.defaults.provider=mine"),
            "{settled}"
        );
    }
}

#[test]
fn a_number_or_a_channel_is_not_asked_for_its_address() {
    for (typed, expected) in [
        ("9", texts::NAME_IS_NUMBER),
        ("telgram", "Telegram is a channel, not a model provider"),
        ("Discord", "Discord is a channel, not a model provider"),
    ] {
        let (settled, said) = answered(&[typed, "skip", "", ""]);
        assert!(said.contains(expected), "{typed}: {said}");
        assert!(!said.contains("Address of"), "{said}");
        assert_eq!(settled, "", "{typed}");
    }
    // Enter takes what it takes at the question itself, and those who insist have a server of that name.
    assert_eq!(answered(&["telegram", "", "", ""]).0, "");
    let (settled, _) = answered(&["matrix", "matrix", "http://host/v1", KEY, "", "", ""]);
    assert!(
        settled.starts_with("agents.defaults.provider=matrix "),
        "{settled}"
    );
    // A name of one's own that is like none of them.
    for name in ["local", "mail", "mine"] {
        let (_, said) = answered(&[name, "http://host/v1", KEY, "", "", ""]);
        assert!(!said.contains("is a channel"), "{said}");
    }
}

#[test]
fn who_insists_is_believed() {
    let (settled, _) = answered(&["opnai", "opnai", "host/api", "", "m-x", "m-x", "", ""]);
    assert_eq!(
        settled,
        "agents.defaults.provider=opnai providers.opnai.apiBase=http://host/api \
         agents.defaults.model=m-x"
    );
    let (settled, said) = answered(&[
        "mine",
        "http://nowhere/v1",
        "",
        "k-1",
        "m-x",
        "",
        "123:x",
        "",
    ]);
    assert_eq!(
        settled,
        "agents.defaults.provider=mine providers.mine.apiBase=http://nowhere/v1 \
         providers.mine.apiKey=k-1 agents.defaults.model=m-x channels.telegram.token=123:x \
         channels.telegram.enabled=true"
    );
    assert!(
        said.contains("No model server found at http://nowhere/v1: No route."),
        "{said}"
    );
}

#[test]
fn what_cannot_be_tried_is_accepted_with_a_warning() {
    let mut scene = Scene::with_person(&["openai", KEY, "", "", TOKEN]);
    scene.is_cut_off = true;
    let (settled, scene) = settle("{}", &[], &Arguments::default(), scene);
    let settled = settled.unwrap();
    assert!(
        settled.contains("apiKey=k-right") && settled.contains("token=123"),
        "{settled}"
    );
    assert_eq!(scene.said.matches("warning: ").count(), 2, "{}", scene.said);
    let cut_off = Scene {
        is_cut_off: true,
        ..Scene::default()
    };
    let (settled, scene) = settle("{}", &[], &flags("mine", KEY, "http://nowhere/v1"), cut_off);
    assert!(settled.unwrap().contains("apiKey=k-right"));
    assert_eq!(scene.said.matches("warning: ").count(), 1, "{}", scene.said);
}

#[test]
fn a_stop_keeps_what_was_settled_before() {
    assert_eq!(answered(&[]).0, "stopped");
    assert_eq!(answered(&["openai"]).0, "stopped");
    assert_eq!(answered(&["openai", "k-wrong"]).0, "stopped");
    // The key was tried.
    assert_eq!(
        answered(&["openai", KEY]).0,
        "agents.defaults.provider=openai providers.openai.apiKey=k-right stopped"
    );
    assert_eq!(
        answered(&["openai", KEY, ""]).0,
        "agents.defaults.provider=openai providers.openai.apiKey=k-right stopped"
    );
}

#[test]
fn each_answer_can_be_taken_back() {
    let (settled, said) = answered(&[
        "back",
        "openai",
        KEY,
        "back",
        "back",
        "anthropic",
        KEY,
        "m-large",
        "Back",
        "m-small",
        "",
        "",
    ]);
    assert_eq!(
        settled,
        "agents.defaults.provider=anthropic providers.anthropic.apiKey=k-right agents.defaults.model=m-small"
    );
    assert!(said.contains(texts::FIRST_QUESTION), "{said}");
    // Within a step: the address of a server, behind which its key is asked for.
    let (settled, _) = answered(&[
        "mine",
        "http://host1/v1",
        "back",
        "http://host2/v1",
        "",
        "m-small",
        "",
        "",
    ]);
    assert!(
        settled.contains("providers.mine.apiBase=http://host2/v1"),
        "{settled}"
    );
    assert!(!settled.contains("host1"), "{settled}");
}

#[test]
fn who_goes_back_is_offered_what_was_answered_before() {
    let (settled, said) = answered(&[
        "ChatGPT", KEY, "2", "back", "back", "back", "", "", "", "", "",
    ]);
    assert_eq!(
        settled,
        "agents.defaults.provider=openai providers.openai.apiKey=k-right agents.defaults.model=m-small"
    );
    for offered in [
        "Which model provider do you use? [openai]",
        "openai API key? (hidden) [keep what you typed; or skip]",
        "Which model? [m-small]",
    ] {
        assert!(said.contains(offered), "{offered} in {said}");
    }
    assert!(!said.contains(KEY), "{said}");
    // What was answered is left out after all; the model of one provider is not offered with another.
    let (settled, said) = answered(&[
        "openai", KEY, "2", "back", "back", "skip", "back", "back", "zhipu", KEY, "", "", "",
    ]);
    assert_eq!(
        settled,
        "agents.defaults.provider=zhipu providers.zhipu.apiKey=k-right"
    );
    assert_eq!(said.matches("[m-small]").count(), 2, "{said}");
}

#[test]
fn what_was_not_accepted_is_not_offered_to_who_goes_back() {
    let (settled, said) = answered(&["opnai", "back", "", "", ""]);
    assert_eq!(settled, "");
    assert_eq!(said.matches("do you use? [skip]").count(), 2, "{said}");
    let (settled, said) = answered(&["openai", KEY, "lrage", "back", "", "", "", ""]);
    assert_eq!(
        settled,
        "agents.defaults.provider=openai providers.openai.apiKey=k-right"
    );
    assert!(!said.contains("[lrage]"), "{said}");
}

#[test]
fn the_folder_is_kept_without_detours() {
    for typed in ["/no/such/../x", "/no/./x"] {
        let (settled, _) = answered(&["", typed, ""]);
        assert_eq!(settled, "agents.defaults.workspace=/no/x");
    }
}

#[cfg(feature = "channels")]
#[test]
fn of_a_channel_each_answer_can_be_taken_back() {
    let flags = Arguments {
        channel: Some("slack".to_owned()),
        ..Arguments::default()
    };
    let scene = Scene::with_person(&["xoxb-1", "back", "xoxb-2", "xapp-1", "back", "", "", ""]);
    let (settled, scene) = settle("{}", &[], &flags, scene);
    assert_eq!(
        settled.unwrap(),
        "channels.slack.botToken=xoxb-2 channels.slack.appToken=xapp-1 channels.slack.enabled=true"
    );
    for words in [
        "Bot token (hidden) [needed]",
        "Bot token (hidden) [keep what you typed; or skip]",
        "App token (hidden)",
        "If an answer above is wrong, type back.",
    ] {
        assert!(scene.said.contains(words), "{}", scene.said);
    }
}

#[test]
fn a_stop_names_the_command_that_was_stopped() {
    let file = Path::new("/c.json");
    let again = |channel| texts::stopped(&[], &["channels.irc.server"], file, channel);
    assert!(again(Some("irc")).ends_with("Run `peacrab onboard --channel irc` again to go on."));
    assert!(again(None).ends_with("Run `peacrab onboard` again to go on."));
}

#[test]
fn a_wrong_flag_is_an_error_at_once() {
    let usage = |flags: &Arguments| match scripted("{}", &[], flags) {
        Err(Error::Usage(text)) => text,
        other => panic!("{other:?}"),
    };
    let text = usage(&flags("opnai", "k", ""));
    assert!(
        text.starts_with("Unknown provider \"opnai\". Did you mean openai?"),
        "{text}"
    );
    assert!(text.ends_with("add --api-base URL"), "{text}");
    assert_eq!(usage(&flags("", "k", "")), texts::FLAGS_WITHOUT_PROVIDER);
    assert_eq!(
        usage(&flags("mine", "", "ht tp://x")),
        texts::NOT_AN_ADDRESS
    );
    assert_eq!(usage(&flags("openai", "two words", "")), texts::NOT_A_KEY);
    assert!(usage(&flags("openai", "${NO_SUCH}", "")).contains("NO_SUCH"));
    let token = |token: &str| Arguments {
        telegram_token: Some(token.to_owned()),
        ..Arguments::default()
    };
    assert_eq!(usage(&token("hello")), texts::NOT_A_TOKEN);
    for refused in [flags("openai", "k-wrong", ""), token("123:x")] {
        let error = scripted("{}", &[], &refused).unwrap_err();
        assert!(matches!(error, Error::Config(_)), "{error}");
    }
}

#[cfg(feature = "channels")]
#[test]
fn any_channel_can_be_set_up_alone() {
    let flags = Arguments {
        channel: Some("discord".to_owned()),
        ..Arguments::default()
    };
    let typed = ["", "a.b", "a.b.x", "a.b.c"];
    let (settled, scene) = settle("{}", &[], &flags, Scene::with_person(&typed));
    let wanted = "channels.discord.token=a.b.c channels.discord.enabled=true";
    assert_eq!(settled.unwrap(), wanted, "{}", scene.said);
    for said in [
        "copy the token from its page \"Bot\".\nToken (hidden) [needed]",
        "Discord cannot be used without it.",
        "does not look like a bot token.",
        "Refused.",
        "Discord works: the bot is crabby.",
    ] {
        assert!(scene.said.contains(said), "{said} in {}", scene.said);
    }
    let (settled, _) = settle("{}", &[], &flags, Scene::default());
    let error = settled.unwrap_err().to_string();
    assert!(
        error.contains("peacrab config set channels.discord.token VALUE"),
        "{error}"
    );
    let flags = Arguments {
        channel: Some("pigeon".to_owned()),
        ..Arguments::default()
    };
    let (settled, _) = settle("{}", &[], &flags, Scene::with_person(&[]));
    assert!(
        settled
            .unwrap_err()
            .to_string()
            .contains("Known channels: telegram")
    );
}

#[cfg(feature = "channels")]
#[test]
fn an_answer_that_cannot_be_right_is_asked_for_again_at_once() {
    let flags = Arguments {
        channel: Some("irc".to_owned()),
        ..Arguments::default()
    };
    let typed = ["not a host", "", "irc.example.org", "9crab", "crab"];
    let scene = Scene::with_person(&typed);
    let (settled, scene) = settle("{}", &[], &flags, scene);
    // The fake of this test knows no IRC.
    assert_eq!(
        settled.unwrap(),
        "channels.irc.server=irc.example.org stopped",
        "{}",
        scene.said
    );
    for (said, times) in [
        ("must be a host name alone", 1),
        ("IRC cannot be used without it.", 1),
        ("must not begin with a digit", 1),
        ("Server [", 3),
        ("Nick [", 3),
    ] {
        assert_eq!(
            scene.said.matches(said).count(),
            times,
            "{said} in {}",
            scene.said
        );
    }
    // What was there before is kept, not what was refused.
    let file = r#"{"channels": {"irc": {"server": "irc.example.net", "nick": "crab"}}}"#;
    let scene = Scene::with_person(&["not a host", ""]);
    let (settled, scene) = settle(file, &[], &flags, scene);
    assert_eq!(settled.unwrap(), "stopped", "{}", scene.said);
    assert_eq!(scene.said.matches("Nick [").count(), 1, "{}", scene.said);
}
