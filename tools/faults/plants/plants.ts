/**
 * A text of `src` that stands there exactly once, and what a defect makes of it. Where it stands in a Lua file, the
 * client is built with the scripts put together anew.
 */
export interface Plant {
  readonly file: string;
  readonly search: string;
  readonly replacement: string;
}

const lua = "src/store/redis/lua";
const store = "src/store/redis-store/redis-session-store.ts";
const append = "  append(session: SessionRef, request: AppendRequest): Promise<AppendResult> {";

/** Defects that the checker has to find. They are put into the built clients only; `src` knows nothing of them. */
export const plants = {
  /** An append does not look whether its messages or its turn are stored already. */
  idempotence: [
    {
      file: `${lua}/includes/repeated-append.lua`,
      search: "local function sortOut(s, count, digests)",
      replacement: "local function sortOut(s, count, digests)\n  do return {}, 0, {} end",
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
      search: "if s.next < request.next or not isShared or not isAsRead(s, request) then",
      replacement: "if s.epoch == '' then",
    },
  ],
  /** A reducer's result is stored also where it splits a step. */
  "step-check": [
    {
      file: "src/memory/session/reduce-view.ts",
      search: "if (splitsStep({ before: before.map(originalOf), after: after.map(originalOf) })) {",
      replacement: "if (splitsStep({ before, after }) && before.length < 0) {",
    },
  ],
  /** A turn is written in two halves. */
  "torn-write": [
    {
      file: store,
      search: append,
      replacement: `  async ${append.trim()}
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
      replacement: `  async append(session: SessionRef, request: AppendRequest): Promise<AppendResult> {
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
      file: "src/store/redis-store/session-data.ts",
      search: 'args: [keys.lease, token, "NX", "PX", ttlMs]',
      replacement: 'args: [keys.lease, token, "PX", ttlMs]',
    },
  ],
  /** A checkpoint is stored with the positions that its writer knows, also where their items were dropped since. */
  "stale-checkpoint": [
    {
      file: "src/langgraph/checkpoint/lua/put-checkpoint.lua",
      search: "refusal = refuses(thread, request.expected)",
      replacement: "refusal = refuses(thread)",
    },
  ],
  /** Who goes on reading a run in the middle of a batch is given the next one. */
  "run-position": [
    {
      file: "src/runs/redis-runs.ts",
      search: "const from = isElsewhere ? runStart : (position?.place ?? runStart);",
      replacement: "const from = position === undefined ? runStart : { ...position.place, index: 999 };",
    },
  ],
  /** The id that a message got is not remembered, so that a retry gives it another. */
  "retry-id": [{ file: "src/store/codec/encode-message.ts", search: "given.set(message, id);", replacement: "" }],
  /** Late writers may begin an erased session anew. */
  "erasure-guard": [
    {
      file: `${lua}/includes/gate.lua`,
      search: "if s.erased and checks:find('erased', 1, true) then return { 'ERASED' } end",
      replacement: "",
    },
  ],
  /** An erasure leaves threads. */
  "thread-erasure": [
    {
      file: "src/store/redis-lists/kinds.ts",
      search: 'erase: async (scan, id, request) => (await eraseThread(scan, nameOf(id), textOf(request)))[1] === "1",',
      replacement: "erase: async () => false,",
    },
  ],
  /** An erasure leaves no tombstone of a run, and its entries. */
  "run-erasure": [
    {
      file: `${lua}/erase-run.lua`,
      search: "redis.call('XADD', KEYS[1], 'MAXLEN', 1, id, 'x', request.isCleared and 'cleared' or '')",
      replacement: "",
    },
  ],
  /** An erasure leaves items. */
  "item-erasure": [{ file: `${lua}/clear-items.lua`, search: "removeItems(found)", replacement: "" }],
  /** The name of a turn is not passed on by `HistoryManager`. */
  "turn-name": [
    {
      file: "src/doors/tool-loop/turn/turn.ts",
      search: "this.#givenName ??= name;",
      replacement: "",
    },
  ],
  /** A reduction begins the view one message too late. */
  "view-start": [
    {
      file: `${lua}/commit-reduction.lua`,
      search: "'start', request.start, 'next'",
      replacement: "'start', math.min(request.start + 1, s.next), 'next'",
    },
  ],
  /** A reduction discards one message too many. */
  "discard-start": [
    {
      file: `${lua}/commit-reduction.lua`,
      search: "request.start - s.base, -1)",
      replacement: "request.start - s.base + 1, -1)",
    },
  ],
  /** A kept view is taken for the log's end without a look at the checksum and at what was read last. */
  "kept-view": [
    {
      file: "src/store/redis-store/views.ts",
      search: "if (!isSame || records[0] !== texts[texts.length - 1] || records.length",
      replacement: "if (!isSame || records.length",
    },
    {
      file: "src/store/redis-store/views.ts",
      search: "return sumFrom(fields[sumAt]) === logSum(fresh, keptView.sum)",
      replacement: "return sumFrom(fields[sumAt]) !== keptView.sum || logSum(fresh, keptView.sum) !== undefined",
    },
  ],
  /** A clear that comes again after its reply was lost is made again. */
  "clear-again": [
    {
      file: `${lua}/clear-session.lua`,
      search: "if not epoch and s.epoch ~= ARGV[2] then return { 'CLEARED', s.owner or '' } end",
      replacement: "",
    },
  ],
  /** A rewind cuts the log whatever happened since it was read. */
  "blind-rewind": [
    {
      file: `${lua}/append.lua`,
      search: "if cut and not (atEnd and isAsRead(s, cut)) or not isSideAs(request.expects) then",
      replacement: "if not isSideAs(request.expects) then",
    },
  ],
  /** A turn is not marked as stored when it is begun. */
  "turn-mark": [
    {
      file: `${lua}/append.lua`,
      search: "if turn and (mark or fresh > 0) then",
      replacement: "if turn and mark then",
    },
  ],
  /** The name of a turn is not passed on by a chain. */
  "chain-turn-name": [
    {
      file: "src/doors/chain/turn.ts",
      search: "turnId: names.turnId ?? questionIdOf(messages),",
      replacement: "turnId: undefined,",
    },
  ],
  /** A rewind to before the view's start leaves the start where it was. */
  "rewound-start": [
    {
      file: `${lua}/includes/truncate.lua`,
      search: "redis.call('HSET', state, 'start', s.base)",
      replacement: "",
    },
  ],
  /** A reduction sets the log's length to what it read, though others wrote meanwhile. */
  "stale-length": [
    {
      file: `${lua}/commit-reduction.lua`,
      search: "'next', s.next, 'rev', request.newRev)",
      replacement: "'next', request.next, 'rev', request.newRev)",
    },
  ],
  /** A reduction that discards messages does not note how many. */
  "base-left": [
    {
      file: `${lua}/commit-reduction.lua`,
      search: "redis.call('HSET', state, 'base', request.start)",
      replacement: "",
    },
  ],
  /** A rewind to before the view's start leaves what stood in front of it. */
  "head-left": [
    {
      file: `${lua}/includes/truncate.lua`,
      search: "redis.call('HDEL', state, 'head', 'headCount')",
      replacement: "",
    },
  ],
  /** A turn that holds its session writes by a history that knows nothing of the hold. */
  "unfenced-turn": [
    {
      file: "src/memory/histories/redis-chat-memory.ts",
      search: 'const session = sessionOf("withTurn", history);',
      replacement: 'const session = sessionOf("withTurn", this.history(sessionId, identity));',
    },
  ],
  /** A clear under a hold gives the session a new epoch and leaves the rest. */
  "held-clear": [
    {
      file: `${lua}/clear-session.lua`,
      search: "redis.call('UNLINK', KEYS[1], KEYS[2])",
      replacement: "if not epoch then redis.call('UNLINK', KEYS[1], KEYS[2]) end",
    },
  ],
  /** A copy under another key takes the place of its session whatever was written meanwhile. */
  "blind-swap": [
    {
      file: `${lua}/replace-session.lua`,
      search: "if not same or texts ~= (#ARGV - 1) / 3 then return { 'STALE' } end",
      replacement: "",
    },
  ],
  /** An append leaves the expiry of one key as it was. */
  "one-expiry": [
    { file: `${lua}/includes/plain-writes.lua`, search: "  call('PEXPIREAT', ids, expiry)\n", replacement: "" },
  ],
  /** A copy is made of a session that others removed messages from meanwhile. */
  "fork-moment": [
    {
      file: "src/memory/sessions/copy-session.ts",
      search: "state !== undefined && state.epoch === epoch && state.cut === cut && state.owner === owner;",
      replacement: "state !== undefined;",
    },
  ],
  /** A page of an owner's list begins with the last entry of the page before. */
  "list-page": [
    {
      file: "src/store/redis-lists/owner-lists.ts",
      search: "entry.member < place.member",
      replacement: "entry.member <= place.member",
    },
  ],
} as const satisfies Record<string, readonly Plant[]>;

export type PlantName = keyof typeof plants;

export const plantNames = Object.keys(plants) as PlantName[];
