-- `queued → dispatched` under a fence: from here on the command counts as dispatched, whatever follows.
-- The same fence again gets the same answer, so that a claim whose answer was lost can be repeated.
-- Refused without a lease, and under a fence that a give-back has made void. A command whose session is gone, or
-- whose cancel came while it was being given back, ends here as never started.
local arg = function(n) return ARGV[SHARED_ARGS + n] end
local worker, fence, container, cancelled_result = arg(1), arg(2), arg(3), arg(4)

local current = redis.call('HMGET', record, 'state', 'fence', 'voidFence', 'cancelRequested', 'cancelResult', 'tag')
local state = current[1]
if not state then return { 'not_queued', 'missing' } end
if state == 'dispatched' and current[2] == fence then return { 'claimed', redis.call('HGETALL', record) } end
if state ~= 'queued' or current[3] == fence then return { 'not_queued', state } end
if current[4] == '1' or redis.call('EXISTS', session) == 0 then
  conclude('queued', 'cancel', current[5] or cancelled_result, '', true)
  return { 'not_queued', 'finished' }
end
local lease = redis.call('ZSCORE', leases, worker)
if not lease or tonumber(lease) <= tonumber(now) then return { 'no_lease' } end

leave('queued')
enter('dispatched')
redis.call('HSET', record, 'state', 'dispatched', 'fence', fence, 'workerId', worker, 'containerId', container,
  'dispatchedAtMs', now, 'engineId', redis.call('HGET', engines, worker) or '')
if tonumber(current[6] or '0') > tonumber(redis.call('HGET', pool_fair, 'V') or '0') then
  redis.call('HSET', pool_fair, 'V', current[6])
end
announce('dispatched')
return { 'claimed', redis.call('HGETALL', record) }
