import type { BaseMessage } from "@langchain/core/messages";
import { HumanMessage, SystemMessage, ToolMessage, trimMessages } from "@langchain/core/messages";
import fc from "fast-check";
import type { RedisChatMemoryOptions } from "../../src/memory/session/memory-context.js";
import { RedisChatMemory } from "../../src/memory/histories/redis-chat-memory.js";
import { ChatHistoryTruncationReducer } from "../../src/conversation/reducers/truncation-reducer.js";
import type { ReducerLike } from "../../src/conversation/reducers/as-reducer.js";
import { publicFields } from "./public-fields.js";
import { anyConversation } from "./conversations.js";

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

/**
 * For random conversations, sizes and reducers: what a reduction gave is what is read back, on this instance and on
 * another, and the transcript is what it was. A reduction that is refused has changed nothing.
 */
export async function checkCommittedReductions(options: () => RedisChatMemoryOptions, numRuns: number): Promise<void> {
  let session = 0;
  for (const [name, reducerOf] of Object.entries(reducers)) {
    for (const retention of ["keep", "discard"] as const) {
      await fc.assert(
        fc.asyncProperty(
          anyConversation(),
          fc.integer({ min: 1, max: 12 }),
          fc.nat(6),
          async (conversation, size, laterCount) => {
            session += 1;
            const sessionId = `${name} ${retention} ${session}`;
            const shared = options();
            const memory = new RedisChatMemory({ ...shared, reducer: reducerOf(size), reduceWhen: "never", retention });
            const other = new RedisChatMemory({ ...shared });
            const history = memory.history(sessionId);
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
            for (const reader of [history, other.history(sessionId)]) {
              expect((await reader.getMessages()).map(publicFields)).toEqual(expected.map(publicFields));
            }
            await history.addMessages(later);
            expect((await history.getMessages()).map(({ id }) => id)).toEqual(
              [...expected, ...later].map(({ id }) => id),
            );
            if (retention === "keep") {
              expect((await history.getTranscript()).map(({ id }) => id)).toEqual(
                [...conversation, ...later].map(({ id }) => id),
              );
            }
          },
        ),
        { numRuns },
      );
    }
  }
}
