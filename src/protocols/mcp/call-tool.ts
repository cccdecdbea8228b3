import { isUtf8 } from "node:buffer";
import { ServingError } from "../../errors.ts";
import { isLargeText } from "../../platform/codec-host/large-message.ts";
import { cutText } from "../../platform/text/cut-text.ts";
import type { CallOptions, InferenceService, InferResponse, Lease } from "../../serving/inference-service.ts";
import { imageFormat } from "../../tensor/media/image-format.ts";
import { soundType } from "../../tensor/media/sound-format.ts";
import type { Signature, TensorSpec } from "../../tensor/signature/signature.ts";
import { byteSize, createTensor, elementCount, type Tensor, type Tensors } from "../../tensor/tensor.ts";
import { answeredTensors } from "../answered-tensors.ts";
import { type NamedOutputs, withLabels, writeOutputs } from "../kibernetika/http-outputs.ts";
import { acquireModel } from "../kserve/model-ref.ts";
import { findSignature } from "../tensorflow-serving/http-request.ts";
import { hasEntry } from "../text/lease-for.ts";
import { FUNCTION_TOOLS, type ToolFunction } from "./function-tools.ts";
import { type MessageId, RPC, RpcError, type RpcResult, writeNotification } from "./messages.ts";
import { findTool, isTool } from "./tools.ts";

/** One call of a tool, and what its transport lends it. */
export interface ToolCall {
  readonly service: InferenceService;
  readonly call: CallOptions;
  /** As `params.name` has it. */
  readonly name: string;
  readonly inputs: (signature: Signature) => Tensors | Promise<Tensors>;
  /** Writes many or large values in a codec thread. */
  readonly write: (outputs: NamedOutputs) => Promise<Uint8Array>;
  /** Counts so many bytes more. */
  readonly hold: (bytes: number) => void;
  /** Most bytes of an answer, as far as {@link MAX_RESULT_BYTES} is not less. */
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
  const tool = findTool(call.service, call.name);
  if (tool === undefined) throw unknownTool(call.name);
  const { model, entry } = tool;
  if (call.call.record) call.call.record.model = model;
  try {
    const lease = await acquireTool(model, call);
    try {
      const isThere = entry === undefined ? isTool(lease.description) : hasEntry(lease.description, entry);
      if (!isThere) throw unknownTool(call.name);
      return entry === undefined ? await run(lease, call) : await runFunction(lease, entry, call);
    } finally {
      lease.release();
    }
  } catch (reason) {
    if (reason instanceof RpcError) throw reason;
    call.failed(reason);
    return { members: { content: [{ type: "text", text: ServingError.from(reason).message }], isError: true } };
  }
}

/** A tool whose model is being loaded is not an unknown one: its call may be made again. */
async function acquireTool(model: string, { service, call }: ToolCall): Promise<Lease> {
  try {
    return await acquireModel(service, { model }, call);
  } catch (reason) {
    if (ServingError.from(reason).code !== "not_found") throw reason;
    const state = service.index().find((one) => one.model === model && !one.isReady);
    if (state === undefined) throw reason;
    const why = state.unavailableReason ?? "it is being loaded";
    throw new ServingError("unavailable", `The model ${model} does not answer now: ${why}.`, { cause: reason });
  }
}

/** Runs a function of hooks, whose parts are told, and joined to one text. */
async function runFunction(lease: Lease, entry: ToolFunction, tool: ToolCall): Promise<RpcResult> {
  const { signature, run: runIt } = FUNCTION_TOOLS[entry];
  const inputs = await tool.inputs(signature);
  let number = 0;
  const tell = (text: string) => tellPart(tool, ++number, text.slice(0, MAX_MESSAGE));
  const tensors = await runIt({ lease, inputs, call: tool.call, hold: tool.hold, tell });
  const shown = new ShownAnswer(tool);
  await shown.add({ outputs: { kind: "tensors", tensors }, contentType: undefined });
  return shown.result(false);
}

async function tellPart({ progress }: ToolCall, number: number, message: string): Promise<void> {
  if (progress === undefined) return;
  const params = { progressToken: progress.token, progress: number, message };
  await progress.send(writeNotification("notifications/progress", params));
}

function unknownTool(name: string): RpcError {
  return new RpcError(RPC.invalidParams, `Unknown tool: ${cutText(name)}`);
}

async function run(lease: Lease, tool: ToolCall): Promise<RpcResult> {
  const { description } = lease;
  const signature = findSignature("", description);
  const tensors = await tool.inputs(signature.spec ?? {});
  const request = { signature, inputs: { kind: "tensors", tensors }, call: tool.call } as const;
  const shown = new ShownAnswer(tool, signature.spec?.outputs);
  if (description.decoupled !== true) {
    await shown.add(await lease.infer(request));
    return shown.result(false);
  }
  const answer = await lease.infer({ ...request, parts: { write: (part) => shown.tell(part) } });
  if (answer.parts === undefined) await shown.tell(answer);
  return shown.result(true);
}

/** Bytes of a result's JSON at most, of which base64 is a part: no assistant reads as many. */
const MAX_RESULT_BYTES = 32 * 1024 * 1024;
/** Bytes of JSON from which it is not repeated as a text: no assistant reads so many numbers. */
const MAX_TEXT_BYTES = 64 * 1024;
/** Characters of a part that a notification has. */
const MAX_MESSAGE = 1000;
/** Memory of an object beside the bytes in it. */
const OBJECT_BYTES = 256;

/** An answer, or one in parts, which is sent as a whole in the end. */
class ShownAnswer {
  readonly #tool: ToolCall;
  readonly #specs: readonly TensorSpec[] | undefined;
  readonly #media: Media;
  /** JSON of the outputs of each part. */
  readonly #parts: Uint8Array[] = [];
  /** The parts as one text, while each of them is a text. */
  #text: string | undefined = "";
  #bytes = 0;

  constructor(tool: ToolCall, specs?: readonly TensorSpec[]) {
    this.#tool = tool;
    this.#specs = specs;
    this.#media = new Media((bytes) => this.#count(bytes));
  }

  /** Adds an answer, or a part of one; resolves with the beginning of its text. */
  async add(answer: Pick<InferResponse, "outputs" | "contentType">): Promise<string> {
    const outputs = Object.entries(answeredTensors(answer)).map(
      ([name, tensor]) => [name, this.#media.takeFrom(tensor, answer.contentType)] as const,
    );
    this.#check(outputs.reduce((sum, [, tensor]) => sum + leastBytes(tensor), 0));
    // Before the memory of the values may be given away.
    const text = onlyText(outputs);
    const json = await this.#write(withLabels(outputs, this.#specs));
    this.#count(json.length + OBJECT_BYTES);
    this.#parts.push(json);
    this.#text = this.#media.count === 0 ? joined(this.#text, text) : undefined;
    return (text ?? beginningOf(json)).slice(0, MAX_MESSAGE);
  }

  /** {@link add}, which the client is told of. */
  async tell(part: InferResponse): Promise<void> {
    const message = await this.add(part);
    await tellPart(this.#tool, this.#parts.length, message);
  }

  /** The values as text too, for clients that do not know the structured ones. */
  async result(isInParts: boolean): Promise<RpcResult> {
    const values = isInParts ? [PARTS, ...separated(this.#parts), PARTS_END] : this.#parts;
    const length = values.reduce((sum, each) => sum + each.length, 0);
    const isLong = length > MAX_TEXT_BYTES;
    const json = () => (isLong ? `${length} bytes of JSON, in structuredContent` : Buffer.concat(values).toString());
    const text = { type: "text", text: this.#text ?? json() };
    const media: Uint8Array[] = [];
    for (const medium of this.#media.all) media.push(...(await this.#writeMedium(medium)));
    const content = [Buffer.from(`[${JSON.stringify(text)}`), ...media, Buffer.from("]")];
    return { members: {}, written: { content, structuredContent: values } };
  }

  /** A value of bytes is written as base64 unless it is a text, which a picture may be. */
  async #writeMedium({ type, mimeType, bytes }: Medium): Promise<readonly Uint8Array[]> {
    const data = isUtf8(bytes) ? Buffer.from(Buffer.from(bytes).toString("base64")) : bytes;
    const json = await this.#write([["data", createTensor("bytes", [], [data])]]);
    return [Buffer.from(`,${JSON.stringify({ type, mimeType }).slice(0, -1)},`), json.subarray(1)];
  }

  async #write(outputs: NamedOutputs): Promise<Uint8Array> {
    const { write } = this.#tool;
    return isLargeText(outputs.map(([, tensor]) => tensor)) ? write(outputs) : writeOutputs(outputs);
  }

  #count(bytes: number): void {
    this.#check(bytes);
    this.#bytes += bytes;
    this.#tool.hold(bytes);
  }

  #check(bytes: number): void {
    const most = Math.min(MAX_RESULT_BYTES, this.#tool.maxBytes);
    if (this.#bytes + bytes <= most) return;
    throw new ServingError("resource_exhausted", `The answer has more than ${most} bytes as JSON; expected fewer.`);
  }
}

/** Bytes that a tensor's JSON has at least: a number, and a comma. */
function leastBytes(tensor: Tensor): number {
  return tensor.dtype === "bytes" ? byteSize(tensor) : 2 * elementCount(tensor.shape);
}

const PARTS = Buffer.from('{"parts":[');
const PARTS_END = Buffer.from("]}");
const COMMA = Buffer.from(",");

function separated(pieces: readonly Uint8Array[]): readonly Uint8Array[] {
  return pieces.flatMap((piece, index) => (index === 0 ? [piece] : [COMMA, piece]));
}

function beginningOf(json: Uint8Array): string {
  return Buffer.from(json.subarray(0, 4 * MAX_MESSAGE)).toString();
}

/** Undefined = one of them is none, or they are too long. */
function joined(before: string | undefined, text: string | undefined): string | undefined {
  if (before === undefined || text === undefined) return undefined;
  return before.length + text.length > MAX_TEXT_BYTES ? undefined : before + text;
}

/** The only output, if that is one text that is not long. */
function onlyText([only, ...others]: NamedOutputs): string | undefined {
  const tensor = only?.[1];
  if (tensor?.dtype !== "bytes" || others.length > 0 || elementCount(tensor.shape) !== 1) return undefined;
  const [bytes] = tensor.data;
  if (bytes === undefined || bytes.length > MAX_TEXT_BYTES || !isUtf8(bytes)) return undefined;
  return Buffer.from(bytes).toString();
}

/** An image or a sound. */
interface Medium {
  readonly type: "image" | "audio";
  readonly mimeType: string;
  readonly bytes: Uint8Array;
}

/** Images and sounds of an answer at most; others stay values. */
const MAX_MEDIA = 32;
/** Values of an output in which they are looked for, at most. */
const MAX_LOOKED = 256;

/** The images and sounds of an answer, which are content of their own. */
class Media {
  readonly all: Medium[] = [];
  readonly #count: (bytes: number) => void;

  /** `count` is told of the memory that one will take in the answer. */
  constructor(count: (bytes: number) => void) {
    this.#count = count;
  }

  get count(): number {
    return this.all.length;
  }

  /** The tensor with a text in place of each image or sound. */
  takeFrom(tensor: Tensor, contentType: string | undefined): Tensor {
    const count = elementCount(tensor.shape);
    if (tensor.dtype !== "bytes" || count > MAX_LOOKED) return tensor;
    const told = count === 1 ? contentType : undefined;
    const elements = tensor.data.map((bytes) => this.#take(bytes, told) ?? bytes);
    return elements.every((each, index) => each === tensor.data[index])
      ? tensor
      : createTensor("bytes", tensor.shape, elements);
  }

  #take(bytes: Uint8Array, told: string | undefined): Buffer | undefined {
    const mimeType = this.count < MAX_MEDIA ? mediaType(bytes, told) : undefined;
    if (mimeType === undefined) return undefined;
    const type = mimeType.startsWith("audio/") ? "audio" : "image";
    this.#count(Math.ceil(bytes.length / 3) * 4 + OBJECT_BYTES);
    // The memory of the values may be given away when they are written.
    this.all.push({ type, mimeType, bytes: new Uint8Array(bytes) });
    const place = this.all.filter((medium) => medium.type === type).length;
    return Buffer.from(`${mimeType}, ${bytes.length} bytes, ${type} ${place} of the content`);
  }
}

/** Bytes within which a file of an image or sound has one that no text has. */
const HEAD_BYTES = 64;

/** The type of an image or a sound by its first bytes, or as a hook has said; undefined for all else. */
function mediaType(bytes: Uint8Array, told = ""): string | undefined {
  if (/^(?:image|audio)\/[\w.+-]+$/.test(told)) return told;
  if (!isBinary(bytes)) return undefined;
  const format = imageFormat(bytes);
  // Of few letters, which other bytes may begin with.
  if (format !== undefined && format !== "pnm") return `image/${format}`;
  return soundType(bytes);
}

/** Checks for a byte that no text has among the first ones, since `ID3` or `GIF89a` may begin a sentence. */
function isBinary(bytes: Uint8Array): boolean {
  return bytes.subarray(0, HEAD_BYTES).some((byte) => byte < 0x09 || byte >= 0xf8);
}
