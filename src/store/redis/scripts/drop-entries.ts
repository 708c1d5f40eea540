import { expireIndex, indexTime } from "./index-fragments.js";
import { script } from "./script.js";

/**
 * Removes entries of an owner's index whose sessions are gone, if nobody has written them since.
 *
 * KEYS: sessions, summaries. ARGV: milliseconds for which an announced entry stays, because its session may be about to
 * be written; session and score of each entry. Reply: the number of entries that were removed.
 */
export const dropEntriesScript = script(
  [indexTime, expireIndex],
  `
local now, count = micros(), 0
for i = 2, #ARGV, 2 do
  local score = tonumber(redis.call('ZSCORE', KEYS[1], ARGV[i]) or '')
  local announced = score and (redis.call('HGET', KEYS[2], ARGV[i]) or ''):sub(1, 1) == '?'
  local fresh = announced and ARGV[1] ~= '0' and now - score < ARGV[1] * 1000
  if score and score == tonumber(ARGV[i + 1]) and not fresh then
    redis.call('ZREM', KEYS[1], ARGV[i], '!' .. ARGV[i])
    redis.call('HDEL', KEYS[2], ARGV[i])
    count = count + 1
  end
end
expireIndex()
return count
`,
);
