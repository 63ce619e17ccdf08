# shellcheck shell=bash
# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
# Progress lines for the scripts beside it, which source it. A step that fails shows the end of its output.

# say TEXT: one line, with the seconds since the script began.
say() { printf '[%4ds] %s\n' "$SECONDS" "$*"; }

fail() {
  printf '%s: %s\n' "${0##*/}" "$*" >&2
  exit 1
}

# quietly TITLE COMMAND...: runs a command with its output in a file, and says every 15 s that it goes on.
quietly() {
  local title=$1 log status=0 begin=$SECONDS next=15 pid
  shift
  log=$(mktemp)
  say "$title"
  "$@" >"$log" 2>&1 </dev/null &
  pid=$!
  while kill -0 "$pid" 2>/dev/null; do
    sleep 0.2
    if ((SECONDS - begin >= next)); then
      next=$((next + 15))
      say "  ... $(tail -n 1 "$log" | cut -c 1-100)"
    fi
  done
  wait "$pid" || status=$?
  if ((status != 0)); then
    tail -n 60 "$log" >&2
    rm -f "$log"
    fail "$title: failed with status $status"
  fi
  rm -f "$log"
}
