//! The table of attempts: a path, what is tried with it, and how that has to end.

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Operation {
    Read,
    Write,
    Append,
    Edit,
    Remove,
    List,
}

pub(super) use Operation::{Append, Edit, List, Read as Look, Remove, Write};

pub(super) const ALL: &[Operation] = &[Look, Write, Append, Edit, Remove, List];
pub(super) const LOOKS: &[Operation] = &[Look, List];
/// For paths that name a file, which cannot be listed whoever it belongs to.
pub(super) const ON_FILES: &[Operation] = &[Look, Write, Append, Edit, Remove];
pub(super) const CHANGES: &[Operation] = &[Write, Append, Edit, Remove];
pub(super) const CREATES: &[Operation] = &[Write, Append];

/// For names that do not exist, and that may be made.
pub(super) const NO_CREATES: &[Operation] = &[Look, Edit, Remove, List];

/// How an attempt has to end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum End {
    /// The one text for whatever leads out.
    Outside,
    /// It belongs to the program.
    Hidden,
    /// It may only be read.
    ReadOnly,
    /// It is no regular file.
    Special,
    /// An ordinary error.
    Plain,
}

pub(super) use End::{Hidden, Outside, Plain, ReadOnly, Special};

/// `@` stands for the folder that holds the whole scene. What belongs to the machine is only looked
/// at: the tests run as root, too, and must do no harm when the sandbox is broken.
pub(super) const ATTEMPTS: &[(&str, &[Operation], End)] = &[
    // Dot-dot.
    ("..", ALL, Outside),
    ("../outside", ALL, Outside),
    ("../outside/secret.txt", ALL, Outside),
    ("../outside/new.txt", ALL, Outside),
    ("./../outside/secret.txt", ALL, Outside),
    ("a/../../outside/secret.txt", ALL, Outside),
    ("a/b/../../../outside/secret.txt", ALL, Outside),
    ("a//..//..//outside//secret.txt", ALL, Outside),
    ("a/./.././../outside/secret.txt", ALL, Outside),
    ("../w/file.txt", ALL, Outside),
    ("../../../../../../../../etc/passwd", LOOKS, Outside),
    ("a/b/../../..", ALL, Outside),
    ("file.txt/../../outside/secret.txt", ALL, Plain),
    ("missing/../../outside/secret.txt", NO_CREATES, Plain),
    ("missing/../../outside/new.txt", CREATES, Outside),
    // Absolute paths.
    ("/", LOOKS, Outside),
    ("/etc/passwd", LOOKS, Outside),
    ("//etc/passwd", LOOKS, Outside),
    ("@/outside/new/deep/new.txt", ALL, Outside),
    ("@", ALL, Outside),
    ("@/outside/secret.txt", ALL, Outside),
    ("@/w/../outside/secret.txt", ALL, Outside),
    ("@/./w/./../outside/secret.txt", ALL, Outside),
    ("@/w2/secret.txt", ALL, Outside),
    ("@/docs/../outside/secret.txt", &[Look, List], Outside),
    // Links: to files and folders, relative and absolute, dangling, chained, in circles.
    ("link-file", ALL, Outside),
    ("link-file-absolute", ALL, Outside),
    ("link-folder", ALL, Outside),
    ("link-folder/", ALL, Outside),
    ("link-folder/secret.txt", ALL, Outside),
    ("link-folder/new.txt", ALL, Outside),
    ("link-folder/new/deep/new.txt", ALL, Outside),
    ("link-folder/../outside/secret.txt", ALL, Outside),
    ("link-folder-absolute/secret.txt", ALL, Outside),
    ("link-dangling", ALL, Outside),
    ("link-dangling-absolute", ALL, Outside),
    ("link-inside-absolute", ALL, Outside),
    ("link-up", ALL, Outside),
    ("link-up/outside/secret.txt", ALL, Outside),
    ("a/link-deep/secret.txt", ALL, Outside),
    ("link-top/etc/passwd", LOOKS, Outside),
    ("link-top@/outside/secret.txt", ALL, Outside),
    ("link-magic", ALL, Outside),
    ("link-magic/etc/passwd", LOOKS, Outside),
    ("link-magic@/outside/secret.txt", ALL, Outside),
    ("chain-1", ALL, Outside),
    ("chain-1/secret.txt", ALL, Outside),
    ("circle-1", ALL, Outside),
    ("circle-1/x", ALL, Outside),
    ("circle-self", ALL, Outside),
    ("many-0", ALL, Outside),
    ("many-0/x", ALL, Outside),
    // Other names of files outside.
    ("hard", ON_FILES, Outside),
    ("a/hard", ON_FILES, Outside),
    ("link-hard", ON_FILES, Outside),
    ("hard-config", ON_FILES, Outside),
    // The kernel's views, even where a folder of theirs is allowed.
    ("/proc/self/root/etc/passwd", LOOKS, Outside),
    ("/proc/self/root@/outside/secret.txt", ALL, Outside),
    ("/proc/thread-self/root@/outside/new.txt", ALL, Outside),
    ("/proc/self/cwd", LOOKS, Outside),
    ("/proc/self/environ", LOOKS, Outside),
    ("/proc/self/fd/0", LOOKS, Outside),
    ("/proc/self/exe", LOOKS, Outside),
    ("/proc/version", LOOKS, Outside),
    ("/proc", LOOKS, Outside),
    ("/sys/kernel", LOOKS, Outside),
    // What is no file.
    ("fifo", ON_FILES, Special),
    ("link-fifo", ON_FILES, Special),
    ("a/../fifo", ON_FILES, Special),
    ("socket", ON_FILES, Special),
    ("fifo", &[List], Plain),
    ("socket/x", ALL, Plain),
    // Names.
    ("\0", ALL, Outside),
    ("file.txt\0", ALL, Outside),
    ("file.txt\0/../../outside/secret.txt", ALL, Outside),
    ("../outside/secret.txt\0.md", ALL, Outside),
    // The program's own.
    (".peacrab", ALL, Hidden),
    (".peacrab/", ALL, Hidden),
    (".peacrab/config.json", ALL, Hidden),
    (".peacrab/new.json", ALL, Hidden),
    (".peacrab/new/deep/new.json", CREATES, Hidden),
    (".peacrab/sessions", ALL, Hidden),
    (".peacrab/sessions/a.jsonl", ALL, Hidden),
    ("a/../.peacrab/config.json", ALL, Hidden),
    ("@/w/.peacrab/config.json", ALL, Hidden),
    ("link-home", ALL, Hidden),
    ("link-home/config.json", ALL, Hidden),
    ("link-config", ALL, Hidden),
    ("a/link-session", ALL, Hidden),
    // What may be read only.
    ("@/docs/guide.txt", CHANGES, ReadOnly),
    ("@/docs/new.txt", CHANGES, ReadOnly),
    ("@/docs/new/deep/new.txt", CREATES, ReadOnly),
    ("AGENTS.md", CHANGES, ReadOnly),
    ("link-agents", CHANGES, ReadOnly),
    ("a/../AGENTS.md", CHANGES, ReadOnly),
    ("guarded/inner.txt", CHANGES, ReadOnly),
    ("guarded/deep/inner.txt", CHANGES, ReadOnly),
    ("guarded/new.txt", CREATES, ReadOnly),
    ("guarded/new/deep/new.txt", CREATES, ReadOnly),
    ("link-guarded/inner.txt", CHANGES, ReadOnly),
    ("later.txt", CREATES, ReadOnly),
    ("later/deep/new.txt", CREATES, ReadOnly),
    ("inside-docs/guide.txt", CHANGES, ReadOnly),
    ("a/../inside-docs/guide.txt", CHANGES, ReadOnly),
    // The same places with other spellings.
    ("link-folder//secret.txt", ALL, Outside),
    ("link-folder/./secret.txt", ALL, Outside),
    ("link-folder/../w/file.txt", ALL, Outside),
    ("link-file/", ALL, Outside),
    ("link-up/w/file.txt", ALL, Outside),
    ("a/b/../../link-up/outside/secret.txt", ALL, Outside),
    ("link-home/../link-folder/secret.txt", ALL, Outside),
    ("link-top/proc/self/root@/outside/secret.txt", ALL, Outside),
    ("@//w//..//outside//secret.txt", ALL, Outside),
    ("@/w/a/../../outside/secret.txt", ALL, Outside),
    ("@/docs/../w/.peacrab/config.json", LOOKS, Outside),
    ("@/docs/../../../..@/outside/secret.txt", LOOKS, Outside),
    ("many-0/../file.txt", ALL, Outside),
    ("circle-1/../../outside/secret.txt", ALL, Outside),
    ("chain-1/../outside/secret.txt", ALL, Outside),
    ("./hard", ON_FILES, Outside),
    ("hard/", ON_FILES, Outside),
    ("a/b/../hard", ON_FILES, Outside),
    ("link-hard/", ON_FILES, Outside),
    ("/proc/self/fd/../root@/outside/secret.txt", LOOKS, Outside),
    ("/proc/self/cwd/../outside/secret.txt", LOOKS, Outside),
    ("/proc/self/task/../environ", LOOKS, Outside),
    ("/proc/self/ns/mnt", LOOKS, Outside),
    ("/proc/self/map_files", LOOKS, Outside),
    ("/proc/mounts", LOOKS, Outside),
    ("/dev/stdin", LOOKS, Outside),
    ("/dev/fd/0", LOOKS, Outside),
    ("/sys/../etc/passwd", LOOKS, Outside),
    (".peacrab//config.json", ALL, Hidden),
    ("./.peacrab/./config.json", ALL, Hidden),
    (".peacrab/../.peacrab/config.json", ALL, Hidden),
    ("a/b/../../.peacrab/sessions/a.jsonl", ALL, Hidden),
    ("link-home/", ALL, Hidden),
    ("link-home/../.peacrab/config.json", ALL, Hidden),
    ("link-home/sessions/../config.json", ALL, Hidden),
    ("link-home/new/deep/new.json", CREATES, Hidden),
    (".peacrab/sessions/../../AGENTS.md", CHANGES, ReadOnly),
    ("./AGENTS.md", CHANGES, ReadOnly),
    ("AGENTS.md/", CHANGES, ReadOnly),
    ("guarded/../guarded//inner.txt", CHANGES, ReadOnly),
    ("link-guarded/deep/../inner.txt", CHANGES, ReadOnly),
    ("later", CREATES, ReadOnly),
    ("inside-docs/new.txt", CREATES, ReadOnly),
    ("@/w/inside-docs/../AGENTS.md", CHANGES, ReadOnly),
    ("./fifo", ON_FILES, Special),
    ("fifo/", ON_FILES, Special),
    ("a/../socket", ON_FILES, Special),
    ("link-fifo/x", ALL, Plain),
    // What only looks like the way to something is another name.
    (".PEACRAB/config.json", NO_CREATES, Plain),
    (".peacrab\u{200b}/config.json", NO_CREATES, Plain),
    (".peacrab /config.json", NO_CREATES, Plain),
    ("..\\outside\\secret.txt", NO_CREATES, Plain),
    ("\u{ff0e}\u{ff0e}/outside/secret.txt", NO_CREATES, Plain),
    ("%2e%2e/outside/secret.txt", NO_CREATES, Plain),
    ("~/outside/secret.txt", NO_CREATES, Plain),
    ("$HOME/secret.txt", NO_CREATES, Plain),
    ("file:@/outside/secret.txt", NO_CREATES, Plain),
];
