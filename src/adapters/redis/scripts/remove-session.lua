-- Removes a session, and its grant with it, in one step: from here on nothing is admitted or claimed under it.
-- Answers the ids of its commands that have not finished, or false when it is not there.
local session, session_open, tenant_sessions, workspace_sessions = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local objects = KEYS[5]
local id, tenant = ARGV[1], ARGV[2]

if redis.call('HGET', session, 'tenant') ~= tenant then return false end
redis.call('DEL', session, objects)
redis.call('ZREM', tenant_sessions, id)
redis.call('SREM', workspace_sessions, id)
return redis.call('SMEMBERS', session_open)
