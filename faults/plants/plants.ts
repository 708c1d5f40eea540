/**
 * A text of `src` that stands there exactly once, and what a defect makes of it. Where it stands in a Lua file, the
 * client is built with the scripts put together anew.
 */
export interface Plant {
  readonly file: string;
  readonly search: string;
  readonly replacement: string;
}

const lua = "src/redis/lua";
const store = "src/redis-store/redis-session-store.ts";
const append = "async append(session: SessionRef, request: AppendRequest): Promise<AppendResult> {";

/** Defects that the checker has to find. They are put into the built clients only; `src` knows nothing of them. */
export const plants = {
  /** An append does not look whether its messages or its turn are stored already. */
  idempotence: [
    {
      file: `${lua}/includes/sort-out.lua`,
      search: "local function sortOut(s, count)",
      replacement: "local function sortOut(s, count)\n  do return {}, 0, {} end",
    },
    {
      file: `${lua}/includes/stored-turn.lua`,
      search: "local function storedTurn(s, turn)",
      replacement: "local function storedTurn(s, turn)\n  do return nil, s.begun and readMark(turn.name) or nil end",
    },
  ],
  /** A reduction is committed whatever happened since its view was read. */
  "compare-and-set": [
    {
      file: `${lua}/commit-reduction.lua`,
      search: "if s.next < request.next or not isAsRead(s, request) then",
      replacement: "if s.epoch == '' then",
    },
  ],
  /** A reducer's result is stored also where it splits a step. */
  "step-check": [
    {
      file: "src/session/plan-commit.ts",
      search: "if (splitsStep({ before, after })) {",
      replacement: "if (splitsStep({ before, after }) && before.length < 0) {",
    },
  ],
  /** A turn is written in two halves. */
  "torn-write": [
    {
      file: store,
      search: append,
      replacement: `${append}
    if (request.records.length > 2 && request.turn === undefined) {
      await this.append(session, { ...request, records: request.records.slice(0, 2) });
    }`,
    },
  ],
  /** A write is acknowledged before it is made. */
  "early-ack": [
    {
      file: store,
      search: append,
      replacement: `async append(session: SessionRef, request: AppendRequest): Promise<AppendResult> {
    this.reallyAppend(session, request).catch(() => undefined);
    const next = (this.#seen.get(session.id)?.next ?? 0) + request.records.length;
    return { appended: request.records.length, duplicates: 0, conflicts: [], next, epoch: "" };
  }

  async reallyAppend(session: SessionRef, request: AppendRequest): Promise<AppendResult> {`,
    },
  ],
  /** A lease is given to everybody who asks. */
  lease: [
    {
      file: "src/redis-store/beside.ts",
      search: 'args: [keys.lease, token, "NX", "PX", ttlMs]',
      replacement: 'args: [keys.lease, token, "PX", ttlMs]',
    },
  ],
  /** A checkpoint is stored with the positions that its writer knows, also where their items were dropped since. */
  "stale-checkpoint": [
    {
      file: "src/checkpoint/lua/put-checkpoint.lua",
      search: "refusal = refuses(thread, request.expected)",
      replacement: "refusal = refuses(thread)",
    },
  ],
} as const satisfies Record<string, readonly Plant[]>;

export type PlantName = keyof typeof plants;

export const plantNames = Object.keys(plants) as PlantName[];
