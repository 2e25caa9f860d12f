-- Creates a session and lists it under its tenant and its workspace.
local session, tenant_sessions, workspace_sessions = KEYS[1], KEYS[2], KEYS[3]
local id = ARGV[1]

local fields = {}
for i = 2, #ARGV do fields[#fields + 1] = ARGV[i] end
redis.call('HSET', session, unpack(fields))
redis.call('ZADD', tenant_sessions, 0, id)
redis.call('SADD', workspace_sessions, id)
return 1
