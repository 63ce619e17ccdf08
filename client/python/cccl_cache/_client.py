# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The client of the daemon."""

from __future__ import annotations

import os
from ctypes import byref, c_int, c_void_p, sizeof

from . import _library
from ._errors import CompileError, Error, call, take_error
from ._programs import Build, Link, Nvvm
from ._result import FAILED, Result

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from types import TracebackType
    from typing import Any, NoReturn

    from ._lease import Lease
    from ._programs import Emit, LinkInput, NvvmModule, Program, Text
    from ._records import Deposit, Explanation, Health, Statistics, Toolchains
    from ._snapshots.files import Named, Path, SnapshotSummary, Time

_NOTHING_KEPT = 2**64 - 1
_FALLBACKS = {"local": 0, "error": 1}
COMPILER_OF_THE_PACKAGE = os.path.join(_library.PLACE, "cccl-cache-compile")
_open = _library.function("open", c_int, c_void_p, c_void_p, c_void_p)
_close = _library.function("close", None, c_void_p)
_Answer, _ANSWER_SIZE = _library.Answer, sizeof(_library.Answer)
_socket = _library.function("client_socket", _library.Received, c_void_p)


def _kept(size: int | None) -> int:
    """As the library takes it, for which 0 is its own choice."""
    return 0 if size is None else size or _NOTHING_KEPT


class _Handle:
    """Owns the library's client, which is closed with the last object that uses it."""

    def __init__(self, value: int) -> None:
        self.value = value

    def __del__(self, close: Any = _close) -> None:
        close(self.value)

    def __reduce__(self) -> NoReturn:
        raise TypeError("a client can't be copied, nor sent to another process: make one there")


class Client:
    """A client of the daemon of this machine. Any number of threads may use one; it works on both sides of a fork.

    Parameters
    ----------
    socket : str or path-like, optional
        The daemon's socket, taken at its word. Without it ``$CCCL_CACHE_SOCKET``, else the user's daemon, else the
        node's; the last two only where nobody else can write their directories. Connects at the first call.
    fallback : {"local", "error"}, optional
        What becomes of a build that the daemon does not do: it is compiled in a process of its own, with the same
        result and ``"local"`` for its outcome, or it fails. Without it ``"local"`` where cccl-cache-compile lies beside
        the package's library or is named.
    local_after : float, optional
        Seconds without the daemon's answer after which a build is compiled here. Without it only a daemon that hangs is
        given up, after ten seconds or half of a shorter timeout.
    local_compiler : str or path-like, optional
        Path of cccl-cache-compile.
    process_cache_bytes : int, optional
        How much this client keeps of its answers, so that it need not ask again within the next 10 seconds: those only
        that nothing but the request and the toolchain's own files went into. 0: nothing. Without it
        ``$CCCL_CACHE_PROCESS_BYTES``, else 64 MiB.

    Raises
    ------
    NoDaemonError
        No socket may be trusted, and nothing is compiled here. Where nobody listens, the first call says so.
    ValueError
        There is no such `fallback`.

    Examples
    --------
    >>> with Client() as client:
    ...     result = client.build("__global__ void f(int* p) { *p = 1; }", arch="sm_90")
    >>> result.outcome, len(result.cubin)
    """

    def __init__(self, socket: str | os.PathLike[str] | None = None, *, fallback: str | None = None,
                 local_after: float | None = None, local_compiler: str | os.PathLike[str] | None = None,
                 process_cache_bytes: int | None = None) -> None:
        path = b"" if socket is None else os.fsencode(socket)
        compiler = b"" if local_compiler is None else os.fsencode(local_compiler)
        if fallback is None:
            fallback = "local" if compiler or os.path.exists(COMPILER_OF_THE_PACKAGE) else "error"
        if fallback not in _FALLBACKS:
            raise ValueError(f"fallback is {fallback!r}: it may be {' or '.join(map(repr, _FALLBACKS))}")
        options = _library.OpenOptions(
            sizeof(_library.OpenOptions), path, len(path), _FALLBACKS[fallback],
            _library.milliseconds(local_after, "local_after"), compiler, len(compiler),
            process_cache_bytes=_kept(process_cache_bytes))
        self._owner = _Handle(call(_open, byref(options)))
        self._handle = self._owner.value

    def __enter__(self) -> Client:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.close()

    def __getattr__(self, name: str) -> Any:
        if name in ("_handle", "_owner"):
            raise ValueError("this client is closed")
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __repr__(self) -> str:
        return f"<cccl_cache.Client {self.socket if '_handle' in self.__dict__ else 'closed'}>"

    def close(self) -> None:
        """Closes the connection; a later call raises ValueError.

        No call may be in progress, in other threads either. Results and leases stay usable. A client that is dropped
        closes by itself.
        """
        self.__dict__.pop("_handle", None)
        self.__dict__.pop("_owner", None)

    @property
    def socket(self) -> str:
        """Path of the socket that was chosen."""
        return str(_socket(self._handle).text())

    def build(self, source: Text, *, arch: str, options: Sequence[str] = (), name: str | None = None,
              include_dirs: Sequence[str | os.PathLike[str]] = (), headers: Mapping[str, Text] | None = None,
              name_expressions: Sequence[str] = (), toolchain: int | str | None = None, emit: Emit = "cubin",
              toolchain_headers: bool = True, working_directory: str | os.PathLike[str] | None = None,
              timeout: float | None = None, priority: str | None = None, on_miss: str = "wait") -> Result:
        """Compiles CUDA C++ with NVRTC, or gets an earlier result.

        Parameters
        ----------
        source : str or bytes
            The program.
        arch : str
            ``"sm_90"`` for a cubin, ``"compute_90"`` for PTX alone; ``"native"``: that of the first GPU.
        options : sequence of str
            Options for NVRTC as they are: ``["--std=c++17", "-lineinfo"]``.
        name : str, optional
            Name of the program in messages; ``#include "x"`` is looked up beside it.
        include_dirs : sequence of str or path-like
            Where headers are looked for, before the toolchain's own.
        headers : mapping of str to str or bytes
            Headers that come with the source, by the name that ``#include`` gives.
        name_expressions : sequence of str
            Names whose lowered form is wanted: ``["scale<float>"]``.
        toolchain : int or str, optional
            A major (``13``), a version (``"12.9"``) or an id. Without it the major of the CUDA libraries that this
            process has loaded, else that of the imported ``cuda.bindings``, else the newest that the driver can load.
        emit : str or sequence of str
            What to make: ``"cubin"``, ``"ptx"``, ``"ltoir"``, ``"optixir"``.
        toolchain_headers : bool
            Search the toolchain's own headers (CUDA's and CCCL's) after `include_dirs`.
        working_directory : str or path-like, optional
            Where relative names are looked up; that of this process if not given.
        timeout : float, optional
            Seconds for the whole call; ten minutes if not given.
        priority : {"interactive", "normal", "warm-up"}, optional
            Which of the builds that wait for a compiler goes first: interactive ones before this user's others, warm-ups
            after everybody's. Without it ``$CCCL_CACHE_PRIORITY``, else normal.
        on_miss : {"wait", "refuse", "finish"}
            The action if it has to be compiled: wait for it; raise `NotCachedError`, with nothing compiled; or wait
            until `timeout`, after which the daemon finishes the compile for the next caller.

        Returns
        -------
        Result

        Raises
        ------
        CompileError
            The code does not compile; ``log`` is the compiler's.
        NoDaemonError
            Nobody listens on the socket.
        DeadlineError
            The timeout has passed.
        NotCachedError
            It would have to be compiled, and `on_miss` is ``"refuse"``.
        TypeError
            An argument is of another type; the message names it.
        Error
            Anything else: see its ``status``.
        """
        return self.run(Build(source, arch=arch, options=options, name=name, include_dirs=include_dirs,
                              headers=headers, name_expressions=name_expressions, toolchain=toolchain, emit=emit,
                              toolchain_headers=toolchain_headers, working_directory=working_directory,
                              timeout=timeout, priority=priority, on_miss=on_miss))

    def link(self, inputs: Sequence[LinkInput], *, arch: str, options: Sequence[str] = (),
             toolchain: int | str | None = None, emit: str = "cubin", timeout: float | None = None,
             priority: str | None = None, on_miss: str = "wait") -> Result:
        """Links with nvJitLink, in this order.

        Parameters
        ----------
        inputs : sequence
            Each the contents, ``(name, contents)``, ``(name, contents, type)`` or a `Result`. The type is
            ``"cubin"``, ``"ptx"``, ``"ltoir"``, ``"fatbin"``, ``"object"``, ``"library"``; without it, it is told from
            the contents. Names show in messages and are part of the key.
        arch : str
            ``"sm_90"``, or ``"native"``.
        options : sequence of str
            Options for nvJitLink as they are; LTO-IR needs ``"-lto"``.
        toolchain, timeout, priority, on_miss
            As in `build`.
        emit : str
            ``"cubin"`` or ``"ptx"``.

        Returns
        -------
        Result
        """
        return self.run(Link(inputs, arch=arch, options=options, toolchain=toolchain, emit=emit, timeout=timeout,
                             priority=priority, on_miss=on_miss))

    def nvvm(self, modules: Sequence[NvvmModule], *, arch: str, options: Sequence[str] = (),
             lazy_modules: Sequence[NvvmModule] = (), libdevice: bool = False, toolchain: int | str | None = None,
             emit: str = "ptx", timeout: float | None = None, priority: str | None = None,
             on_miss: str = "wait") -> Result:
        """Compiles NVVM IR with libNVVM.

        Parameters
        ----------
        modules : sequence
            Each the contents (text or bitcode) or ``(name, contents)``, in order.
        arch : str
            ``"compute_90"``, or ``"native"``.
        options : sequence of str
            Options for libNVVM as they are.
        lazy_modules : sequence
            Modules after those of which only what is used is compiled.
        libdevice : bool
            Add the toolchain's own libdevice, lazily, as the last.
        toolchain, timeout, priority, on_miss
            As in `build`.
        emit : str
            ``"ptx"`` or ``"ltoir"``.

        Returns
        -------
        Result
        """
        return self.run(Nvvm(modules, arch=arch, options=options, lazy_modules=lazy_modules, libdevice=libdevice,
                             toolchain=toolchain, emit=emit, timeout=timeout, priority=priority, on_miss=on_miss))

    def run(self, program: Program) -> Result:
        """Runs a program made before; it can be run any number of times.

        Parameters
        ----------
        program : Build, Link or Nvvm
            What to run, with its timeout.

        Returns
        -------
        Result
        """
        if not isinstance(program, (Build, Link, Nvvm)):
            raise _library.wrong_type("program", "a Build, Link or Nvvm", program)
        answer = _Answer(_ANSWER_SIZE)
        if program.ask(self._handle, byref(program.fields), program.options(), byref(answer)):
            raise take_error(answer.error)
        result = Result(answer)
        if answer.outcome == FAILED:
            raise CompileError(result)
        return result

    def build_many(self, programs: Iterable[Program]) -> Iterator[tuple[int, Result | Error]]:
        """Runs many builds at once, over one connection and without a thread.

        They make progress while this waits for one of them; leaving the loop early cancels the others.

        Parameters
        ----------
        programs : iterable of Build, Link or Nvvm
            What to run; all of it is taken before the first build is handed over.

        Yields
        ------
        (int, Result or Error)
            The place of a program among `programs` and what became of it, in the order in which they finish. Errors
            are handed over, not raised: one build that fails does not end the others.
        """
        from . import _batch

        return _batch.build_many(self._handle, self._owner, programs)

    def lease(self, namespace: str, fields: Mapping[str, bytes | str | int], *, group: str | None = None,
              timeout: float | None = None) -> Lease:
        """Returns the deposit of a key, or the lease to make it, for artifacts that only this program can make.

        While another process holds the lease this waits for its deposit, or for the lease.

        Parameters
        ----------
        namespace : str
            Whose keys these are: ``"org.example.tool"``.
        fields : mapping of str to bytes, str or int
            All that decides whether two deposits are the same, in any order; a number counts as its text.
        group : str, optional
            Whose members may have it: a name or a number. Without it the deposit is private to the user.
        timeout : float, optional
            Seconds to wait; ten minutes if not given.

        Returns
        -------
        Lease

        Examples
        --------
        >>> with client.lease("org.example.tool", {"source": digest, "arch": "sm_90"}) as lease:
        ...     if lease.contents is None:
        ...         lease.publish(make())
        """
        from ._lease import Lease

        return Lease(self._handle, namespace, fields, group, timeout)

    def deposits(self, *, timeout: float | None = None) -> tuple[Deposit, ...]:
        """Lists this user's deposits.

        Returns
        -------
        tuple of Deposit
        """
        from . import _lease

        return _lease.deposits(self._handle, timeout)

    def touch_deposits(self, namespace: str, deposits: Iterable[Mapping[str, bytes | str | int]], *,
                       group: str | None = None, timeout: float | None = None) -> None:
        """Counts as a use of each of these deposits that exists; the daemon drops the least recently used ones.

        To be called now and then by a program that reads its own copies of deposits.

        Parameters
        ----------
        namespace, group, timeout
            As in `lease`; the timeout is 30 seconds if not given.
        deposits : iterable of mapping
            The fields of each.
        """
        from . import _lease

        _lease.touch(self._handle, namespace, deposits, group, timeout)

    def remove_deposit(self, key: str, *, timeout: float | None = None) -> bool:
        """Forgets a deposit of this user's.

        Parameters
        ----------
        key : str
            That of the `Deposit`, or of the `Lease` under which it was published.

        Returns
        -------
        bool
            Whether there was one.
        """
        from . import _lease

        return _lease.remove_deposit(self._handle, key, timeout)

    def snapshot(self, path: Path, *, toolchain: str | None = None, arch: str | None = None,
                 after: Time | None = None, before: Time | None = None, namespace: str | None = None,
                 uids: Sequence[int] = (), all_users: bool = False, results: Iterable[Named] | None = None,
                 timeout: float | None = None) -> SnapshotSummary:
        """Writes this user's results and deposits to a file that other daemons can insert. Equal contents give equal
        bytes.

        Parameters
        ----------
        path : str or path-like
            The file. It is there once it is whole.
        toolchain : str, optional
            Only what this one made: a major (``"13"``), a version (``"12.9"``) or the beginning of an id.
        arch : str, optional
            Only what was made for it: ``"sm_90"``.
        after, before : float or datetime, optional
            Only what was answered last at or after, or before, this time: seconds since 1970, or a datetime.
        namespace : str, optional
            Only deposits of this namespace.
        uids : sequence of int
            What these users were answered, for root and the daemon's user.
        all_users : bool
            What anybody was answered, for the same.
        results : iterable of Result, Lease, Deposit or str, optional
            Only these, by their keys; an empty one: nothing.
        timeout : float, optional
            Seconds; an hour if not given.

        Returns
        -------
        SnapshotSummary

        Examples
        --------
        >>> client.snapshot("kernels.snap", arch="sm_90").records
        """
        from ._snapshots import files

        chosen = files.snapshot_filter(toolchain, arch, after, before, namespace, uids, all_users, results)
        return files.create(self._handle, path, chosen, timeout)

    def delta(self, path: Path, since: Path, *, toolchain: str | None = None, arch: str | None = None,
              after: Time | None = None, before: Time | None = None, namespace: str | None = None,
              uids: Sequence[int] = (), all_users: bool = False, results: Iterable[Named] | None = None,
              timeout: float | None = None) -> SnapshotSummary:
        """The same as `snapshot` without what an earlier snapshot holds.

        Parameters
        ----------
        path : str or path-like
            The file to write.
        since : str or path-like
            The earlier snapshot.
        toolchain, arch, after, before, namespace, uids, all_users, results, timeout
            As in `snapshot`.

        Returns
        -------
        SnapshotSummary
        """
        from ._snapshots import files

        chosen = files.snapshot_filter(toolchain, arch, after, before, namespace, uids, all_users, results)
        return files.delta(self._handle, since, path, chosen, timeout)

    def insert(self, path: Path, *, timeout: float | None = None) -> SnapshotSummary:
        """Inserts a snapshot into the daemon: for all users if this is root or the daemon's user, else for this user
        alone, with precedence over the shared entries.

        Parameters
        ----------
        path : str or path-like
            The file.
        timeout : float, optional
            Seconds; an hour if not given.

        Returns
        -------
        SnapshotSummary

        Raises
        ------
        Error
            ``status`` is ``"invalid-request"`` where the file was cut off or altered: nothing of it was inserted.
        """
        from ._snapshots import files

        return files.insert(self._handle, path, timeout)

    def explain(self, what: Program | str, *, timeout: float | None = None) -> Explanation:
        """Why a build is a miss; compiles nothing.

        Parameters
        ----------
        what : Build, Link, Nvvm or str
            A build that would be asked for, or the key of one of this user's that was compiled. Its
            first 8 or more digits will do if no other key of the user begins with them.
        timeout : float, optional
            Seconds for a key; a build has its own.

        Returns
        -------
        Explanation
        """
        from . import _questions

        return _questions.explain(self._handle, what, timeout)

    def health(self, *, timeout: float | None = None) -> Health:
        """Which daemon answers, and whether it serves.

        Returns
        -------
        Health
        """
        from . import _questions

        return _questions.health(self._handle, self.socket, timeout)

    def stats(self, *, timeout: float | None = None) -> Statistics:
        """Returns the daemon's counters.

        Returns
        -------
        Statistics
            A tuple of `Statistic`, which also takes names: ``stats["builds_total"]``, ``stats["hits_total"]["disk"]``.
        """
        from . import _questions

        return _questions.stats(self._handle, timeout)

    def toolchains(self, *, timeout: float | None = None) -> Toolchains:
        """The CUDA installations that the daemon uses, and those that it does not, with the reason.

        Returns
        -------
        Toolchains
        """
        from . import _questions

        return _questions.toolchains(self._handle, timeout)
