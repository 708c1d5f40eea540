import { digestLength } from "../id-hash.js";

/**
 * Lua: `refuseKey(request, stored)` returns a reply if the session needs a key that the writer does not name. `stored`
 * is the field `key` of `state`: names of keys with spaces between them, the last writer's first; one that begins with
 * an asterisk is the mark of a pass of re-encryption.
 */
export const refuseKey = `
local function refuseKey(request, stored)
  if not stored or stored == '' then return end
  local known = request.keys and ' ' .. table.concat(request.keys.known, ' ') .. ' ' or ''
  for name in stored:gmatch('%S+') do
    if name:byte(1) ~= 42 and not known:find(' ' .. name .. ' ', 1, true) then return { 'KEY', stored } end
  end
end`;

/**
 * Lua: `noteKey(request, stored, set)` sets the field `key` where a writer seals with another key than the last one. A
 * mark goes, so that the pass of re-encryption knows of this write.
 */
export const noteKey = `
local function noteKey(request, stored, set)
  local current = request.keys and request.keys.current
  if not current or stored and stored:match('%S+') == current then return end
  local names = current
  for name in (stored or ''):gmatch('%S+') do
    if name ~= current and name:byte(1) ~= 42 then names = names .. ' ' .. name end
  end
  set('key', names)
end`;

/**
 * Lua, for an append: `compareKeys(request, s, conflicts)` returns a reply with the stored records of ids with another
 * digest, if the writer asks for them: another key may have made it. Of a discarded record the digest is left.
 */
export const compareKeys = `
local function compareKeys(request, s, conflicts)
  if #conflicts == 0 or not (request.keys and request.keys.compare) then return end
  local records, digests = {}, {}
  for i, index in ipairs(conflicts) do
    local stored = redis.call('HGET', KEYS[2], ARGV[2 * index + 2])
    local place = stored:sub(${digestLength + 1}) - s.base
    records[i], digests[i] = place >= 0 and redis.call('LINDEX', KEYS[1], place) or '', stored:sub(1, ${digestLength})
  end
  return { 'DIFFERS', s.next, s.epoch, conflicts, records, digests }
end`;
