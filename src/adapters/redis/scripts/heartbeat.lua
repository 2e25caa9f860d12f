-- Renews one worker's lease, remembers its engine and what it says of itself, and forgets workers whose lease ended long ago.
local leases, engines, workers = KEYS[1], KEYS[2], KEYS[3]
local worker, engine, lease_ms, forget_after_ms, status = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)

-- The first renewal is the worker's beginning, by the clock that all of them share.
local known = redis.call('HGET', workers, worker)
local started = known and string.match(known, '^%d+') or string.format('%.0f', now)

-- The removal comes first, as one is allowed when memory is full, and the rest with it: a lease must not end for that.
redis.call('ZREM', leases, worker)
redis.call('ZADD', leases, string.format('%.0f', now + lease_ms), worker)
redis.call('HSET', engines, worker, engine)
redis.call('HSET', workers, worker, started .. ' ' .. lease_ms .. ' ' .. status)
for _, gone in ipairs(redis.call('ZRANGEBYSCORE', leases, '-inf', string.format('%.0f', now - forget_after_ms), 'LIMIT', 0, 100)) do
  redis.call('ZREM', leases, gone)
  redis.call('HDEL', engines, gone)
  redis.call('HDEL', workers, gone)
end
return 1
