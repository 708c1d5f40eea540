import { AIMessage, HumanMessage, ToolMessage, type BaseMessage } from "@langchain/core/messages";

const words = (
  "the agent looked at the booking and found that the train from Lund leaves before the flight lands " +
  "so it asked whether a later one would do and what the customer would rather have than wait for two " +
  "hours in the rain"
).split(" ");

/**
 * Messages as agents make them: question, call, result, answer, and again; about 400 bytes each in LangChain's own `{
 * type, data }` form. The objects are new at each call, the ids unique within the process.
 */
export function conversation(count: number, first = 0): BaseMessage[] {
  return Array.from({ length: count }, (_, index) => messageAt(first + index));
}

let made = 0;

function messageAt(index: number): BaseMessage {
  const id = nextId();
  const callId = `call_${Math.floor(index / 4)
    .toString(36)
    .padStart(12, "q")}`;
  switch (index % 4) {
    case 0:
      return new HumanMessage({ id, content: sentence(index, 48) });
    case 1:
      return new AIMessage({
        id,
        content: "",
        tool_calls: [
          { type: "tool_call", id: callId, name: "find_train", args: { from: "Lund", query: sentence(index, 8) } },
        ],
      });
    case 2:
      return new ToolMessage({
        id,
        tool_call_id: callId,
        name: "find_train",
        content: JSON.stringify({ found: 3, note: sentence(index, 32) }),
      });
    default:
      return new AIMessage({
        ...{ id, content: sentence(index, 30) },
        usage_metadata: { input_tokens: 500 + (index % 97), output_tokens: 60, total_tokens: 560 + (index % 97) },
        response_metadata: { model_name: "gpt-4o-mini", finish_reason: "stop" },
      });
  }
}

/** As many words, another text at each index. */
export function sentence(index: number, length: number): string {
  return Array.from({ length }, (_, place) => words[(index * 7 + place * (1 + (index % 5))) % words.length]).join(" ");
}

function nextId(): string {
  made += 1;
  const tail = made.toString(16).padStart(12, "0");
  return `019a7c3e-5b21-7d40-9c11-${tail}`;
}
