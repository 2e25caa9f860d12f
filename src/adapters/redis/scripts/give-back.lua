-- `dispatched → queued` by the fence's holder before argv was sent; ends it as cancelled where a cancel came meanwhile.
-- The same fence again gets the same answer. Of a fence that never claimed, 0, and it never will: a claim that is still
-- on its way when its sender gave up must not dispatch a command that nobody then runs.
local fence = ARGV[SHARED_ARGS + 1]

local current = redis.call('HMGET', record, 'state', 'fence', 'givenBack', 'cancelRequested', 'cancelResult',
  'approvalState', 'approvalExpiresAtMs')
local state = current[1]
if not state then return 0 end
if current[3] == fence then return 1 end
-- For good, and of each fence: where claims wait for replicas, several of one command may be on their way together.
if state ~= 'finished' then redis.call('HSET', record, 'void:' .. fence, '1') end
if state ~= 'dispatched' or current[2] ~= fence then return 0 end
if current[4] == '1' then
  conclude('dispatched', 'cancel', current[5], '', true)
  redis.call('HSET', record, 'givenBack', fence)
  if current[6] then redis.call('HSET', record, 'approvalState', 'cancelled') end
  return 1
end
leave('dispatched')
enter('queued')
redis.call('HSET', record, 'state', 'queued', 'givenBack', fence)
redis.call('HDEL', record, 'fence', 'workerId', 'containerId', 'engineId', 'dispatchedAtMs', 'label')
-- Nothing was sent, so nothing was used.
if current[6] then
  redis.call('HSET', record, 'approvalState', 'approved')
  redis.call('ZADD', approvals_due, current[7], id)
end
announce('queued')
return 1
