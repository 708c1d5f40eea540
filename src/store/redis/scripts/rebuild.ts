import { turnNameLength } from "../../turns.js";
import { digestLength, idHashLength } from "../id-hash.js";
import { explainIds, inChunks, loadSession, now } from "./fragments.js";
import { forbid } from "./owner-fragments.js";
import { script } from "./script.js";

const identityLength = idHashLength + digestLength;

/**
 * Writes `ids` anew and makes `state` agree with the log, if the session is as it was read.
 *
 * KEYS: log, ids, state. ARGV: what was read, as JSON { length, epoch, rev, next }, with { newEpoch, newRev, rounds,
 * keys, owner? }; hash and digest of each record of the log, one after the other; for each turn its name, the beginning
 * of its mark and the index in the log of its first record. Replies: REBUILT | CHANGED | ERASED | OWNER.
 *
 * A lost log leaves nothing to show: positions go on from `next`, so that none is given twice, and the head stays.
 */
export const rebuildScript = script(
  [loadSession, inChunks, now, explainIds, forbid],
  `
local log, ids, state = KEYS[1], KEYS[2], KEYS[3]
local request, s = cjson.decode(ARGV[1]), loadSession()
local refusal = forbid(request, s)
if refusal then return refusal[1] end
if s.rev == request.newRev then return 'REBUILT' end
if s.length ~= request.length or s.next ~= request.next then return 'CHANGED' end
if s.epoch ~= request.epoch or s.rev ~= request.rev then return 'CHANGED' end
if s.epoch == '' and s.length == 0 then
  redis.call('UNLINK', ids)
  return 'REBUILT'
end
local whole = s.length == s.next - s.base
local left = redis.call('PTTL', s.length > 0 and log or state)
if s.epoch == '' then redis.call('HSET', state, 'epoch', request.newEpoch) end
redis.call('HSET', state, 'rev', request.newRev, 'cut', request.newRev, 'updated', now())
for _, name in ipairs(request.keys) do
  if not (' ' .. s.key .. ' '):find(' ' .. name .. ' ', 1, true) then s.key = s.key .. ' ' .. name end
end
if #request.keys > 0 then redis.call('HSET', state, 'key', s.key:match('^%s*(.-)$')) end
if request.owner then redis.call('HSETNX', state, 'owner', request.owner) end
if not whole then
  redis.call('HDEL', state, 'tokens', 'counter')
  local base = s.length > 0 and s.base or s.next
  local start, next = math.max(s.start, base), base + s.length
  if start > next then
    redis.call('HDEL', state, 'head', 'headCount')
    start = base
  end
  local rounds = s.length > 0 and request.rounds or s.rounds
  redis.call('HSET', state, 'base', base, 'start', start, 'next', next, 'rounds', rounds)
  s.base = base
end
local entries = {}
for i = 1, s.length do
  local at = ${identityLength} * (i - 1)
  entries[2 * i - 1] = ARGV[2]:sub(at + 1, at + ${idHashLength})
  local digest = ARGV[2]:sub(at + ${idHashLength + 1}, at + ${identityLength})
  entries[2 * i] = digest .. string.format('%.0f', s.base + i - 1)
end
for i = 3, #ARGV, 3 do
  entries[#entries + 1] = ARGV[i]
  entries[#entries + 1] = ARGV[i + 1] .. string.format('%.0f', s.base + ARGV[i + 2])
end
local discarded = redis.call('HGET', state, 'turns') or ''
redis.call('UNLINK', ids)
if s.length > 0 then explainIds() end
for at = 1, #discarded, ${turnNameLength} do
  redis.call('HSET', ids, discarded:sub(at, at + ${turnNameLength - 1}), 'T00000000')
end
inChunks('HSET', ids, entries)
local at = string.format('%.0f', now() + left)
for _, key in ipairs(KEYS) do
  if left >= 0 then redis.call('PEXPIREAT', key, at) else redis.call('PERSIST', key) end
end
return 'REBUILT'
`,
);
