import { ChatHistoryTruncationReducer } from "langchain-redis-memory";
import type { SessionReport, SessionRows, SessionState } from "../../cli/inspector/model/data.js";
import { counted, missingWords, storedWords } from "../../cli/inspector/model/figures-in-words.js";
import { rowsOf } from "../../cli/inspector/model/row-model.js";
import { cutsOf } from "../../cli/inspector/model/timeline.js";
import { sessionKeys } from "../../src/store/redis/keys.js";
import { inspectedPlaces } from "../support/inspectors.js";
import { ai, human } from "../support/messages.js";

const place = inspectedPlaces();

const discarded = /^The oldest 1?\d\d? messages were discarded by the session’s retention\.$/;
const lost = /^The oldest 24 messages are not stored: Redis lost them before a rebuild, or /;

/** A session of twelve rounds that was reduced several times, and what happened to it. */
const cases: readonly (readonly [string, { readonly retention: "keep" | "discard"; isLost: boolean }, RegExp])[] = [
  ["retention discarded", { retention: "discard", isLost: false }, discarded],
  ["Redis lost", { retention: "keep", isLost: true }, lost],
  ["Redis lost behind what retention discarded", { retention: "discard", isLost: true }, lost],
];

it.each(cases)("The cause that messages are missing, their number and the lines: %s", async (_, how, cause) => {
  const { memory, ask, client, keyPrefix } = await place();
  const reducer = new ChatHistoryTruncationReducer({ targetCount: 4 });
  const history = memory({ reducer, retention: how.retention }).history("s");
  for (let round = 0; round < 12; round += 1) {
    await history.addMessages([human(`question ${round}`), ai(`answer ${round}`)]);
  }
  if (how.isLost) {
    await client.unlink(sessionKeys(keyPrefix, "s").log);
    await history.rebuild();
    await history.addMessages([human("and now?"), ai("It goes on.")]);
  }
  const state = await ask<SessionState>("session", { id: "s" });
  expect(state.reductionCount).toBeGreaterThan(3);
  expect(missingWords(state)).toMatch(cause);
  expect((await ask<SessionReport>("report", { id: "s" })).text).toContain(missingWords(state));
  const { sessions } = await ask<SessionRows>("sessions", { search: "", limit: 9 });
  const [{ messages, rounds }] = sessions as [SessionRows["sessions"][number]];
  expect(storedWords(state)).toBe(`${counted(messages, "message")} in ${counted(rounds, "round")}`);
  const cuts = cutsOf(state, () => undefined);
  const rows = rowsOf({ session: state, outline: [], base: state.base, cuts, end: state.next });
  expect(rows.filter(({ kind }) => kind === "cut")).toHaveLength(1);
});
