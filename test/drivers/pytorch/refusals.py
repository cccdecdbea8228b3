"""Prints, as a list of JSON, the operations whose refusal of wrong sizes is not taken for the client's fault."""

import json

import torch
from kserving_host.frameworks import pytorch
from torch import nn

ones = torch.ones
REFUSALS = {
    "matmul": lambda: torch.matmul(ones(3), ones(4)),
    "mm": lambda: torch.mm(ones(3), ones(3, 2)),
    "bmm of ranks": lambda: torch.bmm(ones(2, 3), ones(2, 3)),
    "bmm of sizes": lambda: torch.bmm(ones(2, 2, 3), ones(2, 2, 3)),
    "linear": lambda: nn.Linear(4, 2)(ones(2, 3)),
    "bilinear": lambda: nn.Bilinear(3, 4, 2)(ones(2, 3), ones(2, 5)),
    "einsum": lambda: torch.einsum("bi,bi->b", ones(2, 3), ones(2, 4)),
    "convolution": lambda: nn.Conv2d(3, 2, 3)(ones(1, 4, 5, 5)),
    "small convolution": lambda: nn.Conv2d(3, 2, 3)(ones(1, 3, 2, 2)),
    "batch norm": lambda: nn.BatchNorm2d(3).eval()(ones(1, 4, 2, 2)),
    "instance norm": lambda: nn.InstanceNorm2d(3, affine=True)(ones(1, 4, 2, 2)),
    "group norm": lambda: nn.GroupNorm(2, 4)(ones(1, 3, 2, 2)),
    "layer norm": lambda: nn.LayerNorm(4)(ones(2, 3)),
    "attention": lambda: nn.MultiheadAttention(4, 2)(ones(2, 3, 6), ones(2, 3, 6), ones(2, 3, 6)),
    "lstm": lambda: nn.LSTM(4, 3)(ones(2, 3, 5)),
    "stack": lambda: torch.stack([ones(2), ones(3)]),
    "concatenation": lambda: torch.cat([ones(2, 3), ones(3, 3)], 1),
    "expand": lambda: ones(2, 3).expand(2, 4),
    "gather": lambda: torch.gather(ones(2, 3), 1, torch.tensor([[5]])),
    "index": lambda: ones(3)[torch.tensor([7])],
    "embedding": lambda: nn.Embedding(5, 3)(torch.tensor([7])),
    "split": lambda: ones(2, 3).split([1, 1], 1),
    "unfold": lambda: ones(2, 3).unfold(1, 5, 1),
    "pixel shuffle": lambda: nn.PixelShuffle(2)(ones(1, 3, 2, 2)),
    "interpolate": lambda: nn.functional.interpolate(ones(1, 3), scale_factor=2, mode="bilinear"),
    "pad": lambda: nn.functional.pad(ones(1, 1, 2, 2), (3, 3, 3, 3), mode="reflect"),
    "permute": lambda: ones(2, 3).permute(0, 2, 1),
    "reshape": lambda: ones(3).reshape(2, 2),
    "maximum of nothing": lambda: torch.max(ones(0)),
}


def is_missed(refused):
    try:
        refused()
    except Exception as error:
        return pytorch.CALLERS_FAULT.search(str(error)) is None
    return True


print(json.dumps([name for name, refused in REFUSALS.items() if is_missed(refused)]))
