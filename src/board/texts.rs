//! What people read of the board, in each language.

use crate::base::language::texts;

texts! {
    pub fn unknown() { "not available", "未知" }
    pub fn uptime_unknown() { "uptime unknown", "运行时间未知" }
    /// Between the facts on a line.
    pub fn pause() { ", ", "，" }
    pub fn uptime(span) { "up {span}", "已运行 {span}" }
    pub fn colon() { ": ", "：" }

    pub fn temperature() { "Temperature", "温度" }
    pub fn throttling() { "Throttling", "降频" }
    pub fn load() { "Load", "负载" }
    pub fn memory() { "Memory", "内存" }
    pub fn memory_used() { "Memory used", "已用内存" }
    pub fn disk() { "Disk", "磁盘" }
    pub fn disk_used() { "Disk used", "已用磁盘" }
    pub fn network(interface) { "Network `{interface}`", "网络 `{interface}`" }
    pub fn traffic() { "Network in and out", "网络收发" }

    /// What is watched for yes or no.
    pub fn well() { "ok", "正常" }
    pub fn alarm() { "alarm", "告警" }
    /// The same of a command whose success is waited for.
    pub fn succeeds() { "succeeds", "成功" }
    pub fn fails() { "fails", "失败" }

    /// Below the lines of a history that covers a time.
    pub fn lines_show(span) {
        "The small lines show the last {span}.",
        "小图显示最近 {span} 的变化。",
    }
    pub fn range_always(value) { "always {value}", "一直 {value}" }
    pub fn range(least, most) { "{least} to {most}", "{least} 至 {most}" }

    pub fn one_sensor(degrees, sensor) { "{degrees} °C (`{sensor}`)", "{degrees} °C（传感器 `{sensor}`）" }
    pub fn hottest_sensor(degrees, sensor, count) {
        "{degrees} °C (`{sensor}`, the hottest of {count})",
        "{degrees} °C（`{sensor}`，{count} 个传感器中最热的）",
    }

    pub fn under_voltage() { "under-voltage", "电压不足" }
    pub fn frequency_capped() { "frequency capped", "频率受限" }
    pub fn throttled() { "throttled", "已降频" }
    pub fn soft_limit() { "soft temperature limit", "温度软限制" }
    pub fn none() { "none", "无" }
    pub fn throttled_earlier(now, earlier) { "{now}; earlier: {earlier}", "{now}；此前：{earlier}" }
    pub fn comma() { ", ", "、" }

    pub fn averages(one, five, fifteen) {
        "{one}, {five}, {fifteen} over 1, 5, 15 minutes",
        "1、5、15 分钟平均：{one}、{five}、{fifteen}",
    }
    pub fn one_processor() { ", 1 processor", "，1 个处理器" }
    pub fn processors(count) { ", {count} processors", "，{count} 个处理器" }

    pub fn free_of(free, total) { "{free} free of {total}", "共 {total}，可用 {free}" }
    pub fn used(percent) { " ({percent} % used)", "（已用 {percent} %）" }
    pub fn swap(used, total) { ", swap {used} of {total} used", "，交换区已用 {used}/{total}" }
    pub fn read_only() {
        ", **read-only: nothing can be written**",
        "，**只读：无法写入**",
    }

    pub fn state_up() { "up", "已连接" }
    pub fn state_down() { "down", "未连接" }
    pub fn state_unknown() { "state unknown", "状态未知" }
    pub fn signal(strength) { ", signal {strength} dBm", "，信号 {strength} dBm" }
    pub fn received(amount) { ", {amount} in", "，接收 {amount}" }
    pub fn sent(amount) { ", {amount} out", "，发送 {amount}" }

    pub fn bytes(count) { "{count} bytes", "{count} 字节" }
    pub fn minutes(minutes) { "{minutes} min", "{minutes} 分钟" }
    pub fn hours(hours) { "{hours} h", "{hours} 小时" }
    pub fn hours_minutes(hours, minutes) { "{hours} h {minutes} min", "{hours} 小时 {minutes} 分钟" }
    pub fn days_hours(days, hours) { "{days} d {hours} h", "{days} 天 {hours} 小时" }
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_text_is_there_in_each_language() {
        crate::base::language::check_table(super::TABLE);
    }
}
