-- `queued → dispatched` under a fence: from here on the command counts as dispatched, whatever follows.
-- The same fence again gets the same answer, so that a claim whose answer was lost can be repeated.
-- Refused without a lease, and under a fence that a give-back has made void. A command whose session is gone, or
-- whose cancel came while it was being given back, ends here as never started; so does, as denied, one whose grant is
-- revoked or over by now, and one whose approval is over: it is consumed here, whatever the run comes to. A session that is not as the re-check saw it asks for another re-check.
local arg = function(n) return ARGV[SHARED_ARGS + n] end
local worker, fence, container = arg(1), arg(2), arg(3)
local cancelled_result, denied_result = arg(4), arg(5)
local seen_version, label, expired_result = arg(6), arg(7), arg(8)

local current = redis.call('HMGET', record, 'state', 'fence', 'void:' .. fence, 'cancelRequested', 'cancelResult', 'tag')
local state = current[1]
if not state then return { 'not_queued', 'missing' } end
if state == 'dispatched' and current[2] == fence then return { 'claimed', redis.call('HGETALL', record) } end
if state ~= 'queued' or current[3] then return { 'not_queued', state } end
if current[4] == '1' or redis.call('EXISTS', session) == 0 then
  conclude('queued', 'cancel', current[5] or cancelled_result, '', true)
  return { 'not_queued', 'finished' }
end
local approval = redis.call('HMGET', record, 'approvalId', 'approvalState', 'approvalExpiresAtMs')
if approval[1] and (approval[2] ~= 'approved' or tonumber(approval[3] or '0') <= tonumber(now)) then
  conclude('queued', 'approval_expired', expired_result, '', true)
  return { 'not_queued', 'finished' }
end
local grant = redis.call('HMGET', session, 'revoked', 'expiresAtMs', 'version', 'label')
if grant[1] == '1' or (grant[2] and tonumber(grant[2]) <= tonumber(now)) then
  conclude('queued', 'unstarted', denied_result, '', true)
  return { 'not_queued', 'finished' }
end
if seen_version ~= '' and grant[3] ~= seen_version then return { 'session_changed' } end
local lease = redis.call('ZSCORE', leases, worker)
if not lease or tonumber(lease) <= tonumber(now) then return { 'no_lease' } end

leave('queued')
enter('dispatched')
redis.call('HSET', record, 'state', 'dispatched', 'fence', fence, 'workerId', worker, 'containerId', container,
  'dispatchedAtMs', now, 'engineId', redis.call('HGET', engines, worker) or '')
if approval[1] then
  redis.call('ZREM', approvals_due, id)
  redis.call('HSET', record, 'approvalState', 'consumed')
end
if tonumber(current[6] or '0') > tonumber(redis.call('HGET', pool_fair, 'V') or '0') then
  redis.call('HSET', pool_fair, 'V', current[6])
end
if label ~= '' then
  redis.call('HSET', record, 'label', label)
  raise_session_label(grant[4], label)
end
announce('dispatched')
return { 'claimed', redis.call('HGETALL', record) }
