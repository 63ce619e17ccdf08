# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""cuDNN's frontend: a graph of a product, a bias and GELU"""

import cudnn
import torch

PACKAGES = ("nvidia-cudnn-frontend", "torch")
REACHES = "NVRTC (cuDNN), by its encoded call"


def on_gpu(number=1):
    torch.manual_seed(0)
    a, b, bias = (torch.randn(*shape, device="cuda", dtype=torch.float16)
                  for shape in ((1, 64 * number, 128), (1, 128, 256), (1, 1, 256)))
    result = torch.empty(1, 64 * number, 256, device="cuda", dtype=torch.float16)
    handle = cudnn.create_handle()
    graph = cudnn.pygraph(handle=handle, io_data_type=cudnn.data_type.HALF,
                          intermediate_data_type=cudnn.data_type.FLOAT, compute_data_type=cudnn.data_type.FLOAT)
    inputs = [graph.tensor_like(each) for each in (a, b, bias)]
    product = graph.matmul(name="product", A=inputs[0], B=inputs[1])
    output = graph.gelu(name="gelu", input=graph.bias(name="bias", input=product, bias=inputs[2]))
    output.set_output(True).set_data_type(cudnn.data_type.HALF)
    graph.build([cudnn.heur_mode.A])
    workspace = torch.empty(graph.get_workspace_size(), device="cuda", dtype=torch.uint8)
    graph.execute({inputs[0]: a, inputs[1]: b, inputs[2]: bias, output: result}, workspace, handle=handle)
    torch.cuda.synchronize()
    assert torch.allclose(result, torch.nn.functional.gelu(a @ b + bias), rtol=2e-2, atol=2e-1)
    return [result]


if __name__ == "__main__":
    print(on_gpu())
