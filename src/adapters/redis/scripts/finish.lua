-- `dispatched → finished` by the fence's holder, with the result in the same step.
-- 1 also when this very fence ended it before; 0 when somebody else did: their verdict stands.
-- `never_started` is 1 for a command that was refused behind its claim, before its argv was sent.
local arg = function(n) return ARGV[SHARED_ARGS + n] end
local fence, result, output, never_started = arg(1), arg(2), arg(3), arg(4)
local used_wall, used_cpu = arg(5), arg(6)

local current = redis.call('HMGET', record, 'state', 'fence', 'endedBy')
if current[1] == 'finished' then return current[3] == fence and 1 or 0 end
if current[1] ~= 'dispatched' or current[2] ~= fence then return 0 end
conclude('dispatched', fence, result, output, never_started == '1', used_wall, used_cpu)
return 1
