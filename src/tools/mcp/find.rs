//! The search of find_tools. Pure.

/// Words of a search.
const FIND_WORDS: usize = 16;

/// What is searched: the name and the description of a tool.
pub struct Document {
    name: String,
    description: String,
}

impl Document {
    /// With the texts in lower case.
    pub fn new(name: &str, description: &str) -> Self {
        Self {
            name: name.to_lowercase(),
            description: description.to_lowercase(),
        }
    }
}

/// How much a word in a name counts more than one in a description.
const NAME_WEIGHT: f32 = 4.0;

/// The places of the best documents, at most so many, the best one first. A word counts more the fewer
/// documents have it.
pub fn best(query: &str, documents: &[Document], most: usize) -> Vec<usize> {
    let mut scores = vec![0.0_f32; documents.len()];
    for word in words(query) {
        let stem = stem(&word);
        let weight = |document: &Document| {
            let in_name = f32::from(u8::from(document.name.contains(stem)));
            let in_description = f32::from(u8::from(document.description.contains(stem)));
            NAME_WEIGHT * in_name + in_description
        };
        let weights: Vec<f32> = documents.iter().map(weight).collect();
        let having = weights.iter().filter(|weight| **weight > 0.0).count();
        for (score, weight) in scores.iter_mut().zip(weights) {
            *score += weight / (1.0 + having as f32);
        }
    }
    let mut places: Vec<usize> = (0..documents.len()).collect();
    let score = |place: &usize| scores.get(*place).copied().unwrap_or_default();
    places.retain(|place| score(place) > 0.0);
    places.sort_by(|one, other| score(other).total_cmp(&score(one)));
    places.truncate(most);
    places
}

/// The words of a query; of a script without spaces, each character.
fn words(query: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for part in query.to_lowercase().split(|c: char| !c.is_alphanumeric()) {
        match part.is_ascii() {
            true if part.len() > 1 => words.push(part.to_owned()),
            true => {}
            false if part.chars().any(|c| c >= '\u{2e80}') => {
                words.extend(part.chars().map(String::from));
            }
            false => words.push(part.to_owned()),
        }
    }
    words.truncate(FIND_WORDS);
    words
}

/// A word without an English plural's end.
fn stem(word: &str) -> &str {
    match word.len() {
        4.. => word
            .strip_suffix("es")
            .or(word.strip_suffix('s'))
            .unwrap_or(word),
        _ => word,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn found(query: &str) -> Vec<usize> {
        let documents = [
            ("mcp_github_create_issue", "Create an issue in a repository"),
            ("mcp_github_list_issues", "List the issues of a repository"),
            ("mcp_github_get_file", "Read a file in a repository"),
            ("mcp_lamp_on", "Turn the light on. 打开灯"),
        ];
        let documents = documents.map(|(name, text)| Document::new(name, text));
        best(query, &documents, 2)
    }

    #[test]
    fn rare_words_and_names_count_most() {
        assert_eq!(found("create a new issue in the repository"), [0, 1]);
        assert_eq!(found("repository files")[0], 2);
        assert_eq!(found("Light"), [3]);
        assert_eq!(found("开灯"), [3]);
        assert_eq!(found("lamps"), [3]);
        assert!(found("weather").is_empty() && found("").is_empty());
    }

    proptest! {
        #[test]
        fn no_query_is_a_panic(query in any::<String>()) {
            found(&query);
        }
    }
}
