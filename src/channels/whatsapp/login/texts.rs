//! What a login says.

use crate::base::language::texts;

texts! {
    /// Before the code has come.
    pub(super) fn waiting() {
        "Connected to the WhatsApp bridge. Waiting for a QR code (it comes every 20 seconds while the bridge is not linked) …\n",
        "已连接到 WhatsApp 桥接程序。正在等待二维码（桥接程序未关联账号时每 20 秒更新一次）……\n",
    }
    /// Below the code.
    pub(super) fn scan() {
        "On your phone, open WhatsApp, go to Settings > Linked devices > Link a device, and scan this code.\n",
        "在手机上打开 WhatsApp，进入“设置 > 已关联的设备 > 关联新设备”，然后扫描此二维码。\n",
    }
    /// The bridge is linked.
    pub(super) fn linked() {
        "WhatsApp is linked.\n",
        "WhatsApp 已关联。\n",
    }
    /// No code and no confirmation came in time. The bridge does not tell its state to those who ask.
    pub(super) fn no_code() {
        "The WhatsApp bridge has sent no QR code. It sends none while it is linked to an account: try `peacrab channels test whatsapp`. To link another account, stop the bridge, delete its folder whatsapp-auth, start it again and repeat the login",
        "WhatsApp 桥接程序没有发送二维码。已关联账号时它不会发送：请运行 `peacrab channels test whatsapp`。如需关联其他账号，请停止桥接程序，删除其 whatsapp-auth 文件夹，重新启动后再次登录",
    }
    /// The code was not scanned in time.
    pub(super) fn not_scanned() {
        "The QR code was not scanned in time. Run the login again",
        "二维码未及时扫描。请重新登录",
    }
    /// What to do to get the settings.
    pub(super) fn too_long() {
        "The WhatsApp bridge sent a QR code that is too long to draw. It also prints the code in its own terminal",
        "WhatsApp 桥接程序发送的二维码过长，无法绘制。它也会在自己的终端中显示该二维码",
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_text_is_there_in_each_language() {
        crate::base::language::check_table(super::TABLE);
    }
}
