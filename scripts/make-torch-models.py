"""Makes toy PyTorch models and what PyTorch itself answers for them: make-torch-models.py FOLDER.

For each net of test/fixtures/python/toy/nets.py: NAME.state.pt (a state dict), NAME.script.pt or NAME.trace.pt (TorchScript), NAME.pickle.pt (the whole model),
NAME.pt2 where this torch exports programs; and cases.json: for each net its arguments, its inputs and its outputs as dtype, shape and base64.
"""

import base64
import json
import os
import sys

import torch

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "test", "fixtures", "python"))

from toy import nets


def make_inputs():
    """By net; the number of rows is two where it is free."""
    rows = torch.arange(8, dtype=torch.float32).reshape(2, 4) / 8
    return {
        "net": {"x": rows},
        "conv": {"image": torch.arange(2 * 3 * 6 * 6, dtype=torch.float32).reshape(2, 3, 6, 6) / 100},
        "lstm": {"steps": torch.arange(24, dtype=torch.float32).reshape(2, 3, 4) / 24},
        "embedding": {"ids": torch.tensor([[1, 2], [9, 0]])},
        "sum": {"left": rows, "right": rows + 1},
        "named": {"x": rows},
        "half": {"x": rows.half()},
        "mask": {"x": rows, "mask": rows > 0.4},
        "nested": {"x": rows},
    }


def leaves(value):
    """The tensors of an answer in the order in which the server names them."""
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, nets.Scores):
        return leaves([value.best, value.rest])
    if isinstance(value, dict):
        return [leaf for each in value.values() for leaf in leaves(each)]
    return [] if value is None else [leaf for each in value for leaf in leaves(each)]


def plain(tensor):
    array = tensor.detach().contiguous().numpy()
    return {"dtype": str(array.dtype), "shape": list(array.shape), "data": base64.b64encode(array.tobytes()).decode()}


def save(folder, name, net, inputs):
    """In every form that this torch has; returns the endings of those that there are."""
    path = os.path.join(folder, name)
    torch.save(net.state_dict(), path + ".state.pt")
    torch.save(net, path + ".pickle.pt")
    forms = ["state.pt", "pickle.pt"]
    if name != "nested":
        torch.jit.script(net).save(path + ".script.pt")
        forms.append("script.pt")
    if name in ("net", "conv"):
        torch.jit.trace(net, tuple(inputs.values())).save(path + ".trace.pt")
        forms.append("trace.pt")
    if name in ("net", "named", "half", "sum") and export(net, inputs, path + ".pt2"):
        forms.append("pt2")
    return forms


def export(net, inputs, path):
    try:
        from torch.export import Dim, export as export_program, save as save_program
    except ImportError:
        return False
    free = {name: {0: Dim("rows")} for name in inputs}
    save_program(export_program(net, tuple(inputs.values()), dynamic_shapes=free), path)
    return True


def main(folder):
    os.makedirs(folder, exist_ok=True)
    torch.manual_seed(0)
    torch.set_num_threads(1)
    cases = {}
    for name, inputs in make_inputs().items():
        net = nets.NETS[name]().eval()
        net = net.half() if name == "half" else net
        with torch.no_grad():
            outputs = leaves(net(*inputs.values()))
        forms = save(folder, name, net, inputs)
        cases[name] = {
            "forms": forms,
            "class": "toy.nets:" + type(net).__name__,
            "inputs": {key: plain(value) for key, value in inputs.items()},
            "outputs": [plain(value) for value in outputs],
        }
    with open(os.path.join(folder, "cases.json"), "w") as file:
        json.dump({"torch": torch.__version__, "cases": cases}, file)


main(sys.argv[1])
