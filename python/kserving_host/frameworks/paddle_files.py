"""The files of a Paddle model, and what its program says of inputs and outputs."""

import os
import sys

from paddle.base import core
from paddle.static import Program

from ..errors import one_line, refused

PROGRAMS = (".json", ".pdmodel")
PARAMETERS = ".pdiparams"
EXPECTED = "expected NAME.json or NAME.pdmodel with NAME.pdiparams beside it, or their folder"


def find_files(path):
    """Paths of the program and of its parameters, which a model without any lacks."""
    if os.path.isdir(path):
        stems = sorted(each[: -len(PARAMETERS)] for each in os.listdir(path) if each.endswith(PARAMETERS))
        found = [os.path.join(path, stem + ending) for stem in stems for ending in PROGRAMS if os.path.isfile(os.path.join(path, stem + ending))]
        if len(found) != 1:
            raise refused(f"The folder has {len(found)} Paddle models; {EXPECTED}.")
        path = found[0]
    stem, ending = os.path.splitext(path)
    if ending not in PROGRAMS:
        raise refused(f"The file is {os.path.basename(path)}; {EXPECTED}.")
    return path, stem + PARAMETERS if os.path.isfile(stem + PARAMETERS) else ""


def read_specs(program):
    """Specs of inputs and outputs by name; none where this version of Paddle describes programs in another way."""
    try:
        return {each["name"]: each for each in (_of_json(program) if program.endswith(".json") else _of_protobuf(program))}
    except Exception as error:
        print(f"the shapes of the model are not known: {one_line(error)}", file=sys.stderr)
        return {}


def _of_json(path):
    program = Program()
    core.deserialize_pir_program(path, program)
    for operator in program.global_block().ops:
        if operator.name() in ("pd_op.data", "pd_op.fetch"):
            value = operator.results()[0]
            yield _spec(operator.attrs()["name"], value.dtype, value.shape)


def _of_protobuf(path):
    with open(path, "rb") as file:
        program = core.ProgramDesc(file.read())
    # A block is gone with its program.
    block = program.block(0)
    for operator in map(block.op, range(block.op_size())):
        if operator.type() in ("feed", "fetch"):
            [name] = operator.output_arg_names() if operator.type() == "feed" else operator.input_arg_names()
            value = block.find_var(name.encode())
            yield _spec(name, value.dtype(), value.shape())


def _spec(name, dtype, shape):
    return {"name": name, "dtype": str(dtype).split(".")[-1].split(":")[0].lower(), "shape": list(shape)}
