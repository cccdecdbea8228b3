"""spaCy's pipelines: what their components found in each text."""

import numpy as np
import spacy

from ..columns import column, ragged, to_texts
from ..errors import one_line, refused
from ..framework import BaseFramework, one_input

# A text in which every component sets what it sets.
SAMPLE = "Anna lives in Paris."
# Outputs of one value a token: what spaCy calls the annotation, and where a token has it.
OF_TOKENS = {
    "tags": ("TAG", "bytes", lambda token: token.tag_),
    "pos": ("POS", "bytes", lambda token: token.pos_),
    "lemmas": ("LEMMA", "bytes", lambda token: token.lemma_),
    "deps": ("DEP", "bytes", lambda token: token.dep_),
    "heads": ("HEAD", "int64", lambda token: token.head.i),
    "sentence_starts": ("SENT_START", "bool", lambda token: bool(token.is_sent_start)),
}
OF_ENTITIES = {
    "entities": ("bytes", lambda entity: entity.text),
    "entity_labels": ("bytes", lambda entity: entity.label_),
    "entity_starts": ("int64", lambda entity: entity.start_char),
    "entity_ends": ("int64", lambda entity: entity.end_char),
}


class Framework(BaseFramework):
    """One input of texts; the outputs are those of the pipeline's components."""

    dry_runs = False

    def load(self):
        try:
            self.model = spacy.load(self.request.path)
            sample = self.model(SAMPLE)
        except Exception as error:
            raise refused(f"spaCy {spacy.__version__} cannot load the pipeline: {one_line(error)}", error) from error
        self.model_class = type(self.model)
        self._tokens = {name: each for name, each in OF_TOKENS.items() if sample.has_annotation(each[0])}
        self._has_entities = sample.has_annotation("ENT_IOB")
        self._labels = list(sample.cats)
        self.inputs = self.request.inputs or [{"name": "text", "dtype": "bytes", "shape": [-1]}]
        self.outputs = [_spec(name, array) for name, array in self._outputs([sample]).items()]

    def predict(self, inputs, wanted):
        outputs = self._outputs(list(self.model.pipe(to_texts(one_input(inputs)))))
        return outputs if wanted is None else {name: outputs[name] for name in wanted if name in outputs}

    def is_pure(self):
        return True

    def is_callers_fault(self, error):
        return isinstance(error, ValueError)

    def facts(self):
        meta = self.model.meta
        name = f"{meta.get('lang', '')}_{meta.get('name', '')} {meta.get('version', '')}"
        return {"class": self.model_class.__name__, "pipeline": name, "components": self.model.pipe_names, "categories": self._labels}

    def _outputs(self, docs):
        outputs = {"tokens": ragged([[token.text for token in doc] for doc in docs], "bytes"), "token_count": column(list(map(len, docs)), "int64")}
        for name, (_, dtype, value) in self._tokens.items():
            outputs[name] = ragged([list(map(value, doc)) for doc in docs], dtype)
        if self._has_entities:
            outputs["entity_count"] = column([len(doc.ents) for doc in docs], "int64")
            for name, (dtype, value) in OF_ENTITIES.items():
                outputs[name] = ragged([list(map(value, doc.ents)) for doc in docs], dtype)
        if self._labels:
            outputs["category"] = column([max(doc.cats, key=doc.cats.get) for doc in docs], "bytes")
            outputs["scores"] = _rows([[doc.cats[label] for label in self._labels] for doc in docs], len(self._labels))
        if self.model.vocab.vectors_length > 0:
            outputs["vector"] = _rows([doc.vector for doc in docs], self.model.vocab.vectors_length)
        return outputs


def _rows(rows, width):
    return np.array(rows, np.float32).reshape(len(rows), width)


def _spec(name, array):
    dtype = "bytes" if array.dtype == object else array.dtype.name
    # How many tokens and entities there are is the text's affair.
    inner = array.shape[1:] if dtype == "float32" else [-1] * (array.ndim - 1)
    return {"name": name, "dtype": dtype, "shape": [-1, *inner]}
