-- Read commands at one moment, for a server that is out of memory and refuses MULTI.
--
-- KEYS: those of the commands.
-- ARGV: the commands as JSON, each a list.
-- Replies: a list of their replies.
--
-- No gate: the caller compares the owner in the reply, as in that of the MULTI.
--
-- twin: none, memory needs no MULTI

local replies = {}
for i, command in ipairs(cjson.decode(ARGV[1])) do replies[i] = redis.call(unpack(command)) end
return replies
