import { isUtf8 } from "node:buffer";
import { ServingError } from "../../errors.ts";
import { isLargeText } from "../../platform/codec-host/large-message.ts";
import { cutText } from "../../platform/text/cut-text.ts";
import type { CallOptions, InferenceService, InferResponse, Lease } from "../../serving/inference-service.ts";
import { imageFormat } from "../../tensor/media/image-format.ts";
import type { Signature } from "../../tensor/signature/signature.ts";
import { byteSize, createTensor, type Tensor, type Tensors } from "../../tensor/tensor.ts";
import { answeredTensors } from "../answered-tensors.ts";
import { type NamedOutputs, writeOutputs } from "../kibernetika/http-codec.ts";
import { acquireModel } from "../kserve/model-ref.ts";
import { findSignature } from "../tensorflow-serving/http-request.ts";
import { type MessageId, RPC, RpcError, type RpcResult, writeNotification } from "./messages.ts";
import { isTool, toolNames } from "./tools.ts";

/** One call of a tool, and what its transport lends it. */
export interface ToolCall {
  readonly service: InferenceService;
  readonly call: CallOptions;
  /** As `params.name` has it. */
  readonly name: string;
  readonly inputs: (signature: Signature) => Tensors | Promise<Tensors>;
  /** Writes many or large values; absent = they are written here. */
  readonly write?: ((outputs: NamedOutputs) => Promise<Uint8Array>) | undefined;
  /** Counts so many bytes more. */
  readonly hold: (bytes: number) => void;
  /** Most bytes of an answer in parts. */
  readonly maxBytes: number;
  /** Told of each part, as the text of a notification; absent = the client does not want to know. */
  readonly progress?: { readonly token: MessageId; readonly send: (text: Buffer) => Promise<void> } | undefined;
  /** Told what a call has failed of, whose answer is a result. */
  readonly failed: (reason: unknown) => void;
}

/**
 * Runs the model behind a tool. What it throws is a result too, which an assistant reads and mends; only a tool that
 * there is not is an error of the protocol, {@link RpcError}.
 */
export async function callTool(call: ToolCall): Promise<RpcResult> {
  const model = toolNames(call.service).get(call.name);
  if (model === undefined) throw unknownTool(call.name);
  if (call.call.record) call.call.record.model = model;
  try {
    const lease = await acquireModel(call.service, { model }, call.call);
    try {
      if (!isTool(lease.description)) throw unknownTool(call.name);
      return await run(lease, call);
    } finally {
      lease.release();
    }
  } catch (reason) {
    if (reason instanceof RpcError) throw reason;
    call.failed(reason);
    return { members: { content: [{ type: "text", text: ServingError.from(reason).message }], isError: true } };
  }
}

function unknownTool(name: string): RpcError {
  return new RpcError(RPC.invalidParams, `Unknown tool: ${cutText(name)}`);
}

async function run(lease: Lease, tool: ToolCall): Promise<RpcResult> {
  const { description } = lease;
  const signature = findSignature("", description);
  const tensors = await tool.inputs(signature.spec ?? {});
  const request = { signature, inputs: { kind: "tensors", tensors }, call: tool.call } as const;
  if (description.decoupled !== true) return toResult(await shown(await lease.infer(request), tool));
  const parts = new Parts(tool);
  const answer = await lease.infer({ ...request, parts });
  if (answer.parts === undefined) await parts.write(answer);
  return parts.result();
}

/** An answer, or a part of one. */
interface Shown {
  /** Images and sound. */
  readonly media: readonly object[];
  /** JSON of all outputs. */
  readonly json: Uint8Array;
  /** The only output, if that is one text. */
  readonly text: string | undefined;
}

async function shown(answer: InferResponse, { write, hold }: ToolCall): Promise<Shown> {
  const media: object[] = [];
  const outputs = Object.entries(answeredTensors(answer)).map(
    ([name, tensor]) => [name, withoutMedia(tensor, answer.contentType, media)] as const,
  );
  const isLarge = isLargeText(outputs.map(([, tensor]) => tensor));
  const json = isLarge && write !== undefined ? await write(outputs) : writeOutputs(outputs);
  const [only, ...others] = outputs;
  const isOne = only?.[1].dtype === "bytes" && only[1].data.length === 1 && others.length + media.length === 0;
  const text = isOne ? textOf(only[1].data[0]) : undefined;
  hold(json.length + media.length * MEDIA_BYTES);
  return { media, json, text };
}

function textOf(bytes: unknown): string | undefined {
  return bytes instanceof Uint8Array && isUtf8(bytes) ? Buffer.from(bytes).toString() : undefined;
}

/** Memory of an object beside the base64 in it. */
const MEDIA_BYTES = 256;
/** Images and sounds of an answer at most; others stay values. */
const MAX_MEDIA = 32;

/** The tensor with a text in place of each image or sound, which goes among the content. */
function withoutMedia(tensor: Tensor, contentType: string | undefined, media: object[]): Tensor {
  if (tensor.dtype !== "bytes") return tensor;
  const elements = [...tensor.data];
  let isChanged = false;
  for (const [index, bytes] of elements.entries()) {
    const mimeType = media.length < MAX_MEDIA ? mediaType(bytes, elements.length === 1 ? contentType : "") : undefined;
    if (mimeType === undefined) continue;
    const type = mimeType.startsWith("audio/") ? "audio" : "image";
    media.push({ type, data: Buffer.from(bytes).toString("base64"), mimeType });
    elements[index] = Buffer.from(`${mimeType}, ${bytes.length} bytes, ${type} ${media.length} of the content`);
    isChanged = true;
  }
  return isChanged ? createTensor("bytes", tensor.shape, elements) : tensor;
}

/** Beginnings of files of sound; `????` are bytes of any value. */
const SOUNDS: readonly (readonly [mimeType: string, beginning: RegExp])[] = [
  ["audio/wav", /^RIFF[\s\S]{4}WAVE/],
  ["audio/ogg", /^OggS/],
  ["audio/flac", /^fLaC/],
  ["audio/mpeg", /^ID3|^\xff[\xfb\xf3\xf2]/],
];

/** The type of an image or a sound by its first bytes, or as a hook has said; undefined for all else. */
function mediaType(bytes: Uint8Array, told = ""): string | undefined {
  if (/^(?:image|audio)\/[\w.+-]+$/.test(told)) return told;
  const format = imageFormat(bytes);
  // Of few letters, which a text may begin with.
  if (format !== undefined && format !== "pnm") return `image/${format}`;
  const head = Buffer.from(bytes.subarray(0, 12)).toString("latin1");
  return SOUNDS.find(([, beginning]) => beginning.test(head))?.[0];
}

/** Bytes of JSON from which it is not repeated as a text: no assistant reads so many numbers. */
const MAX_TEXT_BYTES = 64 * 1024;

/** The values as text too, for clients that do not know the structured ones. */
function toResult({ media, json, text }: Shown): RpcResult {
  const told = json.length > MAX_TEXT_BYTES ? `${json.length} bytes of JSON, in structuredContent` : undefined;
  const content = [{ type: "text", text: told ?? text ?? Buffer.from(json).toString() }, ...media];
  return { members: { content }, structured: json };
}

/** Characters of a part that a notification has. */
const MAX_MESSAGE = 1000;

/** Collects the parts of an answer, which is sent as a whole in the end. */
class Parts {
  readonly #tool: ToolCall;
  readonly #all: Shown[] = [];
  #bytes = 0;

  constructor(tool: ToolCall) {
    this.#tool = tool;
  }

  async write(part: InferResponse): Promise<void> {
    const { progress, maxBytes } = this.#tool;
    const bytes = Object.values(answeredTensors(part)).reduce((sum, tensor) => sum + byteSize(tensor), 0);
    this.#bytes += bytes + MEDIA_BYTES;
    if (this.#bytes > maxBytes)
      throw new ServingError("resource_exhausted", `The answer has more than ${maxBytes} bytes; expected fewer parts.`);
    const made = await shown(part, this.#tool);
    this.#all.push(made);
    if (progress === undefined) return;
    const message = (made.text ?? Buffer.from(made.json).toString()).slice(0, MAX_MESSAGE);
    const params = { progressToken: progress.token, progress: this.#all.length, message };
    await progress.send(writeNotification("notifications/progress", params));
  }

  result(): RpcResult {
    const parts = this.#all;
    const json = `{"parts":[${parts.map((part) => Buffer.from(part.json).toString()).join(",")}]}`;
    const texts = parts.map(({ text }) => text);
    const text = texts.every((each) => each !== undefined) ? texts.join("") : undefined;
    return toResult({ media: parts.flatMap(({ media }) => media), json: Buffer.from(json), text });
  }
}
