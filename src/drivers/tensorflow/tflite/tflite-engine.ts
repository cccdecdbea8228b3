import { failedPrecondition, invalidArgument, ServingError } from "../../../errors.ts";
import { didYouMean } from "../../../platform/text/nearest.ts";
import { DEFAULT_SIGNATURE, fitsShape, type Signature, type TensorSpec } from "../../../tensor/signature/signature.ts";
import { createTensor, createTensors, type Tensor, type Tensors } from "../../../tensor/tensor.ts";
import type { Model } from "../../driver.ts";
import type { TensorflowEngine } from "../engine.ts";
import { startLiteRt } from "./litert.ts";
import { toLoadError, toRunError } from "./litert-error.ts";
import type { FullSignature } from "./litert-model.ts";
import { RowModels } from "./row-models.ts";
import { fromModelOutputs, readSignatureDefs, toModelInputs } from "./signature-defs.ts";
import { readTfliteFile, refuseOperators, type TfliteFile } from "./tflite-file.ts";

/** Serves .tflite files, quantized ones too, with LiteRT's WebAssembly build. */
const engine: TensorflowEngine = {
  name: "tflite",
  load: async ({ path }, { model_signature }) => {
    const file = readTfliteFile(path);
    refuseOperators(file, path);
    const runtime = await startLiteRt();
    const models = await RowModels.load(runtime, file).catch((reason: unknown) => {
      throw toLoadError(reason, path);
    });
    try {
      const named = withSignatureDefs(models, file);
      return createTfliteModel(named, chooseSignature(named, model_signature), {
        isPure: !file.hasState,
        close: () => models.close(),
      });
    } catch (reason) {
      models.close();
      throw reason;
    }
  },
};

export default engine;

/** A model whose signatures have names: those of its file, or of the file's metadata. */
interface NamedModel {
  readonly signatures: ReadonlyMap<string, FullSignature & Pick<Signature, "method">>;
  run(key: string, inputs: Tensors, wanted: readonly string[] | undefined): Promise<Tensors>;
}

/** Gives the only graph of an older file the signatures of its metadata. */
function withSignatureDefs(models: RowModels, { signatureDefs }: TfliteFile): NamedModel {
  const [[key, full] = []] = models.signatures;
  if (signatureDefs === undefined || key === undefined || full === undefined) return models;
  const signatures = readSignatureDefs(signatureDefs, full);
  if (signatures.size === 0) return models;
  const run = async (name: string, inputs: Tensors, wanted: readonly string[] | undefined) => {
    const signature = signatures.get(name)!;
    return fromModelOutputs(signature, await models.run(key, toModelInputs(signature, inputs), undefined), wanted);
  };
  return { signatures, run };
}

/**
 * The name in the file that the default signature has; the only signature, or the first, if none has the usual name.
 */
function chooseSignature({ signatures }: NamedModel, asked: string): string {
  const names = [...signatures.keys()];
  if (names.includes(asked)) return asked;
  if (asked === DEFAULT_SIGNATURE && names[0] !== undefined) return names[0];
  throw failedPrecondition(
    `The model has no signature "${asked}"; it has: ${names.join(", ")}.${didYouMean(asked, names)}`,
  );
}

/** Facts about a loaded model that its signatures lack. */
interface OwnParts {
  readonly isPure: boolean;
  readonly close: () => void;
}

function createTfliteModel(named: NamedModel, chosen: string, { isPure, close }: OwnParts): Model {
  const shown = named.signatures.get(chosen)!;
  return {
    signatures: { ...Object.fromEntries(named.signatures), [DEFAULT_SIGNATURE]: shown },
    isPure,
    copiesInputs: true,
    checksShapes: true,
    hookArgs: {
      driver: "tensorflow",
      model_inputs: Object.fromEntries(shown.inputs.map(({ name, shape }) => [name, shape])),
      model_outputs: shown.outputs.map(({ name }) => name),
    },
    predict: async (inputs, { signature, outputs, signal }) => {
      if (signal.aborted) throw ServingError.from(signal.reason);
      const key = signature === DEFAULT_SIGNATURE ? chosen : signature;
      try {
        return await named.run(key, fittedInputs(inputs, named.signatures.get(key)!.inputs), outputs);
      } catch (reason) {
        throw toRunError(reason);
      }
    },
    close: async () => close(),
  };
}

/**
 * Inputs in the shapes that a model takes. One that differs by dimensions of size 1 alone is given the model's:
 * TensorFlow Serving resizes the model's tensor to what comes. Throws `invalid_argument` for any other shape.
 */
function fittedInputs(inputs: Tensors, specs: readonly TensorSpec[]): Tensors {
  return createTensors(specs.map((spec) => [spec.name, fitted(inputs[spec.name] as Tensor, spec)]));
}

function fitted(tensor: Tensor, { name, shape }: TensorSpec): Tensor {
  if (shape === undefined || fitsShape(tensor.shape, shape)) return tensor;
  const sizes = shape as readonly number[];
  const isFixed = !sizes.includes(-1);
  if (isFixed && String(withoutOnes(tensor.shape)) === String(withoutOnes(sizes))) {
    return createTensor(tensor.dtype, sizes, tensor.data as never);
  }
  throw invalidArgument(`Input "${name}" has shape [${tensor.shape}]; the model takes [${sizes}].`);
}

function withoutOnes(shape: readonly number[]): readonly number[] {
  return shape.filter((size) => size !== 1);
}
