import { maxDiscardedTurns, turnNameLength } from "../../store/turns.js";
import { isAsRead } from "./fragments.js";

/**
 * Lua, for scripts with KEYS log, ids, state: `storedTurn(s, turn)` compares a claim with the turn's mark. Returns a
 * reply if they differ, else nothing and the mark; for a mark that cannot be read `DAMAGED`. Needs `readMark`.
 */
export const storedTurn = `
local function storedTurn(s, turn)
  local mark = s.begun and readMark(turn.name) or nil
  if mark and mark.unreadable then return { 'DAMAGED' } end
  local first, done, count = mark and mark.first or s.next, mark and mark.kind == 'T', mark and mark.count or 0
  if not done and count == turn.stored then return nil, mark end
  local from, to = math.max(first, s.base) - s.base, first + count - 1 - s.base
  local records = to >= from and redis.call('LRANGE', KEYS[1], from, to) or {}
  return { 'TURN', done and 1 or 0, count, first, s.next, s.epoch, records }
end`;

/** Lua: `markTurn(turn, mark, count, first)` adds `count` to the stored records of a turn. Needs `writeMark`. */
export const markTurn = `
local function markTurn(turn, mark, count, first)
  writeMark(turn.name, turn.done and 'T' or 't', (mark and mark.count or 0) + count, mark and mark.first or first)
end`;

/**
 * Lua: `rememberTurns(names)` adds packed names to the turns whose records are gone and whose marks stay, and forgets
 * the oldest of more than {@link maxDiscardedTurns}. The field `turns` of `state` holds them in order.
 */
export const rememberTurns = `
local function rememberTurns(names)
  if #names == 0 then return end
  local all, length = (redis.call('HGET', KEYS[3], 'turns') or '') .. names, ${turnNameLength}
  local surplus = math.max(0, #all - length * ${maxDiscardedTurns})
  for at = 1, surplus, length do writeMark(all:sub(at, at + length - 1)) end
  redis.call('HSET', KEYS[3], 'turns', all:sub(surplus + 1))
end`;

/**
 * Lua, for an append: `checkTurnAndCut(request, s)` returns a reply if damage, a missing key, the turn's mark or the
 * session's state forbids it; else nothing and the mark, and `s.next` is where the log is to be cut. Needs {@link
 * storedTurn}, `sortOut` and `refuseKey`.
 *
 * The turn is open and the same (2 in place of `done`) where its count is as this append would leave it and all ids are
 * known, also as discarded: the append was made, and its reply was lost.
 *
 * A cut whose reply was lost and that is sent again finds its own `newRev` and is answered as the first was.
 */
export const checkTurnAndCut = `
local function isSame(request, s, reply)
  if reply[2] == 1 or request.count == 0 or reply[3] ~= request.turn.stored + request.count then return false end
  local _, duplicates = sortOut(s, request.count)
  return duplicates == request.count
end
local function checkTurnAndCut(request, s)
  local cut, turn, reply, mark = request.cut, request.turn
  if cut and s.rev == cut.newRev then return { 'OK', request.count, 0, {}, s.next, s.epoch } end
  if s.damaged then return { 'DAMAGED' } end
  reply = refuseKey(request, s.key)
  if reply then return reply end
  if turn then reply, mark = storedTurn(s, turn) end
  if reply and #reply > 1 and isSame(request, s, reply) then reply[2] = 2 end
  if reply and exceeds(request, s, s.next, s.tokens, s.counter) then reply[8] = view() end
  if reply then return reply end
  if cut and (s.next ~= cut.next or not ${isAsRead("cut")}) then return { 'STALE' } end
  if cut and cut.to < s.base then return { 'RANGE' } end
  s.next = cut and cut.to or s.next
  return nil, mark
end`;
