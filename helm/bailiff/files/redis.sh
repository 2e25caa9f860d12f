#!/bin/sh
# Starts Redis with its password, or asks whether it answers. The password is on no command line.
set -eu

if [ "${1:-}" = ping ]; then
  export REDISCLI_AUTH="$REDIS_PASSWORD"
  [ "$(redis-cli -h 127.0.0.1 ping)" = PONG ]
  exit
fi

# It becomes a part of a URL and of Redis's own configuration, where other characters mean something.
case "$REDIS_PASSWORD" in
"" | *[!A-Za-z0-9_-]*)
  echo "redis: the password must be letters, digits, _ and -" >&2
  exit 1
  ;;
esac
umask 077
{
  cat "${REDIS_CONFIG:-/etc/redis/redis.conf}"
  echo "requirepass $REDIS_PASSWORD"
} >"${REDIS_RUN:-/run/redis}/redis.conf"
exec redis-server "${REDIS_RUN:-/run/redis}/redis.conf"
