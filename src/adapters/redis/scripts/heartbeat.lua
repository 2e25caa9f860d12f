-- Renews one worker's lease, remembers its engine, and forgets workers whose lease ended long ago.
local leases, engines = KEYS[1], KEYS[2]
local worker, engine, lease_ms, forget_after_ms = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)

-- The removal comes first, as one is allowed when memory is full, and the rest with it: a lease must not end for that.
redis.call('ZREM', leases, worker)
redis.call('ZADD', leases, string.format('%.0f', now + lease_ms), worker)
redis.call('HSET', engines, worker, engine)
for _, gone in ipairs(redis.call('ZRANGEBYSCORE', leases, '-inf', string.format('%.0f', now - forget_after_ms), 'LIMIT', 0, 100)) do
  redis.call('ZREM', leases, gone)
  redis.call('HDEL', engines, gone)
end
return 1
