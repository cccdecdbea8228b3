"""The hook file: imported once, then asked for its functions."""

import linecache
import os
import sys
import types

import numpy as np

from ..errors import HostError, one_line, refused
from ..parts import is_parts, kind_of
from . import current, failures, printed_log
from .calling import Caller, call_init
from .context import Context, Request
from .functions import facts_of, find_functions, pack_answer, to_request
from .inference import FILES, call_handler, find_handlers, pack_part
from .models import create_drivers
from .requirements import install_requirements
from .streams import Streams
from .toolkit import ServedModel, Toolkit
from .values import pack_values, values_of

SLOTS = ("preprocess", "postprocess")


class HookFile:
    """`path` is the file, `source` the copy of it that all processes of one generation run."""

    def __init__(self, message):
        self.name = message["file"]
        self.path = os.path.abspath(self.name)
        self.ask = None
        self.streams = Streams()
        self._source = message["source"]
        self._stages = message["stages"]
        self._import_paths = message["importPaths"]
        self._requirements = message["requirements"]
        self._contexts = {}
        self._module = None
        self._hooks = {}
        self._handlers = {}
        self._functions = {}
        self._drivers = None
        self._global_ctx = None

    def answer(self, question):
        """Header and tensors of the answer; None for what is not answered, or is by `streams`."""
        message = question.message
        operation = message["op"]
        if operation == "hook":
            return self._run(question)
        if operation == "open":
            ctx, values = self._context(question.context), values_of(message, question.tensors)
            if message["hook"] in self._functions:
                hook = self._functions[message["hook"]]
                return self.streams.open(question, hook, to_request(values), ctx, pack_answer)
            return self.streams.open(question, self._hooks[message["hook"], message["stage"]], values, ctx)
        if operation in ("next", "leave"):
            return getattr(self.streams, operation)(question)
        if operation == "handler":
            return self._run_handler(question)
        if operation == "function":
            return self._run_function(question)
        if operation == "drop":
            self._drop(question.context)
            return None
        return {"result": self._load() if operation == "hooks" else self._init(message)}, {}

    def close(self):
        """Lets the file's close_hook run."""
        self.streams.close()
        close = getattr(self._module, "close_hook", None)
        if callable(close):
            close(self._global_ctx)

    def _run(self, question):
        message = question.message
        kind, stage = message["hook"], message["stage"]
        ctx = self._context(question.context)
        if "part" in message:
            ctx.part = message["part"]
        values = values_of(message, question.tensors)
        driver = ctx._kserving.drivers[stage]
        current.set_context(ctx)
        try:
            returned = self._hooks[kind, stage](values, ctx, driver.args)
            ctx._kserving.raise_chosen()
        except BaseException as error:
            raise failures.HookFailure(message["place"], error) from error
        finally:
            current.set_context(None)
            if message["last"]:
                self._drop(question.context)
        # What goes to a model gets the dtypes of its inputs.
        specs = driver.specs if kind == "preprocess" else {}
        try:
            result, tensors = pack_values(returned, specs, json=message.get("json", False))
        except HostError as error:
            raise failures.HookFailure(message["place"], error) from None
        header = {} if result is None else {"result": result}
        return {**header, **ctx._kserving.additions()}, tensors

    def _run_function(self, question):
        message = question.message
        name = message["hook"]
        ctx = self._context(question.context)
        request = to_request(values_of(message, question.tensors))
        current.set_context(ctx)
        try:
            answer = self._functions[name](request, ctx, ctx._kserving.drivers[0].args)
            ctx._kserving.raise_chosen()
            result, tensors = pack_answer(answer)
        except BaseException as error:
            raise failures.HookFailure(name, error) from error
        finally:
            current.set_context(None)
        return {"result": result, **ctx._kserving.additions()}, tensors

    def _run_handler(self, question):
        message = question.message
        name = message["hook"]
        try:
            body, content_type = call_handler(name, self._handlers[name], message["facts"], question.tensors["body"].tobytes())
        except BaseException as error:
            raise failures.HookFailure(name, error) from error
        if not is_parts(body):
            return {"result": {"contentType": content_type}}, {"body": np.frombuffer(body, np.uint8)}
        kind = self.streams.begin(question, body, name, pack_part)
        return {"result": {"contentType": content_type, "parts": kind}}, {}

    def _context(self, number):
        ctx = self._contexts.get(number)
        if ctx is None:
            ctx = Context(Request(number, self.ask, self._drivers(number)), self._global_ctx)
            self._contexts[number] = ctx
        return ctx

    def _drop(self, number):
        ctx = self._contexts.pop(number, None)
        if ctx is not None:
            ctx._kserving.end()
        self.streams.drop(number)

    def _load(self):
        """Imports the file, and tells what is in it."""
        sys.dont_write_bytecode = False
        printed_log.install()
        current.set_server(self.ask)
        for folder in reversed(self._folders()):
            sys.path.insert(1, os.path.abspath(folder))
        self._module = self._import()
        members = {name: getattr(self._module, name, None) for name in (*SLOTS, "process", "init_hook")}
        process = members["process"]
        self._handlers = find_handlers(self._module, self.name, members)
        self._functions = {} if self._handlers else find_functions(self._module, self.name)
        if self._handlers:
            pass
        elif callable(process):
            # The drivers of the original looked for it first; the others are then functions of the file's own.
            self._take("process", 0, process)
        else:
            for kind in SLOTS:
                self._take_slots(kind, members[kind])
            if not self._hooks and not self._functions and not callable(members["init_hook"]):
                raise refused(f"{self.name} has no hooks; expected at least one of preprocess, postprocess, process, init_hook, or a function such as chat or embed.")
        self._take_collect()
        return {
            "hooks": [{"hook": kind, "stage": stage, "parts": hook.parts} for (kind, stage), hook in self._hooks.items()],
            "handlers": list(self._handlers),
            "functions": facts_of(self._functions),
            "sources": self._sources(),
            "python": sys.executable,
        }

    def _folders(self):
        """Where the file imports from. Beside SageMaker's handlers are packages in `lib`, or a list of them."""
        folder, base = os.path.split(self.path)
        library = os.path.join(folder, "lib")
        has_library = base in FILES and os.path.isdir(library)
        if self._requirements and has_library:
            print(f"{library} has the packages: requirements.txt is not installed", flush=True)
        elif self._requirements:
            install_requirements(self._requirements, self.name)
        return [folder, *([library] if has_library else []), *self._import_paths]

    def _import(self):
        with open(self._source, "rb") as file:
            source = file.read()
        folder, base = os.path.split(self.path)
        name = os.path.splitext(base)[0]
        module = types.ModuleType(name)
        module.__file__ = self.path
        # Tracebacks show the lines that run, whatever the file has become.
        lines = source.decode("utf-8", "replace").splitlines(keepends=True)
        linecache.cache[self.path] = (len(source), None, lines, self.path)
        sys.modules[name] = module
        try:
            exec(compile(source, self.path, "exec", dont_inherit=True), module.__dict__)
        except SyntaxError as error:
            where = self.name if error.filename == self.path else os.path.basename(error.filename or "")
            raise self._refuse(f"{where}:{error.lineno}: {one_line(error)}: {(error.text or '').strip()}", error) from error
        except ModuleNotFoundError as error:
            raise self._refuse(f'{self.name} needs the module "{error.name}"{_advice(error.name, folder)}', error) from error
        except BaseException as error:
            place = failures.place_of(error) or base
            raise self._refuse(f"{self.name} failed while it was imported: {place}: {failures.text_of(error)}", error) from error
        return module

    def _refuse(self, message, error):
        return HostError("failed_precondition", message, failures.traceback_from(error))

    def _take_slots(self, kind, given):
        if given is None:
            return
        functions = [given] if callable(given) else given
        models = "is 1 model" if self._stages == 1 else f"are {self._stages} models"
        if not isinstance(functions, (list, tuple)):
            raise refused(f"{self.name}: {kind} is a {type(given).__name__}; expected a function or a list of functions.")
        if callable(given) and self._stages != 1:
            raise refused(f"{self.name}: {kind} is one function, but there {models}; expected a list with one function per model, None = no hook.")
        if len(functions) != self._stages:
            count = "1 function" if len(functions) == 1 else f"{len(functions)} functions"
            raise refused(f"{self.name}: {kind} has {count}, but there {models}; expected one function per model, None = no hook.")
        for stage, function in enumerate(functions):
            if function is not None and not callable(function):
                raise refused(f"{self.name}: {kind}[{stage}] is a {type(function).__name__}; expected a function or None.")
            if function is not None:
                self._take(kind, stage, function)

    def _take(self, kind, stage, function):
        if kind == "preprocess" and kind_of(function):
            place = kind if self._stages == 1 else f"{kind}[{stage}]"
            raise refused(f"{self.name}: {place} is a generator; expected a function that returns. To answer in parts, yield in postprocess or process.")
        self._hooks[kind, stage] = Caller(function)

    def _take_collect(self):
        """What joins the parts to one answer: those of hooks, or of models. A file without parts may have something else of that name."""
        collect = getattr(self._module, "collect", None)
        has_parts = any(hook.parts for hook in self._hooks.values())
        is_function = callable(collect) and not kind_of(collect)
        if collect is None or not has_parts and (not is_function or not self._hooks or ("process", 0) in self._hooks):
            return
        if not is_function:
            what = "a generator" if callable(collect) else f"a {type(collect).__name__}"
            raise refused(f"{self.name}: collect is {what}; expected a function of the list of parts that returns one answer.")
        self._hooks["collect", 0] = Caller(collect)

    def _sources(self):
        """The file, and what it has imported from its own folder."""
        folder = os.path.join(os.path.dirname(self.path), "")
        files = {getattr(module, "__file__", None) or "" for module in list(sys.modules.values())}
        return [self.path, *sorted(each for each in files if each.startswith(folder) and each.endswith(".py") and each != self.path and "site-packages" not in each)]

    def _init(self, message):
        ask = self.ask
        self._drivers = lambda number: create_drivers(message["drivers"], ask, number)
        self._load_toolkit(message["drivers"])
        function = getattr(self._module, "init_hook", None)
        if callable(function):
            ctx = Context(Request(0, ask, self._drivers(0)), None)
            try:
                self._global_ctx = call_init(function, ctx, message["params"])
            except BaseException as error:
                place = failures.place_of(error)
                text = error.message if isinstance(error, HostError) else failures.text_of(error)
                raise self._refuse(f"{place}: {text}" if place else text, error) from error
        return None


    def _load_toolkit(self, facts):
        toolkit = self._handlers.get("handler")
        if not isinstance(toolkit, Toolkit):
            return
        try:
            toolkit.load(ServedModel(create_drivers(facts, self.ask, None)[0]))
        except BaseException as error:
            raise self._refuse(f"{failures.place_of(error) or self.name}: model_fn failed: {failures.text_of(error)}", error) from error


def _advice(name, folder):
    version = sys.version.split()[0]
    return f", which {sys.executable} (Python {version}) does not have, nor the folder of the file. Install it there, or name an interpreter that has it: -o python=PATH."
