-- Appends records behind the end of a tenant's chain that their writer saw, and takes their entries out of the outbox.
-- 'moved' when the chain has another end by now, 'gone' when an entry is not there any more: nothing has changed then.
-- It begins with the removal: when memory is full, what is owed must still become records.
local outbox, head, chain, index, tenants = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local tenant, seq, hash = ARGV[1], ARGV[2], ARGV[3]
local FIRST, PER_RECORD = 4, 5

local current = redis.call('HMGET', head, 'seq', 'hash')
if (current[1] or '0') ~= seq or (current[2] or hash) ~= hash then return 'moved' end
for i = FIRST, #ARGV, PER_RECORD do
  if #redis.call('XRANGE', outbox, ARGV[i], ARGV[i]) == 0 then return 'gone' end
end

for i = FIRST, #ARGV, PER_RECORD do redis.call('XDEL', outbox, ARGV[i]) end
for i = FIRST, #ARGV, PER_RECORD do
  redis.call('XADD', chain, ARGV[i + 1] .. '-0', 'hash', ARGV[i + 2], 'record', ARGV[i + 3])
  redis.call('ZADD', index, 0, ARGV[i + 4])
  redis.call('HSET', head, 'seq', ARGV[i + 1], 'hash', ARGV[i + 2])
end
redis.call('SADD', tenants, tenant)
return 'done'
