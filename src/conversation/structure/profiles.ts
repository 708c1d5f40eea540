import type { StructureProfile } from "./profile.js";

/** The names of the profiles that the package brings. */
export type BuiltInProfile = "langchain";

/** What LangChain itself says of a valid chat history; every provider wants at least this. Id re-use across messages is common and harmless. */
const langchain: StructureProfile = {
  name: "langchain",
  rules: {
    S01: "error",
    S02: "warning",
    S03: "error",
    S05: "error",
    S07: "error",
    S08: "error",
    S09: "error",
    S10: "error",
    S11: "error",
    S12: "error",
    S30: "error",
  },
  callIds: { reuse: "warning" },
};

/** The profiles that the package brings, by name. */
export const builtInProfiles: Readonly<Record<BuiltInProfile, StructureProfile>> = { langchain };
