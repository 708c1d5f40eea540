import { readdirSync } from "node:fs";
import { join } from "node:path";
import { builtExamples } from "../support/run-example.js";
import { sharedRedisUrl } from "../support/shared-redis.js";

/** The line of each example that shows its point. */
const points: Readonly<Record<string, RegExp>> = {
  "01-remember-a-chat.ts":
    /^view: A book about St\. Petersburg\? \| Try 'City of Thieves'\. \| A book about Paris\? \| .* Feast'\.$/m,
  "02-token-budget.ts": /^reduced: \d+ tokens in 20 messages -> \d+ in 12$/m,
  "03-summaries.ts": /^ {2}human Summary of the earlier conversation .*Oslo on Monday/m,
  "04-recall-rounds.ts": /^Notice: Chat history truncated due to maximum context window\. user: Thanks!$/m,
  "05-tool-log.ts": /^call-2 {2}weather\(\{"city":"Atlantis"\}\) {2}error: "no such city"$/m,
  "06-history-manager.ts": /^ {2}\[source13\] costs_0$/m,
  "07-openai-messages.ts": /^the same after JSON: true$/m,
  "08-validate-and-repair.ts": /^errors left: 0$/m,
  "09-agent-middleware.ts": /^stored: human, ai, human, ai$/m,
  "11-chat-page.ts": /^after Retry:\n(?: {2}.*\n){3} {2}ai: It has fifteen stories\.$/m,
  "12-conversations.ts": new RegExp(
    [
      "^retry gives the stored answer: true",
      "after Stop:\n( {2}.*\n){3} {2}ai: .*… \\(stopped\\)",
      "after Retry:\n( {2}.*\n){3} {2}ai: [^…]*",
      "after Regenerate:\n( {2}.*\n){2} {2}human: Tell me more\\.\n {2}ai: .*",
      "after Edit:\n {2}human: Which <b>book</b> about Dublin\\?\n.*\n {2}human: And about Cork\\?\n {2}ai: .*",
      "branch:\n {2}human: Which <b>book</b> about Dublin\\?\n {2}ai: .*",
      "listed: 14, each once: 14, renamed: 1",
      "pages: 2 \\+ 20, from 0 to 21",
      "another user gets: 404 404 404 404 404 404, and a list of 0",
      "without signing in: 401, bad input: 400 400",
      "after delete: nothing\n$",
    ].join("\n"),
  ),
  "10-your-own-store.ts": /^rewind: rewind\(\) needs a store with the method "rewind"/m,
};

const examples = readdirSync(join(__dirname, "../../examples")).filter((name) => /^\d\d-.*\.ts$/.test(name));

describe("the examples", () => {
  const runExample = builtExamples(examples);

  it("each have an output that this test checks", () => {
    expect(examples.sort()).toEqual(Object.keys(points).sort());
  });

  it.each(examples)("%s runs on Redis without an API key and prints its result", async (name) => {
    const { exitCode, output, errors } = await runExample(name, { environment: { REDIS_URL: sharedRedisUrl() } });
    expect({ exitCode, errors }).toEqual({ exitCode: 0, errors: "" });
    expect(output).toMatch(points[name]!);
  });

  it("01-remember-a-chat.ts also runs without Redis", async () => {
    const { exitCode, output } = await runExample("01-remember-a-chat.ts");
    expect(exitCode).toBe(0);
    expect(output).toContain("transcript: ");
  });
});
