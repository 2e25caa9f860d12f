-- Removes the oldest records of a chain up to a signed cut, which is kept in their place. Never more than was sealed.
local head, chain, checkpoints, index = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local seq, cut = ARGV[1], ARGV[2]

if tonumber(redis.call('HGET', head, 'sealedSeq') or '0') < tonumber(seq) then return 0 end
if tonumber(redis.call('HGET', head, 'cutSeq') or '0') >= tonumber(seq) then return 0 end
local next = string.format('%.0f', tonumber(seq) + 1)
redis.call('XTRIM', chain, 'MINID', '=', next .. '-0')
redis.call('XTRIM', checkpoints, 'MINID', '=', next .. '-0')
for i = 3, #ARGV do redis.call('ZREM', index, ARGV[i]) end
redis.call('HSET', head, 'cutSeq', seq, 'cut', cut)
return 1
