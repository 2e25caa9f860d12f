-- Compare-and-set of a source object's label; `expected` is empty where there must be none yet.
local session, objects = KEYS[1], KEYS[2]
local tenant, object, expected, label, max_objects = ARGV[1], ARGV[2], ARGV[3], ARGV[4], tonumber(ARGV[5])

if redis.call('HGET', session, 'tenant') ~= tenant then return 'session_gone' end
local current = redis.call('HGET', objects, object) or ''
if current ~= expected then return 'changed_meanwhile' end
if current == label then return 'done' end
if current == '' and redis.call('HLEN', objects) >= max_objects then return 'too_many' end
redis.call('HSET', objects, object, label)
redis.call('HINCRBY', session, 'version', 1)
return 'done'
