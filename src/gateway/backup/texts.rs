//! Texts about automatic backups, in each language.

use crate::base::language::texts;

texts! {
    /// Below the file. `restore` is a command.
    pub fn sent(restore) {
        "An automatic backup. To bring it back, stop the bot and run {restore}.",
        "自动备份。恢复方法：先停止机器人，然后运行 {restore}。",
    }
    pub fn failed(error) {
        "⚠ The automatic backup failed: {error}",
        "⚠ 自动备份失败：{error}",
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_text_is_written_in_each_language() {
        crate::base::language::check_table(super::TABLE);
    }
}
