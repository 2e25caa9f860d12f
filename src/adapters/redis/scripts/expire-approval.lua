-- Ends a command whose approval was not given, or not used, in time; 0 when it is not so.
local result = ARGV[SHARED_ARGS + 1]

local current = redis.call('HMGET', record, 'state', 'approvalState', 'approvalExpiresAtMs')
local state, approval = current[1], current[2]
local waits = (state == 'awaiting_approval' and approval == 'pending') or (state == 'queued' and approval == 'approved')
if not waits then
  redis.call('ZREM', approvals_due, id)
  return 0
end
if tonumber(current[3] or '0') > tonumber(now) then return 0 end
conclude(state, 'approval_expired', result, '', true)
return 1
