import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type AIMessage, type BaseMessage, coerceMessageLikeToMessage } from "@langchain/core/messages";
import { builtInProfiles, repairConversation, validateConversation, type BuiltInProfile } from "../../src/conversation/structure/index.js";
import { ai, aiCalls, human, system, tool } from "../support/messages.js";
import { refusalOf } from "../support/openai-wire.js";

const recorded = join(__dirname, "../../../shared/data/airline-trajectories.jsonl");

/** Recorded conversations where they are found, and always one with parallel and repeated calls. */
function conversations(): BaseMessage[][] {
  const own = [
    system("s"),
    ...[1, 2, 3, 4].flatMap((round) => [
      human(`q${round}`),
      aiCalls(`a${round}`, `b${round}`),
      tool(`b${round}`),
      tool(`a${round}`),
      aiCalls(`c${round}`),
      tool(`c${round}`),
      ai(`answer ${round}`),
    ]),
  ];
  return existsSync(recorded) ? [own, ...readFileSync(recorded, "utf8").trim().split("\n").map(readConversation)] : [own];
}

function readConversation(line: string): BaseMessage[] {
  const { messages } = JSON.parse(line) as { messages: { role: string; content?: string }[] };
  return messages.map((message) => coerceMessageLikeToMessage({ ...message, content: message.content ?? "" } as never));
}

describe("real conversations", () => {
  const all = conversations();

  it("have no errors as they are, for LangChain and for OpenAI's service", () => {
    const errors = all.flatMap((messages) => validateConversation(messages).filter(({ severity }) => severity === "error"));
    const refusals = all.filter(endsAnswered).map((messages) => refusalOf(messages));
    expect(errors).toEqual([]);
    expect(refusals.filter((refusal) => refusal !== undefined)).toEqual([]);
  });

  it.each([1, 2, 5, 8, 13])("cut to their last %i messages at every index, and repaired, are accepted by the service", (target) => {
    let cuts = 0;
    let repaired = 0;
    for (const messages of all) {
      for (let end = 1; end <= messages.length; end += 1) {
        const result = repairConversation(messages.slice(Math.max(0, end - target), end), { profile: "openai", purpose: "model-input" });
        cuts += 1;
        repaired += result.repairs.length > 0 ? 1 : 0;
        const refusal = result.messages.length === 0 ? undefined : refusalOf(result.messages);
        if (refusal !== undefined) {
          throw new Error(`cut ${end - target} to ${end}: ${refusal.message}`);
        }
      }
    }
    expect(repaired).toBeGreaterThan(0);
    expect(repaired).toBeLessThan(cuts);
  });

  it.each(Object.keys(builtInProfiles) as BuiltInProfile[])("cut in the middle have no errors after a repair for %s", (profile) => {
    for (const messages of all) {
      const cut = messages.slice(Math.floor(messages.length / 3), Math.floor((messages.length * 2) / 3));
      const { messages: repaired } = repairConversation(cut, { profile });
      expect(validateConversation(repaired, { profile }).filter(({ severity }) => severity === "error")).toEqual([]);
    }
  });
});

function endsAnswered(messages: readonly BaseMessage[]): boolean {
  const last = messages.at(-1)!;
  return last.getType() !== "ai" || ((last as AIMessage).tool_calls ?? []).length === 0;
}
