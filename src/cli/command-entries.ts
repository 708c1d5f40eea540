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
    name: "doctor",
    summary: "Look at how the server is set up, and say what to change.",
    load: async () => (await import("./commands/doctor.js")).doctorCommand(),
  },
  {
    name: "migrate",
    summary: "Copy histories that @langchain/redis, @langchain/community or LangChain in Python wrote.",
    load: async () => (await import("./commands/migrate.js")).migrateCommand(),
  },
  {
    name: "simulate",
    summary: "Replay conversations through reducers: tokens sent, cached and billed, and what is still seen.",
    load: async () => (await import("./commands/simulate.js")).simulateCommand(),
  },
];
