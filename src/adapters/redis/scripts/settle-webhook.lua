-- What became of an attempt, from its holder alone: 0 for one whose time ran out and whose delivery another took over.
-- With `retry_ms` it is due again after that time, without it is over.
local due, delivery = KEYS[1], KEYS[2]
local member, holder, state, retry_ms = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local status, error_code, ttl_ms = ARGV[5], ARGV[6], ARGV[7]
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)

if redis.call('HGET', delivery, 'holder') ~= holder then return 0 end
if retry_ms == '' then
  redis.call('ZREM', due, member)
else
  redis.call('ZADD', due, string.format('%.0f', now + retry_ms), member)
end
redis.call('HDEL', delivery, 'holder', 'lastErrorCode')
redis.call('HSET', delivery, 'state', state)
if status ~= '' then redis.call('HSET', delivery, 'lastStatus', status) end
if error_code ~= '' then redis.call('HSET', delivery, 'lastErrorCode', error_code) end
if state == 'delivered' then redis.call('HSET', delivery, 'deliveredAtMs', string.format('%.0f', now)) end
redis.call('PEXPIRE', delivery, ttl_ms)
return 1
