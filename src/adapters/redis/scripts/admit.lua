-- Admits one command, or says why not; only `admitted` has changed anything.
-- In one step: idempotency, session, request rate, grant, quotas, then record, indexes and the place in the fair queue.
--
-- The grant: `dispatchesLeft` is taken here, at admission, as a reservation, so that 50 concurrent submits against a
-- grant of 1 admit one. The claim makes it final. It is given back only when the command provably never started.
-- So are the budgets: the command's whole charge is taken from the session and from the tenant's day, and settled when it
-- ends. A decision made over a session that is another one by now is refused, so that none is older than its admission.
--
-- The fair queue is start-time fair queueing per pool: a command's tag is max(the tenant's virtual time, V) and the
-- tenant's virtual time moves on by 1/weight; V is the tag of the command claimed last. The envelope's priority is the tag
-- in sixteenths of a round above `base`. An empty queue begins at zero again.
local tenant_index, session_index = KEYS[SHARED_KEYS + 1], KEYS[SHARED_KEYS + 2]
local idempotency, rate = KEYS[SHARED_KEYS + 3], KEYS[SHARED_KEYS + 4]
local tenant_approvals = KEYS[SHARED_KEYS + 5]
local arg = function(n) return ARGV[SHARED_ARGS + n] end
local tenant, state = arg(1), arg(2)
local body_hash, idempotency_ttl = arg(3), arg(4)
local limit = {}
local QUOTAS = {
  'tenantQueued', 'tenantConcurrent', 'sessionQueued', 'tenantRequestsPerMinute', 'totalQueued',
  'tenantDispatchesPerDay', 'tenantWallMsPerDay', 'tenantCpuMsPerDay',
}
for i, quota in ipairs(QUOTAS) do limit[quota] = tonumber(arg(4 + i)) end
local weight, vector = tonumber(arg(13)), arg(14)
local seen_version, label = arg(15), arg(16)
local wall, cpu, least_cpu = tonumber(arg(17)), tonumber(arg(18)), tonumber(arg(19))
local binding, approval_ttl, principal = arg(20), tonumber(arg(21)), arg(22)
local FIRST_FIELD = SHARED_ARGS + 23
local DAY_MS = 86400000
local QUEUE_RETRY_MS = 1000

-- The same admission again: its first answer was lost on the way.
if redis.call('EXISTS', record) == 1 then
  return { 'admitted', redis.call('HGET', record, 'priority') or '0', '0' }
end

if body_hash ~= '' then
  local known = redis.call('HMGET', idempotency, 'bodyHash', 'commandId')
  if known[1] then
    if known[1] ~= body_hash then return { 'idempotency_mismatch' } end
    return { 'duplicate', known[2] }
  end
end

local grant = redis.call('HMGET', session, 'tenant', 'revoked', 'expiresAtMs', 'dispatchesLeft', 'uses:' .. vector)
if grant[1] ~= tenant then return { 'session_gone' } end
local own = redis.call('HMGET', session, 'version', 'label', 'wallMsLeft', 'cpuMsLeft', 'queued', 'concurrent')
if seen_version ~= '' and own[1] ~= seen_version then return { 'session_changed' } end
if own[5] then limit.sessionQueued = math.min(limit.sessionQueued or math.huge, tonumber(own[5])) end
limit.sessionConcurrent = tonumber(own[6])

local function refuse(quota, retry_after_ms)
  return { 'quota', quota, string.format('%d', limit[quota]), string.format('%d', math.max(1, math.ceil(retry_after_ms))) }
end

local theoretical_arrival
if limit.tenantRequestsPerMinute then
  if limit.tenantRequestsPerMinute <= 0 then return refuse('tenantRequestsPerMinute', 60000) end
  local interval = 60000 / limit.tenantRequestsPerMinute
  local arrival = math.max(tonumber(redis.call('GET', rate) or '0'), tonumber(now))
  local early = arrival + interval - tonumber(now) - 60000
  if early > 0.000001 then return refuse('tenantRequestsPerMinute', early) end
  theoretical_arrival = arrival + interval
end

local function remember(command)
  if theoretical_arrival then
    redis.call('SET', rate, string.format('%.3f', theoretical_arrival), 'PX', 120000)
  end
  if body_hash ~= '' then
    redis.call('HSET', idempotency, 'bodyHash', body_hash, 'commandId', command)
    redis.call('PEXPIRE', idempotency, idempotency_ttl)
  end
end

-- The same request is waiting for a person already: this one joins it, and who asks so may not be who approves it.
if binding ~= '' then
  local standing = redis.call('HGET', session_pending, binding)
  local first, expires, askers = string.match(standing or '', '^([^|]+)|([^|]+)|(.*)$')
  if first and tonumber(expires) > tonumber(now) then
    if not string.find(askers, ' ' .. principal .. ' ', 1, true) then
      redis.call('HSET', session_pending, binding, standing .. principal .. ' ')
    end
    remember(first)
    return { 'joined', first }
  end
end

-- A host of an earlier time must not bring back yesterday's quota: the day only moves on.
local today = math.floor(tonumber(now) / DAY_MS)
local spent = redis.call('HMGET', tenant_usage, 'day', 'dispatches', 'wallMs', 'cpuMs')
local is_new_day = not spent[1] or tonumber(spent[1]) < today
if is_new_day then spent = { string.format('%d', today), '0', '0', '0' } end

local reserves = state ~= 'finished'
if reserves then
  if grant[2] == '1' then return { 'grant_exhausted' } end
  if grant[3] and tonumber(grant[3]) <= tonumber(now) then return { 'grant_exhausted' } end
  if grant[4] and tonumber(grant[4]) < 1 then return { 'grant_exhausted' } end
  if vector ~= '' and grant[5] and tonumber(grant[5]) < 1 then return { 'grant_exhausted' } end
  local function full(quota, count)
    return limit[quota] and count >= limit[quota]
  end
  if full('sessionQueued', redis.call('SCARD', session_waiting)) then return refuse('sessionQueued', QUEUE_RETRY_MS) end
  if full('tenantQueued', redis.call('SCARD', tenant_waiting)) then return refuse('tenantQueued', QUEUE_RETRY_MS) end
  if full('tenantConcurrent', redis.call('SCARD', tenant_in_flight)) then
    return refuse('tenantConcurrent', QUEUE_RETRY_MS)
  end
  if full('sessionConcurrent', redis.call('SCARD', session_in_flight)) then
    return refuse('sessionConcurrent', QUEUE_RETRY_MS)
  end
  if full('totalQueued', redis.call('ZCARD', queued) + redis.call('ZCARD', awaiting)) then
    return refuse('totalQueued', QUEUE_RETRY_MS)
  end

  -- While something is in flight it may give back what it does not use; else the day has to end.
  local function until_room()
    if redis.call('SCARD', tenant_in_flight) > 0 then return QUEUE_RETRY_MS end
    return (tonumber(spent[1]) + 1) * DAY_MS - tonumber(now)
  end
  local function left(quota, used)
    return limit[quota] and limit[quota] - tonumber(used)
  end
  local wall_today, cpu_today = left('tenantWallMsPerDay', spent[3]), left('tenantCpuMsPerDay', spent[4])
  if limit.tenantDispatchesPerDay and tonumber(spent[2]) >= limit.tenantDispatchesPerDay then
    return refuse('tenantDispatchesPerDay', until_room())
  end
  if own[3] and tonumber(own[3]) < 1 then return { 'budget_exhausted', 'wall' } end
  if own[4] and tonumber(own[4]) < least_cpu then return { 'budget_exhausted', 'cpu' } end
  if wall_today and wall_today < 1 then return refuse('tenantWallMsPerDay', until_room()) end
  if cpu_today and cpu_today < least_cpu then return refuse('tenantCpuMsPerDay', until_room()) end
  local fits = (not own[3] or tonumber(own[3]) >= wall) and (not own[4] or tonumber(own[4]) >= cpu)
    and (not wall_today or wall_today >= wall) and (not cpu_today or cpu_today >= cpu)
  if not fits then return { 'budget_changed' } end
end

-- From here on everything is written, and the first write is one that full memory refuses.
local fields = {}
for i = FIRST_FIELD, #ARGV do fields[#fields + 1] = ARGV[i] end
redis.call('HSET', record, unpack(fields))
redis.call('ZADD', tenant_index, 0, id)
redis.call('ZADD', session_index, 0, id)
remember(id)
if not reserves then
  owe_evidence('denied')
  retain()
  announce(state)
  return { 'admitted', '0', '0' }
end

redis.call('HSET', record, 'reserved', '1', 'usageDay', spent[1])
if own[3] then redis.call('HINCRBY', session, 'wallMsLeft', string.format('%d', -wall)) end
if own[4] then redis.call('HINCRBY', session, 'cpuMsLeft', string.format('%d', -cpu)) end
if is_new_day then redis.call('DEL', tenant_usage) end
redis.call('HSET', tenant_usage, 'day', spent[1], 'dispatches', string.format('%d', tonumber(spent[2]) + 1),
  'wallMs', string.format('%d', tonumber(spent[3]) + wall), 'cpuMs', string.format('%d', tonumber(spent[4]) + cpu))
redis.call('PEXPIRE', tenant_usage, 2 * DAY_MS)
if label ~= '' then raise_session_label(own[2], label) end
if grant[4] then redis.call('HINCRBY', session, 'dispatchesLeft', -1) end
if vector ~= '' then
  redis.call('HSET', record, 'vector', vector)
  if grant[5] then redis.call('HINCRBY', session, 'uses:' .. vector, -1) end
end

local priority, unbounded = 0, 0
if state == 'queued' then priority, unbounded = queue_fairly(tenant, weight) end
if binding ~= '' then
  local expires = string.format('%.0f', tonumber(now) + approval_ttl)
  redis.call('HSET', record, 'approvalExpiresAtMs', expires)
  redis.call('HSET', session_pending, binding, id .. '|' .. expires .. '| ' .. principal .. ' ')
  redis.call('ZADD', approvals_due, expires, id)
  redis.call('ZADD', tenant_approvals, 0, id)
end
enter(state)
owe_evidence('admitted')
announce(state)
return { 'admitted', string.format('%d', priority), string.format('%.0f', unbounded) }
