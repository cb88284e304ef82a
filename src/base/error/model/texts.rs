//! What is said of a failed model, in each language.

use crate::base::language::texts;

texts! {
    /// Between what happened and what the other side said.
    pub(super) fn colon() { ": ", "：" }
    pub(super) fn no_key(provider) { "{provider} has no API key", "{provider} 没有 API 密钥" }
    pub(super) fn key_rejected(provider) { "{provider} rejected the API key", "{provider} 拒绝了 API 密钥" }
    pub(super) fn not_signed_in(provider) { "Not signed in to {provider}", "尚未登录 {provider}" }
    pub(super) fn sign_in_refused(provider) { "{provider} refuses the sign-in", "{provider} 拒绝了登录" }
    pub(super) fn no_quota(provider) {
        "The account at {provider} has no credit or quota left",
        "{provider} 账户的余额或额度已用完",
    }
    pub(super) fn rate_limit(provider) { "Rate limit reached at {provider}", "{provider} 的请求频率已达上限" }
    pub(super) fn busy(provider) { "{provider} is not responding properly", "{provider} 响应异常" }
    pub(super) fn busy_with(provider, status) {
        "{provider} is not responding properly ({status})",
        "{provider} 响应异常（{status}）",
    }
    pub(super) fn offers_nothing(provider) { "{provider} offers no model", "{provider} 没有提供任何模型" }
    pub(super) fn no_such_model(provider, model) {
        "{provider} has no model named {model}",
        "{provider} 没有名为 {model} 的模型",
    }
    pub(super) fn request_rejected(provider, model) {
        "{provider} rejected the request for {model}",
        "{provider} 拒绝了对 {model} 的请求",
    }
    pub(super) fn filtered(provider) {
        "The content filter of {provider} refused this",
        "{provider} 的内容过滤器拒绝了此内容",
    }
    pub(super) fn too_long(model) {
        "The conversation is too long for {model}",
        "对话超出了 {model} 的长度限制",
    }
    pub(super) fn unreachable(provider) { "Cannot reach {provider}", "无法连接 {provider}" }
    pub(super) fn timed_out(provider) { "{provider} did not answer in time", "{provider} 没有及时回答" }
    pub(super) fn cut(provider) {
        "The connection to {provider} was lost mid-answer",
        "回答到一半时与 {provider} 的连接中断",
    }
    pub(super) fn garbage(provider) { "{provider} sent an unexpected response", "{provider} 返回了意外的响应" }

    pub(super) fn set_key(variable, provider) {
        "Set {variable} or providers.{provider}.apiKey",
        "请设置 {variable} 或 providers.{provider}.apiKey",
    }
    pub(super) fn check_key(variable, provider) {
        "Check {variable} or providers.{provider}.apiKey",
        "请检查 {variable} 或 providers.{provider}.apiKey",
    }
    pub(super) fn sign_in(provider) {
        "Sign in on the board: peacrab login {provider}",
        "请在开发板上登录：peacrab login {provider}",
    }
    pub(super) fn sign_in_again(provider) {
        "Sign in again on the board: peacrab login {provider}",
        "请在开发板上重新登录：peacrab login {provider}",
    }
    pub(super) fn wait_for_quota() {
        "Wait until then, or choose another model (agents.defaults.model)",
        "请等到那时，或选择其他模型（agents.defaults.model）",
    }
    pub(super) fn top_up() {
        "Top it up, or choose another model (agents.defaults.model)",
        "请充值，或选择其他模型（agents.defaults.model）",
    }
    pub(super) fn too_large_for_rate(provider) {
        "Your account's rate limit allows no request of this size: raise it at {provider}, lower \
         agents.defaults.contextWindowTokens, or use another model (agents.defaults.model)",
        "账户的频率限制不允许这么大的请求：请在 {provider} 提高限额，\
         调低 agents.defaults.contextWindowTokens，或使用其他模型（agents.defaults.model）",
    }
    pub(super) fn wait_or_fall_back() {
        "Wait a moment, or add other models to agents.defaults.fallbackModels",
        "请稍等，或在 agents.defaults.fallbackModels 中添加其他模型",
    }
    pub(super) fn later_or_fall_back() {
        "Try again later, or add other models to agents.defaults.fallbackModels",
        "请稍后再试，或在 agents.defaults.fallbackModels 中添加其他模型",
    }
    pub(super) fn install_one() { "Install or load one there", "请在该服务器上安装或加载模型" }
    pub(super) fn check_model(provider) {
        "Check agents.defaults.model, and providers.{provider}.apiBase if you set it",
        "请检查 agents.defaults.model，以及 providers.{provider}.apiBase（如果设置过）",
    }
    pub(super) fn rephrase() { "Rephrase it, or use another model", "请换个说法，或使用其他模型" }
    pub(super) fn lower_bound_or_new() {
        "Lower agents.defaults.maxTokens, start a new one (/new), or use a model with a larger context window",
        "请调低 agents.defaults.maxTokens，开始新对话（/new），或使用上下文窗口更大的模型",
    }
    pub(super) fn begin_new() {
        "Start a new one (/new), or use a model with a larger context window",
        "请开始新对话（/new），或使用上下文窗口更大的模型",
    }
    pub(super) fn check_address(provider) {
        "If you set providers.{provider}.apiBase or proxy, check them too",
        "如果设置过 providers.{provider}.apiBase 或 proxy，也请检查",
    }
    pub(super) fn raise_time(provider) {
        "Try again, or raise providers.{provider}.timeoutSecs or streamIdleTimeoutSecs",
        "请重试，或调高 providers.{provider}.timeoutSecs 或 streamIdleTimeoutSecs",
    }
    pub(super) fn try_again() { "Please try again", "请重试" }
    pub(super) fn check_base(provider) {
        "Check providers.{provider}.apiBase, and whether a proxy is in the way",
        "请检查 providers.{provider}.apiBase，以及是否有代理在中间",
    }
    pub(super) fn use_chat(provider) {
        "It lacks parts of OpenAI's Responses API: set providers.{provider}.api to chat",
        "它不完全支持 OpenAI 的 Responses API：请将 providers.{provider}.api 设为 chat",
    }
    pub(super) fn use_responses(provider) {
        "It needs OpenAI's other API: set providers.{provider}.api to responses",
        "它需要 OpenAI 的另一种 API：请将 providers.{provider}.api 设为 responses",
    }
    pub(super) fn allow_model() {
        "Allow the model in the settings of your project there, or use another one (agents.defaults.model)",
        "请在该平台的项目设置中允许此模型，或使用其他模型（agents.defaults.model）",
    }
    pub(super) fn not_in_country(provider) {
        "It does not serve your country: use another provider, or a proxy (providers.{provider}.proxy)",
        "它不向你所在的国家或地区提供服务：请使用其他服务商，或代理（providers.{provider}.proxy）",
    }
    pub(super) fn check_temperature() {
        "Check agents.defaults.temperature",
        "请检查 agents.defaults.temperature",
    }
    pub(super) fn other_effort() {
        "Use another level of agents.defaults.reasoningEffort or /think",
        "请使用 agents.defaults.reasoningEffort 或 /think 的其他级别",
    }
    pub(super) fn no_images(provider) {
        "Use a model that understands images, or set providers.{provider}.images to false",
        "请使用能看图片的模型，或将 providers.{provider}.images 设为 false",
    }
    pub(super) fn fewer_tools() {
        "Use fewer tools: list those you need in tools.mcpServers.NAME.enabledTools, or turn a server off \
         (tools.mcpServers.NAME.enabled)",
        "请减少工具：在 tools.mcpServers.NAME.enabledTools 中只列出需要的工具，或关闭某个服务器（tools.mcpServers.NAME.enabled）",
    }
    pub(super) fn no_tool_results(provider) {
        "The server does not accept results of tools: set providers.{provider}.api to another API, or use another model",
        "服务器不接受工具的结果：请将 providers.{provider}.api 设为其他 API，或使用其他模型",
    }
    pub(super) fn no_tools() {
        "Use a model that can call tools (agents.defaults.model)",
        "请使用能调用工具的模型（agents.defaults.model）",
    }
    pub(super) fn lower_bound() { "Lower agents.defaults.maxTokens", "请调低 agents.defaults.maxTokens" }
    pub(super) fn check_extra(provider) {
        "Check providers.{provider}.extraBody if you set it, or use another model",
        "如果设置过 providers.{provider}.extraBody，请检查，或使用其他模型",
    }
    pub(super) fn other_model() {
        "Use another model (agents.defaults.model)",
        "请使用其他模型（agents.defaults.model）",
    }
    /// `name` of the tool, and how `enabledTools` calls it.
    pub(super) fn schema_refused(name, own) {
        "The server refuses the parameters of {name}: leave {own} out of tools.mcpServers.NAME.enabledTools, or \
         turn that MCP server off (tools.mcpServers.NAME.enabled)",
        "服务器拒绝了 {name} 的参数：请在 tools.mcpServers.NAME.enabledTools 中去掉 {own}，\
         或关闭该 MCP 服务器（tools.mcpServers.NAME.enabled）",
    }
    pub(super) fn of_mcp(tool) { "{tool} of an MCP server", "MCP 服务器的 {tool}" }

    /// To people who cannot change the settings.
    pub(super) fn later() {
        "I cannot answer right now. Please try again in a few minutes; if it stays like this, tell the owner.",
        "我现在无法回答。请过几分钟再试；如果一直这样，请告诉主人。",
    }
    pub(super) fn set_up_wrong() {
        "I cannot answer: something in my setup needs the owner. Please tell the owner.",
        "我无法回答：我的设置需要主人处理。请告诉主人。",
    }
    pub(super) fn rephrase_it() {
        "The model's content filter refused this. Please rephrase it.",
        "模型的内容过滤器拒绝了此内容。请换个说法。",
    }
    pub(super) fn begin_new_one() {
        "This conversation has become too long. Please start a new one with /new.",
        "对话太长了。请用 /new 开始新对话。",
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_text_is_there_in_each_language() {
        crate::base::language::check_table(super::TABLE);
    }
}
