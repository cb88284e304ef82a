//! What a name that does not exist probably means.

use super::key::{VARIABLE_JOINT, VARIABLE_PREFIX, camel_case, upper_snake};
use super::table::{keys, names_within, section};
use super::texts;
use crate::base::limits::config as limits;

/// The advice for an unknown path: the nearest known one, else what its section contains.
pub fn advise(path: &str) -> String {
    if let Some(near) = nearest(path) {
        return texts::did_you_mean(&near);
    }
    let mut above = path;
    while let Some((shorter, _)) = above.rsplit_once('.') {
        above = shorter;
        if let Some(section) = section(above) {
            return texts::section_contains(above, &names_within(section));
        }
    }
    texts::section_contains("", &names_within(""))
}

/// The known setting or section that a wrong path probably means: by the whole path, or by the last
/// name when it is in the wrong section.
fn nearest(path: &str) -> Option<String> {
    let (above, last) = path.rsplit_once('.').unwrap_or(("", path));
    let last = camel_case(last);
    let path = format!("{above}.{last}");
    let path = path.trim_start_matches('.');
    let own: Vec<&str> = path.split('.').collect();
    let mut best: Option<(usize, String)> = None;
    for known in keys().flat_map(|key| with_sections(key.path)) {
        let known = filled(known, &own, str::to_owned).join(".");
        let whole = edit_distance(path, &known);
        let (known_above, known_last) = known.rsplit_once('.').unwrap_or(("", &known));
        let name = edit_distance(&last, known_last);
        let has_part = |whole: &str, part: &str| {
            let is_within = || {
                whole
                    .to_ascii_lowercase()
                    .contains(&part.to_ascii_lowercase())
            };
            known_above == above && part.len() > 2 && is_within()
        };
        // Of a short name all may be another one's.
        let is_alike = 2 * name <= last.len().max(known_last.len());
        let score = if is_alike && is_slip(whole, path) {
            whole
        } else if has_part(known_last, &last) {
            PART
        } else if is_slip(name, &last) {
            MOVED + name
        } else if has_part(&last, known_last) {
            MOVED + PART
        } else {
            continue;
        };
        if best.as_ref().is_none_or(|(least, _)| score < *least) {
            best = Some((score, known));
        }
    }
    best.map(|(_, known)| known)
}

/// The edit distance of the beginnings: it costs the product of both lengths, and no known path is as
/// long as the bound.
fn edit_distance(one: &str, other: &str) -> usize {
    let bound = limits::EXCERPT_CHARS;
    let (one_end, other_end) = (
        one.floor_char_boundary(bound),
        other.floor_char_boundary(bound),
    );
    strsim::levenshtein(&one[..one_end], &other[..other_end])
}

/// What a name costs that is a part of one in its section, such as `timeout` of `toolTimeout`, in wrong characters.
const PART: usize = 1;

/// What a name in another section costs, in wrong characters.
const MOVED: usize = 2;

/// Whether so many wrong characters may be a typo in a text of this length.
fn is_slip(distance: usize, text: &str) -> bool {
    distance <= (text.len() / 4).min(3)
}

/// The variable that an unknown one probably means.
pub fn nearest_variable(name: &str) -> Option<String> {
    let own: Vec<&str> = name
        .strip_prefix(VARIABLE_PREFIX)?
        .split(VARIABLE_JOINT)
        .collect();
    let known = keys().map(|key| {
        let names = filled(key.path, &own, upper_snake).join(VARIABLE_JOINT);
        let variable = format!("{VARIABLE_PREFIX}{names}");
        (edit_distance(name, &variable), variable)
    });
    let (distance, variable) = known.min()?;
    is_slip(distance, name).then_some(variable)
}

/// The path itself and the sections that lead to it, except those that the user names.
fn with_sections(path: &'static str) -> impl Iterator<Item = &'static str> {
    path.match_indices('.')
        .map(|(dot, _)| &path[..dot])
        .filter(|section| !section.ends_with('*'))
        .chain([path])
}

/// The names of the pattern, each spelt by `spell`, with the path's own name instead of `*` if it has
/// one there.
fn filled(pattern: &str, own: &[&str], spell: impl Fn(&str) -> String) -> Vec<String> {
    let names = pattern.split('.').enumerate();
    names
        .map(|(place, name)| match (name, own.get(place)) {
            ("*", Some(own)) => (*own).to_owned(),
            _ => spell(name),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typo_leads_to_the_setting_that_was_meant() {
        for (wrong, meant) in [
            ("agents.defaults.modle", "agents.defaults.model"),
            ("agent.default.model", "agents.defaults.model"),
            ("model", "agents.defaults.model"),
            ("provider.openai.apiKey", "providers.openai.apiKey"),
            ("providers.openai.apikey", "providers.openai.apiKey"),
            ("providers.my_host.api_typ", "providers.my_host.apiType"),
            ("agent", "agents"),
            ("log.levle", "log.level"),
            (
                "tools.mcpServers.x.timeout",
                "tools.mcpServers.x.toolTimeout",
            ),
            ("tools.mcpServers.x.environment", "tools.mcpServers.x.env"),
            ("providers.x.timeout", "providers.x.timeoutSecs"),
            ("providers.x.key", "providers.x.apiKey"),
            ("tools.web.timeout", "tools.exec.timeout"),
            (
                "agents.defaults.restrict_to_workspace",
                "tools.restrictToWorkspace",
            ),
        ] {
            assert_eq!(advise(wrong), format!("Did you mean {meant}?"), "{wrong}");
        }
    }

    #[test]
    fn what_resembles_nothing_gets_the_known_names() {
        assert_eq!(
            advise("tls.hostname"),
            "tls contains: caFile, localServerUsers."
        );
        assert_eq!(
            advise("providers.openai.zzz"),
            "providers.openai contains: apiKey, apiBase, apiType, api, cache, extraHeaders, extraBody, proxy, timeoutSecs, streamIdleTimeoutSecs, images, prices."
        );
        assert_eq!(
            advise("radio.tuner.frequency"),
            "The sections are: agents, providers, channels, tools, storage, limits, transcription, speech, cron, heartbeat, watch, http, tls, commands, backup, update, log."
        );
        assert!(advise(&"x".repeat(1_000_000)).starts_with("The sections are"));
    }

    #[test]
    fn a_variable_leads_to_the_nearest_variable() {
        assert_eq!(
            nearest_variable("PEACRAB_PROVIDERS__MY_HOST__API_KEI").as_deref(),
            Some("PEACRAB_PROVIDERS__MY_HOST__API_KEY")
        );
        assert_eq!(
            nearest_variable("PEACRAB_AGENTS__DEFAULT__MODEL").as_deref(),
            Some("PEACRAB_AGENTS__DEFAULTS__MODEL")
        );
        assert_eq!(nearest_variable("PEACRAB_SOMETHING__ELSE"), None);
    }

    #[test]
    fn a_wrong_url_is_shown_unless_it_may_be_a_key() {
        let problem = |value: &str| {
            let (key, path) = crate::config::table::find_spelt("providers.x.apiBase").unwrap();
            crate::config::check::problem(key, &path, &serde_json::Value::from(value), false)
                .unwrap()
        };
        assert!(problem("localhost:11434/v1").ends_with("not \"localhost:11434/v1\""));
        for secret in ["ann:secret@host", "sk-0123456789abcdef0123456789abcdef"] {
            assert!(problem(secret).ends_with("not this string"));
        }
    }
}
