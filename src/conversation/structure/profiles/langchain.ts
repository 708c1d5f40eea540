import type { StructureProfile } from "./profile.js";
import { refusedEverywhere } from "./refused-everywhere.js";

/**
 * LangChain's own rules of a valid chat history, the minimum of every provider. A call id reused by a later message is
 * common and harmless.
 */
export const langchain: StructureProfile = {
  name: "langchain",
  rules: { ...refusedEverywhere, S01: "error", S02: "warning", S03: "error", S05: "error" },
  callIds: { reuse: "warning" },
};

/** The rules of LangChain's guide for a request: a first message that breaks them is no mere warning. */
export const langchainGuide: StructureProfile = { ...langchain, rules: { ...langchain.rules, S02: "error" } };
