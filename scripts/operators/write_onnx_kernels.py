"""Writes onnx-kernels.json: what ONNX Runtime's CPU kernels take, by its own lists. Needs onnx and onnxruntime."""

import json
import pathlib
import sys

from onnxruntime.capi import onnxruntime_pybind11_state as state

KINDS = {"INT": "int", "INTS": "ints", "FLOAT": "float", "FLOATS": "floats", "STRING": "string", "STRINGS": "strings"}
TYPES = {"float": "float32", "double": "float64"}


def latest_kernels():
    found = {}
    for kernel in state.get_all_opkernel_def():
        if kernel.provider != "CPUExecutionProvider":
            continue
        key = (kernel.domain, kernel.op_name)
        found[key] = max(found.get(key, 0), kernel.version_range[0])
    return found


def schemas():
    found = {}
    for schema in state.get_all_operator_schema():
        found.setdefault((schema.domain, schema.name), []).append(schema)
    return found


def types_of(schema, parameter, kernel_types):
    """The types that a parameter may have, without tensor(...); none for what is no tensor."""
    allowed = [c.allowed_type_strs for c in schema.type_constraints if c.type_param_str == parameter.typeStr]
    names = [t[7:-1] for t in (allowed[0] if allowed else [parameter.typeStr]) if t.startswith("tensor(")]
    return [TYPES.get(name, name) for name in names]


def entry(domain, name, schema, version):
    parameter = lambda p: {
        "types": types_of(schema, p, None),
        **({"option": p.option.name.lower()} if p.option.name != "Single" else {}),
    }
    attributes = {
        key: {"kind": KINDS.get(a.type.name, "other"), **({"required": True} if a.required else {})}
        for key, a in schema.attributes.items()
    }
    return {
        "domain": domain,
        "operator": name,
        "version": version,
        "inputs": [parameter(p) for p in schema.inputs],
        "outputs": [parameter(p) for p in schema.outputs],
        "attributes": attributes,
    }


def main(path):
    kernels, known = latest_kernels(), schemas()
    rows = []
    for (domain, name), version in sorted(kernels.items()):
        usable = [s for s in known.get((domain, name), []) if s.since_version <= version]
        if usable and not domain.startswith(("com.microsoft.nchwc", "com.ms")):
            schema = max(usable, key=lambda s: s.since_version)
            rows.append(entry(domain, name, schema, version))
    path.write_text("[\n" + ",\n".join(json.dumps(row, sort_keys=True) for row in rows) + "\n]\n")


main(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).with_name("onnx-kernels.json")))
