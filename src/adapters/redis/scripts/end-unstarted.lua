-- The end of a command that never started; 0 when it is neither queued nor awaiting approval.
local result = ARGV[SHARED_ARGS + 1]

local state = redis.call('HGET', record, 'state')
if state ~= 'queued' and state ~= 'awaiting_approval' then return 0 end
conclude(state, 'unstarted', result, '', true)
return 1
