import type { BaseMessage } from "@langchain/core/messages";
import { setTimeout as pause } from "node:timers/promises";
import { MemoryError } from "../../../../src/base/errors.js";
import type { Random } from "../../../testkit/random.js";
import type { Told } from "../../journal/entries.js";
import type { Lane } from "../lane.js";
import type { Operation } from "./operation.js";

const tries = 4;
const [waitMs, longestMs] = [2_000, 5_000];

/** Has a question answered by a run, as a page that asks again until it has the whole answer. */
export const startAnswer: Operation = {
  name: "start-answer",
  needsServers: true,
  weight: ({ removals }) => (removals === "erase" ? 0 : 1),
  run: async (lane, random) => {
    const turn = lane.newTurn();
    const whileRunning = random.pick(["refuse", "queue", "stop"] as const);
    const { runs, work } = lane.doors.answers();
    for (let attempt = 1, isDone = false; !isDone && attempt <= tries; attempt += 1) {
      isDone = await lane.ask({ do: "follow", chat: lane.chat, turn, door: "runs" }, async () => {
        await runs.start(lane.chat, { turnId: turn, whileRunning, waitMs }, work(lane.chat, turn));
        return hear(lane, turn, random);
      });
      await pause(20 * attempt);
    }
  },
};

/** Reads the run of another client, as a second tab; sometimes stops it. */
export const followAnswer: Operation = {
  name: "follow-answer",
  needsServers: true,
  weight: ({ removals }) => (removals === "erase" ? 0 : 4),
  run: async (lane, random) => {
    const { runs } = lane.doors.answers();
    const active = await runs.active(lane.chat).catch(() => undefined);
    if (active === undefined) {
      return;
    }
    const { turnId: turn } = active;
    const stop = async () => {
      await pause(random.between(0, 80));
      await runs.stop(lane.chat).catch(() => undefined);
    };
    const stopping = random.chance(0.15) ? stop() : undefined;
    await lane.ask({ do: "follow", chat: lane.chat, turn, door: "runs" }, () => hear(lane, turn, random));
    await stopping;
  },
};

/** Reads a run to its end, and leaves it in between, as a page that is loaded again. */
async function hear(lane: Lane, turn: string, random: Random): Promise<Partial<Told>> {
  const { runs } = lane.doors.answers();
  const signal = AbortSignal.timeout(longestMs);
  const heard = { said: "", run: "", after: "", end: "" };
  for (let isOver = false; !isOver;) {
    const leaveAfter = random.chance(0.4) ? random.between(1, 8) : Infinity;
    try {
      isOver = await hearSome(runs.join(lane.chat, { turnId: turn, after: heard.after, signal }), heard, leaveAfter);
    } catch (error) {
      // A page's EventSource connects again.
      if (!MemoryError.isInstance(error) || !error.retryable || signal.aborted) {
        throw error;
      }
      await pause(50);
    }
  }
  const { said, run, end } = heard;
  return { ok: end === "done", said, ...(end !== "" && { end }), ...(run !== "" && { run }) };
}

/** Reads so many items; true where there are no more. */
async function hearSome(
  items: AsyncIterable<object>,
  heard: { said: string; run: string; after: string; end: string },
  leaveAfter: number,
): Promise<boolean> {
  let left = leaveAfter;
  for await (const item of items) {
    if ("id" in item && "chunk" in item) {
      heard.after = String(item.id);
      heard.run = heard.after.slice(0, heard.after.indexOf("-"));
      heard.said += textOf(item.chunk);
    } else if ("state" in item) {
      heard.end = String(item.state);
    } else {
      // The stored answer counts, or nothing: the end may be of another run of the turn.
      heard.run = "";
      heard.said = "chunk" in item ? textOf(item.chunk) : "";
    }
    left -= 1;
    if (left === 0 && heard.end === "") {
      return false;
    }
  }
  return true;
}

function textOf(chunk: unknown): string {
  const message = (Array.isArray(chunk) ? chunk.at(-1) : chunk) as BaseMessage | undefined;
  return message?.text ?? "";
}
