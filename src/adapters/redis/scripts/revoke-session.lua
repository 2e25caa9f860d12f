-- Revokes the grant of an existing session of this tenant: nothing is admitted or claimed under it from here on.
local session, tenant = KEYS[1], ARGV[1]

if redis.call('HGET', session, 'tenant') ~= tenant then return 0 end
if redis.call('HGET', session, 'revoked') == '1' then return 1 end
redis.call('HSET', session, 'revoked', '1')
redis.call('HINCRBY', session, 'version', 1)
return 1
