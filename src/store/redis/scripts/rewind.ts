import { beginsRound, forget, inChunks, loadSession, now, truncate } from "./fragments.js";
import { script } from "./script.js";

/**
 * Removes the end of the log if the session is as it was read; a session of which neither record nor head is left ends.
 *
 * KEYS: log, ids, state.
 * ARGV: the request as JSON { epoch, rev, next, newRev, to }; packed hashes of the ids to forget; pairs of the name
 * of a turn and its new mark, empty if nothing is left of it.
 * Replies: REWOUND | STALE | DAMAGED | RANGE (the position lies before the base).
 */
export const rewindScript = script(
  [loadSession, inChunks, beginsRound, now, forget, truncate],
  `
local request, s = cjson.decode(ARGV[1]), loadSession()
if s.rev == request.newRev then return 'REWOUND' end
if s.damaged then return 'DAMAGED' end
if s.epoch == '' or s.epoch ~= request.epoch or s.rev ~= request.rev or s.next ~= request.next then return 'STALE' end
if request.to < s.base then return 'RANGE' end
local headless = request.to < s.start or redis.call('HSTRLEN', KEYS[3], 'head') == 0
if request.to == s.base and headless then
  redis.call('UNLINK', KEYS[1], KEYS[2], KEYS[3])
  return 'REWOUND'
end
truncate(s, request.to, ARGV[2], ARGV, 3)
redis.call('HSET', KEYS[3], 'rev', request.newRev, 'cut', request.newRev)
return 'REWOUND'
`,
);
