-- Keeps a process's mailbox, which exists for as long as the process lives, and takes what is in it.
--
-- KEYS: mail.
-- ARGV: milliseconds to live.
-- Replies: KEPT | NEW (there was none: mail before this is lost), and the texts.
--
-- twin: none, runs are kept in Redis only

local mail = KEYS[1]
local reply = { redis.call('EXISTS', mail) == 1 and 'KEPT' or 'NEW' }
for _, entry in ipairs(redis.call('XRANGE', mail, '-', '+')) do reply[#reply + 1] = entry[2][2] end
-- A stream that is emptied is still there.
if reply[1] == 'NEW' then redis.call('XADD', mail, '*', 'm', '[]') end
redis.call('XTRIM', mail, 'MAXLEN', 0)
redis.call('PEXPIRE', mail, ARGV[1])
return reply
