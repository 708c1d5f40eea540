-- `exceeds(request, s, next, total, counter)` is true if the view is larger than the writer allows, or its tokens are
-- limited and not known.

local function exceeds(request, s, next, total, counter)
  if request.maxMessages and s.headCount + next - s.start > request.maxMessages then return true end
  if request.maxFromStart and next - s.start > request.maxFromStart then return true end
  return request.maxTokens and (not total or counter ~= request.counter or total > request.maxTokens) or false
end
