-- Put before every script that changes a command. The keys and the first arguments are the same for all of them.
-- A script checks first and writes last, so that a refused script has changed nothing. What ends or moves a command
-- begins with a removal: Redis refuses those not even when its memory is full, and a script that has begun may finish.
local record, session = KEYS[1], KEYS[2]
local session_open, session_waiting = KEYS[3], KEYS[4]
local tenant_waiting, tenant_in_flight = KEYS[5], KEYS[6]
local awaiting, queued, dispatched = KEYS[7], KEYS[8], KEYS[9]
local pool_queued, pool_fair = KEYS[10], KEYS[11]
local closed, cancelling = KEYS[12], KEYS[13]
local leases, engines = KEYS[14], KEYS[15]
local webhooks_due = KEYS[16]
local session_in_flight, tenant_usage = KEYS[17], KEYS[18]
local session_pending, approvals_due = KEYS[19], KEYS[20]
local SHARED_KEYS = 20
-- The last key of every script, whatever keys it has of its own.
local evidence_outbox = KEYS[#KEYS]

local changed_channel, cancel_channel = ARGV[1], ARGV[2]
local id, closed_member = ARGV[3], ARGV[4]
local result_ttl = ARGV[5]
local SHARED_ARGS = 5

-- Redis's own clock: what is written and compared here must not depend on the clocks of the hosts that ask.
local clock = redis.call('TIME')
local now = string.format('%.0f', clock[1] * 1000 + math.floor(clock[2] / 1000))

-- What a newer version wrote may mean what is not known here: its record is neither dispatched, nor ended, nor changed.
local format = redis.call('HGET', record, 'formatVersion')
if format and format ~= '1' and format ~= '2' then
  return redis.error_reply('FORMAT command record of format ' .. format .. ': written by a newer Bailiff')
end

-- `session_pending` says by its binding which command waits for a person: id, end of its time, and who asked, between spaces.
-- One whose time was over may have been followed by another: that one's entry stays.
local function forget_pending()
  local binding = redis.call('HGET', record, 'approvalBinding')
  if not binding then return end
  local standing = redis.call('HGET', session_pending, binding)
  if standing and string.sub(standing, 1, #id + 1) == id .. '|' then redis.call('HDEL', session_pending, binding) end
end

-- Membership in these sets is the count: it can't drift from the records as a counter could.
local function leave(state)
  if state == 'awaiting_approval' then
    redis.call('ZREM', awaiting, id)
    forget_pending()
    redis.call('SREM', tenant_waiting, id)
    redis.call('SREM', session_waiting, id)
  elseif state == 'queued' then
    redis.call('ZREM', queued, id)
    redis.call('SREM', pool_queued, id)
    redis.call('SREM', tenant_waiting, id)
    redis.call('SREM', tenant_in_flight, id)
    redis.call('SREM', session_in_flight, id)
    redis.call('SREM', session_waiting, id)
  elseif state == 'dispatched' then
    redis.call('ZREM', dispatched, id)
    redis.call('SREM', tenant_in_flight, id)
    redis.call('SREM', session_in_flight, id)
    redis.call('SREM', cancelling, id)
  end
end

local function enter(state)
  if state == 'awaiting_approval' then
    redis.call('ZADD', awaiting, now, id)
    redis.call('SADD', tenant_waiting, id)
    redis.call('SADD', session_waiting, id)
  elseif state == 'queued' then
    redis.call('ZADD', queued, now, id)
    redis.call('SADD', pool_queued, id)
    redis.call('SADD', tenant_waiting, id)
    redis.call('SADD', tenant_in_flight, id)
    redis.call('SADD', session_in_flight, id)
    redis.call('SADD', session_waiting, id)
  elseif state == 'dispatched' then
    redis.call('ZADD', dispatched, now, id)
    redis.call('SADD', tenant_in_flight, id)
    redis.call('SADD', session_in_flight, id)
  end
  redis.call('SADD', session_open, id)
end

-- The debt is taken up with the change it is about, so that no crash can lose it. What is owed already stays as it is.
local function owe_webhook(state)
  local events = redis.call('HGET', record, 'webhookEvents')
  if not events or not string.find(events, '|' .. state .. '|', 1, true) then return '' end
  -- Where no process delivers (any more), debts go with the results they are about.
  redis.call('ZREMRANGEBYSCORE', webhooks_due, '-inf', string.format('%.0f', tonumber(now) - tonumber(result_ttl)))
  redis.call('ZADD', webhooks_due, 'NX', now, closed_member .. '|' .. state)
  return ' owed'
end

-- The label of what a command reads becomes the session's; its caller has seen that it is not below.
local function raise_session_label(current, label)
  if current == label then return end
  redis.call('HSET', session, 'label', label)
  redis.call('HINCRBY', session, 'version', 1)
end

-- The process whose caller waits gets the finished record itself, before the news that would make it read. One that is long is
-- read: making a message of it would hold up everybody else's scripts.
local DELIVERED_BYTES = 65536
local function deliver()
  local waiter = redis.call('HGET', record, 'answerTo')
  if not waiter then return end
  local fields = redis.call('HGETALL', record)
  local bytes = 0
  for _, text in ipairs(fields) do bytes = bytes + #text end
  if bytes > DELIVERED_BYTES then return end
  redis.call('PUBLISH', changed_channel .. ':' .. waiter, cjson.encode(fields))
end

local function announce(state)
  redis.call('PUBLISH', changed_channel, id .. ' ' .. state .. owe_webhook(state))
end

-- What evidence has to say is owed with the change it is about, so that no crash can lose it. The entry holds the record as it
-- is now: it does not wait for one that may have changed or expired by the time it is read. What of these fields is in the
-- document of format 2 stands for itself in format 1.
local EVIDENCE_FIELDS = {
  'formatVersion', 'document', 'id', 'tenant', 'sessionId', 'workspaceId', 'principalId', 'profile', 'imageDigest', 'pool', 'request',
  'decision', 'state', 'createdAtMs', 'queuedAtMs', 'dispatchedAtMs', 'finishedAtMs', 'workerId', 'containerId',
  'cancelRequested', 'approvalId', 'approvalState', 'approvalDecidedBy', 'approvalNote', 'result', 'label',
}
local function owe_evidence(kind)
  local entry = { 'evidenceKind', kind, 'evidenceAtMs', now }
  local values = redis.call('HMGET', record, unpack(EVIDENCE_FIELDS))
  for i, name in ipairs(EVIDENCE_FIELDS) do
    if values[i] then
      entry[#entry + 1] = name
      entry[#entry + 1] = values[i]
    end
  end
  redis.call('XADD', evidence_outbox, '*', unpack(entry))
end

-- The record of a finished command, and everything that lists it, goes when its retention is over.
local function retain()
  redis.call('PEXPIRE', record, result_ttl)
  redis.call('ZADD', closed, string.format('%.0f', tonumber(now) + tonumber(result_ttl)), closed_member)
end

-- Settles what admission took: of the grant and the day's dispatches nothing is kept for a command that provably never
-- started, of the time what was used, at most what was reserved, and all of it where `used` is empty. The record keeps what
-- is charged in the end, so that settling again changes nothing. A day that is over is not given back to.
local function settle(never_started, used_wall, used_cpu)
  local held = redis.call('HMGET', record, 'reserved', 'vector', 'chargedWallMs', 'chargedCpuMs', 'usageDay')
  if held[1] ~= '1' then return end
  local function spare(charged, used)
    local whole = tonumber(charged or '0')
    if never_started then return whole end
    return whole - math.min(whole, tonumber(used) or whole)
  end
  local wall, cpu = spare(held[3], used_wall), spare(held[4], used_cpu)
  if redis.call('EXISTS', session) == 1 then
    local function give(field, amount)
      if amount > 0 and redis.call('HEXISTS', session, field) == 1 then
        redis.call('HINCRBY', session, field, string.format('%d', amount))
      end
    end
    give('wallMsLeft', wall)
    give('cpuMsLeft', cpu)
    if never_started then
      give('dispatchesLeft', 1)
      if held[2] then give('uses:' .. held[2], 1) end
    end
  end
  if held[5] and redis.call('HGET', tenant_usage, 'day') == held[5] then
    redis.call('HINCRBY', tenant_usage, 'wallMs', string.format('%d', -wall))
    redis.call('HINCRBY', tenant_usage, 'cpuMs', string.format('%d', -cpu))
    if never_started then redis.call('HINCRBY', tenant_usage, 'dispatches', -1) end
  end
  if held[3] then
    redis.call('HINCRBY', record, 'chargedWallMs', string.format('%d', -wall))
    redis.call('HINCRBY', record, 'chargedCpuMs', string.format('%d', -cpu))
  end
  if never_started then redis.call('HSET', record, 'reserved', '0') end
end

-- A place in the fair queue, see admit.lua: answers its priority, and the same without an upper bound.
local TAGS_PER_ROUND = 16
local MAX_PRIORITY = 2097151
local function queue_fairly(tenant, weight)
  if redis.call('SCARD', pool_queued) == 0 then redis.call('DEL', pool_fair) end
  local fair = redis.call('HMGET', pool_fair, 'V', 'base', 't:' .. tenant)
  local tag = math.max(tonumber(fair[3] or '0'), tonumber(fair[1] or '0'))
  redis.call('HSET', pool_fair, 't:' .. tenant, string.format('%.17g', tag + 1 / weight))
  local unbounded = math.floor((tag - tonumber(fair[2] or '0')) * TAGS_PER_ROUND) + 1
  local priority = math.max(1, math.min(MAX_PRIORITY, unbounded))
  redis.call('HSET', record, 'tag', string.format('%.17g', tag), 'priority', string.format('%d', priority))
  return priority, unbounded
end

-- An approval that was not used has an end with its command; one that was used stays as it is.
local APPROVAL_ENDS = { cancel = 'cancelled', approval_denied = 'denied', approval_expired = 'expired' }
local function end_approval(ended_by)
  local approval = redis.call('HGET', record, 'approvalState')
  if not approval then return end
  redis.call('ZREM', approvals_due, id)
  if approval == 'pending' or approval == 'approved' then
    redis.call('HSET', record, 'approvalState', APPROVAL_ENDS[ended_by] or 'void')
  end
end

-- `ended_by` is the fence of a worker that ended it, or a word no fence is equal to.
local function conclude(from, ended_by, result, output, never_started, used_wall, used_cpu)
  leave(from)
  redis.call('SREM', session_open, id)
  end_approval(ended_by)
  settle(never_started, used_wall, used_cpu)
  redis.call('HSET', record, 'state', 'finished', 'finishedAtMs', now, 'endedBy', ended_by, 'result', result)
  if output ~= '' then redis.call('HSET', record, 'output', output) end
  owe_evidence('finished')
  retain()
  deliver()
  announce('finished')
end
