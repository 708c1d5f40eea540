-- Says whether a session is open to a caller: it was not erased a short time ago, and belongs to nobody else.
--
-- KEYS: state.
-- ARGV: the request as JSON { owner? }.
-- Replies: OPEN | those of the gate.
--
-- A script of its own, because a cluster refuses one that also names the run, which may be missing while a slot moves.
--
-- twin: none, runs are kept in Redis only
--
--- @include gate

return gate(cjson.decode(ARGV[1]), loadSession(KEYS[1]), 'erased owner') or { 'OPEN' }
