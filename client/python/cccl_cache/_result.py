# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The answer to a build."""

from __future__ import annotations

from ctypes import byref, c_char, c_char_p, c_int, c_size_t, c_void_p, sizeof
from types import SimpleNamespace

from . import _library
from ._snapshots import recording

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ._records import Timing, ToolchainName

_describe = _library.function("result_describe", None, c_void_p, c_void_p)
_artifact = _library.function("result_artifact", None, c_void_p, c_size_t, c_void_p)
_lowered_name = _library.function("result_lowered_name", None, c_void_p, c_size_t, c_void_p)
_free = _library.function("result_free", None, c_void_p)
_outcome_name = _library.function("outcome_name", c_char_p, c_int)
_tier_name = _library.function("tier_name", c_char_p, c_int)
_KIND_NAMES = {kind: name for name, kind in _library.KINDS.items()}

FAILED = 5
_INFO_SIZE = sizeof(_library.ResultInfo)
_ARTIFACT_SIZE = sizeof(_library.Artifact)
_ANSWER_SIZE = sizeof(_library.Answer)


def outcome_name(outcome: int) -> str:
    return str(_outcome_name(outcome).decode())


def tier_name(tier: int) -> str:
    return str(_tier_name(tier).decode())


class Result:
    """The result of a build, returned by `Client`. Each part is copied out of the library once, at its first use.

    Attributes
    ----------
    outcome : str
        ``"hit"``, ``"built"``, ``"joined"`` (waited for another caller's compile of the same build), ``"uncacheable"``
        (compiled but not kept) or ``"local"`` (compiled without the daemon). `reason` explains the last two.
        ``"failed"`` in the result of a `CompileError`.
    tier : str
        The tier of a hit: ``"process"`` (this client's memory, without a call to the daemon), ``"memory"``, ``"disk"``,
        ``"shelf"`` or ``"remote"``. Empty if the build was compiled.
    cubin, ptx, ltoir, optixir : bytes or None
        The artifact of each kind. None if `emit` did not name the kind.
    """

    __slots__ = ("_answer", "_described", "_copied", "_lowered_names")

    def __init__(self, answer: _library.Answer) -> None:
        self._answer = answer
        self._described: _library.ResultInfo | SimpleNamespace | None = None
        self._copied: dict[str, bytes] | None = None
        self._lowered_names: dict[str, str] | None = None
        if recording.open_now and answer.result and self._info.outcome != FAILED and self.key:
            recording.note(self.key)

    @classmethod
    def of(cls, handle: int) -> Result:
        """Returns the result of a handle of the library. The result frees the handle."""
        return cls(_library.Answer(_ANSWER_SIZE, handle))

    def __del__(self, free: Any = _free) -> None:
        free(self._answer.result)

    def __reduce__(self) -> tuple[Any, ...]:
        values = ((field[0], getattr(self._info, field[0])) for field in _library.ResultInfo._fields_)
        info = {name: value if isinstance(value, int) else value.text() for name, value in values}
        del info["artifact_count"]  # a copy has them as bytes
        return _from_another_process, (info, self.artifacts, self.lowered_names)

    def __repr__(self) -> str:
        tier = f"({self.tier})" if self.outcome == "hit" else ""
        time = f"{self._info.total_us / 1000:.1f} ms"
        return f"<cccl_cache.Result {' '.join(filter(None, (self.outcome, tier, time, self.key[:16])))}>"

    @property
    def outcome(self) -> str:
        return outcome_name(self._info.outcome)

    @property
    def tier(self) -> str:
        return tier_name(self._info.tier)

    @property
    def key(self) -> str:
        """Returns the key of the artifact, in hexadecimal. It covers every input of the build."""
        return str(self._info.key.text())

    @property
    def fingerprint(self) -> str:
        """Returns the fingerprint of the request, in hexadecimal. It does not cover the contents of included files."""
        return str(self._info.fingerprint.text())

    @property
    def toolchain(self) -> ToolchainName:
        """Returns the toolchain that compiled the build."""
        from ._records import ToolchainName

        return ToolchainName(self._info.toolchain_id.text(), self._info.toolchain_version.text())

    @property
    def log(self) -> str:
        """Returns the compiler's messages. A hit has those of its compile."""
        return str(self._info.log.text())

    @property
    def reason(self) -> str:
        """Returns why the build is uncacheable, local or failed."""
        return str(self._info.reason.text())

    @property
    def native_code(self) -> int:
        """Returns the result code of the compiler library."""
        return int(self._info.native_code)

    @property
    def remembered(self) -> bool:
        """Returns whether the failure is that of an earlier build, so that the daemon did not compile again."""
        return bool(self._info.remembered)

    @property
    def precompiled_headers(self) -> bool:
        """Returns whether the compile used precompiled headers."""
        return bool(self._info.precompiled_headers)

    @property
    def timing(self) -> Timing:
        """Returns the time of the call, of its wait and of its compile."""
        from ._records import Timing

        return Timing(self._info.total_us, self._info.queue_us, self._info.compile_us)

    @property
    def request_id(self) -> str:
        """Returns the id of this request in the daemon's log. Empty if no daemon was asked."""
        return f"{self._info.request_id:x}" if self._info.request_id else ""

    @property
    def artifacts(self) -> dict[str, bytes]:
        """Returns all artifacts by kind: ``"cubin"``, ``"ptx"``, ``"ltoir"``, ``"optixir"``."""
        if not self._answer.result:
            return dict(self._copied or {})
        made = [_KIND_NAMES[self._artifact_at(index).kind] for index in range(self._info.artifact_count)]
        return {kind: self._bytes(kind) or b"" for kind in made}

    def view(self, kind: str) -> memoryview:
        """Returns a view of an artifact in the library's memory, without a copy.

        Parameters
        ----------
        kind : str
            ``"cubin"``, ``"ptx"``, ``"ltoir"`` or ``"optixir"``.

        Raises
        ------
        KeyError
            The result has no artifact of this kind, or there is no such kind.
        """
        if not self._answer.result:
            return memoryview(self.artifacts[kind])
        place = self._place(kind)
        if place is None:
            raise KeyError(kind)
        contents = (c_char * place.size).from_address(place.data)
        contents.result = self  # which owns them
        return memoryview(contents).cast("B").toreadonly()

    @property
    def cubin(self) -> bytes | None:
        return self._bytes("cubin")

    @property
    def ptx(self) -> bytes | None:
        return self._bytes("ptx")

    @property
    def ltoir(self) -> bytes | None:
        return self._bytes("ltoir")

    @property
    def optixir(self) -> bytes | None:
        return self._bytes("optixir")

    @property
    def lowered_names(self) -> dict[str, str]:
        """Returns the lowered name of each name expression."""
        if self._lowered_names is None:
            self._lowered_names = dict(map(self._lowered_name, range(self._info.lowered_name_count)))
        return self._lowered_names

    def to_object_code(self, name: str = "") -> Any:
        """Returns a `cuda.core.ObjectCode` with the lowered names, of the cubin, else of the PTX, else of the LTO-IR.

        Parameters
        ----------
        name : str
            The object's name in messages of cuda.core.
        """
        try:
            from cuda.core import ObjectCode
        except ImportError:
            from cuda.core.experimental import ObjectCode
        # cuda.core looks kernels up by the bytes of their lowered names, as its own compile returns them.
        lowered = {expression: _library.encoded(name) for expression, name in self.lowered_names.items()}
        makers = {"cubin": ObjectCode.from_cubin, "ptx": ObjectCode.from_ptx, "ltoir": ObjectCode.from_ltoir}
        for kind, make in makers.items():
            if kind in self.artifacts:
                return make(self.artifacts[kind], name=name, symbol_mapping=lowered)
        raise ValueError(f"cuda.core takes {', '.join(makers)}, and this build made {', '.join(self.artifacts)}")

    @property
    def _info(self) -> Any:
        if self._described is None:
            described = _library.ResultInfo(_INFO_SIZE)
            _describe(self._answer.result, byref(described))
            self._described = described
        return self._described

    def _place(self, kind: str) -> _library.Received | None:
        """Returns the artifact of a kind in the library's memory, or None."""
        wanted = _library.KINDS[kind]
        if self._answer.kind == wanted:
            return self._answer.contents  # type: ignore[no-any-return]
        found = map(self._artifact_at, range(self._info.artifact_count))
        return next((each.contents for each in found if each.kind == wanted), None)

    def _bytes(self, kind: str) -> bytes | None:
        if self._copied is None:
            self._copied = {}
        if kind not in self._copied:
            place = self._place(kind)
            if place is None:
                return None
            self._copied[kind] = place.bytes()
        return self._copied[kind]

    def _artifact_at(self, index: int) -> _library.Artifact:
        artifact = _library.Artifact(_ARTIFACT_SIZE)
        _artifact(self._answer.result, index, byref(artifact))
        return artifact

    def _lowered_name(self, index: int) -> tuple[str, str]:
        name = _library.describe(_lowered_name, _library.LoweredName, self._answer.result, index)
        return name.expression.name(), name.lowered.name()


class _Text(str):
    """A text in a result from another process, with the methods of `Received`."""

    def text(self) -> str:
        return str(self)


def _from_another_process(info: dict[str, Any], artifacts: dict[str, bytes], lowered_names: dict[str, str]) -> Result:
    """Returns a copy of a pickled result."""
    result = Result(_library.Answer(_ANSWER_SIZE))
    result._described = SimpleNamespace(
        **{name: _Text(value) if isinstance(value, str) else value for name, value in info.items()}, artifact_count=0)
    result._copied, result._lowered_names = artifacts, lowered_names
    return result
