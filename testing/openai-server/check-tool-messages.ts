import { Refused } from "./refusal.js";

/**
 * Throws if tool messages do not match the calls of assistant messages. The shape of the messages has already been
 * checked.
 */
export function checkToolMessages(messages: readonly Record<string, unknown>[]): void {
  let called: ReadonlySet<string> | undefined;
  let open = new Set<string>();
  messages.forEach((message, index) => {
    if (message["role"] === "tool") {
      const id = message["tool_call_id"] as string;
      checkAnswer({ id, index }, called);
      open.delete(id);
      return;
    }
    refuseOpenCalls(open, `messages.[${index}].role`);
    const ids = callIds(message);
    called = message["role"] === "assistant" && ids.length > 0 ? new Set(ids) : undefined;
    checkUnique(ids, index);
    open = new Set(ids);
  });
  refuseOpenCalls(open, "messages");
}

function callIds(message: Record<string, unknown>): string[] {
  const calls = message["role"] === "assistant" ? (message["tool_calls"] as { id: string }[] | undefined) : undefined;
  return (calls ?? []).map(({ id }) => id);
}

/** `called` holds the ids of the assistant message that the tool messages follow. */
function checkAnswer(
  { id, index }: { readonly id: string; readonly index: number },
  called: ReadonlySet<string> | undefined,
): void {
  if (called === undefined) {
    throw new Refused(
      "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
      {
        param: `messages.[${index}].role`,
      },
    );
  }
  if (!called.has(id)) {
    throw new Refused(`Invalid parameter: 'tool_call_id' of '${id}' not found in 'tool_calls' of previous message.`, {
      param: `messages.[${index}].tool_call_id`,
    });
  }
}

function checkUnique(ids: readonly string[], index: number): void {
  const seen = new Set<string>();
  for (const id of ids) {
    if (seen.has(id)) {
      throw new Refused(`Duplicate value for 'tool_call_id' of ${id} in message[${index}]`);
    }
    seen.add(id);
  }
}

function refuseOpenCalls(open: ReadonlySet<string>, param: string): void {
  if (open.size > 0) {
    throw new Refused(
      "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. " +
        `The following tool_call_ids did not have response messages: ${[...open].join(", ")}`,
      { param },
    );
  }
}
