import { Command } from "commander";
import type { Redis } from "ioredis";
import { type CommandContext, type CommandDefinition, exitCodes, type ExitCode, interrupted } from "../command.js";
import { finding, type Finding, serverFindings } from "../doctor/server-findings.js";
import { permissionFindings } from "../doctor/permissions.js";
import { addressOf, factsOf } from "../doctor/server-facts.js";
import { failureOf } from "../failure.js";
import { counted } from "../figures.js";
import { printable } from "../printable.js";
import { mastersOf } from "../find-keys.js";
import type { Screen } from "../screen.js";
import { openServer, withServerOptions, type ServerOptions } from "../server.js";

/** `doctor`: how the server is set up, and what to change. */
export function doctorCommand(): CommandDefinition {
  return {
    command: withServerOptions(new Command()),
    run: (context, options) => doctor(context, options as ServerOptions),
  };
}

async function doctor({ screen, env, signal }: CommandContext, options: ServerOptions): Promise<ExitCode> {
  const server = await openServer(options, env);
  const count = { problem: 0, warning: 0, note: 0, ok: 0 };
  try {
    const user = env["REDIS_USERNAME"] || "this user";
    for (const node of mastersOf(server.client)) {
      if (signal.aborted) {
        return interrupted(screen, "Not all servers were looked at.");
      }
      const question = { keyPrefix: options.prefix, user, isAlone: node === server.client };
      const findings = await findingsOf(node, question);
      findings.forEach(({ level }) => (count[level] += 1));
      await print(screen, addressOf(node), findings);
    }
  } finally {
    await server.close();
  }
  const { problem, warning } = count;
  const isWell = problem + warning === 0;
  await screen.line(isWell ? "Nothing to change." : `${counted(problem, "problem")}, ${counted(warning, "warning")}.`);
  return problem > 0 ? exitCodes.findings : isWell ? exitCodes.done : exitCodes.warnings;
}

interface Question {
  readonly keyPrefix: string;
  readonly user: string;
  readonly isAlone: boolean;
}

/** Looks at a server. One of a Cluster that does not answer is a finding; without any other there is nothing to say. */
async function findingsOf(node: Redis, { keyPrefix, user, isAlone }: Question): Promise<Finding[]> {
  try {
    const facts = await factsOf(node, { keyPrefix });
    return [...serverFindings(facts, Date.now()), ...(await permissionFindings(node, keyPrefix, user))];
  } catch (error) {
    if (isAlone || failureOf(error).code !== exitCodes.unreachable) {
      throw error;
    }
    const advice = "Start it, or let a replica take over: until then its sessions can be neither read nor written.";
    return [finding("problem", "server", "this master does not answer", advice)];
  }
}

const marks: Readonly<Record<Finding["level"], string>> = {
  ok: "ok",
  note: "note",
  warning: "warn",
  problem: "PROBLEM",
};

async function print(screen: Screen, address: string, findings: readonly Finding[]): Promise<void> {
  const { green, yellow, red, dim, bold } = screen.colours;
  const paint = { ok: green, note: dim, warning: yellow, problem: red };
  await screen.line(address, { paint: bold });
  for (const { level, check, found, advice } of findings) {
    await screen.record({ server: address, level, check, found, advice });
    const mark = `  ${marks[level].padEnd(8)}`;
    await screen.line(`${mark}${check.padEnd(12)}${printable(found)}`, {
      indent,
      paint: (line) => (line.startsWith(mark) ? paint[level](mark) + line.slice(mark.length) : line),
    });
    if (advice !== "") {
      await screen.line(`${" ".repeat(indent)}${printable(advice)}`, { paint: dim });
    }
  }
  await screen.line();
}

const indent = 22;
