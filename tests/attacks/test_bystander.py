# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The bystander's measurement without an attack, to which the attacks are compared."""


def test_another_user_has_hits_without_an_attack(bystander):
    peak, latencies = bystander.report("no attack")
    assert latencies
    assert peak > 0
