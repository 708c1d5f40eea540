import type { BaseMessage } from "@langchain/core/messages";
import { HumanMessage, SystemMessage, ToolMessage, trimMessages } from "@langchain/core/messages";
import fc from "fast-check";
import type { RedisChatMemoryOptions } from "../../src/memory/session/memory-context.js";
import { RedisChatMemory } from "../../src/memory/histories/redis-chat-memory.js";
import { ChatHistoryTruncationReducer } from "../../src/conversation/reducers/truncation-reducer.js";
import type { ReducerLike } from "../../src/conversation/reducers/as-reducer.js";
import { publicFields } from "../support/public-fields.js";
import { InMemorySessionStore } from "../../src/store/in-memory/in-memory-session-store.js";
import { anyConversation } from "../support/conversations.js";
import { forAllAsync } from "../support/property-runs.js";
import { sharedClient, uniquePrefix } from "../support/shared-redis.js";

/** Shortens every tool result in place of it, as a clipping reducer does: changed messages under their old ids. */
const clipAll = async (messages: BaseMessage[]) =>
  messages.map((message) =>
    message.getType() === "tool" && message.text.length > 5
      ? new ToolMessage({
          content: message.text.slice(0, 5),
          tool_call_id: (message as ToolMessage).tool_call_id,
          name: message.name!,
          id: message.id!,
        })
      : message,
  );

const reducers: Record<string, (size: number) => ReducerLike> = {
  truncation: (size) => new ChatHistoryTruncationReducer({ targetCount: size, thresholdCount: 2 }),
  clipping: () => clipAll,
  "a reducer that puts something new in front": (size) => async (messages: BaseMessage[]) =>
    messages.length <= size
      ? messages
      : [new SystemMessage({ content: "The conversation so far was long.", id: "long" }), ...wholeTail(messages, size)],
  trimMessages: (size) =>
    trimMessages({
      maxTokens: size,
      tokenCounter: (list: BaseMessage[]) => list.length,
      startOn: "human",
      includeSystem: true,
      allowPartial: false,
    }),
};

/** The last rounds, whole, so that no step is split. */
function wholeTail(messages: BaseMessage[], size: number): BaseMessage[] {
  const from = messages.findIndex(
    (message, index) => index >= messages.length - size && HumanMessage.isInstance(message),
  );
  return from < 0 ? messages : messages.slice(from);
}

const client = sharedClient();
const stores: Record<string, { readonly options: () => RedisChatMemoryOptions; readonly runs: number }> = {
  "in the embedded store": { options: () => ({ store: new InMemorySessionStore() }), runs: 60 },
  "in Redis": {
    options: () => ({ client, redis: { keyPrefix: uniquePrefix(), commandTimeout: 30_000 } }),
    runs: 20,
  },
};
const cases = Object.keys(reducers).flatMap((name) =>
  (["keep", "discard"] as const).map((kept) => [name, kept] as const),
);

describe.each(Object.keys(stores))("a committed reduction, %s", (place) => {
  const { options, runs } = stores[place]!;
  const sizes = [fc.integer({ min: 1, max: 12 }), fc.nat(6)] as const;

  /** A reduction that is refused has changed nothing. */
  it.each(cases)("by %s is read back as returned, on any instance, and keeps the transcript (%s)", (name, retention) =>
    forAllAsync(runs, fc.tuple(anyConversation(), ...sizes), async ([conversation, size, laterCount]) => {
      const shared = options();
      const reducer = reducers[name]!(size);
      const history = new RedisChatMemory({ ...shared, reducer, reduceWhen: "never", retention }).history("s");
      const other = new RedisChatMemory(shared).history("s");
      const later = conversation
        .slice(0, laterCount)
        .map((_, index) => new HumanMessage({ content: `later ${index}`, id: `later-${index}` }));
      await history.addMessages(conversation);
      const before = await history.getMessages();
      const result = await history.reduceView().catch((error: { code?: string }) => {
        expect(["invalid_structure", "invalid_option"]).toContain(error.code);
        return undefined;
      });
      const expected = result?.messages ?? before;
      for (const reader of [history, other]) {
        expect((await reader.getMessages()).map(publicFields)).toEqual(expected.map(publicFields));
      }
      await history.addMessages(later);
      expect(idsOf(await history.getMessages())).toEqual(idsOf([...expected, ...later]));
      if (retention === "keep") {
        expect(idsOf(await history.getTranscript())).toEqual(idsOf([...conversation, ...later]));
      }
    }),
  );
});

const idsOf = (messages: readonly BaseMessage[]) => messages.map(({ id }) => id);
