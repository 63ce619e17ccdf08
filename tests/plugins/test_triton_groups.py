# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The manager without Triton: groups appear at once, uses are rarely reported, and leases end with their compile."""

import gc
import json
import os
import stat
import threading
import time

import cccl_cache
import pytest
import triton
from lease_client import wait_for_waiters
from patience import PATIENCE, wait_for

from cccl_cache._plugin.leases import Deposits, Key, Settings
from cccl_cache._plugin.report import Report
from cccl_cache.triton import _groups, _manager
from cccl_cache.triton._groups import Directory, pack, unpack
from cccl_cache.triton._touches import Touches

FILES = {"f.ptx": b"text", "f.cubin": b"\0" * 1000, "f.json": b"{}"}


@pytest.fixture
def place(directory):
    return Directory(str(directory / "triton" / "KEY"))


def test_a_group_is_packed_and_unpacked():
    assert unpack(pack(FILES)) == FILES
    assert len(pack(FILES)) < 200


@pytest.mark.parametrize("name", ["../f.ptx", "/etc/f", ".hidden", "a/b", ""])
def test_a_group_with_a_file_name_in_another_directory_is_refused(name):
    if name:
        with pytest.raises(ValueError, match="names the file"):
            unpack(pack({name: b""}))


@pytest.mark.parametrize("packed", [b"", b"no group", pack(FILES)[:-5], pack({})[:4]])
def test_bytes_that_are_no_group_are_refused(packed):
    with pytest.raises(ValueError, match="damaged"):
        unpack(packed)


def test_a_group_with_another_size_than_its_files_is_refused():
    head = json.dumps([["f", 5]]).encode()
    with pytest.raises(ValueError, match="another size"):
        unpack(_groups.zlib.compress(len(head).to_bytes(4, "little") + head + b"four"))


@pytest.mark.parametrize("there", ["nothing", "an empty directory"])
def test_a_group_appears_by_one_rename(place, monkeypatch, there):
    if there != "nothing":
        os.makedirs(place.path)
    monkeypatch.setattr(os, "replace", None)  # writes file by file
    assert place.install("f.json", FILES) == place.group("f.json") == {name: place.file(name) for name in FILES}
    assert {name: open(place.file(name), "rb").read() for name in FILES} == FILES
    assert sorted(os.listdir(place.path)) == sorted([*FILES, "__grp__f.json"])
    assert os.listdir(os.path.join(os.path.dirname(place.path), ".cccl-cache")) == []
    assert stat.S_IMODE(os.stat(place.path).st_mode) & 0o700 == 0o700


def test_a_group_that_another_process_wrote_stays(place):
    place.install("f.json", FILES)
    other = {**FILES, "f.ptx": b"other"}
    assert place.install("f.json", other) == place.group("f.json")
    assert open(place.file("f.ptx"), "rb").read() == b"text"


@pytest.mark.parametrize("lost", ["f.ptx", "f.cubin", "f.json", "__grp__f.json"])
def test_an_incomplete_group_is_a_miss_and_is_completed(place, lost):
    place.install("f.json", FILES)
    os.unlink(place.file(lost))
    assert place.group("f.json") is None
    assert place.install("f.json", FILES) == place.group("f.json")
    assert open(place.file("f.ptx"), "rb").read() == b"text"


def test_a_group_that_two_processes_complete_at_once_is_completed(place, monkeypatch):
    place.install("f.json", FILES)
    os.unlink(place.file("f.cubin"))
    unlink, manifest = os.unlink, place.manifest("f.json")

    def after_another(path, **given):
        unlink(path, **given)
        if path == manifest:
            unlink(path, **given)

    monkeypatch.setattr(os, "unlink", after_another)
    assert place.install("f.json", FILES) == place.group("f.json")


@pytest.mark.parametrize("torn", ["", "{", "[]", "{}", '{"child_paths": 1}', '{"child_paths": {}}'])
def test_a_torn_manifest_is_a_miss(place, torn):
    place.install("f.json", FILES)
    with open(place.manifest("f.json"), "w") as manifest:
        manifest.write(torn)
    assert place.group("f.json") is None


def test_files_that_killed_processes_left_are_removed_once_they_are_old(place):
    stages = os.path.join(os.path.dirname(place.path), ".cccl-cache")
    for name in ("old", "new"):
        os.makedirs(os.path.join(stages, name))
    os.utime(os.path.join(stages, "old"), (0, time.time() - 7200))
    place.sweep()
    assert os.listdir(stages) == ["new"]


class Told:
    """Replaces Deposits and records reports."""

    def __init__(self, answers=True):
        self.answers, self.keys = answers, []

    def touch(self, keys):
        self.keys.append([key.digest for key in keys])
        return self.answers


def test_uses_of_old_copies_are_reported_once_per_process_in_batches():
    told = Told()
    touches = Touches(told)
    for _ in range(2):
        for number in range(50):
            touches.note(Key({}, str(number)), lambda: 7200.0)
    touches.note(Key({}, "new"), lambda: 60.0)
    assert [len(keys) for keys in told.keys] == [40]
    touches.flush()
    touches.flush()
    assert sum(told.keys, []) == [str(number) for number in range(50)]


def test_no_use_is_reported_after_a_report_has_failed():
    told = Told(answers=False)
    touches = Touches(told)
    for number in range(200):
        touches.note(Key({}, str(number)), lambda: 7200.0)
    touches.flush()
    assert len(told.keys) == 1


@pytest.fixture
def managers(fake, directory, monkeypatch):
    """Makes managers over a daemon, in a directory of the test's own."""
    deposits = Deposits("triton", Settings(lambda: cccl_cache.Client(fake.socket), wait=PATIENCE), Report("test", ("published",)))
    monkeypatch.setattr(_manager, "_deposits", deposits)
    monkeypatch.setenv("TRITON_CACHE_DIR", str(directory / "triton"))
    return lambda key: _manager.CacheManager(key)


def put(manager):
    group = {name: manager.put(contents, name) for name, contents in FILES.items()}
    manager.put_group("f.json", group)
    return group


def test_a_lease_ends_with_its_publication_and_with_the_manager(managers, fake):
    published = managers("A")
    assert published.get_group("f.json") is None
    assert fake.stats()["leases"] == 1
    assert not os.path.exists(published._directory.file("f.ptx"))  # the file appears with the other files
    assert put(published) == published.get_group("f.json")
    failed = managers("B")
    assert failed.get_group("f.json") is None
    del failed
    gc.collect()
    stats = fake.stats()
    assert (stats["leases"], stats["deposits"], stats["leases_failed_total"]) == (0, 1, 1)


@pytest.mark.parametrize("damaged", [b"no group", pack({"other.json": b"{}"})])
def test_a_damaged_group_is_compiled_and_deposited_again(managers, directory, monkeypatch, damaged):
    with monkeypatch.context() as patched:
        patched.setattr(_manager, "pack", lambda files: damaged)
        first = managers("A")
        assert first.get_group("f.json") is None
        put(first)
    monkeypatch.setenv("TRITON_CACHE_DIR", str(directory / "second"))
    second = managers("A")
    assert second.get_group("f.json") is None
    put(second)
    monkeypatch.setenv("TRITON_CACHE_DIR", str(directory / "third"))
    assert set(managers("A").get_group("f.json")) == set(FILES)


def test_the_next_compile_of_a_thread_gives_up_the_lease_of_its_last_compile(managers, fake):
    kept = managers("A")
    assert kept.get_group("f.json") is None
    other = managers("B")
    assert other.get_group("f.json") is None
    assert fake.stats()["leases"] == 1
    put(other)
    assert put(kept) == kept.get_group("f.json")  # as without a lease


def test_a_library_is_deposited_and_results_of_autotuning_stay_local(managers, fake, directory, monkeypatch):
    library = f"launcher{_manager._LIBRARY}"
    first = managers("A")
    assert first.get_file(library) is None
    path = first.put(b"ELF", library)
    assert open(path, "rb").read() == b"ELF"
    assert first.get_file("f.autotune.json") is None
    assert fake.stats()["leases"] == 0
    first.put("{}", "f.autotune.json", binary=False)
    monkeypatch.setenv("TRITON_CACHE_DIR", str(directory / "other"))
    second = managers("A")
    assert open(second.get_file(library), "rb").read() == b"ELF"
    assert second.get_file("f.autotune.json") is None


def test_dumps_and_overrides_are_left_to_triton(managers, fake, directory, monkeypatch):
    monkeypatch.setenv("TRITON_DUMP_DIR", str(directory / "dump"))
    monkeypatch.setenv("TRITON_OVERRIDE_DIR", str(directory / "override"))
    dump = _manager.CacheManager("A", dump=True)
    dump.put("text", "f.ptx", binary=False)
    assert (directory / "dump/A/f.ptx").read_text() == "text"
    assert _manager.CacheManager("A", override=True).get_file("f.ptx") is None
    assert fake.stats()["leases_total"] == 0


def test_more_compiles_than_a_user_may_have_leases_wait_for_their_turn(managers, fake):
    held = threading.Barrier(65)
    done = threading.Event()

    def compile(number):
        manager = managers(str(number))
        assert manager.get_group("f.json") is None
        held.wait(PATIENCE)
        done.wait(PATIENCE)
        put(manager)

    threads = [threading.Thread(target=compile, args=(number,)) for number in range(64)]
    for thread in threads:
        thread.start()
    held.wait(PATIENCE)
    late = managers("late")
    asking = threading.Thread(target=lambda: late.get_group("f.json") or put(late))
    asking.start()
    wait_for_waiters(fake, 1)
    done.set()
    for thread in [*threads, asking]:
        thread.join(PATIENCE)
    wait_for(lambda: fake.stats()["deposits"] == 65, "all groups to be deposited")


def test_the_directory_is_laid_out_as_tritons_own(managers, directory, monkeypatch):
    """Torch's bundler and static launcher read the directory."""
    manager = managers("A")
    manager.get_group("f.json")
    put(manager)
    monkeypatch.setenv("TRITON_CACHE_DIR", str(directory / "own"))
    own = triton.runtime.cache.FileCacheManager("A")
    own.put_group("f.json", {name: own.put(contents, name) for name, contents in FILES.items()})
    assert sorted(os.listdir(directory / "own/A")) == sorted(os.listdir(directory / "triton/A"))
    monkeypatch.setenv("TRITON_CACHE_DIR", str(directory / "triton"))
    assert triton.runtime.cache.FileCacheManager("A").get_group("f.json") == manager.get_group("f.json")
