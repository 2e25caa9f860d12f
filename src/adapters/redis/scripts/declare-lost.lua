-- `dispatched → finished` as lost, for the fence that was looked at, and only while its worker holds no lease or, whoever lives,
-- once it was dispatched longer than `overdue` ago: a worker's word that Redis took may have been lost with a failover.
-- The worker's own fence stays on the record but did not end it: its later word is refused.
local arg = function(n) return ARGV[SHARED_ARGS + n] end
local fence, result, output, overdue = arg(1), arg(2), arg(3), tonumber(arg(4))

local current = redis.call('HMGET', record, 'state', 'fence', 'workerId', 'endedBy', 'dispatchedAtMs')
if current[1] == 'finished' then return current[4] == 'lost' and current[2] == fence and 1 or 0 end
if current[1] ~= 'dispatched' or current[2] ~= fence then return 0 end
local lease = redis.call('ZSCORE', leases, current[3])
local is_overdue = overdue and tonumber(current[5] or now) + overdue < tonumber(now)
if lease and tonumber(lease) > tonumber(now) and not is_overdue then return 0 end
conclude('dispatched', 'lost', result, output, false)
return 1
