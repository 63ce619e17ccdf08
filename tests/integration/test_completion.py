# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The completions of bash, zsh and fish with the scripts that cccl-cache-cli prints."""

import os
import pathlib
import shlex
import subprocess

import pytest
from conftest import PATIENCE, run_cli
from watched_terminal import WatchedTerminal

TEXTS = pathlib.Path(os.environ["CCCL_CACHED_TEST_TEXTS"]) / "share"
INSTALLED = {"bash": "bash-completion/completions/cccl-cache-cli", "zsh": "zsh/site-functions/_cccl-cache-cli",
             "fish": "fish/vendor_completions.d/cccl-cache-cli.fish"}


def script_of(shell, directory):
    """Returns the path of the script that the command prints for a shell."""
    path = directory / shell
    path.write_bytes(run_cli("completion", shell).stdout)
    return path


def run(*words, directory):
    environment = {"PATH": os.environ["PATH"], "HOME": str(directory), "TERM": "dumb", "LC_ALL": "C"}
    done = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE, cwd=directory, env=environment)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def in_bash(script, words, directory):
    """Returns COMPREPLY for a command line, split into words as bash does. The last word is completed."""
    line = " ".join(map(shlex.quote, words))
    return run("bash", "--norc", "-c", f"""source {script}
        COMP_WORDS=({line}) COMP_CWORD={len(words) - 1}
        $(complete -p cccl-cache-cli | sed 's/.* -F \\([^ ]*\\) .*/\\1/')
        ((${{#COMPREPLY[@]}} == 0)) || printf '%s\\n' "${{COMPREPLY[@]}}" """, directory=directory).split()


def in_fish(script, words, directory):
    # Fish keeps a word and its "=" together.
    line = " ".join(words).replace(" = ", "=")
    lines = run("fish", "--no-config", "-c", f"source {script}; complete -C {shlex.quote(line)}", directory=directory)
    found = [each.split("\t")[0] for each in lines.splitlines()]
    return [each.partition("=")[2] for each in found] if "=" in line.split(" ")[-1] else found


# Matches that compadd only puts into an array (-O, -A, -D) are not completed yet.
ZSH_COMPLETES_ONE_LINE = """
autoload -Uz compinit
compinit -u -D
source $SCRIPT
LISTMAX=1000 # asks nothing before it lists fewer
compadd() {
  local -a found options=($argv[1,(i)(-|--)])
  if ((! $options[(I)-*[OAD]])); then
    builtin compadd -O found "$@"
    ((! $#found)) || print -rl -- $found >>$HOME/found
  fi
  builtin compadd "$@"
}
zle-line-init() {
  cd $HOME
  BUFFER=$LINE CURSOR=$#LINE
  zle complete-word
  exit
}
zle -N zle-line-init
"""


def in_zsh(script, words, directory):
    """Returns the matches in an interactive zsh, because completers work only in its line editor."""
    found = directory / "found"
    found.write_text("")
    (directory / ".zshrc").write_text(ZSH_COMPLETES_ONE_LINE)
    line = " ".join(words).replace(" = ", "=")
    with WatchedTerminal("zsh", "-d", "-i", HOME=str(directory), SCRIPT=str(script), LINE=line) as terminal:
        terminal.await_end()
    return found.read_text().split()


COMPLETE = {"bash": in_bash, "zsh": in_zsh, "fish": in_fish}


@pytest.fixture(params=COMPLETE)
def complete(request, directory):
    """Returns the completions of a shell for the words after cccl-cache-cli, split as bash splits them."""
    script = script_of(request.param, directory)
    return lambda *words: COMPLETE[request.param](script, ["cccl-cache-cli", *words], directory)


@pytest.mark.parametrize("shell", INSTALLED)
def test_each_script_is_valid_and_is_the_one_that_is_installed(shell, directory):
    script = script_of(shell, directory)
    run(shell, "-n", str(script), directory=directory)
    assert (TEXTS / INSTALLED[shell]).read_bytes() == script.read_bytes()


def test_commands_are_completed(complete):
    assert {"build", "snapshot", "help", "completion"} <= set(complete(""))
    assert complete("bu") == ["build"]
    assert set(complete("snapshot", "")) == {"create", "delta", "insert", "list", "sign", "verify"}
    assert complete("help", "snapshot", "cr") == ["create"]
    assert complete("completion", "f") == ["fish"]


def test_options_of_the_command_and_of_all_commands_are_completed(complete):
    assert complete("build", "k.cu", "--name-") == ["--name-expression"]
    assert complete("snapshot", "create", "--all") == ["--all-users"]
    assert complete("stats", "--js") == complete("--js") == ["--json"]
    assert complete("stats", "--name-") == []


def test_the_values_of_options_with_choices_are_completed_for_each_command(complete):
    assert set(complete("build", "--emit", "")) == {"cubin", "ptx", "ltoir", "optixir"}
    assert set(complete("link", "--emit", "")) == {"cubin", "ptx"}
    assert complete("build", "--emit", "=", "p") == ["ptx"]
    assert complete("run", "--how", "pre") == ["preload"]


def test_completed_architectures_and_toolchains_are_the_daemons(complete, directory, monkeypatch):
    fake = directory / "bin/cccl-cache-cli"
    fake.parent.mkdir()
    fake.write_text("#!/bin/sh\ncat <<'EOF'\n"
                    "* 13.0  0123456789ab  /usr/local/cuda  (nvrtc 13.0.88)\n    --arch sm_75, sm_90\n"
                    "  12.9  ba9876543210  /opt/cuda  (nvrtc 12.9.86)\n    --arch sm_70, sm_75\n"
                    "not used: /opt/other: others can write it\nEOF\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{fake.parent}:{os.environ['PATH']}")
    assert complete("build", "--arch", "sm_") == ["sm_70", "sm_75", "sm_90"]
    assert complete("link", "--arch", "=", "sm_9") == ["sm_90"]
    assert complete("nvvm", "--toolchain", "1") == ["12.9", "13.0"]


def test_the_value_of_an_option_is_not_completed_as_a_command(complete):
    assert complete("--socket", "build", "sta") == ["stats"]
    assert complete("--socket", "=", "build", "sta") == ["stats"]


def test_run_completes_a_program_and_explain_completes_a_command(complete, directory):
    program = directory / "a-program"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    assert "true" in complete("run", "tru")
    assert "true" in complete("run", "--how", "audit", "--", "tru")
    assert complete("explain", "--", "bui") == ["build"]


def test_zsh_and_fish_complete_files_where_a_command_or_a_program_takes_them(directory):
    (directory / "kernel.cu").write_text("")
    for shell in ("zsh", "fish"):
        script = script_of(shell, directory)
        for words in (["build", "k"], ["build", "-o", "k"], ["run", "cat", "k"], ["run", "--", "cat", "k"]):
            assert COMPLETE[shell](script, ["cccl-cache-cli", *words], directory) == ["kernel.cu"]


def test_bash_leaves_file_names_to_readline(directory):
    script = script_of("bash", directory)
    for words in (["build", ""], ["--socket", ""], ["build", "-o", "="], ["snapshot", "create", "k"]):
        assert in_bash(script, ["cccl-cache-cli", *words], directory) == []
    assert "-o default" in run("bash", "--norc", "-c", f"source {script}; complete -p cccl-cache-cli", directory=directory)
