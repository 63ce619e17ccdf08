# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Containers of podman and crun that request the cache as a device, by the specification that `cccl-cache-cli cdi` writes.
The tests run as root."""

import json
import os
import pathlib
import shutil
import subprocess
import tempfile

import pytest
from patience import PATIENCE
from places import PLACES
from podman import Podman
from running_daemon import run_cli

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "tests/integration/run_program.c"
PLAIN = ROOT / "tests/deploy/plain_program.c"
OLDER = ROOT / ".toolchains/debian11"
CUDA = pathlib.Path("/opt/cuda")
NODE, CLIENT = "cccl-cached/cache=node", "cccl-cached/cache=client"


@pytest.fixture(autouse=True)
def as_root():
    assert os.geteuid() == 0, "run as root (scripts/test does): podman makes the containers as root"


@pytest.fixture
def socket(directory):
    return directory / "containers/socket"


@pytest.fixture
def specification(socket):
    socket.parent.mkdir(exist_ok=True)
    return run_cli("cdi", "--container-socket", socket).stdout


@pytest.fixture
def podman(directory, specification):
    with Podman(directory / "podman") as made:
        made.offer(specification)
        yield made


def end_of(podman, device, root, *words, options=(), mounts=None):
    """Returns status, output and errors of a program in a container with this device, or without one."""
    devices = [f"--device={device}"] if device else []
    done = subprocess.run([*podman.words(root, "--cgroups=disabled", *devices, *options, mounts=mounts), *words],
                          capture_output=True, text=True, timeout=PATIENCE, stdin=subprocess.DEVNULL)
    return done.returncode, done.stdout, done.stderr


def program_of_musl(root):
    subprocess.run(["musl-gcc", PLAIN, "-o", root / "program"], check=True)
    (root / "lib").mkdir()
    shutil.copy("/lib/ld-musl-x86_64.so.1", root / "lib")


def program_of_older_glibc(root):
    libraries = OLDER / "lib/x86_64-linux-gnu"
    subprocess.run(["cc", PLAIN, "-o", root / "program", "-nodefaultlibs", libraries / "libc.so.6", "-lc_nonshared",
                    "-Wl,--dynamic-linker=/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2"], check=True)
    shutil.copytree(libraries, root / "lib/x86_64-linux-gnu", symlinks=True)


def program_without_loader(root):
    subprocess.run(["cc", "-static", PLAIN, "-o", root / "program"], check=True)


def program_of_another_user(root):
    program_of_glibc(root)
    os.chown(root / "program", 1234, 1234)
    (root / "program").chmod(0o4755)


def program_of_glibc(root):
    subprocess.run(["cc", PLAIN, "-o", root / "program"], check=True)
    libraries = root / "lib/x86_64-linux-gnu"
    libraries.mkdir(parents=True)
    (root / "lib64").symlink_to("lib/x86_64-linux-gnu")
    for name in "libc.so.6", "ld-linux-x86-64.so.2":
        shutil.copy(f"/lib/x86_64-linux-gnu/{name}", libraries)


# The libraries of ours in the memory of the program.
PLACEHOLDER = "mapped: libcccl_cache_placeholder.so\n"
SERVED = "mapped: libcccl_cache_exec.so\nmapped: libcccl_cache_audit.so\n"
IMAGES = {program_of_musl: PLACEHOLDER, program_of_older_glibc: PLACEHOLDER, program_without_loader: "",
          program_of_another_user: "", program_of_glibc: SERVED}


@pytest.mark.parametrize("image", IMAGES, ids=lambda image: image.__name__)
def test_the_device_changes_no_output_and_no_status(podman, directory, image):
    root = directory / "root"
    root.mkdir()
    image(root)
    expected = end_of(podman, None, root, "/program")
    assert (expected[0], expected[2]) == (7, "to standard error\n")
    status, output, errors = end_of(podman, NODE, root, "/program")
    assert (status, output.replace(IMAGES[image], ""), errors) == expected
    assert IMAGES[image] in output and output.count("mapped") == IMAGES[image].count("mapped")


def test_the_image_gets_directories_read_only_and_keeps_its_variables_with_the_other_device(podman):
    """An engine replaces variables of the image by those of the device, so the second device sets none of the loader's."""
    root = podman.root_over_usr("root")
    script = 'echo "$LD_PRELOAD"; for each in /run/cccl-cached /opt/cccl-cache-client; do touch $each/x 2>/dev/null || echo closed; done'
    seen = {device: end_of(podman, device, root, "sh", "-c", script, options=("--env=LD_PRELOAD=libm.so.6",), mounts={"/usr": "/usr"})[1]
            for device in (NODE, CLIENT)}
    assert seen == {NODE: "/opt/cccl-cache-client/libcccl_cache_placeholder.so\nclosed\nclosed\n",
                    CLIENT: "libm.so.6\nclosed\nclosed\n"}


@pytest.fixture
def daemon(make_daemon, socket):
    return make_daemon("--socket-mode", "0666", "--container-socket", str(socket), roots=(PLACES.cuda13,)).start()


@pytest.fixture
def compiled(podman, directory):
    """Returns the end of an unchanged program that compiles with NVRTC in a new container, as this user there, and the
    end that it must have."""
    root = pathlib.Path(PLACES.cuda13).resolve()
    library = next(root.rglob("libnvrtc.so.1?"))
    program = directory / "program"
    subprocess.run(["cc", PROGRAM, "-w", "-pthread", "-o", program, "-ldl"], check=True)
    expected = (0, subprocess.run([program, library], stdout=subprocess.PIPE, check=True, text=True).stdout, "")
    over_usr = podman.root_over_usr("root")

    def compiled(*options):
        mounts = {"/usr": "/usr", program: program, CUDA: root}
        made = end_of(podman, NODE, over_usr, program, CUDA / library.relative_to(root), options=options, mounts=mounts)
        return made, expected

    return compiled


def test_an_unchanged_program_is_served_and_works_without_the_daemon(daemon, compiled):
    """The second container has a user namespace, in which the owner of the socket's directory is unknown."""
    daemon.cli("toolchains")  # programs don't wait until the daemon has read its toolchains
    for options, hits in ((), 0), (("--uidmap=0:100000:65536",), 1):
        made, expected = compiled(*options)
        assert made == expected
        stats = daemon.stats()
        assert (stats["compiles_total"], sum(stats["hits_total"].values())) == (1, hits)
    daemon.stop()
    made, expected = compiled()
    assert made == expected


def test_a_container_reaches_a_restarted_daemon(make_daemon, socket, podman):
    daemon = make_daemon("--container-socket", str(socket))
    build = pathlib.Path(PLACES.daemon).parents[1]
    container = podman.start("first", "disabled", {build: build}, f"--device={CLIENT}")
    for _ in range(2):
        daemon.start()
        run_cli("--socket", "/run/cccl-cached/socket", "health", behind=container.behind())
        daemon.stop()


def test_without_the_directory_of_the_socket_the_command_says_how_to_make_it(directory):
    done = run_cli("cdi", "--container-socket", directory / "none/socket", check=False)
    assert done.returncode == 5 and b"cccl-cached-containers.socket" in done.stderr


def test_no_device_is_made_for_the_nodes_own_socket_by_any_name(directory):
    (directory / "link").symlink_to("/run/cccl-cached")
    for place in ("/run/cccl-cached/./socket", "/run/cccl-cached/other", directory / "link/socket"):
        done = run_cli("cdi", "--container-socket", place, check=False)
        assert (done.returncode, done.stdout) == (5, b"") and b"the node's own socket" in done.stderr


def test_no_device_is_made_of_a_directory_without_the_name_of_a_socket(socket, specification):
    for place in socket.parent, f"{socket.parent}/":
        done = run_cli("cdi", "--container-socket", place, check=False)
        assert (done.returncode, done.stdout) == (5, b"") and b"name the socket in it" in done.stderr


def test_no_device_is_made_of_a_directory_that_other_users_can_replace(directory):
    for change in (lambda place: os.chown(place, 12345, -1), lambda place: place.chmod(0o777)):
        place = pathlib.Path(tempfile.mkdtemp(dir=directory))
        (place / "containers").mkdir()
        change(place)
        done = run_cli("cdi", "--container-socket", place / "containers/socket", check=False)
        assert (done.returncode, done.stdout) == (5, b"") and b"other user" in done.stderr


def test_no_specification_names_another_path_than_that_of_the_socket(directory):
    place = os.fsencode(directory) + b"/\xff"
    os.mkdir(place)
    done = run_cli("cdi", "--container-socket", place + b"/socket", check=False)
    assert (done.returncode, done.stdout) == (5, b"") and b"can't hold the path" in done.stderr


@pytest.mark.parametrize("other", ["docker.sock", "socket.sock"])
def test_no_device_is_made_that_would_show_containers_other_files_of_the_host(specification, socket, other):
    (socket.parent / other).touch()
    for place in (socket, "/socket"):
        done = run_cli("cdi", "--container-socket", place, check=False)
        assert (done.returncode, done.stdout) == (5, b"") and b"a directory of its own" in done.stderr


def test_the_specification_is_written_to_a_file_that_all_may_read(directory, socket, specification):
    file = directory / "cccl-cached.json"
    run_cli("cdi", "--container-socket", socket, "--output", file)
    assert file.read_bytes() == specification and file.stat().st_mode & 0o777 == 0o644
    assert {each["name"] for each in json.loads(specification)["devices"]} == {"node", "client"}


def test_a_client_of_the_image_adds_nothing_to_the_variables_of_the_device(specification):
    [edits] = [each["containerEdits"] for each in json.loads(specification)["devices"] if each["name"] == "node"]
    variables = dict(each.split("=", 1) for each in edits["env"])
    standins = str(pathlib.Path(PLACES.standin).parent)
    here = {name: value.replace("/opt/cccl-cache-client", standins) for name, value in variables.items()}
    assert b"LD_AUDIT" in run_cli("env").stdout
    assert run_cli("env", environment=here).stdout == b""
