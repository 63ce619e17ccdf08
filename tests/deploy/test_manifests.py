# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The container file and the manifests for Kubernetes, checked against Kubernetes' schemas, each other and the
programs."""

import pathlib
import re
import subprocess

import kubernetes_validate
import pytest
from conftest import ROOT
from places import PLACES

UNITS = {"": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "Mi": 2**20, "Gi": 2**30}


def size(text):
    number, unit = re.fullmatch(r"(\d+)(\w*)", text).groups()
    return int(number) * UNITS[unit]


def containers(pod):
    return pod.get("initContainers", []) + pod["containers"]


@pytest.fixture
def configuration(manifests, tmp_path):
    """Returns (the file in the ConfigMap, the daemon's reading of it as {key: (value, source)})."""
    file = tmp_path / "config.toml"
    file.write_text(manifests["ConfigMap"]["data"]["config.toml"])
    done = subprocess.run([PLACES.daemon, "--config", file, "--print-config"], capture_output=True, text=True,
                          check=False, env={})
    assert done.returncode == 0, done.stderr
    return file, {key: (value.strip('"'), source) for key, value, source in
                  re.findall(r"^(\w+) = (.*?)  # (.*)$", done.stdout, re.M)}


@pytest.mark.parametrize("version", ["1.28", kubernetes_validate.latest_version()])
def test_each_manifest_is_valid_for_kubernetes(manifests, version):
    assert set(manifests) == {"Namespace", "ConfigMap", "DaemonSet", "Pod", "Restricted"}
    for manifest in manifests.values():
        kubernetes_validate.validate(manifest, version, strict=True)


def test_each_mount_has_a_volume_and_each_volume_a_mount(pods):
    for pod in pods.values():
        mounted = {mount["name"] for container in containers(pod) for mount in container["volumeMounts"]}
        assert mounted == {volume["name"] for volume in pod["volumes"]}


def test_no_recipe_lets_a_container_write_to_the_directory_of_a_socket():
    """The container's root could put a socket of its own there, for all users. Only the daemon's own container,
    which has the store, may write there."""
    texts = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"),
             *(each for place in ("deploy", "examples") for each in (ROOT / place).rglob("*") if each.is_file())]
    commands = [command for text in texts for command in re.sub(r"\\\n", " ", text.read_text()).splitlines()]
    mounts = [mount for command in commands if ":/var/lib/cccl-cached" not in command
              for mount in re.findall(r"/run/cccl-cached[\w-]*:/[\w/-]+[:\w,+]*", command)]
    assert len(mounts) > 1, "the guides show none: this tests nothing"
    assert [mount for mount in mounts if not mount.endswith(":ro")] == []


def test_pods_of_users_have_the_node_read_only(manifests):
    pod = manifests["Pod"]["spec"]
    of_node = {volume["name"] for volume in pod["volumes"] if "hostPath" in volume}
    mounts = [mount for each in containers(pod) for mount in each["volumeMounts"] if mount["name"] in of_node]
    assert mounts and all(mount.get("readOnly") for mount in mounts)


def test_the_restricted_pod_requests_the_device_and_keeps_the_rules_of_restricted_namespaces(manifests):
    """The rules of Pod Security "restricted" that concern a pod on Linux without volumes, ports and host namespaces."""
    pod = manifests["Restricted"]
    [container] = pod["spec"]["containers"]
    assert not {"volumes", "hostNetwork", "hostPID", "hostIPC", "initContainers"} & set(pod["spec"])
    assert pod["spec"]["securityContext"]["runAsNonRoot"] and pod["spec"]["securityContext"]["runAsUser"] > 0
    assert pod["spec"]["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert container["securityContext"] == {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
    devices = pod["metadata"]["annotations"][f"cdi-devices.noderesource.dev/container.{container['name']}"]
    assert devices.split() == ["-", "cccl-cached/cache=node"]


def test_the_daemon_takes_the_configuration(manifests, configuration):
    file, values = configuration
    keys = re.findall(r"^(\w+) =", file.read_text(), re.M)
    assert keys
    for key in keys:
        assert str(file) in values[key][1], f"{key} is from {values[key][1]}"


def test_the_daemons_limits_fit_the_memory_of_its_container(configuration, pods):
    value = {key: value for key, (value, _) in configuration[1].items()}
    most = (int(value["jobs"]) * size(value["worker_memory_limit"]) + size(value["memory_limit"]) +
            size(value["pch_memory_limit"]) + size(value["in_flight_limit"]) * 5 // 4)
    limit = size(pods["daemon"]["containers"][0]["resources"]["limits"]["memory"])
    assert most <= limit <= most * 5 // 4


def test_the_daemon_is_the_user_of_the_image_without_privileges(image, pods):
    assert image.all("USER") == ["${UID}:${UID}"]
    [daemon] = pods["daemon"]["containers"]
    context = daemon["securityContext"]
    assert context["runAsUser"] == context["runAsGroup"] == image.uid
    assert context["capabilities"] == {"drop": ["ALL"]}
    for container in [*containers(pods["daemon"]), *pods["program"]["initContainers"]]:
        assert container["securityContext"]["allowPrivilegeEscalation"] is False
        assert container["securityContext"]["capabilities"]["drop"] == ["ALL"]
        assert container["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    first, _ = pods["daemon"]["initContainers"]
    assert re.findall(r"-o (\d+) -g (\d+)", first["command"][-1]) == [(str(image.uid),) * 2] * 2


def test_the_daemon_sees_the_processes_of_pods_and_programs_are_not_root(pods):
    assert pods["daemon"]["hostPID"] is True  # otherwise the daemon can't distinguish pods
    context = pods["program"]["securityContext"]
    assert context["runAsNonRoot"] is True and context["runAsUser"] > 0


def test_pods_get_only_the_directory_of_the_socket_for_containers(image, pods):
    paths = {volume["name"]: volume["hostPath"]["path"] for pod in pods.values() for volume in pod["volumes"]
             if "hostPath" in volume}
    [program] = pods["program"]["containers"]
    [mount] = [mount for mount in program["volumeMounts"] if mount["name"] == "cccl-cached"]
    [name] = [variable["value"] for variable in program["env"] if variable["name"] == "CCCL_CACHE_SOCKET"]
    of_the_daemon = {mount["mountPath"]: paths.get(mount["name"])
                     for mount in pods["daemon"]["containers"][0]["volumeMounts"]}
    container_socket = pathlib.Path(image.flag("--container-socket"))
    assert of_the_daemon[str(container_socket.parent)] == paths["cccl-cached"]
    assert pathlib.Path(name) == pathlib.Path(mount["mountPath"]) / container_socket.name
    assert of_the_daemon[str(pathlib.Path(image.flag("--socket")).parent)] != paths["cccl-cached"]


def test_the_probes_are_commands_that_the_client_takes(image, pods, fake):
    [daemon] = pods["daemon"]["containers"]
    probes = [daemon[probe]["exec"]["command"] for probe in ("startupProbe", "readinessProbe", "livenessProbe")]
    for program, *arguments in [*probes, image.health]:
        assert program == "cccl-cache-cli"
        fake.cli(*arguments)


def test_the_program_of_the_pod_is_run_by_the_client_that_was_copied(pods, directory):
    [program] = pods["program"]["containers"]
    client, *arguments = program["command"]
    [copied] = pods["program"]["initContainers"]
    assert client.removeprefix(copied["command"][-1]) == "/bin/cccl-cache-cli"
    [own] = arguments[arguments.index("--") + 1:][:1]
    done = subprocess.run([PLACES.cli, *["true" if each == own else each for each in arguments]], cwd=directory,
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert "compiled nothing" in done.stderr


def test_the_image_uses_the_packed_archive(image):
    [source] = [value.split()[0] for value in image.all("ADD")]
    script = (pathlib.Path(__file__).parents[2] / "deploy/pack_bundle").read_text()
    name = re.search(r"name=(cccl-cached-.*)", script)[1].replace("$version", "0.1.0").replace("$processor", "x86_64")
    assert pathlib.PurePath(f"{name}.tar.xz").match(source)


def test_no_image_is_made_of_more_than_one_archive(image, directory):
    [check] = [value.replace("/archive", str(directory)) for value in image.all("RUN") if "/archive" in value]
    for version, fails in (("0.1.0", False), ("0.2.0", True)):
        (directory / f"cccl-cached-{version}-linux-x86_64").mkdir()
        done = subprocess.run(["sh", "-c", check], capture_output=True, text=True, check=False)
        assert ("archive" in done.stderr, done.returncode != 0) == (fails, fails)
