"""Writes networks of keras.applications, with weights of a fixed seed, as SavedModels and as TFLite: python make-compare-models.py FOLDER."""

import pathlib
import sys

import keras
import tensorflow as tf

NETWORKS = {
    "mobilenet_v2": lambda: keras.applications.MobileNetV2((96, 96, 3), 0.35, weights=None, classifier_activation=None),
    "efficientnet_b0": lambda: keras.applications.EfficientNetB0(weights=None, classifier_activation=None),
    "nasnet_mobile": lambda: keras.applications.NASNetMobile((224, 224, 3), weights=None, classifier_activation=None),
}

folder = pathlib.Path(sys.argv[1])
for name, build in NETWORKS.items():
    keras.utils.set_random_seed(7)
    saved = folder / name
    build().export(saved)
    converter = tf.lite.TFLiteConverter.from_saved_model(str(saved))
    (folder / f"{name}.tflite").write_bytes(converter.convert())
