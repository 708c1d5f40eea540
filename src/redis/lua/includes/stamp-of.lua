-- `stampOf(value)`, what the value of an entry begins with: the version of what was written, or `?` and the time of an
-- announcement in microseconds, or "" where there is no value. Each write of an entry changes it.

local function stampOf(value) return (value or ''):match('^%??%d*') end
