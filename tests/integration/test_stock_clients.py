# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Clients that are generated from the .proto work too: Python's grpcio here, C++ in the service's unit tests."""

import hashlib

import grpc
from conftest import admin_pb2, admin_pb2_grpc, build_pb2, build_pb2_grpc, nvrtc_request
from google.protobuf import descriptor_pb2
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

KERNEL = 'extern "C" __global__ void k() {}\n'


def test_a_stock_client_builds(fake):
    with fake.channel() as channel:
        stub = build_pb2_grpc.BuildStub(channel)
        first = stub.Build(nvrtc_request(KERNEL))
        second = stub.Build(nvrtc_request(KERNEL, wanted=[build_pb2.ARTIFACT_KIND_CUBIN]))
    assert first.outcome == build_pb2.OUTCOME_BUILT
    assert second.outcome == build_pb2.OUTCOME_HIT
    assert second.tier == build_pb2.TIER_MEMORY
    assert [artifact.kind for artifact in second.artifacts] == [build_pb2.ARTIFACT_KIND_CUBIN]
    for artifact in first.artifacts:
        assert hashlib.sha256(artifact.contents).digest() == artifact.sha256
        assert len(artifact.contents) == artifact.size


def test_reflection_describes_a_service_and_all_that_it_imports(fake):
    questions = [
        reflection_pb2.ServerReflectionRequest(file_containing_symbol="cccl_cache.v1.Admin.Stats"),
        reflection_pb2.ServerReflectionRequest(file_by_filename="cccl_cache/v1/build.proto"),
        reflection_pb2.ServerReflectionRequest(file_containing_symbol="no.such.Symbol"),
    ]
    with fake.channel() as channel:
        stub = reflection_pb2_grpc.ServerReflectionStub(channel)
        answers = list(stub.ServerReflectionInfo(iter(questions)))
    assert [answer.original_request for answer in answers] == questions
    for answer, name in zip(answers, ("cccl_cache/v1/admin.proto", "cccl_cache/v1/build.proto")):
        files = [
            descriptor_pb2.FileDescriptorProto.FromString(text)
            for text in answer.file_descriptor_response.file_descriptor_proto
        ]
        assert files[0].name == name
        assert {needed for file in files for needed in file.dependency} <= {file.name for file in files}
    assert answers[2].error_response.error_code == grpc.StatusCode.NOT_FOUND.value[0]


def test_statistics_have_the_documented_names(fake):
    with fake.channel() as channel:
        reply = admin_pb2_grpc.AdminStub(channel).Stats(admin_pb2.StatsRequest())
    names = {statistic.name for statistic in reply.statistics}
    assert {
        "builds_total", "hits_total", "misses_total", "joins_total", "compiles_total", "retries_total",
        "pch_builds_total", "pch_failures_total", "preambles_total", "preamble_failures_total",
        "remembered_failures_total", "compile_failures_total", "uncacheable_total",
        "worker_crashes_total", "timeouts_total", "refused_total", "corrupt_entries_total", "shadow_checks_total",
        "shadow_mismatches_total", "compile_seconds_total", "saved_seconds_total", "entries", "bytes",
        "evictions_total", "clients", "in_flight", "queued", "waiting", "idle_jobs", "uptime_seconds",
    } <= names
