import { appendPlain, appendWithIds, appendWithTurnId } from "./append-turn.js";
import { eraseBeside } from "./erase-beside.js";
import { eraseOwner } from "./erase-owner.js";
import { followAnswer, startAnswer } from "./follow-answer.js";
import { forkSession } from "./fork-session.js";
import { clearHeld, heldTurn } from "./held-turn.js";
import { listSessions } from "./list-sessions.js";
import type { Operation } from "./operation.js";
import { putCheckpoints } from "./put-checkpoints.js";
import { readTranscript, readView } from "./read-session.js";
import { rotateKeys } from "./rotate-keys.js";
import { reduceByHand } from "./reduce-by-hand.js";
import { clear, rewind, takeBack } from "./remove-messages.js";
import { replaceFrom } from "./replace-from.js";
import { retryTurn } from "./retry-turn.js";
import { agentTurn, chainTurn, managedTurn, messageHistoryRun } from "./run-turn.js";

/** Everything that clients do. */
export const operations: readonly Operation[] = [
  ...[appendWithIds, appendWithTurnId, appendPlain],
  ...[chainTurn, agentTurn, managedTurn, messageHistoryRun, retryTurn],
  ...[readView, readTranscript, reduceByHand, rewind, takeBack, clear],
  ...[replaceFrom, forkSession, heldTurn, listSessions, eraseOwner, putCheckpoints, rotateKeys],
  ...[startAnswer, followAnswer, clearHeld, eraseBeside],
];
