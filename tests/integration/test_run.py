# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""`cccl-cache-cli run`: unchanged programs compile through the daemon, with the same bytes."""

import concurrent.futures
import json
import os
import pathlib
import pty
import re
import select
import shutil
import signal
import socket
import stat
import subprocess
import sys
import threading

import described_json
import grpc
import pytest
from conftest import PATIENCE, PLACES, run_cli, wait_for
from test_run_tools import OWN_MOUNTS

from cccl_cache.v1 import admin_pb2, admin_pb2_grpc, build_pb2_grpc, info_pb2, info_pb2_grpc  # the modules are in PLACES.stubs

SOURCE = pathlib.Path(__file__).with_name("run_program.c")
PACKAGES = pathlib.Path(__file__).parents[2] / ".toolchains/cuda-python"


def library_of(root, name="libnvrtc"):
    """Returns the path of this installation's library, without links."""
    return next(path.resolve() for path in pathlib.Path(root).resolve().rglob(f"{name}.so.1?"))


@pytest.fixture(params=["cuda13", "cuda12"])
def nvrtc(request):
    return library_of(getattr(PLACES, request.param))


def knowing(daemon):
    """A running daemon that has read its toolchains, because programs don't wait for that."""
    daemon.cli("toolchains")
    return daemon


@pytest.fixture
def daemon(make_daemon):
    return knowing(make_daemon(roots=(PLACES.cuda13, PLACES.cuda12)).start())


@pytest.fixture
def program(directory):
    """Compiles the program with these options. Returns its path."""

    def compiled(*options):
        path = directory / "program"
        subprocess.run(["cc", SOURCE, "-w", "-pthread", "-o", path, *map(str, options), "-ldl"], check=True)
        return path

    return compiled


def alone(*words, **environment):
    """Returns the output of the program without the cache."""
    done = subprocess.run(words, capture_output=True, timeout=PATIENCE, env={"PATH": os.environ["PATH"], **environment})
    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout
    return done.stdout


def under_run(socket, *words, how=None, options=(), **environment):
    """Returns the output of the program under `run`, and the report."""
    options = ("--report", *options, *(("--how", how) if how else ()))
    done = run_cli("--socket", socket, "--json", "run", *options, "--", *words, environment=environment)
    described_json.check(("run",), done.stderr)
    return done.stdout, json.loads(done.stderr)


def served(report):
    """Returns the number of calls that the daemon answered, by outcome."""
    assert not any(report["forwarded"].values()), report
    return report["hits"], report["compiled"]


def test_a_second_process_compiles_nothing_and_has_the_same_bytes(daemon, program, nvrtc):
    words = (program(), nvrtc)
    expected = alone(*words)
    ptx, report = under_run(daemon.socket, *words)
    assert (ptx, served(report)) == (expected, (0, 1))
    ptx, report = under_run(daemon.socket, *words)
    assert (ptx, served(report)) == (expected, (1, 0))


def test_the_report_has_the_time_that_hits_saved(daemon, program):
    words = (program(), library_of(PLACES.cuda13), "slowly")
    _, compiled = under_run(daemon.socket, *words)
    _, hit = under_run(daemon.socket, *words)
    assert (served(compiled), compiled["saved_us"]) == ((0, 1), 0)
    assert served(hit) == (1, 0)
    # The first call took little more time than its compile.
    assert compiled["call_us"] / 2 < hit["saved_us"] < compiled["call_us"]
    told = run_cli("--socket", daemon.socket, "run", "--report", "--", *words).stderr.decode()
    assert re.fullmatch(r"cccl-cache: 1 of 1 compile was a hit: 0\.[0-9]+ s in place of [0-9.]+ s\.\n", told), told


SIX_PROGRAMS_OVER_A_HEADER = """
import ctypes, sys
nvrtc = ctypes.CDLL(sys.argv[1])
options = (ctypes.c_char_p * 2)(b"-arch=sm_90", b"-I" + sys.argv[2].encode())
for number in range(6):
    program = ctypes.c_void_p()
    source = b"#include <cuda_fp16.h>\\n__global__ void k(__half* p) { *p = __half(%d); }" % number
    assert nvrtc.nvrtcCreateProgram(ctypes.byref(program), source, b"k.cu", 0, None, None) == 0
    assert nvrtc.nvrtcCompileProgram(program, 2, options) == 0
"""


def test_the_report_counts_compiles_with_precompiled_headers(daemon, directory):
    script = directory / "six.py"
    script.write_text(SIX_PROGRAMS_OVER_A_HEADER)
    before = daemon.stats()["pch_builds_total"]
    words = (sys.executable, script, library_of(PLACES.cuda13), f"{PLACES.cuda13}/include")
    _, report = under_run(daemon.socket, *words)
    assert served(report) == (0, 6)
    assert report["precompiled_headers"] == daemon.stats()["pch_builds_total"] - before


def verdict(socket, *words, options=("--report",), **environment):
    """Returns the report, which `run` writes to standard error."""
    return run_cli("--socket", socket, "run", *options, "--", *words, environment=environment).stderr.decode()


def test_the_report_begins_with_its_verdict(daemon, program, directory):
    words = (program(), library_of(PLACES.cuda13), "forks")
    first = verdict(daemon.socket, *words)
    assert re.fullmatch(r"cccl-cache: 2 compiled \([0-9.]+ s\)\. The next run finds them\.\n", first), first
    second = verdict(daemon.socket, *words)
    assert re.fullmatch(r"cccl-cache: 2 of 2 compiles were hits: [0-9.]+ s in place of [0-9.]+ s\.\n", second), second
    one = verdict(daemon.socket, "sh", "-c", '"$@"; CCCL_CACHE_SOCKET=/nowhere "$@"', "sh", *words[:2])
    assert re.match(r"cccl-cache: 1 of 2 compiles was a hit \(", one), one
    mixed = verdict(daemon.socket, "sh", "-c", '"$@"; CCCL_CACHE_SOCKET=/nowhere "$@"', "sh", *words)
    assert re.match(r"cccl-cache: 2 of 4 compiles were hits \(saved about [0-9.]+ s\), 2 not served \(no daemon\): [0-9.]+ s in all", mixed), mixed
    each = verdict(daemon.socket, *words, options=("--report=each",)).splitlines()
    assert "2 of 2 compiles were hits" in each[0] and "processes with compiles: 2; 2 compiles in" in each[-1] and len(each) == 4
    nowhere = verdict(directory / "nothing", *words)
    assert re.match(r"cccl-cache: not cached: 2 of 2 compiles \([0-9.]+ s\): no daemon\.\n", nowhere), nowhere
    assert f"cccl-cached --socket {directory}/nothing" in nowhere


def test_the_report_says_why_a_socket_is_not_used(program, directory):
    place = directory / "open/cccl-cached"
    place.mkdir(parents=True)
    place.chmod(0o777)
    environment = {"XDG_RUNTIME_DIR": str(place.parent), "HOME": str(directory), "CCCL_CACHE_SOCKET": ""}
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(place / "socket"))
        words = ("run", "--report", "--", program(), library_of(PLACES.cuda13))
        told = run_cli(*words, environment=environment).stderr.decode()
    assert f"\n  the socket {place}/socket is not used, because {place} can be written by other users" in told, told


def test_the_report_says_whether_an_unknown_library_is_nvidia_s_and_names_the_remedy(make_daemon, program, directory):
    daemon = knowing(make_daemon(roots=(PLACES.cuda13,)).start())
    library = library_of(PLACES.cuda12)
    told = verdict(daemon.socket, program(), library)
    assert re.match(r"cccl-cache: not cached: 1 of 1 compile \([0-9.]+ s\): library unknown to daemon\.\n  ", told), told
    assert re.search(rf"\n  it is NVIDIA's 12\.[0-9.]+: cccl-cache-cli toolchains add {library}\n$", told), told
    for each in (library, *library.parent.glob("libnvrtc-builtins.so.*")):
        shutil.copy(each, directory)
    changed = directory / library.name
    with open(changed, "ab") as file:
        file.write(b"not NVIDIA's")
    told = verdict(daemon.socket, program(), changed)
    assert f"\n  {changed}: this is none of the " in told and "--toolchain-root" in told and "toolchains add" not in told, told


def test_json_implies_the_report(directory):
    done = run_cli("--json", "run", "--", "echo", "of the program")
    assert done.stdout == b"of the program\n" and json.loads(done.stderr)["calls"] == 0


def test_at_a_terminal_the_missing_daemon_is_reported_once(directory):
    def said(*words):
        person, terminal = os.openpty()
        done = subprocess.run([PLACES.cli, "--socket", directory / "nothing", "run", *words], stdout=subprocess.PIPE, stderr=terminal)
        os.close(terminal)
        try:
            text = os.read(person, 1 << 16)
        except OSError:  # nothing was written
            text = b""
        os.close(person)
        return done.stdout, text.decode()

    output, told = said("--", PLACES.cli, "run", "--", "echo", "made")
    assert output == b"made\n" and told.count("not cached: no cccl-cached listens on") == told.count("\n") == 1
    assert f"cccl-cached --socket {directory}/nothing" in told


@pytest.mark.parametrize("temporary", ["missing", "", "a file", "relative", "closed"])
def test_a_report_needs_no_directory_for_temporary_files(daemon, program, directory, temporary):
    (directory / "a file").write_text("")
    (directory / "closed").symlink_to("/proc")
    place = temporary if temporary in ("", "relative") else str(directory / temporary)
    _, report = under_run(daemon.socket, program(), library_of(PLACES.cuda13), TMPDIR=place)
    assert served(report) == (0, 1)


def test_a_program_that_may_write_no_files_is_served_and_started_without_a_report(daemon, program, directory):
    words = (program(), library_of(PLACES.cuda13))
    expected = alone(*words)
    limited = ("sh", "-c", 'ulimit -f 0; exec "$@"', "sh")
    environment = {"HOME": str(directory)}
    done = run_cli("--socket", daemon.socket, "run", "--", *limited, *words, environment=environment)
    assert (done.stdout, done.stderr, daemon.stats()["builds_total"]) == (expected, b"", 1)
    done = run_cli("--socket", daemon.socket, "run", "--report", "--", *limited, *words, environment=environment)
    assert (done.stdout, daemon.stats()["builds_total"]) == (expected, 2)
    done = run_cli("run", "--report", "--", "echo", "started", behind=limited)
    assert done.stdout == b"started\n" and b"there is no report" in done.stderr


def test_without_a_daemon_the_bytes_are_the_same(directory, program, nvrtc):
    words = (program(), nvrtc)
    ptx, report = under_run(directory / "nothing", *words)
    assert ptx == alone(*words)
    assert report["forwarded"]["no daemon"] == 1


def test_run_within_run_serves_the_program_once(daemon, program):
    assert run_cli("run", "--", PLACES.cli, "env").stdout == b""
    again = run_cli("run", "--", "env", "-u", "LD_PRELOAD", PLACES.cli, "env").stdout.decode()
    assert again.startswith("export LD_PRELOAD=") and again.count("export") == 1
    words = (program(), library_of(PLACES.cuda12))
    ptx, report = under_run(daemon.socket, PLACES.cli, "run", "--", *words)
    assert (ptx, served(report)) == (alone(*words), (0, 1))


def test_signals_reach_the_program_also_with_a_report(directory):
    code = "import signal, sys; signal.signal(signal.SIGUSR1, lambda *_: sys.exit(3)); print('up', flush=True); signal.pause()"
    words = [PLACES.cli, "--socket", directory / "nothing", "run", "--report", "--", sys.executable, "-c", code]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        assert running.stdout.readline() == b"up\n"
        running.send_signal(signal.SIGUSR1)
        assert running.wait(PATIENCE) == 3
        assert running.stderr.read().startswith(b"cccl-cache: this program compiled nothing that `run` serves: NVRTC")


@pytest.mark.parametrize("by", [signal.SIGTERM, signal.SIGSEGV, signal.SIGKILL])
def test_a_signal_that_ends_the_program_ends_a_run_with_a_report_too(directory, by):
    temporary = directory / "temporary"
    temporary.mkdir()
    words = [PLACES.cli, "--socket", directory / "nothing", "run", "--report", "--", "sh", "-c", f"kill -{int(by)} $$"]
    running = subprocess.Popen(["sh", "-c", 'ulimit -c "$(ulimit -H -c)"; exec "$@"', "sh", *words], cwd=directory,
                               stderr=subprocess.PIPE, env={**os.environ, "TMPDIR": str(temporary)})
    assert running.stderr.read().startswith(b"cccl-cache: this program compiled nothing")
    status = os.waitpid(running.pid, 0)[1]
    # There is no second core file.
    assert (os.WTERMSIG(status), os.WCOREDUMP(status), list(temporary.iterdir())) == (by, False, [])


def test_run_has_an_exit_code_for_a_signal_that_cannot_end_it(directory):
    """The first process of a container has such signals."""
    own = ["--pid", "--fork", *([] if os.geteuid() == 0 else ["--user", "--map-root-user"])]
    words = [PLACES.cli, "--socket", directory / "nothing", "run", "--report", "--", "sh", "-c", "kill -TERM $$"]
    assert subprocess.run(["unshare", *own, *words], capture_output=True, timeout=PATIENCE).returncode == 128 + signal.SIGTERM


@pytest.mark.parametrize("end", ["its terminal goes", "it is killed"])
def test_a_program_does_not_outlive_a_run_with_a_report(directory, end):
    script = ("trap '' HUP; " if end == "it is killed" else "") + "echo $$; exec sleep 600"
    leader, terminal = pty.fork()
    if leader == 0:
        os.environ["TMPDIR"] = str(directory)  # if it is killed, the report's directory stays
        os.execv(PLACES.cli, [PLACES.cli, "--socket", str(directory / "nothing"), "run", "--report", "--", "sh", "-c", script])
    with open(terminal, "rb", buffering=0) as screen:
        program = os.pidfd_open(int(screen.readline()))
        if end == "it is killed":
            os.kill(leader, signal.SIGKILL)
            assert select.select([program], [], [], PATIENCE)[0]
    ended = select.select([program], [], [], PATIENCE)[0]
    if not ended:
        signal.pidfd_send_signal(program, signal.SIGKILL)
    os.waitpid(leader, 0)
    os.close(program)
    assert ended


def test_run_with_a_report_starts_the_program_if_children_get_another_pid_namespace(directory):
    own = ["--pid", *([] if os.geteuid() == 0 else ["--user", "--map-root-user"])]
    done = subprocess.run(["unshare", *own, PLACES.cli, "--socket", directory / "nothing", "run", "--report", "--", "true"],
                          capture_output=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr.decode()


def test_a_program_inherits_the_callers_ignored_sigchld(directory):
    code = "import signal, sys; print(signal.getsignal(signal.SIGCHLD).name); sys.exit(3)"
    done = subprocess.run([PLACES.cli, "--socket", directory / "nothing", "run", "--report", "--", sys.executable, "-c", code],
                          preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN), capture_output=True, timeout=PATIENCE)
    assert (done.returncode, done.stdout) == (3, b"SIG_IGN\n")


def test_digests_are_kept_in_directories_that_only_the_user_can_write(daemon, program, directory):
    """The program has its own mounts, for which the daemon's stamps of the library are not valid."""
    home = directory / "home"
    words = (*OWN_MOUNTS, "sh", "-c", 'umask 0; exec "$@"', "sh", program(), library_of(PLACES.cuda12))
    under_run(daemon.socket, *words, HOME=home)
    assert not home.exists()
    home.mkdir()
    under_run(daemon.socket, *words, HOME=home)
    kept = home / ".cache/cccl-cache/digests"
    assert any(kept.iterdir())
    assert [stat.S_IMODE(each.stat().st_mode) for each in (kept, *kept.parents[:2])] == [0o700] * 3


def test_no_digest_is_kept_behind_a_link(daemon, program, directory):
    elsewhere = directory / "elsewhere"
    elsewhere.mkdir(mode=0o700)
    (directory / "cache/cccl-cache").mkdir(parents=True)
    (directory / "cache/cccl-cache/digests").symlink_to(elsewhere)
    _, report = under_run(daemon.socket, *OWN_MOUNTS, program(), library_of(PLACES.cuda12),
                          XDG_CACHE_HOME=directory / "cache")
    assert served(report) == (0, 1)
    assert not any(elsewhere.iterdir())


@pytest.mark.parametrize("mode", ["forks", "exits", "closes"])
def test_a_program_is_served_in_a_child_at_its_exit_and_with_a_reopened_library(daemon, program, nvrtc, mode):
    """The second compile is in a child, in an exit handler, or after the program has closed the library."""
    words = (program(), nvrtc, mode)
    ptx, report = under_run(daemon.socket, *words)
    assert ptx == alone(*words)
    assert served(report) == (0, 2)


def test_a_child_that_has_its_parents_process_number_gets_its_own_results(daemon, program):
    """Parent and child are both process 1, each of its own namespace."""
    alone_there = ["unshare", "--fork", "--pid", *([] if os.geteuid() == 0 else ["--user", "--map-root-user"])]
    words = (program(), library_of(PLACES.cuda13))
    assert under_run(daemon.socket, *alone_there, *words, "namesakes")[0] == alone(*words)


@pytest.mark.parametrize(("mode", "compiled"), [("closes-all", 2), ("daemonizes", 3), ("takes-all", None)])
def test_a_program_that_closes_all_descriptors_keeps_its_next_files_and_connections(daemon, program, mode, compiled):
    words = (program(), library_of(PLACES.cuda13), mode)
    ptx, report = under_run(daemon.socket, *words)
    assert not any(report["forwarded"].values()), report
    if compiled is None:
        assert int(ptx.split()[-1]) > 0, "there was none to take"
    else:
        assert (ptx, report["compiled"]) == (alone(*words), compiled)


LEAVES = """
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
static int leave(void*, void*) { throw 5; }
int main(int, char** words) {
  void* library = dlopen(words[1], RTLD_NOW);
  auto create = (int (*)(void*, const char*, const char*, int, void*, void*))dlsym(library, "nvrtcCreateProgram");
  auto set = (int (*)(void*, int (*)(void*, void*), void*))dlsym(library, "nvrtcSetFlowCallback");
  auto compile = (int (*)(void*, int, void*))dlsym(library, "nvrtcCompileProgram");
  void* program = nullptr;
  create(&program, "__global__ void k() {}", nullptr, 0, nullptr, nullptr);
  set(program, leave, nullptr);
  try {
    compile(program, 0, nullptr);
  } catch (int thrown) {
    int state = 0;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
    printf("thrown %d, cancellation %d\\n", thrown, state == PTHREAD_CANCEL_ENABLE);
  }
  fflush(stdout);
  _exit(0);
}
"""


def test_an_exception_leaves_a_callback_as_without_run(daemon, nvrtc, directory):
    program = directory / "leaves"
    subprocess.run(["c++", "-x", "c++", "-", "-o", program, "-ldl"], input=LEAVES.encode(), check=True)
    expected = alone(program, nvrtc)
    assert expected == b"thrown 5, cancellation 1\n"
    assert run_cli("--socket", daemon.socket, "run", "--", program, nvrtc).stdout == expected


def test_a_thread_that_is_cancelled_while_it_compiles_ends_as_without_run(daemon, program, nvrtc, directory):
    words = (program(), nvrtc, "cancelled")
    expected = alone(*words)
    assert expected == b"cancelled\n"
    for socket in (daemon.socket, daemon.socket, directory / "nothing"):
        assert run_cli("--socket", socket, "run", "--", *words).stdout == expected


def test_a_frozen_daemon_costs_a_process_about_a_second(daemon, program, nvrtc):
    daemon.freeze()
    words = (program(), nvrtc, "forks")
    ptx, report = under_run(daemon.socket, *words)
    assert ptx == alone(*words)
    assert report["forwarded"]["daemon silent"] == 2
    assert report["call_us"] - report["forwarded_us"] < 4_000_000


def test_a_daemon_that_still_reads_its_toolchains_costs_no_second(directory, program):
    class Answers(info_pb2_grpc.InfoServicer, admin_pb2_grpc.AdminServicer, build_pb2_grpc.BuildServicer):
        def Build(self, request, context):
            context.set_trailing_metadata((("cccl-error", "toolchain-not-found"),))
            context.abort(grpc.StatusCode.FAILED_PRECONDITION, "the daemon still looks for toolchains")

        def Get(self, request, context):
            return info_pb2.InfoReply(version="0.1.0", problem="it still looks for toolchains")

        def Toolchains(self, request, context):
            ended.wait(PATIENCE)
            return admin_pb2.ToolchainsReply()

    ended = threading.Event()
    server = grpc.server(concurrent.futures.ThreadPoolExecutor())
    info_pb2_grpc.add_InfoServicer_to_server(Answers(), server)
    admin_pb2_grpc.add_AdminServicer_to_server(Answers(), server)
    build_pb2_grpc.add_BuildServicer_to_server(Answers(), server)
    server.add_insecure_port(f"unix:{directory}/socket")
    server.start()
    words = (program(), library_of(PLACES.cuda13))
    ptx, report = under_run(directory / "socket", *words)
    ended.set()
    server.stop(None).wait()
    assert ptx == alone(*words)
    assert report["forwarded"]["daemon not ready"] == 1
    assert report["call_us"] - report["forwarded_us"] < 1_000_000


class Recorded(grpc.GenericRpcHandler):
    """A server in front of a daemon. It passes calls on and records their names. With `older`, it refuses builds that name
    a library in place of a toolchain."""

    def __init__(self, path, daemon, older=False):
        self.calls = []
        self._older = older
        self._channel = grpc.insecure_channel(f"unix:{daemon.socket}")
        self._server = grpc.server(concurrent.futures.ThreadPoolExecutor(), handlers=[self])
        self._server.add_insecure_port(f"unix:{path}")

    def __enter__(self):
        self._server.start()
        return self

    def __exit__(self, *_):
        self._server.stop(None).wait()
        self._channel.close()

    def told(self):
        """Returns the calls without the question whether the daemon is ready. A client repeats that question after a
        call of 50 ms or more."""
        calls = [call for call in self.calls if call != "Get"]
        return [call for i, call in enumerate(calls) if call != "Toolchains" or calls[i - 1] != call]

    def service(self, details):
        self.calls.append(details.method.rsplit("/", 1)[1])

        def call(request, context):
            try:
                if self._older and b"library:" in request:
                    raise grpc.RpcError
                return self._channel.unary_unary(details.method)(request)
            except grpc.RpcError as error:
                known = isinstance(error, grpc.Call)
                context.set_trailing_metadata(error.trailing_metadata() if known else (("cccl-error", "invalid-request"),))
                context.abort(error.code() if known else grpc.StatusCode.INVALID_ARGUMENT, "refused")

        return grpc.unary_unary_rpc_method_handler(call)


def test_a_first_hit_takes_one_request(daemon, program, directory):
    words = (program(), library_of(PLACES.cuda13))
    with Recorded(directory / "socket", daemon) as recorded:
        for outcome in ((0, 1), (1, 0)):
            _, report = under_run(directory / "socket", *words)
            assert served(report) == outcome
        assert recorded.told() == ["Build", "Build"]
        # The stamps differ on other mounts. The first process keeps a digest, by which the second process recognizes
        # the library.
        twice = (*OWN_MOUNTS, "sh", "-c", '"$@" && "$@"', "sh", *words)
        recorded.calls.clear()
        _, report = under_run(directory / "socket", *twice, XDG_CACHE_HOME=directory)
        assert (served(report), recorded.told()) == ((2, 0), ["Build", "Toolchains", "Build", "Build"])


def test_a_daemon_that_refuses_builds_by_a_librarys_digest_is_asked_for_its_toolchains(daemon, program, directory):
    words = (program(), library_of(PLACES.cuda13))
    with Recorded(directory / "socket", daemon, older=True) as recorded:
        ptx, report = under_run(directory / "socket", *words)
        assert (ptx, served(report)) == (alone(*words), (0, 1))
        assert recorded.told() == ["Build", "Toolchains", "Build"]


def test_threads_compile_at_the_same_time(daemon, program, nvrtc):
    words = (program(), nvrtc, "threads")
    ptx, report = under_run(daemon.socket, *words)
    assert ptx == alone(*words)
    assert not any(report["forwarded"].values())
    assert report["compiled"] == 5 and report["hits"] + report["joined"] == 4


def test_one_of_several_concurrent_processes_with_the_same_program_compiles(daemon, program):
    words = (program(), library_of(PLACES.cuda13), "slowly")
    script = 'for each in 1 2 3 4; do "$@" > /dev/null & done; wait'
    _, report = under_run(daemon.socket, "sh", "-c", script, "sh", *words)
    assert report["process_count"] == 4 and not any(report["forwarded"].values())
    assert report["compiled"] == 1 and report["hits"] + report["joined"] == 3


@pytest.mark.parametrize("end", ["kill", "freeze"])
def test_a_daemon_that_ends_during_a_compile_costs_no_result(daemon, program, end):
    words = (program(), library_of(PLACES.cuda13), "slowly")
    expected = alone(*words)
    with concurrent.futures.ThreadPoolExecutor() as threads:
        running = threads.submit(under_run, daemon.socket, *words)
        wait_for(lambda: daemon.stats()["in_flight"] == 1, "a compile")
        getattr(daemon, end)()
        ptx, report = running.result()
    assert ptx == expected
    assert sum(report["forwarded"].values()) == 1
    assert report["call_us"] - report["forwarded_us"] < 10_000_000


def test_a_compile_that_takes_longer_than_the_wait_is_finished_for_the_next_process(daemon, program):
    words = (program(), library_of(PLACES.cuda13), "slowly")
    ptx, report = under_run(daemon.socket, *words, options=("--wait", "20ms"))
    assert (ptx, report["forwarded"]["longer than --wait"]) == (alone(*words), 1)
    wait_for(lambda: daemon.stats()["compiles_total"] == 1 and daemon.stats()["in_flight"] == 0, "the rest of the compile")
    assert daemon.stats()["cancelled_total"] == 0
    again, report = under_run(daemon.socket, *words, options=("--wait", "10s"))
    assert (again, served(report)) == (ptx, (1, 0))


def test_with_wait_zero_hits_are_used_and_the_daemon_compiles_nothing(daemon, program, nvrtc):
    words = (program(), nvrtc)
    ptx, report = under_run(daemon.socket, *words, options=("--wait", "0"))
    assert (ptx, report["forwarded"]["not cached"], daemon.stats()["compiles_total"]) == (alone(*words), 1, 0)
    under_run(daemon.socket, *words)
    again, report = under_run(daemon.socket, *words, options=("--wait", "0"))
    assert (again, served(report)) == (ptx, (1, 0))


@pytest.mark.parametrize("wait", ["soon", "-1s", "2h", "ms", "5", "00"])
def test_a_wait_that_is_no_time_up_to_an_hour_is_refused(directory, wait):
    for words in (("run", f"--wait={wait}", "--", "true"), ("env", f"--wait={wait}")):
        done = run_cli(*words, check=False)
        assert done.returncode == 2 and f'--wait: "{wait}" is no time' in done.stderr.decode()


FROZEN = """
import os, signal
from cuda.bindings import nvrtc
for number in range(3):
    code, program = nvrtc.nvrtcCreateProgram(b"__global__ void k() {}", b"%d.cu" % number, 0, [], [])
    assert nvrtc.nvrtcCompileProgram(program, 1, [b"-arch=sm_90"])[0] == 0
    if number == 0:
        os.kill(int(os.environ["DAEMON"]), signal.SIGSTOP)
        while open(f"/proc/{os.environ['DAEMON']}/stat").read().rsplit(") ", 1)[1][0] != "T": pass
"""


def test_the_report_distinguishes_a_frozen_daemon_from_a_long_compile(daemon):
    words = (sys.executable, "-c", FROZEN)
    _, report = under_run(daemon.socket, *words, options=("--wait", "50ms"), DAEMON=str(daemon.process.pid),
                          PYTHONPATH=str(PACKAGES), LD_LIBRARY_PATH=str(library_of(PLACES.cuda13).parent))
    assert report["forwarded"]["daemon silent"] == 2
    assert report["call_us"] - report["forwarded_us"] < 4_000_000


WITH_FILES = """
import sys
from cuda.bindings import nvrtc
code, program = nvrtc.nvrtcCreateProgram(b"__global__ void k() {}", b"k.cu", 0, [], [])
assert nvrtc.nvrtcCompileProgram(program, 2, [b"-arch=sm_90", b"--time=" + sys.argv[1].encode()])[0] == 0
"""


def test_a_compile_by_the_real_library_has_no_advice_to_compile_locally(daemon, directory):
    times = directory / "times.csv"
    _, report = under_run(daemon.socket, sys.executable, "-c", WITH_FILES, times, PYTHONPATH=str(PACKAGES),
                          LD_LIBRARY_PATH=str(library_of(PLACES.cuda13).parent))
    assert report["forwarded"]["request not served"] == 1 and times.exists()
    assert "--time" in report["refusal"] and "fallback" not in report["refusal"]


OF_NO_BUILD = """
from cuda.bindings import nvrtc
source = b'#if __has_include("/proc/version")\\n__global__ void k() {}\\n#endif'
code, program = nvrtc.nvrtcCreateProgram(source, b"k.cu", 0, [], [])
assert nvrtc.nvrtcCompileProgram(program, 1, [b"-arch=sm_90"])[0] == 0
"""


def test_the_report_names_a_file_that_the_daemon_refuses(daemon):
    _, report = under_run(daemon.socket, sys.executable, "-c", OF_NO_BUILD, PYTHONPATH=str(PACKAGES),
                          LD_LIBRARY_PATH=str(library_of(PLACES.cuda13).parent))
    assert report["forwarded"]["request not served"] == 1 and "/proc" in report["refusal"]


TIMED = """
from cuda.bindings import nvrtc
for source in (b"__global__ void k() {}", b"__global__ void k(int* x) { *x = __TIME__[0]; }", b"// __DATE__ __TIMESTAMP__ "):
    code, program = nvrtc.nvrtcCreateProgram(source, b"k.cu", 0, [], [])
    assert nvrtc.nvrtcCompileProgram(program, 1, [b"-arch=sm_90"])[0] == 0
"""


def test_the_report_has_the_number_of_uncacheable_results_and_a_reason(daemon):
    words = (sys.executable, "-c", TIMED)
    environment = {"PYTHONPATH": str(PACKAGES), "LD_LIBRARY_PATH": str(library_of(PLACES.cuda13).parent)}
    for outcome in ((0, 3), (1, 2)):
        _, report = under_run(daemon.socket, *words, options=("--report=each",), **environment)
        assert (served(report), report["uncacheable"]) == (outcome, 2)
        assert "__TIME__ is in the source" in report["uncacheable_reason"]
        assert report["processes"][0]["uncacheable_reason"] == report["uncacheable_reason"]
    told = run_cli("--socket", daemon.socket, "run", "--report", "--", *words, environment=environment).stderr.decode()
    assert re.fullmatch(r"cccl-cache: 1 of 3 compiles was a hit \(saved about .* s\), 2 compiled \(2 uncacheable\): .* s in all\.\n"
                        r"  first uncacheable: (.*)\n", told)[1] == report["uncacheable_reason"]


PRECOMPILED = """
import sys
from cuda.bindings import nvrtc
code, program = nvrtc.nvrtcCreateProgram(b'#include <a.h>\\nextern "C" __global__ void k(int* x) { *x = A; }', b"k.cu", 1,
                                         [b"#define A 7"], [b"a.h"])
options = [b"-arch=sm_90", *(word.encode() for word in sys.argv[1:])]
assert nvrtc.nvrtcCompileProgram(program, len(options), options)[0] == 0
for get in ("PTX", "CUBIN", "ProgramLog"):
    made = b" " * getattr(nvrtc, f"nvrtcGet{get}Size")(program)[1]
    assert getattr(nvrtc, f"nvrtcGet{get}")(program, made)[0] == 0
    print(made)
print(nvrtc.nvrtcGetPCHCreateStatus(program), nvrtc.nvrtcGetPCHHeapSizeRequired(program))
"""


def test_options_for_precompiled_headers_change_nothing(daemon):
    environment = {"PYTHONPATH": str(PACKAGES), "LD_LIBRARY_PATH": str(library_of(PLACES.cuda13).parent)}
    words = (sys.executable, "-c", PRECOMPILED)
    expected = alone(*words, **environment)
    assert b"NVRTC_ERROR_NO_PCH_CREATE_ATTEMPTED" in expected
    spellings = (("--pch", "--pch-messages=true"), ("-pch", "-pch-verbose", "true"), ("-pch-dir=/absent", "-pch"),
                 ("--instantiate-templates-in-pch=false", "--pch"), ())
    for number, options in enumerate(spellings):
        made, report = under_run(daemon.socket, *words, *options, **environment)
        assert (made, served(report)) == (expected, (0, 1) if number == 0 else (1, 0)), options


def test_env_prints_the_variables_of_run(daemon, program):
    lines = daemon.cli("env", "--wait", "1m").stdout.decode()
    assert "export CCCL_CACHE_RUN_WAIT_MS='60000'" in lines
    words = (program(), library_of(PLACES.cuda13))
    done = subprocess.run(["sh", "-c", lines + 'exec "$@"', "sh", *words], capture_output=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    assert daemon.stats()["builds_total"] == 1


@pytest.mark.parametrize("report", [(), ("--report",)])
def test_closed_standard_descriptors_stay_closed_for_the_program(daemon, report):
    run = (PLACES.cli, "--socket", daemon.socket, "run", *report, "--")
    program = ("sh", "-c", "[ ! -e /proc/$$/fd/0 ] && [ ! -e /proc/$$/fd/1 ]")
    assert subprocess.run(["sh", "-c", 'exec "$@" <&- >&-', "sh", *run, *program]).returncode == 0


def test_a_relative_path_of_the_socket_in_a_removed_directory_stops_no_program(directory):
    leave = f'cd {directory} && mkdir left && cd left && rmdir ../left && exec "$@"'
    done = run_cli("run", "--socket", "socket", "--", "echo", "made", behind=("sh", "-euc", leave, "sh"))
    assert done.stdout == b"made\n"


def test_the_exit_code_is_the_programs(daemon):
    for report in ((), ("--report",)):
        assert daemon.cli("run", *report, "--", "sh", "-c", "exit 7", check=False).returncode == 7
        for program, code in (("/nowhere/program", 127), ("/etc/passwd", 126)):
            done = daemon.cli("run", *report, "--", program, check=False)
            assert done.returncode == code
            assert done.stderr.count(b"\n") == 1 and b"can't run" in done.stderr, done.stderr


def test_a_file_that_is_not_in_the_path_is_named_as_the_shell_wants_it(daemon, directory):
    (directory / "train").write_text("#!/bin/sh\n")
    for program, told in (("train", b"./train"), ("trian", b"PATH")):
        done = daemon.cli("run", "--", program, check=False, cwd=directory)
        assert done.returncode == 127 and told in done.stderr, done.stderr
