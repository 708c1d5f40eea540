import type { ContractCase } from "../../testing/session-store-contract.js";
import { startFakedClockRedis } from "../../tools/testkit/clocks/faked-clock.js";

/** A server whose time passes as the cases of the contract ask for it. */
export interface ContractServer {
  readonly url: string;
  wait(milliseconds: number): void;
  stop(): Promise<void>;
}

/** Starts one whose clock is the machine's at first, and ahead of it by what was waited for later. */
export async function startContractServer(): Promise<ContractServer> {
  const { url, shiftClock, stop } = await startFakedClockRedis();
  let passed = 0;
  const wait = (milliseconds: number) => {
    passed += milliseconds;
    shiftClock(passed / 1_000);
  };
  return { url, wait, stop };
}

const words = ["expir", "time to live", "its time", "time ran out", "life is extended", "keeps alive", "its grace"];
const timed = new RegExp([...words, "guard", "figures of a session"].join("|"));

/** Whether a case lets time pass, as its title says. */
export function takesTime({ title }: ContractCase): boolean {
  return timed.test(title);
}
