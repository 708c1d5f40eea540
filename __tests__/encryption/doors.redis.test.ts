import type { BaseMessage } from "@langchain/core/messages";
import type { EncryptionOptions } from "../../src/store/sealed/keys/key-ring.js";
import { MemoryError } from "../../src/base/errors.js";
import type { MemorySettings } from "../../src/memory/session/memory-context.js";
import { ChatHistorySummarizationReducer } from "../../src/conversation/reducers/summary/summarization-reducer.js";
import { doors, secret } from "../support/doors.js";
import { closeMemories, newMemory, texts } from "../support/memories.js";
import { ScriptedModel } from "../support/scripted-model.js";
import { sharedClient, uniquePrefix } from "../support/shared-redis.js";
import { storedBytes } from "../support/stored-bytes.js";
import { testKey, testKeys } from "../support/test-keys.js";

const client = sharedClient();
afterEach(closeMemories);

const summarizer = new ScriptedModel(() => `${secret} summary`);

/** An agent of LangChain passes on what a middleware throws as the cause of its own error. */
function memoryErrorIn(error: unknown): unknown {
  return MemoryError.isInstance(error) ? error : (error as Error).cause;
}

describe.each(Object.entries(doors))("%s with encryption", (_, door) => {
  const use = (keyPrefix: string, encryption: EncryptionOptions | undefined, settings: MemorySettings = {}) => {
    const memory = newMemory({ redis: { keyPrefix }, ...settings, ...(encryption && { encryption }) });
    return async (turnId: string) => {
      const result = await door(memory, turnId);
      await memory.drain();
      return result;
    };
  };

  it("gives back what was stored, and leaves no word of it in any byte of Redis", async () => {
    const keyPrefix = uniquePrefix();
    const reducer = () => new ChatHistorySummarizationReducer({ model: summarizer, targetCount: 2, thresholdCount: 0 });
    for (const turnId of ["t1", "t2", "t3"]) {
      await use(keyPrefix, { ...testKeys("k1"), plain: "refuse" }, { reducer: reducer() })(turnId);
    }
    const all = [...(await storedBytes(client, keyPrefix))].flat().join("\n");
    expect(all).toMatch(/"sealed":"[\w-]{8}"|~[\w-]{8} /);
    expect(all).not.toContain(secret);
    expect(all).not.toContain(Buffer.from(secret).toString("base64").slice(0, 8));
    const again = await use(keyPrefix, { ...testKeys("k2", "k1"), plain: "refuse" }, { reducer: reducer() })("t4");
    expect(JSON.stringify(again)).toContain(secret);
    const transcript = await newMemory({ redis: { keyPrefix }, encryption: testKeys("k2", "k1") })
      .history("s")
      .getTranscript();
    const questions = texts(transcript).filter((text) => text === `${secret} question`);
    expect(questions).toHaveLength(transcript.length > 0 ? 4 : 0);
  });

  it("is seen by the search where nothing is encrypted", async () => {
    const keyPrefix = uniquePrefix();
    await use(keyPrefix, undefined)("t1");
    expect([...(await storedBytes(client, keyPrefix))].flat().join()).toContain(secret);
  });

  it.each([
    ["unknown_key", "without keys", undefined],
    ["unknown_key", "with other keys", testKeys("k2")],
    ["wrong_key", "with another key of that id", { current: { ...testKey("k2"), id: "k1" } }],
  ] as const)("is refused with %s to a process %s, and changes nothing", async (code, _who, encryption) => {
    const keyPrefix = uniquePrefix();
    await use(keyPrefix, testKeys("k1"))("t1");
    // Without the owner's list, where a session moves to the front before a write that is refused.
    const before = await storedBytes(client, `${keyPrefix}:{s}`);
    for (const turnId of ["t1", "t2"]) {
      const refusal = await use(keyPrefix, encryption)(turnId).catch(memoryErrorIn);
      expect(refusal).toMatchObject({ name: "EncryptionError", code });
    }
    expect(await storedBytes(client, `${keyPrefix}:{s}`)).toEqual(before);
  });

  it("seals what beforeStore returns, and nothing else", async () => {
    const keyPrefix = uniquePrefix();
    const beforeStore = (message: BaseMessage) => {
      message.content = String(message.text).replaceAll(secret, "hidden");
      return message;
    };
    await use(keyPrefix, testKeys("k1"), { beforeStore })("t1");
    const stored = await newMemory({ redis: { keyPrefix }, encryption: testKeys("k1") })
      .history("s")
      .getTranscript();
    expect(texts(stored).join(" ")).not.toContain(secret);
    const all = [...(await storedBytes(client, keyPrefix))].flat().join("\n");
    expect(all).not.toMatch(/sesame|hidden/);
  });
});
