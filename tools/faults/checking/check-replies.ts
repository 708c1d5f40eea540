import type { Call } from "../journal/read-journals.js";
import type { Finding } from "./finding.js";

const isForeign = /^script_failed$|^(Type|Range|Reference|Syntax)Error: |gave a reply that this package does not know/;

/**
 * Finds calls that failed by a reply which no command of this package gives, or by an error of JavaScript: signs that
 * replies are taken for those of other commands. By chance such a reply may fit, and would show another session.
 */
export function checkReplies(session: string, calls: readonly Call[]): Finding[] {
  return calls
    .filter(({ answer }) => isForeign.test(answer.error ?? ""))
    .map(({ do: deed, client, asked, answer }) => {
      const says = `${deed} of client ${client} at ${asked} failed: ${answer.error}`;
      return { figure: "unknownReplies", session, amount: 1, says };
    });
}
