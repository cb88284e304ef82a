//! What people read about the configuration: errors, warnings, and the types of settings.

use std::fmt::Display;
use std::path::Path;

use super::key::Kind;
use crate::base::limits::config::{PASSPHRASE_CHARS_MIN, PRICE_MAX};

/// A path that leads to no setting.
pub fn unknown_setting(path: &str, advice: &str) -> String {
    format!("Unknown setting {path}. {advice}")
}

/// A wrong value that is not used, and the default in its place; `None` where another value is set.
pub fn used_instead(problem: &str, default: Option<&str>) -> String {
    let problem = problem.trim_end_matches('.');
    match default {
        Some(default) => format!("{problem}. The default is used: {default}"),
        None => format!("{problem}. It is ignored"),
    }
}

/// A setting that needs another one.
pub const UNSAFE_BACKUP: &str = "backup.send needs backup.passphrase or backup.withoutSecrets";

/// A server or a command that cannot be used.
pub fn left_out(problem: &str, path: &str) -> String {
    let problem = problem.trim_end_matches('.');
    format!("{problem}. {path} is left out")
}

/// A passphrase that cannot be used; `problem` begins with the setting.
pub fn backups_off(problem: &str) -> String {
    let problem = problem.trim_end_matches('.');
    format!("{problem}. Automatic backups are off until it is corrected")
}

/// A passphrase that cannot be used, where another one is set at `place`.
pub fn other_used(problem: &str, place: &str) -> String {
    let problem = problem.trim_end_matches('.');
    format!("{problem}. The one of {place} is used")
}

/// A passphrase that is guessed by trying.
pub fn short_passphrase(path: &str) -> String {
    format!("{path} must have at least {PASSPHRASE_CHARS_MIN} characters")
}

/// A secret that is set to a file which is not there; `problem` follows the setting's path.
pub fn no_secret_file(path: &str, problem: &str) -> String {
    format!("{path} {problem}. Create the file first")
}

/// What an unknown name probably means.
pub fn did_you_mean(known: &str) -> String {
    format!("Did you mean {known}?")
}

/// The names in a section; `""` is the whole file.
pub fn section_contains(section: &str, names: &[&str]) -> String {
    let names = names.join(", ");
    match section {
        "" => format!("The sections are: {names}."),
        _ => format!("{section} contains: {names}."),
    }
}

/// A section where a setting was expected.
pub fn is_section(path: &str, names: &[&str]) -> String {
    format!("{path} is a section. It contains: {}", names.join(", "))
}

/// An environment variable with our prefix that matches no setting.
pub fn unknown_variable(nearest: Option<&str>) -> String {
    let advice = match nearest {
        Some(near) => did_you_mean(near),
        None => "`peacrab config explain KEY` shows the variable of a setting.".to_owned(),
    };
    format!("This environment variable matches no setting. {advice}")
}

/// A value of the wrong type.
pub fn wrong_value(path: &str, kind: Kind, nullable: bool, value: &str) -> String {
    let or_null = if nullable { ", or null" } else { "" };
    format!(
        "{path} must be {}{or_null}, not {value}",
        describe_type(kind)
    )
}

/// A proxy that cannot be one. It may have a password, so it is not shown.
pub fn wrong_proxy(path: &str) -> String {
    format!("{path} must look like http://host:port or http://user:password@host:port")
}

/// A section whose value is not an object.
pub fn section_is_not_an_object(path: &str, value: &str) -> String {
    format!("{path} must be an object {{ … }}, not {value}")
}

/// A file whose value is not an object.
pub fn file_is_not_an_object(file: &str, value: &str) -> String {
    format!("{file}: the configuration must be an object {{ … }}, not {value}")
}

/// A setting that is in the file twice.
pub fn set_twice(path: &str, first_line: usize) -> String {
    format!("{path} is set twice; the first time on line {first_line}")
}

/// An MCP server whose name cannot be part of a tool's name.
pub fn wrong_server_name(path: &str, bytes: usize) -> String {
    format!("{path}: the name of an MCP server must have 1 to {bytes} letters, digits, - or _")
}

/// A slash command with a name that a channel would not accept.
pub fn wrong_command_name(path: &str) -> String {
    format!(
        "{path}: the name of a command must begin with a lower-case letter and have at most 32 \
         lower-case letters, digits or _"
    )
}

/// A slash command with the name of a built-in one.
pub fn taken_command_name(path: &str, name: &str) -> String {
    format!("{path}: /{name} is built in. Choose another name, such as my_{name}")
}

/// A slash command without a line.
pub fn nothing_to_run(path: &str) -> String {
    format!(
        "{path}.run is empty. Set the shell command to run, such as \"tar czf backup.tgz notes\""
    )
}

/// An MCP server whose tools could have the names of another one's.
pub fn server_names_overlap(path: &str, other: &str) -> String {
    format!(
        "{path}: rename this MCP server. Its tools could not be told from those of {other}, because its name begins \
         with {other}_"
    )
}

/// An MCP server whose program cannot be started with this.
pub fn has_nul(path: &str) -> String {
    format!("{path}: the command and its args must not contain a NUL character")
}

/// An MCP server with an environment variable that no program can have.
pub fn wrong_variable(path: &str, name: &str) -> String {
    format!(
        "{path}.env: {name:?} cannot be set. A name must not be empty or contain =, and nothing a NUL character"
    )
}

/// An MCP server with neither a program nor an address, or with both.
pub fn command_or_url(path: &str, is_neither: bool) -> String {
    if is_neither {
        format!(
            "{path} needs a command or a url: command for a program that is started here, url for a server \
         that runs elsewhere"
        )
    } else {
        format!("{path} must have a command or a url, not both")
    }
}

/// The arguments of an MCP server's program are in the wrong setting.
pub fn command_is_a_line(path: &str) -> String {
    format!(
        "{path}.command must be the program alone. Put its arguments into args: \"command\": \"npx\", \
         \"args\": [\"-y\", \"server\"]"
    )
}

/// A pattern that matches nothing, or not what it seems to.
pub fn wrong_tool_pattern(path: &str) -> String {
    format!("{path}.enabledTools must be a list of tools' names. Only the end of a name can be *")
}

/// The heading above several problems.
pub fn found_problems(count: usize) -> String {
    format!("Found {count} problems in the configuration:")
}

/// The line below problems of which not all are shown.
pub fn more_problems(count: usize) -> String {
    format!("… and {count} more")
}

/// The type of a setting's value, with its article: "must be …".
pub fn describe_type(kind: Kind) -> String {
    match kind {
        Kind::Flag => "true or false".to_owned(),
        Kind::Whole(least, u64::MAX) => format!("a whole number, at least {least}"),
        Kind::Whole(least, most) => format!("a whole number from {least} to {most}"),
        Kind::Real(least, most) => format!("a number from {least} to {most}"),
        Kind::Text => "a string".to_owned(),
        Kind::Choice(words) => format!("one of {}", words.join(", ")),
        Kind::Texts => r#"a list of strings, such as ["one", "two"]"#.to_owned(),
        Kind::Names => r#"a list of ids, such as ["ana", "U012AB3CD"]"#.to_owned(),
        Kind::Ids => r#"a list of ids, such as ["123456", "@name"]"#.to_owned(),
        Kind::Hosts => {
            r#"a list of hosts without http://, such as ["nas.local", "192.168.1.5:8080"]"#
                .to_owned()
        }
        Kind::Url => "a URL that begins with http:// or https://".to_owned(),
        Kind::Path => "a path that begins with / or ~/".to_owned(),
        Kind::Paths => {
            r#"a list of paths that begin with / or ~/, such as ["/srv/data"]"#.to_owned()
        }
        Kind::Zone => "auto, or a time zone such as Europe/Zurich".to_owned(),
        Kind::QuietHours => "two times of a day such as 22:00-07:00, or empty".to_owned(),
        Kind::Secret => "a string, ${NAME} or file:PATH".to_owned(),
        Kind::Secrets => r#"an object of strings, such as {"X-Name": "value"}"#.to_owned(),
        Kind::Object => r#"an object, such as {"name": 1}"#.to_owned(),
        Kind::Roles | Kind::NamedRoles => {
            r#"an object of ids with owner, user or guest, such as {"123456": "user"}"#.to_owned()
        }
        Kind::Prices => {
            r#"an object of prices, such as {"MODEL": {"input": 3, "output": 15}}"#.to_owned()
        }
        Kind::Agents => {
            r#"a list of objects, such as [{"id": "work", "model": "gpt-5"}]"#.to_owned()
        }
        Kind::Bindings => {
            r#"a list of objects, such as [{"agent": "work", "chat": "-100123"}]"#.to_owned()
        }
    }
}

/// A model's price that is not an object.
pub fn wrong_price(path: &str, what: &str) -> String {
    format!(
        r#"{path} must be an object with input and output, such as {{"input": 3, "output": 15}}, not {what}"#
    )
}

/// A member that no price has, and the one that was meant.
pub fn unknown_price(path: &str, name: &str, near: Option<&str>, known: &[&str]) -> String {
    match near {
        Some(near) => format!("Unknown price {path}.{name}. Did you mean {near}?"),
        None => format!(
            "Unknown price {path}.{name}. There are {}.",
            known.join(", ")
        ),
    }
}

/// A member that each price needs.
pub fn missing_price(path: &str, name: &str) -> String {
    format!("{path}.{name} is missing")
}

/// A price that is not an amount of money.
pub fn wrong_amount(path: &str, what: &str) -> String {
    format!(
        "{path} must be a number from 0 to {PRICE_MAX}, in US dollars per million tokens, not {what}"
    )
}

/// A `${NAME}` whose variable is not set. It follows the setting's path.
pub fn missing_variable(name: &str) -> String {
    let advice = match name {
        // Set for the service alone (systemd.exec(5), LoadCredential=).
        "CREDENTIALS_DIRECTORY" => {
            "systemd sets it for the service; elsewhere set it to /run/credentials/peacrab.service"
        }
        _ => "Set it, or change the setting",
    };
    format!("refers to ${{{name}}}, but the environment variable {name} is not set. {advice}")
}

/// A path with `~` in an environment without `HOME`. It follows the setting's path.
pub fn tilde_without_home() -> &'static str {
    "begins with ~, but the environment variable HOME is not set"
}

/// A secret whose file cannot be read. It follows the setting's path.
pub fn unreadable_secret(error: &dyn Display) -> String {
    format!("refers to a file: {error}")
}

/// A secret whose file is not text. It follows the setting's path.
pub fn secret_is_not_text(file: &Path) -> String {
    format!("refers to {}, which is not UTF-8 text", file.display())
}

/// A name that is not a time zone of this system.
pub fn unknown_time_zone(name: &str, has_zones: bool) -> String {
    let advice = if has_zones {
        "Use a name such as Europe/Zurich (see `timedatectl list-timezones`)"
    } else {
        "This system has no time zones: install the package tzdata, or use auto"
    };
    format!("Unknown time zone {name:?}. {advice}")
}

/// A wrong `cron.tz`.
pub fn unknown_jobs_zone(name: &str) -> String {
    format!("Unknown time zone {name:?}. Use a name such as Europe/Zurich, or an empty string")
}

/// A file that was named with `--config` and does not exist.
pub fn no_such_file(file: &Path) -> String {
    format!("There is no configuration file {}", file.display())
}

/// A file that is not text.
pub fn file_is_not_text(file: &Path, byte: usize) -> String {
    format!(
        "{}: this is not UTF-8 text (byte {byte}). Correct it, {HOW_TO_START_OVER}",
        file.display()
    )
}

/// A file of zero bytes, which is what a power cut may leave.
pub fn file_is_empty(file: &Path) -> String {
    format!(
        "{} is empty, so all settings have their defaults. Run `peacrab onboard` to set up Peacrab, or \
         restore the file from a backup",
        file.display()
    )
}

/// What to do with a file that is damaged beyond one line.
const HOW_TO_START_OVER: &str =
    "restore the file from a backup, or delete it and run `peacrab onboard`";

/// What broken JSON probably needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JsonFix {
    /// A comment, which begins with this, on this line.
    RemoveComment(&'static str, usize),
    /// The comma before a closing bracket, on this line.
    RemoveComma(usize),
    /// A comma after the value that ends on this line.
    AddComma(usize),
    /// A string in quotes that are not JSON's.
    UseDoubleQuotes,
    /// The file ends too early.
    Complete,
    /// Nothing certain.
    Unknown,
}

/// Text that is not JSON. `excerpt` shows the line and marks the column.
pub fn invalid_json(
    file: &str,
    (line, column): (usize, usize),
    error: &str,
    fix: JsonFix,
    excerpt: &str,
) -> String {
    let what = match fix {
        JsonFix::RemoveComment(mark, line) => {
            format!("JSON has no comments. Remove the {mark} on line {line}")
        }
        JsonFix::RemoveComma(line) => {
            format!("invalid JSON, {error}. Remove the last comma on line {line}")
        }
        JsonFix::AddComma(line) => {
            format!("invalid JSON, {error}. A comma seems to be missing at the end of line {line}")
        }
        JsonFix::UseDoubleQuotes => format!("invalid JSON, {error}. Use plain double quotes: \""),
        JsonFix::Complete => {
            format!("invalid JSON: the file ends too early. Complete it, {HOW_TO_START_OVER}")
        }
        JsonFix::Unknown => {
            format!("invalid JSON, {error}. Correct this line, {HOW_TO_START_OVER}")
        }
    };
    format!("{file}:{line}:{column}: {what}\n{excerpt}")
}

/// A file with secrets that others can read.
pub fn file_is_readable(file: &Path, mode: u32) -> String {
    let file = file.display();
    format!(
        "{file} contains a key or token and can be read by others (mode {mode:03o}). Run chmod 600 {file}"
    )
}

/// `/` in `tools.readOnlyPaths`.
pub fn root_is_readable() -> &'static str {
    "tools.readOnlyPaths contains /, and with it every key on this machine. List the folders that tools may read"
}

/// A path with `~` in an environment without `HOME`.
pub fn path_without_home(path: &str) -> String {
    format!("tools: {path}: HOME is not set, so ~ has no meaning. Write the full path")
}

/// A path such as `~ann/notes`.
pub fn path_of_another_user(path: &str) -> String {
    format!("tools: {path}: ~ works for your own home only. Write the full path")
}

/// More entries in a list than there may be.
pub fn too_many_entries(path: &str, most: usize) -> String {
    format!("{path} has too many entries; at most {most} are possible")
}

/// An agent without an id, or with one that cannot be one.
pub fn wrong_agent_id(path: &str, value: &str) -> String {
    format!("{path}.id must be 1 to 32 lower-case letters, digits and hyphens, not {value}")
}

/// An id that an earlier entry has.
pub fn agent_twice(path: &str, id: &str, first: usize) -> String {
    format!("{path}.id is \"{id}\", as in agents.list[{first}]. Choose another id")
}

/// A second default agent.
pub fn second_default(path: &str, first: usize) -> String {
    format!("{path}.default is true, as in agents.list[{first}]. Only one agent can be the default")
}

/// A binding that does not say whose it is.
pub fn binding_without_agent(path: &str) -> String {
    format!("{path}.agent is missing: the id of the agent that answers")
}

/// A binding without a condition.
pub fn binding_for_everything(path: &str) -> String {
    format!(
        "{path} needs channel, chat or sender. To choose the agent for everything else, set \"default\": true \
         in agents.list"
    )
}

/// A binding to an agent that does not exist.
pub fn unknown_bound_agent(index: usize, id: &str, known: &[&str]) -> String {
    let known = known.join(", ");
    format!(
        "agents.bindings[{index}].agent is {id}, but there is no such agent. There are: {known}"
    )
}

/// An id that no agent has, on the command line.
pub fn no_such_agent(id: &str, known: &[&str]) -> String {
    format!("There is no agent {id:?}. There are: {}", known.join(", "))
}

/// A workspace among the program's own files.
pub fn private_workspace(id: &str, workspace: &Path) -> String {
    format!(
        "The workspace of the agent {id}, {}, is where Peacrab keeps its own files. Choose another folder",
        workspace.display()
    )
}

/// Two workspaces of which one is within the other.
pub fn shared_workspace(one: &str, other: &str, workspace: &Path) -> String {
    format!(
        "The agents {one} and {other} would share files: {} is a workspace of both, or within the other's. Each \
         agent needs a folder of its own",
        workspace.display()
    )
}

/// A folder for all tools that shows an agent's files to the others.
pub fn workspace_given_away(key: &str, path: &str, id: &str) -> String {
    format!(
        "{key} contains {path}, which is in the workspace of the agent {id}. Remove it: other agents must not read it"
    )
}

/// No home folder can be found.
pub fn no_home() -> &'static str {
    "No home folder: set HOME or PEACRAB_HOME, or use --home DIR."
}
