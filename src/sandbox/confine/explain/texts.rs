//! Why the sandbox is the reason, in each language. The model reads the English ones.

use crate::base::language::texts;

texts! {
    /// Why a command failed or its answer is odd: these are clauses without a full stop.
    pub(super) fn no_privileges() {
        "commands cannot gain privileges in the sandbox",
        "沙箱中的命令无法提升权限",
    }
    pub(super) fn no_listening() {
        "commands cannot listen on the network in the sandbox",
        "沙箱中的命令无法监听网络端口",
    }
    pub(super) fn no_services() {
        "the sandbox has no access to the system's services and logs",
        "沙箱无法访问系统的服务和日志",
    }
    pub(super) fn no_changes() {
        "the system is read-only in the sandbox",
        "系统在沙箱中是只读的",
    }
    pub(super) fn no_rights() {
        "the sandbox does not have the rights for this",
        "沙箱没有执行此操作的权限",
    }
    pub(super) fn no_ssh() {
        "the sandbox does not have your SSH keys and settings",
        "沙箱中没有你的 SSH 密钥和设置",
    }
    pub(super) fn no_devices() {
        "the sandbox does not show the board's devices",
        "沙箱不显示开发板的设备",
    }
    pub(super) fn no_tracing() {
        "processes cannot be traced in the sandbox",
        "沙箱中无法跟踪进程",
    }
    pub(super) fn no_terminals() {
        "the sandbox has no terminals, because this kernel has no namespaces for commands",
        "沙箱没有终端，因为此内核不为命令提供命名空间",
    }
    pub(super) fn no_shared_memory() {
        "the sandbox has no shared memory, because this kernel has no namespaces for commands",
        "沙箱没有共享内存，因为此内核不为命令提供命名空间",
    }
    pub(super) fn no_special_modes() {
        "set-user-ID and set-group-ID, and modes outside the workspace, cannot be set in the sandbox",
        "沙箱中无法设置 set-user-ID 和 set-group-ID，也无法更改工作区以外的权限",
    }
    pub(super) fn own_processes() {
        "the sandbox shows only its own processes",
        "沙箱只显示自己的进程",
    }
    pub(super) fn own_mounts() {
        "the sandbox has mounts of its own",
        "沙箱有自己的挂载点",
    }
    pub(super) fn no_logins() {
        "the sandbox does not show who is logged in",
        "沙箱不显示谁已登录",
    }
    pub(super) fn no_crontab() {
        "the sandbox does not show the crontab",
        "沙箱不显示 crontab",
    }
    /// A file or folder that a person's command did not find.
    pub(super) fn not_shown(path) {
        "the sandbox does not show {path}",
        "沙箱不显示 {path}",
    }
    /// A program or file; `folders` is one folder or two, see `both`.
    pub(super) fn file_is_hidden(name, folder, folders) {
        "{name} is in {folder}, which the sandbox hides: add {folders} to tools.readOnlyPaths",
        "{name} 位于 {folder}，沙箱隐藏了该文件夹：请把 {folders} 加入 tools.readOnlyPaths",
    }
    /// The same for a folder.
    pub(super) fn folder_is_hidden(name, folders) {
        "{name} is a folder, which the sandbox hides: add {folders} to tools.readOnlyPaths",
        "{name} 是一个文件夹，沙箱隐藏了它：请把 {folders} 加入 tools.readOnlyPaths",
    }
    /// One of these two for a program that commands do not look for in its folder.
    pub(super) fn and_to_path(advice, folder) {
        "{advice} and {folder} to tools.exec.pathAppend",
        "{advice}，并把 {folder} 加入 tools.exec.pathAppend",
    }
    pub(super) fn both(one, other) {
        "{one} and {other}",
        "{one} 和 {other}",
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_text_is_there_in_each_language() {
        crate::base::language::check_table(super::TABLE);
    }
}
