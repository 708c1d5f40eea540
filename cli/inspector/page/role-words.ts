import type { RowRole } from "../model/data.js";

/** Who speaks, as the page calls them. */
export const roleWords: Readonly<Record<RowRole, string>> = {
  system: "System",
  summary: "Summary",
  human: "User",
  ai: "Assistant",
  tool: "Tool result",
  other: "Other",
  unreadable: "Unreadable",
};
