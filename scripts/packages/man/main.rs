//! Writes the manual pages into a folder, one per command: `cargo run --example man -- FOLDER DATE`.
//!
//! The commands and options come from the program itself, the rest of peacrab(1) from `sections.roff`.

use std::error::Error;
use std::io;
use std::path::Path;

use clap::Command;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};

/// What peacrab(1) says besides commands and options.
const DESCRIPTION: &str = include_str!("description.roff");
const SECTIONS: &str = include_str!("sections.roff");

/// The heading of the options that every command has; only peacrab(1) explains them.
const COMMON: &str = "Common options";

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [folder, date] = &arguments[..] else {
        return Err("usage: man FOLDER DATE".into());
    };
    let mut root = peacrab::cli::command()
        .disable_help_subcommand(true)
        .subcommand_help_heading("COMMANDS");
    root.build();
    let write = |name: &str, page: String| {
        std::fs::write(Path::new(folder).join(format!("{name}.1")), page)
    };
    write("peacrab", main_page(&root, date)?)?;
    for command in visible(&root) {
        write(&full_name(command), command_page(command, date)?)?;
    }
    Ok(())
}

fn visible(command: &Command) -> impl Iterator<Item = &Command> {
    let commands = command.get_subcommands();
    commands.filter(|command| !command.is_hide_set())
}

/// The name of its page: peacrab-config.
fn full_name(command: &Command) -> String {
    let name = command.get_display_name();
    name.unwrap_or_else(|| command.get_name()).to_owned()
}

fn main_page(root: &Command, date: &str) -> io::Result<String> {
    let man = Man::new(root.clone());
    let mut page = head(man, root, date)?;
    page.push_str(DESCRIPTION);
    let man = Man::new(root.clone());
    page.push_str(&part(|to| man.render_subcommands_section(to))?);
    page.push_str(&part(|to| man.render_options_section(to))?);
    page.push_str(&after_help(root));
    page.push_str(SECTIONS);
    Ok(page)
}

fn command_page(command: &Command, date: &str) -> io::Result<String> {
    let command = without_common(command);
    let mut page = head(Man::new(command.clone()), &command, date)?;
    let mut roff = Roff::new();
    roff.control("SH", ["DESCRIPTION"]);
    describe(&mut roff, &command);
    page.push_str(&roff.to_roff());
    page.push_str(&options(&command)?);
    if visible(&command).next().is_some() {
        page.push_str(".SH COMMANDS\n");
    }
    for inner in visible(&command) {
        page.push_str(&inner_command(inner)?);
    }
    page.push_str(&after_help(&command));
    page.push_str(".SH \"SEE ALSO\"\n.BR peacrab (1),\nwhich explains the common options too.\n");
    Ok(page)
}

/// The title, name and synopsis.
fn head(man: Man, command: &Command, date: &str) -> io::Result<String> {
    let version = format!("Peacrab {}", env!("CARGO_PKG_VERSION"));
    let man = man
        .title(full_name(command).to_uppercase())
        .date(date)
        .source(version)
        .manual("Peacrab manual");
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    let title = String::from_utf8_lossy(&page).into_owned();
    let name = part(|to| man.render_name_section(to))?;
    let synopsis = part(|to| man.render_synopsis_section(to))?;
    Ok([title, name, synopsis].concat())
}

/// A command of a command, as a subsection.
fn inner_command(command: &Command) -> io::Result<String> {
    let command = without_common(command);
    let synopsis = part(|to| Man::new(command.clone()).render_synopsis_section(to))?;
    let mut roff = Roff::new();
    roff.control("SS", [command.get_name()]);
    let heading = roff.to_roff();
    let mut roff = Roff::new();
    roff.control("PP", []);
    describe(&mut roff, &command);
    let texts = [
        heading,
        without_heading(&synopsis),
        roff.to_roff(),
        without_heading(&options(&command)?),
    ];
    Ok(texts.concat())
}

/// What it does, as a sentence, and the other names that help shows.
fn describe(roff: &mut Roff, command: &Command) {
    let about = command.get_about().map(ToString::to_string);
    roff.text([roman(format!("{}.", about.unwrap_or_default()))]);
    for alias in command.get_visible_aliases() {
        roff.text([roman("Another name for it is "), bold(alias), roman(".")]);
    }
}

/// The section of its own options; empty without one.
fn options(command: &Command) -> io::Result<String> {
    match command.get_arguments().any(|option| !option.is_hide_set()) {
        true => part(|to| Man::new(command.clone()).render_options_section(to)),
        false => Ok(String::new()),
    }
}

fn without_common(command: &Command) -> Command {
    let command = command.clone().subcommand_value_name("COMMAND");
    command.mut_args(|option| {
        let is_common = option.get_help_heading() == Some(COMMON);
        match is_common {
            true => option.hide(true),
            false => option,
        }
    })
}

/// The paragraphs below the help: a section where one begins with a title, as in `Examples:`.
fn after_help(command: &Command) -> String {
    let text = command.get_after_help().map(ToString::to_string);
    let mut roff = Roff::new();
    for paragraph in text.iter().flat_map(|text| text.split("\n\n")) {
        let mut lines = paragraph.lines().peekable();
        if let Some(title) = lines.next_if(|line| line.ends_with(':') && line.len() < 20) {
            let title = match title {
                "Exit codes:" => "EXIT STATUS".to_owned(),
                _ => title.trim_end_matches(':').to_uppercase(),
            };
            roff.control("SH", [title.as_str()]);
        } else {
            roff.control("PP", []);
        }
        add_lines(&mut roff, lines);
    }
    roff.to_roff()
}

/// Indented lines stay as they are, others flow.
fn add_lines<'a>(roff: &mut Roff, lines: impl Iterator<Item = &'a str>) {
    let mut is_fixed = false;
    for line in lines {
        if line.starts_with(' ') != is_fixed {
            is_fixed = !is_fixed;
            roff.control(if is_fixed { "nf" } else { "fi" }, []);
        }
        roff.text([roman(line.strip_prefix("  ").unwrap_or(line))]);
    }
    if is_fixed {
        roff.control("fi", []);
    }
}

/// A section without the definitions that clap_mangen puts above each.
fn part(render: impl Fn(&mut dyn io::Write) -> io::Result<()>) -> io::Result<String> {
    let mut text = Vec::new();
    render(&mut text)?;
    let text = String::from_utf8_lossy(&text);
    let lines = text.lines().skip_while(|line| !line.starts_with(".SH"));
    Ok(lines.map(|line| [line, "\n"].concat()).collect())
}

fn without_heading(section: &str) -> String {
    let rest = section.split_once('\n').map(|(_, rest)| rest);
    rest.unwrap_or_default().to_owned()
}
