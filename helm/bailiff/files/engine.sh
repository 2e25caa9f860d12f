#!/bin/sh
# Runs one worker's Docker engine. It is ready, and says so with a file, once the workspaces are the runner's, the
# engine answers, and every image is there: none is ever pulled for a command.
set -eu

: "${ENGINE_DIRECTORY:?}" "${ENGINE_SOCKET_GID:?}" "${ENGINE_DAEMON_CONFIG:?}"
: "${ENGINE_CGROUP_ROOT:=/sys/fs/cgroup}" "${ENGINE_MORE_OPTIONS:=}"
: "${ENGINE_IMAGES:=}" "${ENGINE_ARCHIVES:=}" "${ENGINE_WORKSPACES:=}" "${ENGINE_START_LIMIT_S:=900}"
ready=$ENGINE_DIRECTORY/ready
socket=$ENGINE_DIRECTORY/docker.sock
export DOCKER_HOST="unix://$socket"

say() { printf 'engine: %s\n' "$*" >&2; }
fail() {
  say "$*"
  exit 1
}

# An empty claim is root's. Bailiff and the commands are the runner, and Bailiff refuses a root that is not its own.
give_workspaces_to_runner() {
  [ -n "$ENGINE_WORKSPACES" ] || return 0
  [ "$(stat -c %u:%g "$ENGINE_WORKSPACES")" != "$ENGINE_RUNNER" ] || return 0
  for entry in "$ENGINE_WORKSPACES"/* "$ENGINE_WORKSPACES"/.[!.]*; do
    case "$entry" in
    */lost+found | "$ENGINE_WORKSPACES/*" | "$ENGINE_WORKSPACES/.[!.]*") ;;
    *) fail "$ENGINE_WORKSPACES holds files and is not $ENGINE_RUNNER's: name the right directory, or give it to that user" ;;
    esac
  done
  # Closed before it changes hands: its new owner's group and others may pass through, never write.
  chmod 0711 "$ENGINE_WORKSPACES" && chown "$ENGINE_RUNNER" "$ENGINE_WORKSPACES" ||
    fail "$ENGINE_WORKSPACES can't be given to $ENGINE_RUNNER: let the storage make it that user's, mode 0711, and set workspaces.prepare to false"
  say "$ENGINE_WORKSPACES is now $ENGINE_RUNNER's"
}

# A privileged container sees the node's cgroups. Commands are put below this container's own, so that the pod's limits
# hold for them too. Only a cgroup without processes may have children with controllers.
nest_cgroup() {
  own=$(sed -n 's/^0:://p' /proc/self/cgroup)
  case "$own" in
  *..* | "") fail "this container's cgroup can't be found" ;;
  esac
  own=${own%/}
  base=$ENGINE_CGROUP_ROOT$own
  [ -f "$base/cgroup.controllers" ] || fail "the node has no cgroup v2, so the pod's limits would not hold for commands"
  mkdir -p "$base/init"
  while read -r process; do
    # One that has ended meanwhile need not be moved.
    echo "$process" 2>/dev/null >"$base/init/cgroup.procs" || :
  done <"$base/cgroup.procs"
  sed -e 's/ / +/g' -e 's/^/+/' "$base/cgroup.controllers" >"$base/cgroup.subtree_control"
  cgroup_parent=$own/engine
}

engine_answers() { docker version --format '{{.Server.Version}}' >/dev/null 2>&1; }
engine_lives() { kill -0 "$engine" 2>/dev/null; }

# The engine may be waited for, a registry that does not answer may be asked again; neither without end.
before_limit() {
  elapsed_s=$(($(date +%s) - started_s))
  [ "$elapsed_s" -lt "$ENGINE_START_LIMIT_S" ] || fail "$1 within $ENGINE_START_LIMIT_S s"
  engine_lives || fail "the engine ended"
  sleep 1
}

load_images() {
  if [ -n "$ENGINE_ARCHIVES" ]; then
    for archive in "$ENGINE_ARCHIVES"/*.tar; do
      [ -f "$archive" ] || continue
      say "loading $archive"
      docker load --quiet --input "$archive" >&2 || fail "$archive can't be loaded"
    done
  fi
  for image in $ENGINE_IMAGES; do
    docker image inspect "$image" >/dev/null 2>&1 && continue
    case "$image" in
    sha256:*) fail "$image is in no archive, and an image without a name can't be pulled" ;;
    esac
    say "pulling $image"
    until docker pull --quiet "$image" >&2; do before_limit "$image could not be pulled"; done
  done
}

stop_engine() { kill -TERM "$engine" 2>/dev/null || :; }

rm -f "$ready" "$socket"
started_s=$(date +%s)
give_workspaces_to_runner
nest_cgroup
# shellcheck disable=SC2086 # the options are words
dockerd --host="$DOCKER_HOST" --group="$ENGINE_SOCKET_GID" --config-file="$ENGINE_DAEMON_CONFIG" \
  --exec-opt=native.cgroupdriver=cgroupfs --cgroup-parent="$cgroup_parent" $ENGINE_MORE_OPTIONS &
engine=$!
trap stop_engine TERM INT EXIT
until engine_answers; do before_limit "the engine did not answer"; done
load_images
touch "$ready"
say "ready; commands run below the cgroup $cgroup_parent"

# A signal ends a wait before the engine has ended.
while engine_lives; do
  status=0
  wait "$engine" || status=$?
done
rm -f "$ready"
exit "${status:-1}"
