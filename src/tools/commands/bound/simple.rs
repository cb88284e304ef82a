//! Simple lines: of those every shell reads the words that they show and nothing else, and each of their programs opens
//! only the files that the line names. The lists are closed: what is not in them is not simple. PURE.

use std::path::Path;

/// The programs: names, what their arguments are, the arguments that come first (two joined by a dot), options, and options
/// with a value that names no file. Options of one letter are written together; a `0` among them is a number. Programs that
/// run others, read lists of files, or take a folder with what is in it are not here.
const PROGRAMS: &str = "
systemctl | names | status start stop restart reload try-restart reload-or-restart is-active is-enabled is-failed show cat enable disable mask unmask list-units list-timers list-unit-files list-sockets list-dependencies daemon-reload reset-failed reboot poweroff halt suspend | laq --no-pager --now --failed --all --quiet --user --full | -n -t -p --type --state --property --lines
service | names | | |
journalctl | names | | krexfqb --no-pager --disk-usage --list-boots --follow --reverse | -u -n -p -t -g -o -S -U --unit --since --until --lines --priority --grep --output --vacuum-size --vacuum-time
timedatectl | text | status show list-timezones set-timezone set-ntp set-time timesync-status | --no-pager |
hostnamectl | names | status hostname set-hostname | --static --pretty |
loginctl | names | list-sessions list-users session-status user-status | --no-pager |
resolvectl | names | status query statistics flush-caches | --no-pager |
networkctl | names | list status | --no-pager |
df du | folders | | hTiakHmsxc | -d -t --max-depth
ls | folders | | laAhtrS1diRFsn |
stat | folders | | f | -c
chmod chown | text-folders | | vcf |
mkdir rmdir | folders | | pv | -m
cat | files | | nbsAET |
head tail | files | | qvf0 | -n -c --lines --bytes
wc | files | | lwcmL |
grep | text-files | | ivncoEFwxlLhHqs | -m -A -B -C
sort | files | | nrhuVfbM | -k -t
cut | files | | s | -d -f -c
tr | text | | dsc |
uniq | nothing | | cdui |
cp mv rm touch | files | | fvniup | 
tee | files | | a |
ps | names | | eflFAax | -o -eo -C -p -u -U --sort
pgrep | names | | flxac | -u
free | nothing | | hmgbkwt | -s -c
vmstat | names | | wafsnt0 | -S
uptime | nothing | | psV |
w who | nothing | | hsabqu |
last | names | | aiFwx0 | -n
whoami users arch nproc lsmod lscpu sync pwd | nothing | | |
lsusb | nothing | | tv |
sensors | names | | uAf |
findmnt | nothing | | lDA |
swapon | nothing | | --show |
iwgetid | names | | r |
tailscale | names | status ip version | 46 |
wg | names | show | |
true false | text | | |
mount | nothing | | l |
id groups | names | | unGg |
hostname | names | | IifAsd |
uname | nothing | | amnprsvio |
date | text | | uIR | -d -s
sleep | names | | |
echo | text | | neE |
printf | text | | |
lsblk | folders | | fapmtdnlJ | -o
dmesg | nothing | | THkxetwL | -l
top | nothing | | bH | -n -d -p -u
ip | text | addr addr.show addr.list a address link link.show l route route.show route.list route.get r neigh neigh.show n | 46sdjo -br -c -brief |
ss netstat | names | | tulnpaeirsH46W |
ping | names | | nq46DAO | -c -i -W -w -s
dig host nslookup | names | | 46tva | -t
nmcli | text | device device.status device.show device.wifi dev dev.status dev.show dev.wifi connection connection.show connection.down con con.show con.down general general.status radio radio.wifi networking networking.on networking.off | pt | -f -g
rfkill | names | list block unblock | |
ufw | text | status allow deny delete enable disable reload limit reject | |
curl | urls | | sSfLIkvi46 | -X -m --max-time --connect-timeout --retry
vcgencmd | names | measure_temp get_throttled measure_volts measure_clock get_config get_mem version get_camera | |
pinctrl pinctl | names | get set help | |
apt apt-get | packages | update upgrade full-upgrade dist-upgrade install remove purge autoremove clean autoclean list show search | yqsV --yes --assume-yes --purge --no-install-recommends --fix-broken --only-upgrade --reinstall --upgradable --installed --autoremove |
apt-cache | packages | policy show search depends rdepends madison | |
dpkg | names | | lLs |
docker | names | ps logs restart stop start images stats version info inspect | aqft --no-stream --all | --tail -n --since --format
crontab | nothing | | l | -u
reboot poweroff halt shutdown | text | | hrcfPkH --now |
";

/// Folders of programs that only root can write.
const FOLDERS: [&str; 4] = ["/usr/bin/", "/bin/", "/usr/sbin/", "/sbin/"];

/// What the arguments of a program are, apart from its options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Takes {
    Nothing,
    /// Names that are no path.
    Names,
    /// Texts, of which none is a path for it.
    Text,
    Packages,
    Urls,
    Files,
    /// Files, or folders of which it opens no file.
    Folders,
    /// A text, and then these.
    TextFiles,
    TextFolders,
}

/// A file that a simple line names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Operand {
    /// Its path, as it stands in the line.
    pub word: String,
    /// Whether it may be a folder.
    pub may_be_folder: bool,
    /// Whether what is in it is written to a file: of a folder the names.
    pub is_source: bool,
}

/// A command as every shell reads it.
#[derive(Debug, Default, PartialEq, Eq)]
struct Command {
    words: Vec<String>,
    /// The files that its output goes to.
    writes: Vec<String>,
    /// Whether the next command reads its output.
    is_piped: bool,
}

/// A line that is simple.
#[derive(Debug, Default)]
pub(super) struct Simple {
    /// The files that it names, and a folder of which it writes the names.
    pub operands: Vec<Operand>,
    /// Whether it writes to a file what neither its words nor the files that it names decide: names of processes, answers of
    /// other machines, journals.
    pub writes_unbound: bool,
}

/// Programs whose output is what their words and the files that they name decide, and the time.
const FIXED: &str =
    "echo printf date true false sleep cat head tail wc grep sort cut tr uniq tee cp mv";

/// Programs that write names from a folder.
const LISTERS: &str = "ls du";

/// Reads a line, if it is simple wherever it runs but in the folders of the system.
pub(super) fn read(line: &str) -> Option<Simple> {
    read_in(line, Path::new(""))
}

/// Reads a line, if it is simple in a folder: a real path.
pub(super) fn read_in(line: &str, folder: &Path) -> Option<Simple> {
    let commands = split(line)?;
    let mut simple = Simple::default();
    for pipeline in commands.chunk_by(|command, _| command.is_piped) {
        add_pipeline(&mut simple, pipeline, folder)?;
    }
    Some(simple)
}

/// Takes commands of which each reads the output of the one before.
fn add_pipeline(simple: &mut Simple, pipeline: &[Command], folder: &Path) -> Option<()> {
    let mut files = Vec::new();
    let mut sources = Vec::new();
    let (mut writes, mut is_fixed, mut lists_here) = (false, true, false);
    for command in pipeline {
        let words = match &command.words[..] {
            [sudo, dash, rest @ ..] if sudo == "sudo" && dash == "-n" => rest,
            [sudo, rest @ ..] if sudo == "sudo" => rest,
            words => words,
        };
        let (program, arguments) = words.split_first()?;
        let mut operands = operands_of(program, arguments, folder)?;
        if command.writes.iter().any(|word| is_vital(word, folder)) {
            return None;
        }
        let program = base(program);
        is_fixed &= has(FIXED, program);
        lists_here |= has(LISTERS, program) && operands.is_empty();
        let written = command.writes.iter();
        let mut written: Vec<Operand> = written.map(|word| Operand::new(word, false)).collect();
        match program {
            "tee" => written.append(&mut operands),
            "cp" | "mv" => written.extend(operands.pop()),
            _ => {}
        }
        writes |= written.iter().any(|file| file.word != "/dev/null");
        files.append(&mut written);
        match has(WRITERS, program) && !has(FIXED, program) {
            true => files.append(&mut operands),
            false => sources.append(&mut operands),
        }
    }
    simple.writes_unbound |= writes && !is_fixed;
    if writes && lists_here {
        sources.push(Operand::new(".", true));
    }
    let sources = sources.into_iter().map(|source| Operand {
        is_source: writes,
        ..source
    });
    simple.operands.extend(sources.chain(files));
    Some(())
}

impl Operand {
    fn new(word: &str, may_be_folder: bool) -> Self {
        Self {
            word: word.to_owned(),
            may_be_folder,
            is_source: false,
        }
    }
}

/// The name of a program without the folder, if that is one of [`FOLDERS`].
fn base(program: &str) -> &str {
    let in_folder = FOLDERS
        .iter()
        .find_map(|folder| program.strip_prefix(folder));
    in_folder.unwrap_or(program)
}

/// Whether lines of a pattern can be simple: it is one itself, or begins with a listed program.
pub(in crate::tools::commands) fn can_be_simple(pattern: &str) -> bool {
    let mut words = pattern
        .split(' ')
        .skip_while(|word| matches!(*word, "sudo" | "-n"));
    let program = base(words.next().unwrap_or_default());
    let is_listed = PROGRAMS.lines().any(|row| {
        row.split('|')
            .next()
            .is_some_and(|names| has(names, program))
    });
    if pattern.contains('*') {
        is_listed
    } else {
        read(pattern).is_some()
    }
}

/// Whether a line is simple and names no file, so that nothing in any folder changes what it does.
pub(in crate::tools::commands) fn ignores_folder(line: &str) -> bool {
    read(line).is_some_and(|simple| simple.operands.iter().all(|one| one.word == "/"))
}

/// The words of each command of a line that is simple but for its programs.
#[cfg(test)]
pub(super) fn words(line: &str) -> Option<Vec<Vec<String>>> {
    let commands = split(line)?.into_iter();
    Some(commands.map(|command| command.words).collect())
}

/// The commands of a line, of words and quoted texts with a space between them.
fn split(line: &str) -> Option<Vec<Command>> {
    let mut commands = Vec::new();
    let mut command = Command::default();
    let mut rest = line.trim_matches(' ');
    while !rest.is_empty() {
        let (token, is_word, behind) = next(rest)?;
        rest = behind.trim_start_matches(' ');
        match token {
            _ if is_word => command.words.push(token.to_owned()),
            "2>&1" | ">/dev/null" | "2>/dev/null" => {}
            ">" | ">>" => {
                let (file, _, behind) = next(rest).filter(|(_, is_word, _)| *is_word)?;
                rest = behind.trim_start_matches(' ');
                command.writes.push(file.to_owned());
            }
            "&&" | "||" | "|" | ";" if !rest.is_empty() => {
                command.is_piped = token == "|";
                commands.push(std::mem::take(&mut command));
            }
            _ => return None,
        }
    }
    commands.push(command);
    let is_whole = commands.iter().all(|command| !command.words.is_empty());
    is_whole.then_some(commands)
}

/// The first word or operator of a line, whether it is a word, and what is behind it.
fn next(line: &str) -> Option<(&str, bool, &str)> {
    let quote = line.chars().next()?;
    let (token, is_word, behind) = match quote {
        '\'' | '"' => {
            let (text, behind) = line[1..].split_once(quote)?;
            if !text.chars().all(is_quotable)
                || !(behind.is_empty() || behind.starts_with([' ', ';']))
            {
                return None;
            }
            (text, true, behind)
        }
        ';' => (&line[..1], false, &line[1..]),
        _ => {
            let end = line.find([' ', ';']).unwrap_or(line.len());
            let (token, behind) = line.split_at(end);
            (token, token.chars().all(is_plain), behind)
        }
    };
    let leads_up = is_word && token.split('/').any(|part| part == "..");
    (!leads_up).then_some((token, is_word, behind))
}

/// Whether shells read a character as itself, wherever it is in a word.
fn is_plain(char: char) -> bool {
    char.is_ascii_alphanumeric() || "_./:@%+,=-".contains(char)
}

/// Whether shells read a character as itself in quotes of both kinds.
fn is_quotable(char: char) -> bool {
    matches!(char, ' '..='~') && !"\\$`\"'!".contains(char)
}

/// The files among the arguments of a program; `None` where it is not known what they do.
fn operands_of(program: &str, arguments: &[String], folder: &Path) -> Option<Vec<Operand>> {
    let program = base(program);
    // Without it, some write what they read from a pipe.
    let lists = |word: &String| word.starts_with('-') && word.contains('l');
    if program == "crontab" && !arguments.iter().any(lists) {
        return None;
    }
    let mut rows = PROGRAMS.lines().map(|row| row.split('|').map(str::trim));
    let mut row = rows.find(|row| row.clone().next().is_some_and(|names| has(names, program)))?;
    let [_, takes, verbs, options, valued] =
        std::array::from_fn(|_| row.next().unwrap_or_default());
    let takes = takes_of(takes);
    let mut words = Vec::new();
    let mut rest = arguments.iter();
    while let Some(word) = rest.next() {
        if !word.starts_with('-') {
            words.push(word.as_str());
        } else if !is_option(options, word) && !is_numbered(options, valued, word) {
            let (name, value) = match word.split_once('=') {
                Some((name, value)) if name.starts_with("--") => (name, value),
                _ => (word.as_str(), rest.next()?.as_str()),
            };
            if !has(valued, name)
                || value.is_empty()
                || value.starts_with(['-', '@', '.'])
                || value.contains('/')
            {
                return None;
            }
        }
    }
    let first = words
        .iter()
        .take(1 + usize::from(verbs.contains('.')))
        .copied();
    let first: Vec<&str> = first.collect();
    let is_verb = verbs.is_empty() || first.is_empty() || has(verbs, &first.join("."));
    let texts = usize::from(matches!(takes, Takes::TextFiles | Takes::TextFolders));
    let (_, files) = words.split_at(texts.min(words.len()));
    let is_fine = match takes {
        Takes::Nothing => words.is_empty(),
        Takes::Names => words.iter().all(|word| {
            !word.contains(['/', '*', '?', '[']) && !word.starts_with('.') && !reaches_many(word)
        }),
        Takes::Packages => words.iter().all(|word| is_package(word)),
        Takes::Urls => words
            .iter()
            .all(|word| word.starts_with("https://") || word.starts_with("http://")),
        _ => true,
    };
    let may_be_folder = matches!(takes, Takes::Folders | Takes::TextFolders);
    let are_files = may_be_folder || matches!(takes, Takes::Files | Takes::TextFiles);
    let is_named = |word: &&&str| are_files && !word.is_empty();
    let operands = files.iter().filter(is_named);
    let operands = operands.map(|word| Operand::new(word, may_be_folder));
    let writes_vital = has(WRITERS, program) && files.iter().any(|word| is_vital(word, folder));
    (is_verb && is_fine && !writes_vital).then(|| operands.collect())
}

/// Whether a name stands for much of the board (systemd's slices and targets), or a program takes it for an option that
/// may name a file (`dig +tls-ca=FILE`).
fn reaches_many(name: &str) -> bool {
    name.ends_with(".slice")
        || name.ends_with(".target")
        || name.starts_with('+') && name.contains('=')
}

/// Programs that write the files that they name.
const WRITERS: &str = "cp mv rm touch tee chmod chown mkdir rmdir";

/// Whether writing to a path does more than changing a file: devices, the kernel's own files, the programs of the system, and
/// its folders themselves. `/dev/null` is none, and `/sys` has what people set (a LED, a fan), but for what makes the board sleep.
fn is_vital(word: &str, folder: &Path) -> bool {
    const VITAL: [&str; 8] = ["dev", "proc", "bin", "sbin", "lib", "lib64", "usr", "boot"];
    let path = folder.join(word);
    if !path.is_absolute() {
        return false;
    }
    let parts = path.components().skip(1);
    let parts: Vec<&str> = parts.filter_map(|part| part.as_os_str().to_str()).collect();
    match parts[..] {
        [] | ["sys", "power", ..] => true,
        // The folders themselves.
        ["etc" | "home" | "root" | "run" | "sys" | "var"] => true,
        ["dev", "null"] => false,
        [first, ..] => VITAL.contains(&first),
    }
}

fn takes_of(name: &str) -> Takes {
    match name {
        "names" => Takes::Names,
        "text" => Takes::Text,
        "packages" => Takes::Packages,
        "urls" => Takes::Urls,
        "files" => Takes::Files,
        "folders" => Takes::Folders,
        "text-files" => Takes::TextFiles,
        "text-folders" => Takes::TextFolders,
        _ => Takes::Nothing,
    }
}

/// Whether a word is one of the options: as it is, letters that are all among those without a dash, or a number.
fn is_option(options: &str, word: &str) -> bool {
    let letters = options
        .split(' ')
        .next()
        .filter(|letters| !letters.starts_with('-'));
    let letters = letters.unwrap_or_default();
    let written = word.strip_prefix('-').unwrap_or_default();
    let is_number = written.bytes().all(|byte| byte.is_ascii_digit());
    let are_letters = written
        .chars()
        .all(|char| char != '0' && letters.contains(char));
    !written.is_empty() && (are_letters || is_number && letters.contains('0'))
        || has(options, word) && word.starts_with('-')
}

/// Whether a word is letters without a value, and then one with a number as its value: `-n20`, `-bn1`.
fn is_numbered(options: &str, valued: &str, word: &str) -> bool {
    let letters = word.trim_end_matches(|char: char| char.is_ascii_digit());
    let Some((others, last)) = letters
        .char_indices()
        .next_back()
        .map(|(at, last)| (&letters[..at], last))
    else {
        return false;
    };
    letters.len() < word.len()
        && has(valued, &format!("-{last}"))
        && (others == "-" || others.len() > 1 && is_option(options, others))
}

/// Whether apt reads a word as the name of a package, and no file.
fn is_package(word: &str) -> bool {
    let is_file = [".deb", ".changes", ".dsc"]
        .iter()
        .any(|ending| word.ends_with(ending));
    let is_name = |char: char| char.is_ascii_alphanumeric() || "+-.:".contains(char);
    word.starts_with(|char: char| char.is_ascii_alphanumeric())
        && word.chars().all(is_name)
        && !is_file
}

fn has(list: &str, word: &str) -> bool {
    !word.is_empty() && list.split(' ').any(|listed| listed == word)
}
