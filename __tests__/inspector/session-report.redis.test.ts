import { AIMessage, HumanMessage, SystemMessage, ToolMessage } from "@langchain/core/messages";
import { RunnableLambda } from "@langchain/core/runnables";
import { ChatHistorySummarizationReducer, ChatHistoryTruncationReducer } from "langchain-redis-memory";
import { sessionKeys } from "../../src/store/redis/keys.js";
import type { SessionReport, SessionRows, SessionState } from "../../cli/inspector/model/data.js";
import { counted, missingWords, storedWords } from "../../cli/inspector/model/figures-in-words.js";
import { rowsOf } from "../../cli/inspector/model/row-model.js";
import { cutsOf } from "../../cli/inspector/model/timeline.js";
import { get, inspectedPlaces } from "../support/inspectors.js";
import { ai, human, tool } from "../support/messages.js";

const place = inspectedPlaces();

let marks = 0;

/** A word that must not appear in a report. */
const secret = (what: string) => `zq${what}${(marks += 1)}zq`;

/** A round with something secret wherever a message can hold it. */
function secretRound(round: number) {
  const call = {
    type: "tool_call" as const,
    id: `call-${round}`,
    name: "lookup",
    args: { [secret("key")]: secret("arg") },
  };
  const metadata = { [secret("field")]: secret("value") };
  return [
    new HumanMessage({
      content: secret("question"),
      name: secret("name"),
      id: `q-${round}`,
      additional_kwargs: metadata,
    }),
    new AIMessage({ content: secret("plan"), tool_calls: [call], response_metadata: metadata, id: `p-${round}` }),
    new ToolMessage({
      ...{ content: `{"${secret("key")}":"${secret("json")}"}`, tool_call_id: call.id, artifact: secret("artifact") },
      ...{ id: `r-${round}`, metadata },
    }),
    new AIMessage({
      content: [
        { type: "reasoning", reasoning: secret("thought") },
        { type: "text", text: secret("answer") },
        { type: "image_url", image_url: { url: `https://a.example/${secret("image")}` } },
      ],
      ...{ id: `a-${round}`, usage_metadata: { input_tokens: 7, output_tokens: 7, total_tokens: 14 } },
    }),
  ];
}

describe("the report of a session", () => {
  it("holds ids, roles, sizes, turns and reductions, and nothing that was said or stored beside it", async () => {
    const { ask, memory, inspector } = await place();
    const model = RunnableLambda.from(() => secret("summary"));
    const app = memory({ reducer: new ChatHistorySummarizationReducer({ model, targetCount: 6, thresholdCount: 2 }) });
    const who = { owner: secret("owner"), title: secret("title"), metadata: { [secret("tag")]: secret("metadata") } };
    const history = app.history("s-1", who);
    await history.addMessages([new SystemMessage({ content: secret("system"), id: "sys" })]);
    for (let round = 0; round < 5; round += 1) {
      await history.addMessages(secretRound(round));
    }
    // Findings and repairs have words of their own.
    await history.addMessages([ai(secret("late"), { calls: ["open"], id: "open-1" }), human(secret("last"), "last")]);
    await app.drain();
    const { text } = await ask<SessionReport>("report", { id: "s-1" });
    expect(text).not.toMatch(/zq/i);
    expect(marks).toBeGreaterThan(40);
    expect(text).toMatch(/^session +s-1$/m);
    expect(text).toMatch(/^Reductions\nnumber/m);
    expect(text).toMatch(/^Findings and repairs\nrule/m);
    for (const id of ["sys", "q-0", "p-2", "r-4", "a-4", "open-1", "last"]) {
      expect(text).toMatch(new RegExp(`^\\d+ .* ${id}$`, "m"));
    }
    expect(text).toMatch(/^3 +tool +\d+ +\d+ +no +- +2 +20\d\d-\d\d-\d\d \d\d:\d\d:\d\d +\S+ +r-0$/m);
    const { body, headers } = await get(`${inspector.url}api/report.txt?id=s-1`);
    const undated = (report: string) => report.replace(/^reported .*$/m, "");
    expect(undated(body)).toBe(undated(text));
    expect(headers["content-disposition"]).toBe('attachment; filename="s-1-report.txt"');
  });

  it("shows the newest thousand messages of a long session, and records that cannot be read", async () => {
    const { ask, add, memory, client, keyPrefix } = await place();
    const history = memory().history("long");
    await history.addMessages(Array.from({ length: 2_500 }, (_, index) => human(`text ${index}`, `m-${index}`)));
    const { text } = await ask<SessionReport>("report", { id: "long" });
    expect(text).toContain("Messages, the newest 1,000");
    expect(text.match(/ m-\d+$/gm)).toHaveLength(1_000);
    expect(text).toMatch(/ m-2499$/m);
    await add("torn", [human("one"), tool("c1", "two")]);
    const [key] = (await client.keys(`${keyPrefix}:*torn*`)).filter((name) => name.endsWith("log"));
    await client.lset(key!, 1, '{"zqbroken');
    const torn = await ask<SessionReport>("report", { id: "torn" });
    expect(torn.text).toMatch(/^1 +unreadable/m);
    expect(torn.text).not.toContain("zqbroken");
  });
});

const discarded = /^The oldest 1?\d\d? messages were discarded by the session’s retention\.$/;

const lost = /^The oldest 24 messages are not stored: Redis lost them before a rebuild, or /;

/** A session of twelve rounds that was reduced several times, and what happened to it. */
const cases: readonly (readonly [string, { readonly retention: "keep" | "discard"; isLost: boolean }, RegExp])[] = [
  ["retention discarded", { retention: "discard", isLost: false }, discarded],
  ["Redis lost", { retention: "keep", isLost: true }, lost],
  ["Redis lost behind what retention discarded", { retention: "discard", isLost: true }, lost],
];

it.each(cases)("The cause that messages are missing, their number and the lines: %s", async (_, how, cause) => {
  const { memory, ask, client, keyPrefix } = await place();
  const reducer = new ChatHistoryTruncationReducer({ targetCount: 4 });
  const history = memory({ reducer, retention: how.retention }).history("s");
  for (let round = 0; round < 12; round += 1) {
    await history.addMessages([human(`question ${round}`), ai(`answer ${round}`)]);
  }
  if (how.isLost) {
    await client.unlink(sessionKeys(keyPrefix, "s").log);
    await history.rebuild();
    await history.addMessages([human("and now?"), ai("It goes on.")]);
  }
  const state = await ask<SessionState>("session", { id: "s" });
  expect(state.reductionCount).toBeGreaterThan(3);
  expect(missingWords(state)).toMatch(cause);
  expect((await ask<SessionReport>("report", { id: "s" })).text).toContain(missingWords(state));
  const { sessions } = await ask<SessionRows>("sessions", { search: "", limit: 9 });
  const [{ messages, rounds }] = sessions as [SessionRows["sessions"][number]];
  expect(storedWords(state)).toBe(`${counted(messages, "message")} in ${counted(rounds, "round")}`);
  const cuts = cutsOf(state, () => undefined);
  const rows = rowsOf({ session: state, outline: [], base: state.base, cuts, end: state.next });
  expect(rows.filter(({ kind }) => kind === "cut")).toHaveLength(1);
});
