"""Calls Predict of half_plus_two over TLS with grpcio and tensorflow-serving-api as they come from PyPI.

Each line of its input is a JSON list: the server's address, its certificate's authority, and a client's certificate
and key where it has one. A line of output is what that call gives, as JSON.
"""

import json
import sys

import grpc
import tensorflow as tf
from tensorflow_serving.apis import predict_pb2, prediction_service_pb2_grpc


def predict(address, *files):
    ca, cert, key = ([open(name, "rb").read() for name in files] + [None, None])[:3]
    request = predict_pb2.PredictRequest()
    request.model_spec.name = "half"
    request.inputs["x"].CopyFrom(tf.make_tensor_proto([1.0, 2.0, 5.0]))
    credentials = grpc.ssl_channel_credentials(ca, key, cert)
    options = [("grpc.ssl_target_name_override", "localhost")]
    with grpc.secure_channel(address, credentials, options) as channel:
        try:
            response = prediction_service_pb2_grpc.PredictionServiceStub(channel).Predict(request, timeout=10)
            return tf.make_ndarray(response.outputs["y"]).tolist()
        except grpc.RpcError as error:
            return error.code().name


for line in sys.stdin:
    print(json.dumps(predict(*json.loads(line))), flush=True)
