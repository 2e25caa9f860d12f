-- Atomic against the claim: either the command ends here and never starts, or the flag stays on it until its end and
-- its worker is told. The result is kept with the flag, for a worker that gives the command back.
local result = ARGV[SHARED_ARGS + 1]

local state = redis.call('HGET', record, 'state')
if not state then return 'missing' end
if state == 'finished' then return 'already_finished' end
if state ~= 'dispatched' then
  conclude(state, 'cancel', result, '', true)
  return 'never_started'
end
local is_new = redis.call('HGET', record, 'cancelRequested') ~= '1'
redis.call('HSET', record, 'cancelRequested', '1', 'cancelResult', result)
if is_new then owe_evidence('cancel_requested') end
redis.call('SADD', cancelling, id)
redis.call('PUBLISH', cancel_channel, id)
return 'requested'
