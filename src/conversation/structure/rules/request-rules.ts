import type { BaseMessage } from "@langchain/core/messages";
import { type Block, blocksOf } from "../../messages/content.js";
import { mapBlocks, mapSame } from "../../messages/copies/edits.js";
import { mediaIn, mediaKinds, mediaLeftOut } from "../../messages/media.js";
import { withinMarks } from "./mark-rules.js";
import type { ReportFinding, StructureContext, StructureCriteria, StructureRule } from "./rules.js";

/** A rule about all messages of a request, of which a provider takes so many parts. */
interface RequestRule {
  readonly rule: StructureRule;
  readonly problem: string;
  readonly done: string;
  /** The messages with the newest parts, one for one; the same list if all stay. */
  readonly keep: (messages: readonly BaseMessage[], criteria: StructureCriteria) => readonly BaseMessage[];
}

/** The rules S38 and S39. */
const requestRules: readonly RequestRule[] = [
  {
    rule: "S38",
    problem: "The request has more marks of a prompt cache than four, or one for an hour behind a shorter one.",
    done: "Took a mark of a prompt cache.",
    keep: (messages, { marks }) => withinMarks(messages, marks),
  },
  {
    rule: "S39",
    problem: "The request has more pictures and files than the provider takes.",
    done: "Left out a picture or a file.",
    keep: (messages, { profile }) => withinMedia(messages, profile.maxMedia),
  },
];

/** Checks the parts of a request: rules S38 and S39. A stored history may have any number of them. */
export function checkRequest(context: StructureContext, report: ReportFinding): void {
  for (const { rule, problem, keep } of rulesFor(context)) {
    keep(context.messages, context).forEach((message, index) => {
      if (message !== context.messages[index]) {
        report({ rule, index, message: problem });
      }
    });
  }
}

/** The messages with no more parts than a request may have; calls `told` for each that changes. */
export function keepNewest(
  messages: readonly BaseMessage[],
  criteria: StructureCriteria,
  told: (change: Pick<RequestRule, "rule" | "done">, index: number) => void,
): readonly BaseMessage[] {
  return rulesFor(criteria).reduce((before, { keep, ...change }) => {
    const after = keep(before, criteria);
    after.forEach((message, index) => message !== before[index] && told(change, index));
    return after;
  }, messages);
}

function rulesFor({ purpose, marks, profile }: StructureCriteria): readonly RequestRule[] {
  const isRequest = purpose === "model-input" || marks !== undefined;
  return isRequest ? requestRules.filter(({ rule }) => profile.rules[rule] === "error") : [];
}

/** Notes stand for the oldest pictures and files. Linear. */
function withinMedia(messages: readonly BaseMessage[], max = Infinity): readonly BaseMessage[] {
  const isMedia = ({ type }: Block) => mediaKinds.has(type);
  let excess = max === Infinity ? 0 : messages.flatMap(blocksOf).filter(isMedia).length - max;
  const formOf = (block: Block): readonly Block[] => {
    const media = excess > 0 ? mediaIn(block) : undefined;
    excess -= media === undefined ? 0 : 1;
    return [media === undefined ? block : mediaLeftOut(media)];
  };
  return excess <= 0 ? messages : mapSame(messages, (message) => [mapBlocks(message, formOf)]);
}
