//! The skills that come with the program, compiled in.

/// Each built-in skill by its name, with its SKILL.md.
pub const BUILT_IN: [(&str, &str); 10] = [
    ("board", include_str!("../../../skills/board/SKILL.md")),
    ("cron", include_str!("../../../skills/cron/SKILL.md")),
    ("github", include_str!("../../../skills/github/SKILL.md")),
    ("memory", include_str!("../../../skills/memory/SKILL.md")),
    ("network", include_str!("../../../skills/network/SKILL.md")),
    ("plan", include_str!("../../../skills/plan/SKILL.md")),
    (
        "skill-creator",
        include_str!("../../../skills/skill-creator/SKILL.md"),
    ),
    (
        "summarize",
        include_str!("../../../skills/summarize/SKILL.md"),
    ),
    ("systemd", include_str!("../../../skills/systemd/SKILL.md")),
    ("weather", include_str!("../../../skills/weather/SKILL.md")),
];

/// The SKILL.md of a built-in skill.
pub fn built_in(name: &str) -> Option<&'static str> {
    let mut skills = BUILT_IN.iter();
    skills
        .find(|(known, _)| *known == name)
        .map(|(_, text)| *text)
}

/// The same for a path as tools name it: `skills/NAME/SKILL.md`, relative to the workspace.
pub fn built_in_at(path: &str) -> Option<&'static str> {
    let path = path.strip_prefix("./").unwrap_or(path);
    built_in(path.strip_prefix("skills/")?.strip_suffix("/SKILL.md")?)
}
