//! Who may speak: the allow-list of the configuration, and those who were paired. Pure.

/// Whether the configuration lets a sender in: by the id, by the name with an @ that people choose
/// themselves, or because everyone may.
pub fn is_allowed(allow_from: &[String], id: &str, username: Option<&str>) -> bool {
    allow_from.iter().any(|entry| match entry.trim() {
        "*" => true,
        entry => match entry.strip_prefix('@') {
            Some("") => false,
            Some(name) => username.is_some_and(|username| username.eq_ignore_ascii_case(name)),
            None => entry == id,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_or_a_name_or_everyone() {
        let allowed = |list: &[&str], id: &str, name: Option<&str>| {
            let list: Vec<String> = list.iter().map(|entry| (*entry).to_owned()).collect();
            is_allowed(&list, id, name)
        };
        assert!(!allowed(&[], "1", Some("ana")));
        assert!(allowed(&["7", "1"], "1", None));
        assert!(allowed(&["@Ana"], "1", Some("ana")));
        assert!(!allowed(&["@ana"], "1", None));
        assert!(!allowed(&["ana"], "1", Some("ana")), "a name needs its @");
        assert!(!allowed(&["1"], "11", Some("1")));
        assert!(!allowed(&["@"], "1", Some("")), "an empty name is nobody's");
        assert!(allowed(&["*"], "1", None));
    }
}
