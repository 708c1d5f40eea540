-- `refuse(request, s, repeats)` returns a reply if the session is not as the writer expects it, or if the writer may
-- not write to it. `repeats` is true where every record is stored already.

local function refuse(request, s, repeats)
  local expected = request.expectedEpoch
  if expected and expected ~= s.epoch and not (repeats and expected == '') then return { 'EPOCH' } end
  if request.fencingToken and request.fencingToken < s.fence then return { 'FENCED' } end
  if request.expectedNext and request.expectedNext ~= s.next and not repeats then return { 'POSITION', s.next } end
end
