-- Moves an existing session of this tenant; never brings one back that was removed meanwhile.
local tenant, cwd = ARGV[1], ARGV[2]

if redis.call('HGET', KEYS[1], 'tenant') ~= tenant then return 0 end
if redis.call('HGET', KEYS[1], 'cwd') == cwd then return 1 end
redis.call('HSET', KEYS[1], 'cwd', cwd)
redis.call('HINCRBY', KEYS[1], 'version', 1)
return 1
