-- the short path of an append of records only, to a session unchanged since the caller's last call, or one without
-- records, an owner's name and keys. The request begins with texts that end with a zero, each empty if there is none:
-- `at` and `next`, the end of the log before and after, the rounds that begin, the records' checksum, the time to live,
-- the limits of the view and from its start, epoch with checksum and `rev` of the view up to `at` that the caller keeps
-- (without one, the `rev` of a session that begins), and 1 if records carry token usage; then, with `claims` not empty,
-- what `plain-claims` reads. The request as JSON follows, from the character `from` on, for the full path (with `at`
-- set).
--
-- Replies with a text: the end of the log, the epoch and the owner. Where a view was asked for, or a hold
-- taken, the text is the first of a list: text, view or "", fence, milliseconds to live; the view of a caller that
-- keeps the rest is owner, tokens and counter. Any exception (a known id, an invalid number, a mark that does not fit)
-- falls through to the full path, whose gate refuses: nothing is written until all is checked, by the rules of
-- `loadSession`. Each run of a script creates its local functions again, so this comes before them and has none of its
-- own. `npm run bench` says what it saves.
--
--- @const plainFields
--- @const claimFields

local at, next, begun, addedSum, ttl, most, mostFromStart, kept, rev, used, claims, from
local counter, added, mostTokens, owner, key, epoch, token = '', '', '', '', '', '', ''
local turn, stored, kind, ticket, holdMs, back, label = '', '', '', '', '', '', ''
if ARGV[1]:byte() ~= 123 then
  at, next, begun, addedSum, ttl, most, mostFromStart, kept, rev, used, claims, from =
    struct.unpack('sssssssssss', ARGV[1])
end
if at then
  local call, log, ids, state = redis.call, KEYS[1], KEYS[2], KEYS[3]
  local field
  if claims == '' then
    field = call('HMGET', state, plainFields)
  else
    counter, added, mostTokens, owner, key, epoch, token, turn, stored, kind, ticket, holdMs, back, label, from =
      struct.unpack('ssssssssssssss', ARGV[1], from)
    field = call('HMGET', state, plainFields, claimFields)
  end
  local count, last, shows, length, known, total, found = (#ARGV - 1) / 3, at + 0, false
  local begins = at == '0' and not (field[1] or field[4] or field[10])
  local created = begins and not field[3]
  if begins then field[1], field[12] = at, field[12] or '0' end
  if created then field[3] = rev end
  if begins and counter ~= '' and not field[8] then field[8], field[13] = '0', counter end
  local rounds, base, start, head, sum = ((field[2] or 0) .. ' ' .. (field[5] or 0) .. ' ' .. (field[6] or 0) .. ' '
    .. (field[7] or 0) .. ' ' .. (field[12] or '')):match('^(%d+) (%d+) (%d+) (%d+) (%d+)$')
  --- @include plain-claims
  if expected and rounds then
    rounds, base, start, head = rounds + 0, base + 0, start + 0, head + 0
    shows = most ~= '' and head + next - start > most + 0 or mostFromStart ~= '' and next - start > mostFromStart + 0
      or mostTokens ~= '' and total > mostTokens + 0
    kept = kept == field[3] .. ' ' .. sum
    length, known = call('LLEN', log), call('HLEN', ids)
    expected = rounds <= last and base <= start and start <= last and head <= 5e13
      and length == last - base and (begins and known == 0 or length > 0 and known > length)
  end
  --- @include plain-marks
  if expected and rounds then
    --- @include plain-writes
    local reply = next .. ' ' .. field[3] .. ' ' .. (field[4] or '')
    if shows then
      --- @include numbers
      --- @include view
      local isKept = kept and call('HGET', state, 'rev') == rev
      local tokens = total and string.format('%.17g', total) or false
      shows = isKept and { field[4], tokens, tokens and counter or '' } or view()
    end
    if ticket == '' then return shows and { reply, shows } or reply end
    return { reply, shows or '', fence, ttl ~= '' and ttl or call('PTTL', state) }
  end
end
