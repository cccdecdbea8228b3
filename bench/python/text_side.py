"""An embedding server of LitServe or BentoML around ONNX Runtime and the `tokenizers` package, one thread a run.

TEXT_SERVER (litserve or bentoml), TEXT_FOLDER, TEXT_PORT and TEXT_BATCH (texts of a run at most) say which: workers
import this file again, without its arguments. Answers POST /embed {"input": TEXT}, or {"input": [TEXT]} for BentoML
with batches, with the vector.
"""
import os

import numpy as np
import onnxruntime
from tokenizers import Tokenizer

SERVER = os.environ["TEXT_SERVER"]
FOLDER = os.environ["TEXT_FOLDER"]
PORT = int(os.environ["TEXT_PORT"])
BATCH = int(os.environ["TEXT_BATCH"])


class Encoder:
    def __init__(self, folder):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        self.session = onnxruntime.InferenceSession(f"{folder}/model.onnx", options)
        self.names = [each.name for each in self.session.get_inputs()]
        self.tokenizer = Tokenizer.from_file(f"{folder}/tokenizer.json")
        self.tokenizer.enable_truncation(256)
        self.tokenizer.enable_padding()

    def __call__(self, texts):
        encoded = self.tokenizer.encode_batch(texts)
        mask = np.array([each.attention_mask for each in encoded], np.int64)
        feeds = {
            "input_ids": np.array([each.ids for each in encoded], np.int64),
            "attention_mask": mask,
            "token_type_ids": np.array([each.type_ids for each in encoded], np.int64),
        }
        hidden = self.session.run(None, {name: feeds[name] for name in self.names})[0]
        weights = mask[:, :, None].astype(np.float32)
        vectors = (hidden * weights).sum(1) / weights.sum(1)
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


if SERVER == "litserve":
    import litserve

    class Api(litserve.LitAPI):
        def setup(self, device):
            self.encoder = Encoder(FOLDER)

        def decode_request(self, request):
            return request["input"]

        def predict(self, texts):
            return self.encoder([texts])[0] if BATCH == 1 else self.encoder(texts)

        def encode_response(self, vector):
            return {"embedding": vector.tolist()}

elif SERVER == "bentoml":
    import bentoml

    @bentoml.service(workers=1)
    class Service:
        def __init__(self):
            self.encoder = Encoder(FOLDER)

        if BATCH == 1:

            @bentoml.api(route="/embed")
            def embed(self, input: str) -> list[float]:
                return self.encoder([input])[0].tolist()

        else:

            @bentoml.api(route="/embed", batchable=True, max_batch_size=BATCH, max_latency_ms=10_000)
            def embed(self, input: list[str]) -> list[list[float]]:
                return self.encoder(input).tolist()


if __name__ == "__main__":
    if SERVER == "litserve":
        server = litserve.LitServer(Api(max_batch_size=BATCH, api_path="/embed"), accelerator="cpu")
        server.run(port=PORT, host="127.0.0.1", generate_client_file=False, log_level="warning")
    else:
        import text_side

        text_side.Service.serve_http(port=PORT, host="127.0.0.1")
