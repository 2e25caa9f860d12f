-- One person's word on a command that waits for it. Approve, deny, expiry and cancel meet here: the first one stands.
-- An approval moves the command into the queue; what it runs into there is the tenant's and the session's own bound on
-- commands in flight, which no approval lifts. Who asked, first or by joining, does not approve unless configured.
local arg = function(n) return ARGV[SHARED_ARGS + n] end
local decision, principal, note, allow_self = arg(1), arg(2), arg(3), arg(4)
local denied_result, expired_result = arg(5), arg(6)
local tenant, weight, tenant_concurrent = arg(7), tonumber(arg(8)), tonumber(arg(9))
local RETRY_MS = 1000

local current = redis.call('HMGET', record, 'state', 'approvalState', 'approvalExpiresAtMs', 'approvalBinding', 'principalId')
local state, approval = current[1], current[2]
if not approval then return { 'missing' } end
if approval ~= 'pending' or state ~= 'awaiting_approval' then return { 'settled', approval } end
if tonumber(current[3] or '0') <= tonumber(now) then
  conclude(state, 'approval_expired', expired_result, '', true)
  return { 'settled', 'expired' }
end
local function decided()
  redis.call('HSET', record, 'approvalDecidedBy', principal, 'approvalDecidedAtMs', now)
  if note ~= '' then redis.call('HSET', record, 'approvalNote', note) end
end
if decision == 'deny' then
  -- A removal first, see shared.lua; leaving again changes nothing.
  leave(state)
  decided()
  conclude(state, 'approval_denied', denied_result, '', true)
  owe_evidence('approval_decided')
  return { 'denied' }
end
if allow_self ~= '1' then
  local standing = redis.call('HGET', session_pending, current[4]) or ''
  if current[5] == principal or string.find(standing, ' ' .. principal .. ' ', 1, true) then return { 'own' } end
end
local function full(quota, limit, in_flight)
  if not limit or in_flight < limit then return nil end
  return { 'quota', quota, string.format('%d', limit), string.format('%d', RETRY_MS) }
end
local session_concurrent = tonumber(redis.call('HGET', session, 'concurrent'))
local refused = full('tenantConcurrent', tenant_concurrent, redis.call('SCARD', tenant_in_flight))
  or full('sessionConcurrent', session_concurrent, redis.call('SCARD', session_in_flight))
if refused then return refused end

leave(state)
decided()
redis.call('HSET', record, 'state', 'queued', 'approvalState', 'approved', 'queuedAtMs', now)
local priority, unbounded = queue_fairly(tenant, weight)
enter('queued')
owe_evidence('approval_decided')
announce('queued')
return { 'approved', string.format('%d', priority), string.format('%.0f', unbounded) }
