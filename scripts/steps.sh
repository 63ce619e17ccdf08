# shellcheck shell=bash
# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
# Functions that the other scripts source: progress lines, and steps that show the end of their output if they fail.

# say TEXT: prints a line with the seconds since the script began.
say() { printf '[%4ds] %s\n' "$SECONDS" "$*"; }

fail() {
  printf '%s: %s\n' "${0##*/}" "$*" >&2
  exit 1
}

# check_words FORM... -- WORD...: checks the words of the command line. For --help it prints the first comment of the script
# and exits. For a word that no FORM allows it prints the word and exits with status 2. A FORM is `--name` for an option,
# `--name=` for an option with a value, `--name=one|two` for an option with one of these values, `word` for that word, and
# `WORD` for every word that is no option. Scripts call it before they install anything.
check_words() {
  local forms=' ' word value='' values=''
  for word in "$@"; do
    [[ $word == -- ]] && break
    forms+="$word "
    shift
  done
  shift
  for word in "$@"; do
    if [[ $value ]]; then
      if [[ $values && "|$values|" != *"|$word|"* ]]; then
        echo "${0##*/}: $value takes ${values//|/, }, not $word: see scripts/${0##*/} --help" >&2
        exit 2
      fi
      value=''
    elif [[ $word == -h || $word == --help ]]; then
      sed -n '/^#!/d; /^# SPDX/d; /^#/!q; s/^# \{0,1\}//p' "scripts/${0##*/}"
      exit 0
    elif [[ $forms =~ \ "$word"=([^ ]*)\  ]]; then
      value=$word values=${BASH_REMATCH[1]}
    elif [[ $word == -* || ! $forms =~ \ [A-Z]+\  ]] && [[ $forms != *" $word "* ]]; then
      echo "${0##*/}: unknown argument $word: see scripts/${0##*/} --help" >&2
      exit 2
    fi
  done
  if [[ $value ]]; then
    echo "${0##*/}: $value takes a value: see scripts/${0##*/} --help" >&2
    exit 2
  fi
}

# source_date: prints the time that packages name as that of their making, in seconds: the day of the version in the changelog,
# or the time of the last commit.
source_date() {
  local day
  day=$(sed -n '0,/^## /s/^## .* (\(....-..-..\))$/\1/p' CHANGELOG.md)
  if [[ $day ]]; then date --utc --date="$day" +%s; else git log -1 --format=%ct; fi
}

as_root() {
  if ((EUID == 0)); then
    "$@"
  else
    sudo -- "$@"
  fi
}

# Prints the last line of a log every 15 s, until the script ends or this function is stopped.
_show_progress() { # _show_progress LOG
  local next=$((SECONDS + 15))
  while kill -0 $$ 2>/dev/null; do
    sleep 0.5
    ((SECONDS < next)) && continue
    next=$((next + 15))
    say "  ... $(tail -n 1 "$1" | cut -c 1-100)"
  done
}

# quietly TITLE COMMAND...: runs a command with its output in a file. The command stays in the
# foreground: a command started with & gets no interrupt.
quietly() {
  local title=$1 log status=0 progress
  shift
  log=$(mktemp)
  say "$title"
  _show_progress "$log" &
  progress=$!
  "$@" >"$log" 2>&1 </dev/null || status=$?
  kill "$progress"
  wait "$progress" 2>/dev/null || true
  if ((status != 0)); then
    tail -n 60 "$log" >&2
    rm -f "$log"
    fail "$title: failed with status $status"
  fi
  rm -f "$log"
}

# build_preset PRESET TARGET...: builds targets, with ccache if it is installed, and with the options in configure_options.
build_preset() {
  local preset=$1 launchers=()
  shift
  if command -v ccache >/dev/null; then
    # ccache keeps precompiled headers too.
    export CCACHE_SLOPPINESS=pch_defines,time_macros
    launchers=(-DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
  fi
  quietly "configuring $preset" cmake --preset "$preset" "${launchers[@]}" \
    ${configure_options[@]+"${configure_options[@]}"}
  quietly "building $preset: $*" cmake --build --preset "$preset" --parallel "$(nproc)" --target "$@"
}

# build_before COMMIT: builds the programs of that commit in a separate worktree, and sets `before` to its path.
build_before() {
  local commit
  commit=$(git rev-parse --verify --end-of-options "$1^{commit}") || fail "no such commit: $1"
  before=$PWD/build/before
  git worktree prune
  [[ -d $before ]] || git worktree add --detach "$before" "$commit" >/dev/null 2>&1
  git -C "$before" checkout -q --detach "$commit"
  say "of $commit:"
  (
    cd "$before"
    configure_options=(-DBUILD_TESTING=OFF)
    build_preset release cccl-cached cccl-cached-worker cccl-cache-cli
  )
}
