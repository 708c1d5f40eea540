const message = '{"type":"human","data":{"content":"hi","id":"a"}}';
const call = '{"type":"ai","data":{"content":"","tool_calls":[{"name":"f","args":{"b":1},"id":"c"}]},"meta":{"v":1}}';
const result = '{"type":"tool","data":{"content":"{\\"x\\":[1]}","tool_call_id":"c","status":"error"}}';
/** A record with each of the tags that stand for values which JSON cannot hold. */
const tagged = `{"type":"ai","data":{"content":"","additional_kwargs":{${[
  ["Date", '"2026-01-01T00:00:00.000Z"'],
  ["BigInt", '"-12"'],
  ["Number", '"NaN"'],
  ["Undefined", "null"],
  ["Map", '[["a",{"$lcmem":["Set",[1]]}]]'],
  ["Error", '{"name":"TypeError","message":"x","cause":{"a":1}}'],
  ["Object", '{"$lcmem":1}'],
  ["Buffer", '"aGk="'],
  ["ArrayBuffer", '"aGk="'],
  ["Float64Array", '"AAAAAAAAAAA="'],
]
  .map(([kind, payload], index) => `"${index}":{"$lcmem":["${kind}",${payload}]}`)
  .join()}}},"meta":{"v":1}}`;
const picture =
  '{"type":"human","data":{"content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw0K"}}]}}';
const serialized =
  '{"lc":1,"type":"constructor","id":["langchain_core","messages","AIMessage"],"kwargs":{"content":"x"}}';
const chat =
  '{"id":"s","messages":[{"role":"user","content":"hi"},{"role":"assistant","tool_calls":[{"id":"c",' +
  '"type":"function",' +
  '"function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c","content":"x"}]}';
const session =
  '{"type":"session","sessionId":"s","owner":"ann","title":"t","metadata":{},"createdAt":1,"updatedAt":1,' +
  '"messages":1,' +
  '"base":0,"start":0,"rounds":1,"reductions":0,"usage":[{"model":"m","input":1,"output":1,"total":2}]}';
const record = `{"type":"record","sessionId":"s","position":0,"record":${message}}`;
const exported = [
  session,
  '{"type":"head","record":{"type":"system","data":{"content":"x"}}}',
  '{"type":"side","name":"app:a","value":"b"}',
  '{"type":"reduction","at":1,"start":0,"head":1,"before":{"messages":2},"after":{"messages":1,"tokens":3}}',
  record,
  '{"type":"end","sessionId":"s","records":1}',
];
const thread = [
  '3|0-1|1|parent\u0000{"c":{"v":4,"ts":"t","channel_versions":{"messages":1},"versions_seen":{}},"d":{"messages":' +
    '{"$lcmem":{"l":"0-1"}},"one":{"$lcmem":{"i":"0"}},"bytes":{"$lcmem":{"t":"bytes","v":"aGk="}}},"m":{"step":1}}',
  '0|||\u0000["task","path",[[0,"messages",{"lc":2,"type":"delta_snapshot","value":[]}]]]',
  serialized,
  '{"lc":2,"type":"undefined"}',
];

const sessionSeeds = {
  record: [
    '{"type":"human","data":{"content":"hi","id":"a"},"meta":{"v":1,"at":1,"tokens":{"approx":3}}}',
    '{"type":"ai","data":{"content":[{"type":"text","text":"x"}]},"meta":{"v":1}}',
    ...[call, result, tagged, picture],
  ],
  "record-parts": ['{"type":"human","data":{"content":"hi","id":"a"},"meta":{"v":1,"turn":"abcdefghijklmn","at":1}}'],
  message: [message, serialized],
  head: ['["{}"]', JSON.stringify([message, call])],
  view: [`\n${message}\n${call}\n${result}`, `[${JSON.stringify(message)}]\n${call}`],
  "turn-mark": ["T00000020", "t00000011", "abcdefghijklmn:T2@7 "],
  "session-state": [
    ["base", "0", "next", "3", "start", "1", "owner", "ann", "usage", "m\t1\t2\t3", "turns", "abcdefghijklmn"].join(
      "\n",
    ),
    ["side:app:a", "b", "discarded:0", "a".repeat(32), "reduced", "1", "title", "t", "tokens", "5"].join("\n"),
    '{"at":1,"start":0,"head":1,"before":{"messages":2},"after":{"messages":1}}',
  ],
  "key-name": ["chat-7", "s%2Ft", "%E2%82%AC"],
};

const sealedSeeds = {
  sealed: [
    '{"type":"ai","data":{"id":"a"},"sealed":"k1","meta":{"v":2}}\n' +
      "\u0004\u0001:0UluD>\b)Jg\u0013DJx8b+d+|VIhTh\u0005R_>!0" +
      "SpNW1Cmp;&\u0018\u0003,Oc?7<c+\u0018\u001eR\u0002^ ",
    "~k1 sqsq4cnAS1ADfZu_yKdABthz5xqS7blJV83zNSk",
  ],
  "opened-record": ['{"content":"hi"', '\u0003hi"\u0006\u000bf","args":{}}]', '\u0003\u0000\u0001"'],
};

const besideSeeds = {
  checkpoint: ["3|0-5,9,+0-2|1|parent\u0000{}"],
  "item-ranges": ["0-5,9,+0-2", "@7-8,3"],
  thread: [thread.join("\u0001")],
  "run-notices": ['[{"kind":"follow","at":"1","sessionId":"s","from":"p"}]'],
  "run-facts": ['{"turnId":"t","instance":"p","owner":"ann","call":"c"}'],
  "run-end": ['{"state":"failed","error":"busy"}'],
  "run-chunks": [
    '[[{"$lcmem":["ai+",{"content":"a","id":"m"}]},{"$lcmem":["+",{"langgraph_node":"agent"}]}]]\n' +
      '[[{"$lcmem":["ai+",{"content":"b","tool_call_chunks":[{"args":"{","index":0}]}]},{"$lcmem":["=",0]}]]',
    '[{"$lcmem":["Object",{"m":{"$lcmem":["human",{"content":"x"}]},"d":{"$lcmem":["Date",null]},"$lcmem":1}]}]',
  ],
  "long-term-item": ['1|2||{"a":1}', '1|2|60|{"a":[]}'],
  "tool-record": [
    '{"id":"i","name":"f","inputs":{"a":1},"outputs":"x","status":"success","toolCallId":"c","durationMs":1}',
  ],
};

const importedSeeds = {
  "session-line": [session, record, '{"type":"end","sessions":1}', ...exported],
  "session-export": [exported.join("\n")],
  "chat-history": [
    '{"messages":[{"role":{"label":"user"},"items":[{"$type":"TextContent","text":"hi"}]}]}',
    '[{"Role":{"Label":"assistant"},"Items":[{"$type":"FunctionCallContent","Id":"c","FunctionName":"f",' +
      '"Arguments":{}}]},' +
      '{"Role":{"Label":"tool"},"Items":[{"$type":"FunctionResultContent","CallId":"c","Result":"x"}]}]',
  ],
  "graph-state": [
    '{"messages":[{"type":"human","content":"hi"}]}',
    '{"values":{"messages":[{"role":"user","content":"hi"}]}}',
  ],
  "chat-file": [
    chat,
    '{"config":{"configurable":{"thread_id":"t"}},"values":{"messages":[{"type":"ai","content":"x"}]}}',
  ],
  "chat-structure": [
    `[${message},${call},${result}]`,
    '[{"role":"assistant","content":"x"},{"type":"tool","content":"y","tool_call_id":"c"}]',
  ],
  "openai-history": [
    '[{"role":"user","content":[{"type":"text","text":"hi"},{"type":"image_url",' +
      '"image_url":{"url":"https://a.b/c.png"}}]}]',
    '[{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function",' +
      '"function":{"name":"f","arguments":"{}"}}]}]',
  ],
  "xml-prompt": [
    'Be brief.<message role="user">hi<text>x</text></message> And now?',
    '<chat_history><message role="assistant"><fields>{"tool_calls":[]}</fields></message>' +
      '<message role="tool" tool_call_id="c">x &amp; y</message></chat_history>',
    '<message role="user" timestamp="2026-01-01T00:00:00Z">&#65;<fields>{"b":2}</fields></message>',
  ],
  "tool-history": [
    '[{"name":"f","inputs":{},"outputs":"x","status":"error","timestamp":"2026-01-01T00:00:00Z","meta":{"a":1}}]',
  ],
  "legacy-list": [`${message}\n${serialized}\n${call}`],
  "json-document": [
    '{"session_id":"s","type":"human","data":{"content":"hi"},"timestamp":1.5,"message_id":"m"}',
    '[{"session_id":"s","type":"ai","data":{"content":"x"},"timestamp":"2"}]',
  ],
};

const askedSeeds = {
  cursor: ["YWZ0ZXI6MTI", "1"],
  "search-cursor": ["WzEsInMiLDNd", '[1,"s",3]'],
  "search-text": ["Oslo\nin oslo", "ß\nSS"],
  "run-position": ["1700000000000-3:2"],
  "encryption-keys": [`2026-11:${"A".repeat(43)}=,2026-05:${"B".repeat(43)}=`],
  "redis-url": [
    "redis://user:pass%40word@localhost:6379/3",
    "rediss+sentinel://u:p@a:26379,[::1]:26380/primary/2?db=1",
    "unix:///tmp/redis.sock",
  ],
  "session-label": ['{"title":"t","metadata":{"a":[1,null,{"b":true}]}}'],
  "reducer-spec": ["truncate:20+10", "tools:3@4000+800,token:8000/6400", "window+summary:8000/6400", "none"],
  "inspector-request": ["api/messages?id=s&from=3&limit=10", "api/text?id=s&position=1&of=call"],
};

const shownSeeds = {
  "inspector-message": [message, call, result, tagged, picture],
  markdown: [
    "# a\n\n- b\n  1. c\n\n| a | b |\n|---|---|\n| `c` | **d** |\n\n> [e](https://f.g)\n\n```js\nh\n```\n<b>i</b>",
  ],
  "json-text": ['{"a":[1,{"b":"c"}],"d":{}}'],
  tokens: [message, call, result, picture],
  image: [
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAA",
    "GIF89a\u0001\u0000\u0001\u0000",
    "\u00ff\u00d8\u00ff\u00c0\u0000\u0011",
  ],
  "structured-answer": [`[${call},${result},{"type":"ai","data":{"content":"{}"}}]`],
};

/** Sound inputs, from which fuzzing begins. */
export const seeds: Readonly<Record<string, readonly string[]>> = {
  ...sessionSeeds,
  ...sealedSeeds,
  ...besideSeeds,
  ...importedSeeds,
  ...askedSeeds,
  ...shownSeeds,
};
