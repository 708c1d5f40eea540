-- `gate(ask, s, checks, repeated)` returns a reply, a list that begins with a word, if the session `s`, which
-- `loadSession` returned, is closed to the caller; else nothing. Every script that touches a session calls it before it
-- reads or writes anything.
--
-- The checks come in one order, whatever the script: erased, owner, damaged, key, epoch, fence. `checks` names those
-- that concern a script, all if it is left out; the owner is checked in any case. The script's own checks
-- follow: position, stale, content.
-- `repeated` returns the reply to a call that was made before, whose reply was lost: behind the checks that say who may
-- know of it, before those that such a call itself has made fail.
--
-- `ask` is what `askOf` of src/store/redis/script-runner.ts makes of a session's reference; refusalFrom of
-- src/store/contract/refusals.ts makes the errors.
--
--- @include load-session
--- @const ownerMarkLength

-- A session that lost its `state` is closed to callers with an owner, unless its remaining keys name that owner.
local function refusesOwner(ask, s)
  if not ask.owner then return nil end
  if s.owner then return s.owner ~= ask.owner and { 'OWNER' } or nil end
  local marks = s.left and s.left.marks
  if not marks then return nil end
  local own = redis.sha1hex(ask.owner):sub(1, ownerMarkLength)
  for _, mark in ipairs(marks) do
    if mark ~= own then return { 'OWNER' } end
  end
  return #marks == 0 and not ask.assigns and { 'DAMAGED' } or nil
end
-- `key` of a session: the name of its data key, and the id of the master key that wrapped it into `dek`. A caller of
-- another key is told both; one whose key the session had before it was cleared is told of none.
local function refusesKey(ask, s)
  local keys = ask.keys or {}
  local isOther = s.key == '' and keys.name and not keys.key
  if s.key ~= '' then isOther = keys.name ~= s.key:match('^%S+') end
  return isOther and { 'KEY', s.key .. ' ' .. s.dek } or nil
end
local function gate(ask, s, checks, repeated)
  checks = checks or 'erased owner damaged key epoch fence'
  if s.erased and checks:find('erased', 1, true) then return { 'ERASED' } end
  local others = refusesOwner(ask, s)
  if others then return others end
  if s.damaged and checks:find('damaged', 1, true) then return { 'DAMAGED' } end
  local other = checks:find('key', 1, true) and refusesKey(ask, s)
  if other then return other end
  local reply = repeated and repeated()
  if reply then return reply end
  local expected, token = ask.expectedEpoch, ask.fencingToken
  if expected and expected ~= s.epoch and checks:find('epoch', 1, true) then return { 'EPOCH' } end
  if token and token < s.fence and checks:find('fence', 1, true) then return { 'FENCED' } end
end
