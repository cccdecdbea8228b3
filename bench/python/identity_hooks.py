"""Hooks that return what comes, as identity-hooks.ts does."""


def preprocess(inputs):
    return inputs


def postprocess(outputs):
    return outputs
