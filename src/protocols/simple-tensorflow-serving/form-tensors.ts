import { LARGE_MESSAGE_BYTES } from "../../codec-host/large-message.ts";
import { invalidArgument } from "../../errors.ts";
import type { HttpExchange } from "../../proxy/http-exchange.ts";
import { knownInputs } from "../../signature/known-inputs.ts";
import type { Signature, TensorSpec } from "../../signature/signature.ts";
import { createTensors, type Tensor, type Tensors } from "../../tensor/tensor.ts";
import { decodeImages } from "./decode-images.ts";
import { encodeFiles, encodeFilesJob } from "./encode-files.ts";
import type { FormRequest } from "./form-request.ts";

/** Names of the input that the original gives a form's files to; the second one is that of its older versions. */
const INPUTS = ["images", "image"];

/**
 * The one input that a form's files are: URL-safe base64 of each where it takes strings, or is not described; their
 * pixels where it takes numbers. Throws `invalid_argument` where the model has several inputs and none of the names.
 */
export async function readFormTensors(form: FormRequest, known: Signature, exchange: HttpExchange): Promise<Tensors> {
  const target = targetOf(known);
  const isText = typeof target === "string" || target.dtype === "bytes";
  const tensor = isText ? await toTexts(form.files, exchange) : await decodeImages(form, target, exchange.callInfo());
  return createTensors([[isText ? nameOf(target) : target.name, tensor]]);
}

function nameOf(target: TensorSpec | string): string {
  return typeof target === "string" ? target : target.name;
}

/** The input's description, or its name alone. */
function targetOf(signature: Signature): TensorSpec | string {
  const names = knownInputs(signature)?.map(({ name }) => name);
  const only = names?.length === 1 ? names[0] : undefined;
  const name = INPUTS.find((each) => names?.includes(each)) ?? only ?? (names === undefined ? INPUTS[0] : undefined);
  if (name !== undefined) return signature.inputs?.find((spec) => spec.name === name) ?? name;
  const known = names?.map((each) => `'${each}'`).join(", ");
  throw invalidArgument(
    `Input op name 'images' does not exist in the model, which has ${known}; a form is for a model with one input, or one that is called images.`,
  );
}

async function toTexts(files: readonly Uint8Array[], exchange: HttpExchange): Promise<Tensor> {
  const { maxMessageBytes: maxBytes } = exchange;
  const bytes = files.reduce((sum, file) => sum + file.length, 0);
  return bytes > LARGE_MESSAGE_BYTES
    ? exchange.encode(encodeFilesJob, [files, maxBytes])
    : encodeFiles(files, maxBytes);
}
