/** Sound inputs, from which fuzzing begins. */
export const seeds: Readonly<Record<string, readonly string[]>> = {
  record: [
    '{"type":"human","data":{"content":"hi","id":"a"},"meta":{"v":1,"at":1,"tokens":{"approx":3}}}',
    '{"type":"ai","data":{"content":[{"type":"text","text":"x"}]},"meta":{"v":1}}',
    '{"type":"ai","data":{"content":"","tool_calls":[{"name":"f","args":{},"id":"c"}]},"meta":{"v":1}}',
    '{"type":"tool","data":{"content":"x","tool_call_id":"c","status":"error"}}',
  ],
  "record-parts": ['{"type":"human","data":{"content":"hi","id":"a"},"meta":{"v":1,"turn":"abcdefghijklmn","at":1}}'],
  message: [
    '{"type":"human","data":{"content":"hi","id":"a"}}',
    '{"lc":1,"type":"constructor","id":["langchain_core","messages","AIMessage"],"kwargs":{"content":"x"}}',
  ],
  head: ['["{}"]', "{}\n{}"],
  "turn-mark": ["T00000020", "t00000011"],
  "session-line": [
    '{"type":"session","sessionId":"s","owner":"ann"}',
    '{"type":"session","sessionId":"s","base":0,"start":0,"rounds":1,"reductions":0,"title":"t","usage":[]}',
    '{"type":"record","record":"{}","position":1}',
    '{"type":"end","sessions":1}',
  ],
  cursor: ["MTA", "1"],
  sealed: ['{"type":"human","data":{"id":"a"},"sealed":"k1","meta":{"v":2}}\nabc', "$k1 abc"],
  "chat-history": ['{"messages":[{"role":{"label":"user"},"items":[{"$type":"TextContent","text":"hi"}]}]}'],
  "graph-state": ['{"messages":[{"type":"human","content":"hi"}]}', '{"values":{"messages":[["user","hi"]]}}'],
  checkpoint: ["3|0-5,9,+0-2|1|parent\u0000{}"],
  "item-ranges": ["0-5,9,+0-2", "@7-8,3"],
};
