import { beginsRound, forget, inChunks, loadSession, now } from "./fragments.js";
import { script } from "./script.js";

/**
 * Removes the end of the log if the session is as it was read; a session of which neither record nor head is left ends.
 *
 * KEYS: log, ids, state.
 * ARGV: the request as JSON { epoch, rev, next, newRev, to }; packed hashes of the ids to forget.
 * Replies: REWOUND | STALE | DAMAGED | RANGE (the position lies before the base).
 *
 * Where the named ids are not all that were removed (a record could not be read), all ids are looked through: one that
 * stayed would make a new message look like a repetition.
 */
export const rewindScript = script(
  [loadSession, inChunks, beginsRound, now, forget],
  `
local log, ids, state = KEYS[1], KEYS[2], KEYS[3]
local request, s = cjson.decode(ARGV[1]), loadSession()
if s.rev == request.newRev then return 'REWOUND' end
if s.damaged then return 'DAMAGED' end
if s.epoch == '' or s.epoch ~= request.epoch or s.rev ~= request.rev or s.next ~= request.next then return 'STALE' end
if request.to < s.base then return 'RANGE' end
local kept = request.to - s.base
local headless = request.to < s.start or redis.call('HSTRLEN', state, 'head') == 0
if kept == 0 and headless then
  redis.call('UNLINK', log, ids, state)
  return 'REWOUND'
end
for first = kept, s.length - 1, 64 do
  for _, record in ipairs(redis.call('LRANGE', log, first, first + 63)) do
    s.rounds = s.rounds - (beginsRound(record) and 1 or 0)
  end
end
if kept == 0 then redis.call('UNLINK', log) else redis.call('LTRIM', log, 0, kept - 1) end
redis.call('HSET', state, 'next', request.to, 'rev', request.newRev, 'rounds', s.rounds, 'updated', now())
redis.call('HDEL', state, 'tokens', 'counter')
if request.to < s.start then
  redis.call('HDEL', state, 'head', 'headCount')
  redis.call('HSET', state, 'start', s.base)
end
if forget(ARGV[2], request.to, math.huge) < s.length - kept then
  forget(table.concat(redis.call('HKEYS', ids)), request.to, math.huge)
end
return 'REWOUND'
`,
);
