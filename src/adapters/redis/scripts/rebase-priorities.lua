-- Moves one pool's fair queue back towards priority 1 without changing its order, once V has gone far above `base`.
local fair, prioritized = KEYS[1], KEYS[2]
local TAGS_PER_ROUND = 16
local COUNTERS = 4294967296 -- the queue's score is priority * 2^32 + arrival

local state = redis.call('HMGET', fair, 'V', 'base')
local base = tonumber(state[2] or '0')
local rounds = math.floor(tonumber(state[1] or '0') - base)
if rounds < 1 then return 0 end
redis.call('HSET', fair, 'base', string.format('%.17g', base + rounds))
local members = redis.call('ZRANGE', prioritized, 0, -1, 'WITHSCORES')
for i = 1, #members, 2 do
  local score = tonumber(members[i + 1])
  local priority = math.floor(score / COUNTERS)
  local arrival = score - priority * COUNTERS
  priority = math.max(1, priority - rounds * TAGS_PER_ROUND)
  redis.call('ZADD', prioritized, string.format('%.0f', priority * COUNTERS + arrival), members[i])
end
return rounds
