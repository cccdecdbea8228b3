"""Models that hooks load themselves, as with the original's drivers; they run in the server, which shares equal ones."""

from kserving_host.hooks.current import load_model


class ServingDriver:
    """A model that a hook loads: load_model(path), then predict(values)."""

    driver_name = "null"

    def __init__(self, preprocess=None, postprocess=None, init_hook=None, process=None, **params):
        if preprocess or postprocess or init_hook or process:
            raise NotImplementedError("hooks of a driver that a hook loads are not run; call them around predict")
        self._params = params
        self._model = None

    def load_model(self, path, **options):
        """Loads a model of the server; options are those of `-o`."""
        texts = {name: _text(value) for name, value in {**self._params, **options}.items()}
        self._model = load_model(self.driver_name, path, texts)
        return self

    @property
    def inputs(self):
        return self._loaded().inputs

    @property
    def outputs(self):
        return self._loaded().outputs

    def predict(self, inputs):
        return self._loaded().predict(inputs)

    def release(self):
        """Models are freed with the hooks."""

    def _loaded(self):
        if self._model is None:
            raise RuntimeError("the driver has no model; call load_model(path) first")
        return self._model


def load_driver(name):
    """The class of a driver."""
    return type(f"{name}Driver", (ServingDriver,), {"driver_name": name})


def _text(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    return ",".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)
