-- `gate(ask, s, checks, repeated)` returns a reply, a list that begins with a word, if the session `s`, which
-- `loadSession` returned, is closed to the one who asks; else nothing. Every script that touches a session passes it
-- before it reads or writes anything.
--
-- The checks come in one order, whatever the script: erased, owner, damaged, key, epoch, fence. `checks` names those
-- that concern a script, all if it is left out; the owner is checked in any case. What follows is the script's own:
-- position, stale, content. `repeated` returns the reply to a call that was made before, whose reply was lost: behind
-- the checks that say who may know of it, before those that such a call itself has made fail.
--
-- `ask` is what `askOf` of src/redis-store/ask.ts makes of a session's reference; refusalFrom of
-- src/store/refusals.ts makes the errors.
--
--- @include load-session

local function isOthers(ask, s)
  return ask.owner and s.owner and ask.owner ~= s.owner
end
-- `key` of a session: names with spaces between them, the last writer's first; one that begins with an asterisk is the
-- mark of a pass of re-encryption.
local function lacksKey(ask, s)
  if s.key == '' then return false end
  local known = ask.keys and ' ' .. table.concat(ask.keys.known, ' ') .. ' ' or ''
  for name in s.key:gmatch('%S+') do
    if name:byte(1) ~= 42 and not known:find(' ' .. name .. ' ', 1, true) then return true end
  end
  return false
end
local function gate(ask, s, checks, repeated)
  local function concerns(check) return not checks or checks:find(check, 1, true) end
  if s.erased and concerns('erased') then return { 'ERASED' } end
  if isOthers(ask, s) then return { 'OWNER' } end
  if s.damaged and concerns('damaged') then return { 'DAMAGED' } end
  if concerns('key') and lacksKey(ask, s) then return { 'KEY', s.key } end
  local reply = repeated and repeated()
  if reply then return reply end
  if ask.expectedEpoch and ask.expectedEpoch ~= s.epoch and concerns('epoch') then return { 'EPOCH' } end
  if ask.fencingToken and ask.fencingToken < s.fence and concerns('fence') then return { 'FENCED' } end
end
