// What the service says in sentences that only Chinese readers need in other words: why another
// knowledge base, a model for questions or a setting is refused, and why indexing waits.
//
// What to do stands in the same sentence and takes the place of the service's remedy. `{}` stands
// for what differs, `{1}` and `{2}` for where it goes. `said.test.ts` reads the service's source
// and fails on a sentence that is missing here.

export const SAID_ZH: Readonly<Record<string, string>> = {
  // why indexing waits
  "The vault {} is empty, though it had notes.":
    "仓库 {1} 是空的，而之前有笔记。如果磁盘没有挂载，请挂载；如果是您清空的，请重建索引。",
  "The vault {} cannot be read.": "无法读取仓库 {1}。请检查文件夹的权限；索引会保留并等待。",
  "The vault {} is not there.": "找不到仓库 {1}。请重新连接磁盘或检查路径；索引会保留并等待。",
  "The index in {} cannot be written ({}).":
    "无法写入 {1} 中的索引（{2}）。请腾出磁盘空间或检查文件夹的权限；什么都没有丢失。",
  "The index in {} cannot be opened ({}).":
    "无法打开 {1} 中的索引（{2}）。请检查权限和磁盘空间，或用 sidelight index VAULT --rebuild 重新生成。",
  "The index in {} lies on a network drive, which LanceDB cannot open.":
    "{1} 中的索引位于网络驱动器上，LanceDB 无法打开。请去掉 --data-dir，或用它指定本机的文件夹。",
  // why a note cannot be read now
  "cannot be read now (its drive is not mounted{}":
    "它所在的磁盘没有挂载；已索引的内容会保留，挂载后自动继续。如果不再使用，请删除这个空文件夹。",
  "cannot be read now ({}); what was indexed of it is kept; it is tried again":
    "现在无法读取（{1}）；已索引的内容会保留，稍后自动重试",
  "cannot be read now ({}); it is tried again": "现在无法读取（{1}），稍后自动重试",
  "This vault has no index yet.": "这个仓库还没有索引。请先运行 sidelight index VAULT。",
  "Another process is already writing this vault's index.":
    "另一个进程正在写入这个仓库的索引。可能已有服务在运行：请使用它，或先停止它。",
  "The data folder {} cannot be used ({}).":
    "无法使用数据文件夹 {1}（{2}）。请检查它的权限和磁盘空间，或用 --data-dir 另选一个。",
  // why there is no connection
  "the daemon stops": "服务正在停止",
  "messages are text": "消息必须是文本",
  "session/hello comes first": "第一条消息必须是 session/hello",
  "the token is wrong": "令牌不对",
  "the protocols differ": "协议版本不同",
  "no session/hello in time": "没有及时收到 session/hello",
  "reads too slowly": "接收太慢",
  "The token is wrong.": "令牌不对。",
  "The answer is not JSON-RPC.": "回答不是 JSON-RPC。",
  // settings
  "Setting '{}' must be a list of strings.": "设置项 {1} 必须是一个文本列表。",
  "Setting '{}' must be true or false.": "设置项 {1} 只能是 true 或 false。",
  "Setting '{}' must be a string.": "设置项 {1} 必须是一段文本。",
  "Setting '{}' must be a number.": "设置项 {1} 必须是数字。",
  "Setting '{}' must be a whole number.": "设置项 {1} 必须是整数。",
  "Setting '{}' must be one of {}.": "设置项 {1} 只能是：{2}。",
  "Setting '{}' must lie between {} and {}.": "设置项 {1} 必须在 {2} 和 {3} 之间。",
  "Setting 'credibility' does not understand '{}'.":
    "设置项 credibility 中的“{1}”不是规则。请写成“剪藏/ = 论坛”、“docs.python.org = 官方文档”、“来源：团队百科 = 0.8”或“论坛 = 0.2”的样子。",
  "notes that were read without the graph are read again": "重新读取没有记下提及关系的笔记",
  // questions answered in words
  "The endpoint is not a plain http or https address.":
    "这不是一个普通的 http 或 https 地址。请写成 http://127.0.0.1:11434/v1 的样子，不要带密钥。",
  "The model at {} did not answer in time.":
    "{1} 上的模型没有及时回答。请换一个更快的模型，或增大设置项 ask_seconds。",
  "The model at {} cannot be reached ({}).":
    "无法连接 {1} 上的模型（{2}）。请启动它，或更正设置项 ask_endpoint。",
  "The environment variable {} is empty.":
    "环境变量 {1} 是空的。请把它设为该地址的密钥，或清空设置项 ask_key_variable。",
  "The model failed: {}.": "模型出错：{1}。请查看模型服务自己的日志。",
  "The endpoint sends elsewhere (HTTP {}), and text goes only where you named.":
    "该地址转向别处（HTTP {1}），而文字只会发送到您指定的地方。如果您信任它转向的地址，请直接写那个地址。",
  "The endpoint refused (HTTP {}).": "该地址拒绝了请求（HTTP {1}）。请检查地址、模型名称和密钥。",
  "The endpoint answered with what is no chat answer.":
    "该地址的回答不是对话模型的回答。请检查它是否是兼容 OpenAI 的地址，例如以 /v1 结尾。",
  "The model began to repeat itself.": "模型开始重复自己的话。",
  "The limit of {} tokens was reached.": "达到了 {1} 个词元的上限。",
  "The limit of {} seconds was reached.": "达到了 {1} 秒的上限。",
  "The model went on past its limit.": "模型超过上限后仍在继续。",
  // other knowledge bases
  "It is this vault itself.": "它就是这个仓库本身。请去掉它：仓库本来就会被搜索。",
  "It failed unexpectedly ({}).": "意外出错（{1}）。请查看日志。",
  "It did not answer within {} s.": "{1} 秒内没有回答。请稍后再试，或增大它的 timeout_s。",
  "It has not come back from an earlier question.":
    "它还没有答完上一个问题。请检查它背后的磁盘或程序。",
  "It is already running {} times.":
    "它已有 {1} 个正在运行。请等待；如果它自己调用 Sidelight，请不要让它问这个仓库。",
  "There is no program '{}'.": "没有程序“{1}”。请安装它，或写出完整路径。",
  "The program cannot be started ({}).": "无法启动程序（{1}）。请检查它的路径和权限。",
  "It did not end within {} s and was stopped.":
    "{1} 秒内没有结束，已被停止。请在终端中试试，或增大它的 timeout_s。",
  "It asks Sidelight for this very vault: a cycle.":
    "它又向 Sidelight 问这个仓库：成了循环。请让它问别的仓库，或从来源中去掉它。",
  "It ended with code {}.": "它以代码 {1} 结束。请在终端中试试。",
  "What it wrote is not JSON lines.": "它输出的不是 JSON 行。每一行必须是带有 text 的对象。",
  "There are no Markdown files in {}.": "{1} 中没有 Markdown 文件。请写出它们所在的文件夹。",
  "Not all of it can be read: {}.": "有一部分无法读取：{1}。请检查权限。",
  "There is no folder at {}.": "{1} 处没有文件夹。它可能被移动了：请更正它的 path。",
  "{} is a file, not a vault.": "{1} 是文件，不是仓库。请写出仓库的文件夹。",
  "The folder {} cannot be read ({}).": "无法读取文件夹 {1}（{2}）。请检查它的权限。",
  "The folder {} may not be read.": "不允许读取文件夹 {1}。请检查它的权限。",
  "It took too long.": "时间太久。请增大它的 timeout_s。",
  "Its daemon is of another version and was not understood.":
    "它的服务是另一个版本，无法理解。请更新它，然后重新启动。",
  "Reading the file took too long.": "读取文件的时间太久。请增大它的 timeout_s。",
  "The file is not in {}.": "文件不是 {1} 编码。请用 encoding 写明编码，或另存为 UTF-8。",
  "The file is neither {}.": "文件的编码不是：{1}。请用 encoding 写明编码，或另存为 UTF-8。",
  "The file is empty.": "文件是空的。第一行必须是列名。",
  "A YAML file of more than {} MB is not read.":
    "超过 {1} MB 的 YAML 文件不会读取。请另存为可逐行读取的 JSON 行。",
  "The file is not YAML{}.": "文件不是 YAML{1}。请更正。",
  "The database is locked by another program.": "数据库被另一个程序锁住了。它用完之后会再问。",
  "The database is damaged ({}).":
    "数据库已损坏（{1}）。请恢复备份，或用 sqlite3 的 .recover 修复。",
  "Reading the database took too long.":
    "读取数据库的时间太久。请增大它的 timeout_s，或改用小一些的视图。",
  "The database cannot be opened.": "无法打开数据库。请检查它是否存在、是否允许读取。",
  "The database cannot be read ({}).": "无法读取数据库（{1}）。请检查文件和表。",
  "The file holds no entry.": "文件中没有条目。请检查它的格式和列。",
  "Reading it took too long.": "读取时间太久。请增大它的 timeout_s。",
  "No entry has '{}'.": "没有条目带有“{1}”。请写出正确的 text_columns。",
  "There is no file at {}.": "{1} 处没有文件。它可能被移动了：请更正它的 path。",
  "The file {} may not be read.": "不允许读取文件 {1}。请检查它的权限。",
  "The file {} cannot be read ({}).": "无法读取文件 {1}（{2}）。请检查文件。",
  "The file has no table or view '{}'. Name one of those it has: {}.":
    "文件中没有名为“{1}”的表或视图。请改用其中之一：{2}。",
  "There is no column '{}' (any more). Columns: {}.": "没有（或已不再有）列“{1}”。现有的列：{2}。",
};
