/** Hooks that return what comes, for any number of models. */
import type { Tensors } from "kserving";

export const preprocess = (inputs: Tensors) => inputs;
export const postprocess = (outputs: Tensors) => outputs;
