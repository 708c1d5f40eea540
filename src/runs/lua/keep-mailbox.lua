-- Keeps a process's mailbox, which exists for as long as the process lives.
--
-- KEYS: mail.
-- ARGV: milliseconds to live.
-- Replies: KEPT | NEW (there was none: mail before this is lost).
--
-- twin: none, runs are kept in Redis only

local isNew = redis.call('EXISTS', KEYS[1]) == 0
if isNew then redis.call('XADD', KEYS[1], '*', 'm', '[]') end
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return { isNew and 'NEW' or 'KEPT' }
