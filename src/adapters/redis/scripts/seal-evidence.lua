-- Keeps a signed checkpoint of a record that the chain holds; 0 when it does not, or when as much is sealed already.
local head, chain, checkpoints = KEYS[1], KEYS[2], KEYS[3]
local seq, hash, checkpoint, at = ARGV[1], ARGV[2], ARGV[3], ARGV[4]

if tonumber(redis.call('HGET', head, 'sealedSeq') or '0') >= tonumber(seq) then return 0 end
local entry = redis.call('XRANGE', chain, seq .. '-0', seq .. '-0')[1]
if not entry or entry[2][2] ~= hash then return 0 end
redis.call('XADD', checkpoints, seq .. '-0', 'checkpoint', checkpoint)
redis.call('HSET', head, 'sealedSeq', seq, 'sealedAtMs', at)
return 1
