import { loadedOnce } from "../../base/loaded-once.js";

/** The scripts that many histories never send, loaded with the first one that is needed. */
export const laterScripts = loadedOnce(() => import("./lua/later-scripts.js"));
