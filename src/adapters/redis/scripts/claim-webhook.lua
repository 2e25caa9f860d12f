-- Takes one due delivery for a bounded time: who gets it makes the next attempt, everybody else gets false.
-- The attempt is counted here, so that one which a crash cuts off counts as well.
local due, delivery = KEYS[1], KEYS[2]
local member, holder, lease_ms, ttl_ms = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)

local at = redis.call('ZSCORE', due, member)
if not at or tonumber(at) > now then return false end
redis.call('ZADD', due, string.format('%.0f', now + lease_ms), member)
redis.call('HSETNX', delivery, 'firstAtMs', string.format('%.0f', now))
redis.call('HSET', delivery, 'state', 'pending', 'holder', holder)
local attempts = redis.call('HINCRBY', delivery, 'attempts', 1)
redis.call('PEXPIRE', delivery, ttl_ms)
return { attempts, string.format('%.0f', now - tonumber(redis.call('HGET', delivery, 'firstAtMs'))) }
