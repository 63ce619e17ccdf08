# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The measurement that the attacks are judged by, without an attack."""


def test_another_user_has_hits_without_an_attack(bystander):
    peak, latencies = bystander.report("no attack")
    assert latencies
    assert peak > 0
