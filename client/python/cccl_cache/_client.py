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
    """Returns the size as the library takes it: 0 stands for the library's default."""
    return 0 if size is None else size or _NOTHING_KEPT


class _Handle:
    """Owns the library's client. The client is closed when the last object that uses it is gone."""

    def __init__(self, value: int) -> None:
        self.value = value

    def __del__(self, close: Any = _close) -> None:
        close(self.value)

    def __reduce__(self) -> NoReturn:
        raise TypeError("a client can't be copied, nor sent to another process: make one there")


class Client:
    """A client of the daemon of this machine. Thread-safe; usable on both sides of a fork.

    Parameters
    ----------
    socket : str or path-like, optional
        The daemon's socket, used without a check of its owner. Default: ``$CCCL_CACHE_SOCKET``, else the socket of the
        user's daemon, else that of the node's daemon. The client uses the last two only if no other user can write
        their directories. It connects at the first call.
    fallback : {"local", "error"}, optional
        The action if the daemon can't serve a build. ``"local"`` compiles the build in a process of its own: the result
        is the same, and its outcome is ``"local"``. ``"error"`` lets the build fail. Default: ``"local"`` if
        cccl-cache-compile lies beside the package's library or `local_compiler` names it, else ``"error"``.
    local_after : float, optional
        Seconds without an answer after which a build is compiled locally. Default: only a daemon that hangs is given
        up, after ten seconds or half of a shorter timeout.
    local_compiler : str or path-like, optional
        Path of cccl-cache-compile.
    process_cache_bytes : int, optional
        Bytes of results that this client keeps in memory for 10 seconds. An equal build within that time does not ask
        the daemon. The client keeps only results that depend on nothing but the request and the toolchain's own files.
        0 keeps none. Default: ``$CCCL_CACHE_PROCESS_BYTES``, else 64 MiB.

    Raises
    ------
    NoDaemonError
        No socket may be trusted, and there is no local compiler. If a socket has no daemon, the first call raises.
    ValueError
        `fallback` has another value.

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

        No thread may have a call in progress. Results and leases stay usable. A client that is garbage-collected is
        closed.
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
            ``"sm_90"`` for a cubin, ``"compute_90"`` for PTX alone, ``"native"`` for the architecture of the first GPU.
        options : sequence of str
            Options for NVRTC, passed unchanged: ``["--std=c++17", "-lineinfo"]``.
        name : str, optional
            Name of the program in messages. ``#include "x"`` is looked up in its directory first.
        include_dirs : sequence of str or path-like
            Directories that are searched for headers, before those of the toolchain.
        headers : mapping of str to str or bytes
            Contents of headers that come with the source, by their name in ``#include``.
        name_expressions : sequence of str
            Name expressions whose lowered names the result has: ``["scale<float>"]``.
        toolchain : int or str, optional
            A major version (``13``), a version (``"12.9"``) or an id. Default: the major version of the CUDA libraries
            that this process has loaded, else that of the imported ``cuda.bindings``, else the newest toolchain whose
            code the driver can load.
        emit : str or sequence of str
            Kinds of artifacts to make: ``"cubin"``, ``"ptx"``, ``"ltoir"``, ``"optixir"``.
        toolchain_headers : bool
            Search the toolchain's own headers (CUDA's and CCCL's) after `include_dirs`.
        working_directory : str or path-like, optional
            Directory for relative names. Default: that of this process.
        timeout : float, optional
            Seconds for the whole call. Default: ten minutes.
        priority : {"interactive", "normal", "warm-up"}, optional
            Place among the builds that wait for a compiler. Interactive builds go before this user's other builds,
            warm-up builds after the builds of all users. Default: ``$CCCL_CACHE_PRIORITY``, else ``"normal"``.
        on_miss : {"wait", "refuse", "finish"}
            The action if the build is a miss. ``"wait"`` waits for the compile. ``"refuse"`` raises `NotCachedError` and
            compiles nothing. ``"finish"`` waits until `timeout`; the daemon then finishes the compile for later callers.

        Returns
        -------
        Result

        Raises
        ------
        CompileError
            The code does not compile. ``log`` has the compiler's messages.
        NoDaemonError
            No daemon listens on the socket.
        DeadlineError
            The timeout has passed.
        NotCachedError
            The build is a miss, and `on_miss` is ``"refuse"``.
        TypeError
            An argument has another type. The message names it.
        Error
            Any other error: see its ``status``.
        """
        return self.run(Build(source, arch=arch, options=options, name=name, include_dirs=include_dirs,
                              headers=headers, name_expressions=name_expressions, toolchain=toolchain, emit=emit,
                              toolchain_headers=toolchain_headers, working_directory=working_directory,
                              timeout=timeout, priority=priority, on_miss=on_miss))

    def link(self, inputs: Sequence[LinkInput], *, arch: str, options: Sequence[str] = (),
             toolchain: int | str | None = None, emit: str = "cubin", timeout: float | None = None,
             priority: str | None = None, on_miss: str = "wait") -> Result:
        """Links inputs with nvJitLink, in the given order.

        Parameters
        ----------
        inputs : sequence
            Each input is its contents, ``(name, contents)``, ``(name, contents, type)`` or a `Result`. A type is
            ``"cubin"``, ``"ptx"``, ``"ltoir"``, ``"fatbin"``, ``"object"`` or ``"library"``. Default: the type that the
            contents show. Names appear in messages and are part of the key.
        arch : str
            ``"sm_90"``, or ``"native"``.
        options : sequence of str
            Options for nvJitLink, passed unchanged. LTO-IR needs ``"-lto"``.
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
            The modules in order. Each is its contents (text or bitcode) or ``(name, contents)``.
        arch : str
            ``"compute_90"``, or ``"native"``.
        options : sequence of str
            Options for libNVVM, passed unchanged.
        lazy_modules : sequence
            Modules after `modules`. libNVVM compiles only the functions of them that are used.
        libdevice : bool
            Add the toolchain's own libdevice as the last lazy module.
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
        """Runs a program. A program can be run any number of times.

        Parameters
        ----------
        program : Build, Link or Nvvm
            The program, which has its own timeout.

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
            The programs to run. The iterable is read to its end before the first result is yielded.

        Yields
        ------
        (int, Result or Error)
            The index of a program in `programs` with its result or error, in the order in which programs finish. Errors
            are yielded, not raised, so that one failed build does not end the others.
        """
        from . import _batch

        return _batch.build_many(self._handle, self._owner, programs)

    def lease(self, namespace: str, fields: Mapping[str, bytes | str | int], *, group: str | None = None,
              timeout: float | None = None, replace: bool = False, wait_only: bool = False,
              released_at_limit: bool = False) -> Lease:
        """Returns the deposit of a key, or the lease to make it, for artifacts that only this program can make.

        While another process holds the lease, the call waits for that process to publish or to give the lease up.

        Parameters
        ----------
        namespace : str
            The program that defines the fields: ``"org.example.tool"``.
        fields : mapping of str to bytes, str or int
            All inputs of the artifact, in any order: equal fields are the same deposit. A number counts as its text.
        group : str, optional
            The name or number of a Unix group whose members share the deposit. Default: it is private to the user.
        timeout : float, optional
            Seconds to wait. Default: 20 minutes.
        replace : bool
            Return the lease even if this user has deposited the contents, to make others in their place. Other callers get
            the old contents until then. Ignored for a deposit of another user of the group or from another node.
        wait_only : bool
            Never return the lease. If there is no deposit and no process makes it, return one that is `released`.
        released_at_limit : bool
            Do not wait while the user holds as many leases as the daemon allows: return one that is `released`. For a
            process that may hold one of them.

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

        return Lease(self._handle, namespace, fields, group, timeout, replace, wait_only, released_at_limit)

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
        """Records a use of each of these deposits that exists. The daemon drops the least recently used deposits first.

        A program that keeps its own copies of deposits calls this now and then, because the daemon sees no use of them.

        Parameters
        ----------
        namespace, group, timeout
            As in `lease`, but the default timeout is 30 seconds.
        deposits : iterable of mapping
            The fields of each deposit.
        """
        from . import _lease

        _lease.touch(self._handle, namespace, deposits, group, timeout)

    def remove_deposit(self, key: str, *, timeout: float | None = None) -> bool:
        """Removes a deposit of this user.

        Parameters
        ----------
        key : str
            The key of the `Deposit`, or of the `Lease` under which it was published.

        Returns
        -------
        bool
            Whether this user had a deposit with the key.
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
            The file. It appears only when it is complete.
        toolchain : str, optional
            Only results of this toolchain: a major version (``"13"``), a version (``"12.9"``) or the beginning of an id.
        arch : str, optional
            Only results for this architecture: ``"sm_90"``.
        after, before : float or datetime, optional
            Only entries whose last use was at or after, or before, this time: seconds since 1970, or a datetime.
        namespace : str, optional
            Only deposits of this namespace.
        uids : sequence of int
            The entries of these users. Only administrators may ask for others' entries.
        all_users : bool
            The entries of all users. Only administrators may ask for them.
        results : iterable of Result, Lease, Deposit or str, optional
            Only entries with the keys of these; an empty iterable writes no entry.
        timeout : float, optional
            Seconds for the whole call. Default: an hour.

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
        """Writes the same as `snapshot`, except the entries of an earlier snapshot.

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
        """Inserts a snapshot into the daemon. An administrator (root, the daemon's user, a member of
        ``admin_group``) inserts it for all users. Any other user inserts it for itself alone, with precedence over the
        shared entries.

        Parameters
        ----------
        path : str or path-like
            The file.
        timeout : float, optional
            Seconds for the whole call. Default: an hour.

        Returns
        -------
        SnapshotSummary

        Raises
        ------
        Error
            ``status`` is ``"invalid-request"`` if the file was truncated or altered. Nothing of it was inserted then.
        """
        from ._snapshots import files

        return files.insert(self._handle, path, timeout)

    def explain(self, what: Program | str, *, timeout: float | None = None) -> Explanation:
        """Explains why a build is a miss. Compiles nothing.

        Parameters
        ----------
        what : Build, Link, Nvvm or str
            A build, or the key of an earlier build of this user. The first 8 or more digits of a key are enough if no
            other key of the user begins with them.
        timeout : float, optional
            Seconds for a key. A build has its own timeout.

        Returns
        -------
        Explanation
        """
        from . import _questions

        return _questions.explain(self._handle, what, timeout)

    def health(self, *, timeout: float | None = None) -> Health:
        """Returns the daemon's version and state.

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
            A tuple of `Statistic`, which can also be indexed by name: ``stats["builds_total"]``,
            ``stats["hits_total"]["disk"]``.
        """
        from . import _questions

        return _questions.stats(self._handle, timeout)

    def toolchains(self, *, timeout: float | None = None) -> Toolchains:
        """Returns the CUDA installations that the daemon uses, and those that it rejected with the reason.

        Returns
        -------
        Toolchains
        """
        from . import _questions

        return _questions.toolchains(self._handle, timeout)
