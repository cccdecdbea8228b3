"""Checks a server with the client of PyPI's tensorflow-serving-api: every RPC, of a SavedModel and of an ONNX model.

    python3 serving_api_checks.py FOLDER

writes a SavedModel into FOLDER/1, prints a line, reads the server's address from standard input and prints a line of JSON for
each check: {"check", "problem"}.
"""

import json
import os
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""

import grpc
import numpy as np
import tensorflow as tf
from google.protobuf import text_format
from tensorflow.core.protobuf import saved_model_pb2
from tensorflow_serving.apis import (
    classification_pb2,
    get_model_metadata_pb2,
    get_model_status_pb2,
    inference_pb2,
    model_management_pb2,
    model_service_pb2_grpc,
    predict_pb2,
    prediction_service_pb2_grpc,
    regression_pb2,
    session_service_pb2,
)


def save_model(folder):
    """y = x / 2 + 2, of tensors and of serialised examples with a float feature x."""
    module = tf.Module()
    module.half = tf.Variable(0.5)
    one = [tf.TensorSpec([None], tf.float32, name="x")]
    examples = [tf.TensorSpec([None], tf.string, name="inputs")]

    def parsed(inputs):
        return tf.io.parse_example(inputs, {"x": tf.io.FixedLenFeature([1], tf.float32)})["x"] * module.half + 2.0

    tf.saved_model.save(
        module,
        folder,
        {
            "serving_default": tf.function(lambda x: {"y": x * module.half + 2.0, "x2": x * 2.0}, input_signature=one),
            "words": tf.function(lambda x: {"y": tf.strings.upper(x)}, input_signature=[tf.TensorSpec([None], tf.string, name="x")]),
            "regress": tf.function(lambda inputs: {"outputs": parsed(inputs)}, input_signature=examples),
            "classify": tf.function(lambda inputs: {"scores": tf.concat([parsed(inputs), -parsed(inputs)], 1)}, input_signature=examples),
        },
    )


def signatures_of_file(folder):
    with open(os.path.join(folder, "saved_model.pb"), "rb") as file:
        return dict(saved_model_pb2.SavedModel.FromString(file.read()).meta_graphs[0].signature_def)


def spec(message, name, signature="", version=None):
    message.name = name
    message.signature_name = signature
    if version is not None:
        message.version.value = version
    return message


def example(**features):
    kinds = {float: "float_list", int: "int64_list", bytes: "bytes_list"}
    message = tf.train.Example()
    for name, value in features.items():
        getattr(message.features.feature[name], kinds[type(value)]).value.append(value)
    return message


def predict_request(name="saved", values=(2.0, 4.0), **more):
    request = predict_pb2.PredictRequest()
    spec(request.model_spec, name, **more)
    request.inputs["x"].CopyFrom(tf.make_tensor_proto(np.array(values, "float32")))
    return request


def failure(call, request):
    """Code and text of a call that has to fail."""
    try:
        call(request, timeout=20)
    except grpc.RpcError as error:
        return error.code(), error.details()
    raise AssertionError("the call did not fail")


def same(found, expected):
    assert found == expected, f"found {found!r}, expected {expected!r}"


class Checks:
    def __init__(self, address):
        self.channel = grpc.insecure_channel(address)
        self.predictions = prediction_service_pb2_grpc.PredictionServiceStub(self.channel)
        self.models = model_service_pb2_grpc.ModelServiceStub(self.channel)
        self.session_run = self.channel.unary_unary(
            "/tensorflow.serving.SessionService/SessionRun",
            request_serializer=session_service_pb2.SessionRunRequest.SerializeToString,
            response_deserializer=session_service_pb2.SessionRunResponse.FromString,
        )

    def check_predict_answers_a_saved_model_and_an_onnx_model(self):
        for name in ("saved", "onnx"):
            answer = self.predictions.Predict(predict_request(name), timeout=20)
            same(list(answer.outputs["y"].float_val), [3.0, 4.0])
            same(tf.make_ndarray(answer.outputs["y"]).tolist(), [3.0, 4.0])
            same((answer.model_spec.name, answer.model_spec.signature_name, answer.model_spec.version.value), (name, "serving_default", 1))

    def check_predict_gives_the_outputs_of_the_filter(self):
        request = predict_request()
        request.output_filter.append("x2")
        same(list(self.predictions.Predict(request, timeout=20).outputs), ["x2"])
        request.output_filter.append("x2")
        same(failure(self.predictions.Predict, request), (grpc.StatusCode.INVALID_ARGUMENT, "duplicate output tensor alias: x2"))

    def check_predict_carries_strings(self):
        request = predict_pb2.PredictRequest()
        spec(request.model_spec, "saved", "words")
        request.inputs["x"].CopyFrom(tf.make_tensor_proto(["a", "bc"]))
        same(tf.make_ndarray(self.predictions.Predict(request, timeout=20).outputs["y"]).tolist(), [b"A", b"BC"])

    def check_predict_fails_with_the_originals_codes_and_texts(self):
        codes = grpc.StatusCode
        code, text = failure(self.predictions.Predict, predict_request("none"))
        assert code == codes.NOT_FOUND and text.startswith("Servable not found for request: Latest(none)"), text
        code, text = failure(self.predictions.Predict, predict_request(version=7))
        assert code == codes.NOT_FOUND and text.startswith("Servable not found for request: Specific(saved, 7)"), text
        same(failure(self.predictions.Predict, predict_request(signature="no")), (codes.FAILED_PRECONDITION, 'Serving signature key "no" not found.'))
        request = predict_request()
        request.model_spec.version_label = "canary"
        code, text = failure(self.predictions.Predict, request)
        assert code == codes.INVALID_ARGUMENT and text.startswith("Unrecognized servable version label: canary"), text
        request = predict_request()
        request.inputs["z"].CopyFrom(request.inputs["x"])
        code, text = failure(self.predictions.Predict, request)
        assert code == codes.INVALID_ARGUMENT and text.startswith("input size does not match signature: 2!=1"), text

    def check_predict_keeps_to_the_clients_deadline(self):
        try:
            self.predictions.Predict(predict_request(), timeout=0.000001)
            raise AssertionError("the call did not fail")
        except grpc.RpcError as error:
            same(error.code(), grpc.StatusCode.DEADLINE_EXCEEDED)

    def check_regress_and_classify_read_examples(self):
        for name, signature in (("saved", "regress"), ("onnx", "")):
            request = regression_pb2.RegressionRequest()
            spec(request.model_spec, name, signature)
            request.input.example_list.examples.extend([example(x=2.0), example(x=4.0)])
            answer = self.predictions.Regress(request, timeout=20)
            same([each.value for each in answer.result.regressions], [3.0, 4.0])
        request = classification_pb2.ClassificationRequest()
        spec(request.model_spec, "saved", "classify")
        request.input.example_list_with_context.context.CopyFrom(example(x=2.0))
        request.input.example_list_with_context.examples.append(example(other=b"text"))
        answer = self.predictions.Classify(request, timeout=20)
        same([(each.label, each.score) for each in answer.result.classifications[0].classes], [("", 3.0), ("", -3.0)])

    def check_features_of_another_kind_are_refused(self):
        request = regression_pb2.RegressionRequest()
        spec(request.model_spec, "saved", "regress")
        same(failure(self.predictions.Regress, request), (grpc.StatusCode.INVALID_ARGUMENT, "Input is empty."))
        request.input.example_list.examples.append(example(x=2))
        code, text = failure(self.predictions.Regress, request)
        assert code == grpc.StatusCode.INVALID_ARGUMENT and "Data types don't match" in text, text

    def check_multi_inference_answers_several_signatures(self):
        request = inference_pb2.MultiInferenceRequest()
        for signature in ("regress", "classify"):
            task = request.tasks.add(method_name=f"tensorflow/serving/{signature}")
            spec(task.model_spec, "saved", signature)
        request.input.example_list.examples.append(example(x=2.0))
        regressed, classified = self.predictions.MultiInference(request, timeout=20).results
        same(regressed.regression_result.regressions[0].value, 3.0)
        same(len(classified.classification_result.classifications[0].classes), 2)
        same(classified.model_spec.signature_name, "classify")
        request.tasks[1].model_spec.signature_name = "regress"
        same(failure(self.predictions.MultiInference, request), (grpc.StatusCode.INVALID_ARGUMENT, "Duplicate evaluation of signature: regress"))

    def check_metadata_tells_the_signatures(self):
        for name in ("saved", "onnx"):
            request = get_model_metadata_pb2.GetModelMetadataRequest()
            spec(request.model_spec, name)
            request.metadata_field.append("signature_def")
            answer = self.predictions.GetModelMetadata(request, timeout=20)
            found = get_model_metadata_pb2.SignatureDefMap()
            assert answer.metadata["signature_def"].Unpack(found)
            signature = found.signature_def["serving_default"]
            same(signature.inputs["x"].dtype, tf.float32.as_datatype_enum)
            same(signature.method_name, "tensorflow/serving/predict")
            if name == "saved":
                same(dict(found.signature_def), signatures_of_file(os.path.join(FOLDER, "1")))
        request.metadata_field[0] = "graph"
        same(failure(self.predictions.GetModelMetadata, request), (grpc.StatusCode.INVALID_ARGUMENT, "Metadata field graph is not supported"))

    def check_status_tells_the_versions(self):
        for name in ("saved", "onnx"):
            request = get_model_status_pb2.GetModelStatusRequest()
            spec(request.model_spec, name)
            [version] = self.models.GetModelStatus(request, timeout=20).model_version_status
            same((version.version, version.state), (1, get_model_status_pb2.ModelVersionStatus.AVAILABLE))
        request.model_spec.name = "none"
        same(failure(self.models.GetModelStatus, request), (grpc.StatusCode.NOT_FOUND, "Could not find any versions of model none"))

    def check_session_run_runs_the_graph_and_no_other_model(self):
        request = session_service_pb2.SessionRunRequest()
        spec(request.model_spec, "saved")
        request.feed.add(name="serving_default_x:0").tensor.CopyFrom(tf.make_tensor_proto(np.array([2.0], "float32")))
        request.fetch.append("serving_default_x:0")
        request.options.timeout_in_ms = 20_000
        answer = self.session_run(request, timeout=20)
        same([(each.name, list(each.tensor.float_val)) for each in answer.tensor], [("serving_default_x:0", [2.0])])
        request.model_spec.name = "onnx"
        code, text = failure(self.session_run, request)
        assert code == grpc.StatusCode.UNIMPLEMENTED and "onnx driver" in text, text

    def check_zz_a_reload_serves_another_configuration(self):
        request = model_management_pb2.ReloadConfigRequest()
        text_format.Parse(f'model_config_list {{ config {{ name: "again" base_path: "{FOLDER}" model_platform: "tensorflow" }} }}', request.config)
        request.metric_names.append("/tensorflow/serving/request_count")
        answer = self.models.HandleReloadConfigRequest(request, timeout=60)
        same((answer.status.error_code, answer.status.error_message), (0, ""))
        same([(each.name, each.int64_value_increase) for each in answer.metric], [("/tensorflow/serving/request_count", 0)])
        same(list(self.predictions.Predict(predict_request("again"), timeout=20).outputs["y"].float_val), [3.0, 4.0])
        same(failure(self.predictions.Predict, predict_request("onnx"))[0], grpc.StatusCode.NOT_FOUND)


FOLDER = sys.argv[1]

if __name__ == "__main__":
    save_model(os.path.join(FOLDER, "1"))
    print("saved", flush=True)
    checks = Checks(sys.stdin.readline().strip())
    for name in sorted(name for name in dir(checks) if name.startswith("check_")):
        try:
            getattr(checks, name)()
            problem = None
        except Exception as reason:
            problem = f"{type(reason).__name__}: {reason}"
        print(json.dumps({"check": name, "problem": problem}), flush=True)
