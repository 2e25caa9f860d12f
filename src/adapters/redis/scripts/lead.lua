-- One holder of a role at a time; the holder itself renews.
local holder, lease_ms = ARGV[1], ARGV[2]

if redis.call('GET', KEYS[1]) == holder then
  redis.call('PEXPIRE', KEYS[1], lease_ms)
  return 1
end
if redis.call('SET', KEYS[1], holder, 'NX', 'PX', lease_ms) then return 1 end
return 0
