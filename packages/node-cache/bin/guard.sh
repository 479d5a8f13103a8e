#!/usr/bin/env bash
# Takes the rules of node-cache out when it cannot: when it has ended without having done so (SIGKILL, out of
# memory), or has not answered its own probe for two seconds. Pods then reach the DNS of the cluster.
#
#   guard.sh PROGRAM [ARGUMENT...]  runs node-cache, passes signals on, and ends as it ends: the first process of a
#                                   container, because the kernel ends all others with the first
#   guard.sh --child                reads the pipe from stdin: node-cache starts it so where there is no other
#   guard.sh --watch PIPE           in a container of its own, which survives the end of the one of node-cache: makes
#                                   a named pipe in a folder of both
#
# Each line from node-cache is one of: "nft LINE", "iptables LINE", "ip6tables LINE" (input of the tool that takes the
# rules out), "owner INTERFACE ID" (whose rules these are), "." (a probe was answered), "clear" (forget it all).
set -u
PATH=$PATH:/usr/sbin:/sbin
limit_seconds=2
declare -A removal=()
interface='' id=''

say() { echo "node-cache guard: $*" >&2; }

# Whether another node-cache has taken over. The alias of the interface is the one whose rules these are.
is_taken_over() {
  [ -n "$interface" ] || return 1
  local link
  link=$(ip -o -d link show dev "$interface" 2>/dev/null) || return 1
  [[ $link == *' alias '* && $link != *" alias $id" ]]
}

# All in one transaction; where that fails, because some are gone already, one after the other.
remove_iptables() {
  local tool=$1 text=$2 table='' line
  printf '%s' "$text" | "$tool-restore" --noflush -w 5 2>/dev/null && return
  while IFS= read -r line; do
    case $line in
    '*'*) table=$line ;;
    -D*) printf '%s\n%s\nCOMMIT\n' "$table" "$line" | "$tool-restore" --noflush -w 5 2>/dev/null ;;
    esac
  done < <(printf '%s' "$text")
  return 0
}

remove() {
  ((${#removal[@]} > 0)) || return 1
  if is_taken_over; then
    say 'the rules stay: another node-cache has taken over'
    return 1
  fi
  local tool
  for tool in "${!removal[@]}"; do
    case $tool in
    nft) printf '%s' "${removal[nft]}" | nft -f - ;;
    *) remove_iptables "$tool" "${removal[$tool]}" ;;
    esac
  done
  say "took the rules out: node-cache $1"
}

# Until no process has the other end of the pipe.
watch() {
  local line status is_silent=false
  removal=() interface='' id=''
  while true; do
    IFS= read -r -t "$limit_seconds" -u 5 line
    status=$?
    if ((status > 128)); then
      $is_silent || remove "has not answered its own probe for $limit_seconds s"
      is_silent=true
      continue
    fi
    ((status == 0)) || break
    is_silent=false
    case $line in
    nft\ * | iptables\ * | ip6tables\ *) removal[${line%% *}]+=${line#* }$'\n' ;;
    owner\ *) read -r _ interface id <<<"$line" ;;
    clear) removal=() interface='' id='' ;;
    esac
  done
  remove 'has ended' || return 0
  # One that it took over from may still be there, and then ends as if it had always been the only one.
  [ -z "$interface" ] || ip link set dev "$interface" alias '' 2>/dev/null
}

case ${1-} in
'')
  say 'needs a program, --child or --watch PIPE'
  exit 2
  ;;
--child)
  # A terminal sends its signals to node-cache as well, which says when all is done.
  trap '' INT TERM HUP
  exec 5<&0
  watch
  ;;
--watch)
  pipe=${2:?}
  # A new one: node-cache writes on to the pipe of a guard that has ended, and notices only where no other reads it.
  rm -f "$pipe" && mkfifo -m 600 "$pipe" || exit 1
  is_connected=false is_ending=false
  # Not before node-cache, which may still take long to end.
  trap 'is_ending=true; $is_connected || exit 0' TERM INT
  until $is_ending; do
    exec 5<"$pipe"
    is_connected=true
    watch
    is_connected=false
  done
  ;;
*)
  exec 4>&1
  exec 5< <(
    export NODE_CACHE_GUARD_FD=3
    exec 3>&1 1>&4 4>&-
    exec "$@"
  )
  program=$!
  exec 4>&-
  for signal in TERM INT HUP QUIT USR1 USR2; do
    # shellcheck disable=SC2064
    trap "kill -$signal $program 2>/dev/null" "$signal"
  done
  watch
  # A signal that arrives meanwhile ends the wait, not the program.
  while true; do
    wait "$program"
    status=$?
    kill -0 "$program" 2>/dev/null || exit "$status"
  done
  ;;
esac
