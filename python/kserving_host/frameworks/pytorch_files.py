"""Kinds of PyTorch files, and loading them."""

import inspect
import os
import zipfile

import torch

from .. import user_module
from ..errors import HostError, last_lines, listed, one_line, refused
from .pickles import other_version

ENDINGS = (".pt", ".pth", ".pt2", ".ts", ".bin", ".ckpt", ".torchscript")
# Where training scripts put the weights within what they save.
STATE_KEYS = ("state_dict", "model_state_dict", "model")
MOST_KEYS = 10


class Loaded:
    """A model, its class where it is known, and what its file says of its inputs and outputs."""

    def __init__(self, model, kind, model_class=None, inputs=None, arrange=None, outputs=None):
        self.model = model
        self.kind = kind
        self.model_class = model_class or type(model)
        self.inputs = inputs
        self.outputs = outputs
        # Turns a value for each input into what forward takes, by position and by name; None where that is one argument each.
        self.arrange = arrange


def load_file(path, options, device):
    """Loads whatever the file is, or the folder of an encoder."""
    if options.get("encoder"):
        from .encoders import load_encoder

        return load_encoder(options, device)
    file = _find_file(path)
    kind = _kind_of(file)
    if kind == "exported":
        return _load_exported(file)
    if kind == "torchscript":
        return _load_script(file, options, device)
    return _load_saved(file, options)


def _find_file(path):
    if not os.path.isdir(path):
        return path
    files = sorted(name for name in os.listdir(path) if name.endswith(ENDINGS))
    if len(files) == 1:
        return os.path.join(path, files[0])
    found = "it has several; give the path of one" if files else f"it has none; expected one ending in {', '.join(ENDINGS)}"
    # Clients do not see the names of other files.
    raise HostError("failed_precondition", f'The folder "{path}" should have one model file: {found}.', f"It holds {listed(files)}." if files else None)


def _kind_of(file):
    """By the names within the archive; what is no archive was saved by an older torch."""
    if not zipfile.is_zipfile(file):
        with open(file, "rb") as opened:
            start = opened.read(2)
        if start == b"PK":
            raise refused(f'"{os.path.basename(file)}" is cut short: it has {os.path.getsize(file)} bytes, and the archive that it begins has no end. Save, copy or download it again.')
        if start[:1] != b"\x80":
            raise refused(f'"{os.path.basename(file)}" was not saved by PyTorch: it is neither a zip archive nor a pickle. Expected what torch.jit.save, torch.export.save or torch.save wrote.')
        return "saved"
    with zipfile.ZipFile(file) as archive:
        names = {name.partition("/")[2] or name for name in archive.namelist()} | set(archive.namelist())
    if "constants.pkl" in names:
        return "torchscript"
    if "serialized_exported_program.json" in names or "archive_format" in names or any(name.startswith("models/") for name in names):
        return "exported"
    return "saved"


def _load_script(file, options, device):
    if options.get("model_class"):
        print(f"{os.path.basename(file)} is TorchScript, which has its code in itself; model_class is not used")
    try:
        script = torch.jit.load(file, map_location=device)
    except Exception as error:
        raise refused(f"torch {torch.__version__} cannot load this TorchScript: {one_line(error)}", error) from error
    if not hasattr(script, "forward"):
        methods = ", ".join(name for name in script._c._method_names() if not name.startswith("_"))
        raise refused(f"The TorchScript has no method forward, which a request runs; it has {methods or 'none'}.")
    return Loaded(script, "torchscript")


def _load_exported(file):
    try:
        from torch import export

        program = export.load(file)
    except (ImportError, AttributeError) as error:
        raise refused(f"Exported programs (.pt2) need torch 2.1 or later; this is {torch.__version__}.", error) from error
    except Exception as error:
        raise refused(f"torch {torch.__version__} cannot load this exported program: {one_line(error)}", error) from error
    leaves = [each.arg for each in program.graph_signature.input_specs if each.kind.name == "USER_INPUT"]
    return Loaded(program.module(), "exported", inputs=_exported_inputs(program, leaves), arrange=_arranger(leaves, program.call_spec.in_spec))


def _exported_inputs(program, leaves):
    """Names, dtypes and shapes of the program's placeholders, in the order in which forward's arguments have them."""
    values = {node.name: node.meta.get("val") for node in program.graph.nodes if node.op == "placeholder"}
    return [_exported_input(leaf.name, values[leaf.name]) for leaf in leaves if not _is_constant(leaf)]


def _exported_input(name, value):
    if not isinstance(value, torch.Tensor):
        # A number that may change.
        return {"name": name, "dtype": "int64", "shape": [], "kind": "int"}
    shape = [size if isinstance(size, int) else -1 for size in value.shape]
    return {"name": name, "dtype": str(value.dtype).replace("torch.", ""), "shape": shape}


def _is_constant(leaf):
    return hasattr(leaf, "value")


def _arranger(leaves, in_spec):
    """The program's arguments were taken apart when it was exported: dicts, lists and tuples into their members."""
    from torch.utils import _pytree

    def arrange(values):
        given = iter(values)
        return _pytree.tree_unflatten([leaf.value if _is_constant(leaf) else next(given) for leaf in leaves], in_spec)

    return arrange


def _load_saved(file, options):
    saved = _unpickle(file, options)
    if isinstance(saved, torch.nn.Module):
        return Loaded(saved, "pickle")
    state = _state_of(saved)
    if not options.get("model_class"):
        what = f"weights without a model ({len(state)} tensors)" if state else f"a {type(saved).__name__}"
        how = "-o model_class=package.module:Net, with -o model_args for its arguments"
        raise refused(f"The file has {what}; say which class takes them: {how}.")
    if state is None:
        raise refused(f"The file has a {type(saved).__name__}; expected a state dict.")
    model_class = user_module.load_class(options["model_class"])
    model = user_module.create(model_class, options.get("model_args"))
    if not isinstance(model, torch.nn.Module):
        raise refused(f"{options['model_class']} made a {type(model).__name__}; expected a torch.nn.Module.")
    _load_state(model, state)
    return Loaded(model, "state_dict", model_class if inspect.isclass(model_class) else None)


def _unpickle(file, options):
    if options.get("allow_pickle"):
        _import_class(options)
        return _load(file, {"weights_only": False} if _has_weights_only() else {})
    if not _has_weights_only():
        what = f"torch {torch.__version__} can load this only as a pickle, which runs whatever code is in it"
        raise refused(f"{what}. For a file that you trust: -o allow_pickle=true; or use torch 1.13 or later.")
    return _load(file, {"weights_only": True})


def _has_weights_only():
    return "weights_only" in inspect.signature(torch.load).parameters


def _import_class(options):
    """A pickle names classes by their modules, which `__main__` may stand for; importing first gives the better error."""
    if options.get("model_class"):
        user_module.load_class(options["model_class"])


def _load(file, how):
    try:
        # Weights of another device come to the CPU first; the model moves them where they belong.
        return torch.load(file, map_location="cpu", **how)
    except ModuleNotFoundError as error:
        where = "the folders of the model and of the hooks, import_path and PYTHONPATH"
        raise refused(other_version(error) or f'The pickle needs the module "{error.name}", which is not on the import path: {where}.', error) from error
    except AttributeError as error:
        raise refused(f"The pickle needs what its modules do not have: {one_line(error)}", error) from error
    except Exception as error:
        raise _load_error(error) from error


def _load_error(error):
    text = str(error)
    if "eights only" in text or "weights_only" in text or "WeightsUnpickler" in text:
        return refused(
            "The file is a pickle that holds more than weights, such as a whole model; loading it would run whatever code is in it. "
            "Better save model.state_dict() and give model_class; for a file that you trust: -o allow_pickle=true.",
            error,
        )
    return refused(f"torch {torch.__version__} cannot load the file: {one_line(error)}", error)


def _state_of(saved):
    if not hasattr(saved, "items"):
        return None
    if _is_state(saved):
        return saved
    return next((saved[key] for key in STATE_KEYS if key in saved and _is_state(saved[key])), None)


def _is_state(value):
    return hasattr(value, "items") and all(isinstance(each, torch.Tensor) for each in value.values())


def _load_state(model, state):
    own = model.state_dict()
    state = _without_prefix(state, own)
    missing, unexpected = [key for key in own if key not in state], [key for key in state if key not in own]
    if missing or unexpected:
        parts = [f"{what} {_cut(keys)}" for what, keys in (("it lacks", missing), ("it has beyond them", unexpected)) if keys]
        raise refused(f"The file's weights do not fit {type(model).__name__}: {'; '.join(parts)}.")
    sizes = [(key, list(state[key].shape), list(own[key].shape)) for key in own if hasattr(own[key], "shape")]
    wrong = [f"{key} is {found}, expected {expected}" for key, found, expected in sizes if found != expected]
    if wrong:
        raise refused(f"The file's weights do not fit {type(model).__name__}: {_cut(wrong)}. Are its arguments (-o model_args) those of the training?")
    try:
        model.load_state_dict(state)
    except Exception as error:
        raise HostError("failed_precondition", f"{type(model).__name__} refuses the weights: {last_lines(error)}") from error


def _without_prefix(state, own):
    """DataParallel and compiled models save their weights under names of their own."""
    for prefix in ("module.", "_orig_mod."):
        if all(key.startswith(prefix) for key in state) and not all(key.startswith(prefix) for key in own):
            return {key[len(prefix) :]: value for key, value in state.items()}
    return state


def _cut(items):
    rest = f" and {len(items) - MOST_KEYS} more" if len(items) > MOST_KEYS else ""
    return ", ".join(items[:MOST_KEYS]) + rest
