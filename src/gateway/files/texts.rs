//! What `/get`, `/put` and `/ls` say, in each language.

use crate::base::language::texts;

texts! {
    pub(super) fn get_usage() {
        "Add a file, a folder or a pattern, for example `/get notes.txt` or `/get logs/*.log`",
        "请加上文件、文件夹或通配模式，例如 `/get notes.txt` 或 `/get logs/*.log`",
    }
    /// `path` and `command` are inline code.
    pub(super) fn get_outside(path, command) {
        "{path} is outside the workspace. {command} sends it after asking you",
        "{path} 位于工作区之外。{command} 会在征求你的同意后发送它",
    }
    pub(super) fn get_outside_usage() {
        "Give the whole path of a file, for example `/get! /etc/hosts`",
        "请给出文件的完整路径，例如 `/get! /etc/hosts`",
    }
    /// `path` is inline code.
    pub(super) fn get_outside_no_file(path) {
        "{path} is not a regular file. `/get!` sends one file from outside the workspace",
        "{path} 不是普通文件。`/get!` 发送工作区之外的一个文件",
    }
    /// `path` is inline code.
    pub(super) fn get_outside_missing(path) { "{path} does not exist", "{path} 不存在" }
    pub(super) fn put_usage() {
        "Send a file with the caption `/put PATH`, for example `/put notes.txt`",
        "发送文件时附上说明 `/put 路径`，例如 `/put notes.txt`",
    }
    /// `path` is inline code.
    pub(super) fn put_exists(path) {
        "{path} exists already. To replace it, send the file with the caption `/put! PATH`",
        "{path} 已存在。如需替换，请在发送文件时附上说明 `/put! 路径`",
    }
    /// `path` and `hash` are inline code.
    pub(super) fn stored(path, bytes, hash) {
        "Stored {path} ({bytes}), sha256 {hash}",
        "已保存 {path}（{bytes}），sha256 {hash}",
    }
    /// `pattern` is inline code.
    pub(super) fn no_match(pattern) { "No file matches {pattern}", "没有与 {pattern} 匹配的文件" }
    pub(super) fn too_many(count, most) {
        "{count} files match, and at most {most} are sent at a time. Use /get with the folder instead",
        "匹配到 {count} 个文件，一次最多发送 {most} 个。请改用 /get 加文件夹",
    }
    /// `name` is inline code.
    pub(super) fn one_file(name, bytes) { "{name} ({bytes})", "文件 {name}（{bytes}）" }
    /// `name` is inline code.
    pub(super) fn too_large(name, bytes, most) {
        "{name} has {bytes}, and at most {most} can be sent here",
        "{name} 大小为 {bytes}，此处最多可发送 {most}",
    }
    /// `path` is inline code.
    pub(super) fn put_ours(path) {
        "{path} is in the folder of what is about to be sent. Choose another one",
        "{path} 位于待发送文件的文件夹中，请选择其他位置",
    }
    /// `name` and `hash` are inline code.
    pub(super) fn packed(name, bytes, hash) {
        "{name} ({bytes}), sha256 {hash}",
        "文件 {name}（{bytes}），sha256 {hash}",
    }
    pub(super) fn with_files(count) { "Files in it: {count}", "包含文件数：{count}" }
    pub(super) fn left_out(count) {
        "Left out, because they are links or cannot be read: {count}",
        "因是链接或无法读取而略过：{count}",
    }
    /// `command` is inline code.
    pub(super) fn join(count, command) {
        "It comes in {count} parts. To join them: {command}",
        "共 {count} 个分卷。合并命令：{command}",
    }
    pub(super) fn packing(bytes) { "Packing… {bytes}", "正在打包…… {bytes}" }
    pub(super) fn empty_folder() { "The folder is empty.", "文件夹为空。" }
    pub(super) fn more_names(count) { "… and {count} more", "…… 另有 {count} 项" }
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_text_is_there_in_each_language() {
        crate::base::language::check_table(super::TABLE);
    }
}
