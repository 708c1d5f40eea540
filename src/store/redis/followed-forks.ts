import type { SessionForks } from "../session-forks.js";
import type { RedisSessionIndex } from "./redis-session-index.js";

/** Forks whose new sessions are listed. */
export function followedForks(forks: SessionForks, index: RedisSessionIndex): SessionForks {
  return {
    fork: async (sessionId, newSessionId, request) => {
      const forked = await forks.fork(sessionId, newSessionId, request);
      await (forked && index.began(newSessionId));
      return forked;
    },
  };
}
