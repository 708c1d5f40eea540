-- `forbid(request, s)` returns a reply if the session was erased, or belongs to another owner than the one who asks.
-- It comes before all other checks, because their replies say something about the session.

local function forbid(request, s)
  if s.erased then return { 'ERASED' } end
  if request.owner and s.owner and request.owner ~= s.owner then return { 'OWNER' } end
end
