import type { CommandDefinition } from "./command.js";

/** A command as the list of commands shows it. */
export interface CommandEntry {
  readonly name: string;
  readonly summary: string;
  load(): Promise<CommandDefinition>;
}

/** Every command, in the order of `--help`. */
export const commandEntries: readonly CommandEntry[] = [
  {
    name: "sessions",
    summary: "List sessions: title, owner, messages, rounds, tokens, times.",
    load: async () => (await import("./commands/sessions-command.js")).sessionsCommand(),
  },
  {
    name: "search",
    summary: "Find sessions by title, metadata, last write and the text of their messages.",
    load: async () => (await import("./commands/search-command.js")).searchCommand(),
  },
  {
    name: "threads",
    summary: "List LangGraph threads of RedisSaver: checkpoints, stored texts, expiry.",
    load: async () => (await import("./commands/threads-command.js")).threadsCommand(),
  },
  {
    name: "show",
    summary: "Show a session as rounds: what the model sees, and what left its view.",
    load: async () => (await import("./commands/show-command.js")).showCommand(),
  },
  {
    name: "check",
    summary: "Look for damage, and for what a model would refuse.",
    load: async () => (await import("./commands/check-command.js")).checkCommand(),
  },
  {
    name: "stats",
    summary: "Count sessions and messages, and measure what they take in Redis.",
    load: async () => (await import("./commands/stats-command.js")).statsCommand(),
  },
  {
    name: "watch",
    summary: "Show what is written to a session while it is written.",
    load: async () => (await import("./commands/watch-command.js")).watchCommand(),
  },
  {
    name: "inspect",
    summary: "Serve a local page: what the model sees of a session, what left its view, and why.",
    load: async () => (await import("./commands/inspect-command.js")).inspectCommand(),
  },
  {
    name: "rebuild",
    summary: "Repair a session of which Redis lost a part, from its log.",
    load: async () => (await import("./commands/rebuild-command.js")).rebuildCommand(),
  },
  {
    name: "delete",
    summary: "Delete sessions and all that is kept about them.",
    load: async () => (await import("./commands/delete-command.js")).deleteCommand(),
  },
  {
    name: "prune",
    summary: "Drop the older checkpoints of a LangGraph thread.",
    load: async () => (await import("./commands/prune-command.js")).pruneCommand(),
  },
  {
    name: "reindex",
    summary: "Make the lists of all owners agree with the sessions.",
    load: async () => (await import("./commands/reindex-command.js")).reindexCommand(),
  },
  {
    name: "reencrypt",
    summary: "Bring all data under the current encryption key.",
    load: async () => (await import("./commands/reencrypt-command.js")).reencryptCommand(),
  },
  {
    name: "export",
    summary: "Write sessions to standard output, whole or in OpenAI's chat format.",
    load: async () => (await import("./commands/export-command.js")).exportCommand(),
  },
  {
    name: "import",
    summary: "Bring sessions back from an export, or from other makers' files.",
    load: async () => (await import("./commands/import-command.js")).importCommand(),
  },
  {
    name: "migrate",
    summary: "Copy histories that @langchain/redis, @langchain/community or LangChain in Python wrote.",
    load: async () => (await import("./commands/migrate-command.js")).migrateCommand(),
  },
  {
    name: "simulate",
    summary: "Replay conversations through reducers: tokens sent, cached and billed, and what is still seen.",
    load: async () => (await import("./commands/simulate-command.js")).simulateCommand(),
  },
  {
    name: "doctor",
    summary: "Look at how the server is set up, and say what to change.",
    load: async () => (await import("./commands/doctor-command.js")).doctorCommand(),
  },
];
