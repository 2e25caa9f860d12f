-- Renews one worker's lease, remembers its engine, and forgets workers whose lease ended long ago.
local leases, engines = KEYS[1], KEYS[2]
local worker, engine, expires_at_ms, forget_before_ms = ARGV[1], ARGV[2], ARGV[3], ARGV[4]

redis.call('ZADD', leases, expires_at_ms, worker)
redis.call('HSET', engines, worker, engine)
for _, gone in ipairs(redis.call('ZRANGEBYSCORE', leases, '-inf', forget_before_ms, 'LIMIT', 0, 100)) do
  redis.call('ZREM', leases, gone)
  redis.call('HDEL', engines, gone)
end
return 1
