import { isUtf8 } from "node:buffer";
import { shellQuoted } from "../../platform/text/terminal.ts";
import { exampleImage, isImageInput } from "../../protocols/example-values.ts";
import { fileField } from "../../protocols/kibernetika/http-multipart.ts";
import { datatypeOf } from "../../protocols/kserve/datatype.ts";
import { textExample } from "../../protocols/openai/text-example.ts";
import { typeOfDType } from "../../protocols/tensorflow-serving/tensor-proto.ts";
import type { Server } from "../../server/server.ts";
import type { ExampleInput, ExampleInputs } from "../../tensor/signature/example-inputs.ts";
import { elementCount } from "../../tensor/tensor.ts";
import type { ReadyFacts, StatusReporter } from "./status-reporter.ts";

/** Reports requests that the model answers; finding one may take as long as some runs of the model. */
export async function reportExample(
  server: Server,
  { name = "", grpcAddress, httpUrl, decoupled, serves }: ReadyFacts & Pick<ExampleTarget, "serves">,
  reporter: StatusReporter,
): Promise<void> {
  if (reporter.example === undefined || name === "") return;
  const example = await server.exampleInputs();
  // Which requests another program understands is not known here.
  const own = server.httpUrl === undefined || httpUrl === undefined ? {} : { httpUrl };
  const isFit = own.httpUrl && example?.ran !== false;
  const texts = isFit && serves("openai") && (await textRequest(own.httpUrl, name, server));
  if (texts) reporter.example("As clients of OpenAI's API ask it; this was not tried:", texts);
  if (example === undefined) return;
  const { isEncrypted } = server;
  const { isTable } = example;
  const inputs = example.ran ? example.inputs : example.inputs.map(withImage);
  const line = exampleRequest({ name, inputs, isTable, grpcAddress, isEncrypted, decoupled, serves, ...own });
  if (line !== undefined) reporter.example(exampleHeading(example), line);
  const photo = isFit && serves("kibernetika") && photoRequest(own.httpUrl, name, inputs);
  if (photo) reporter.example("With a photo of yours; this was not tried:", photo);
}

/** A guess for bytes whose name is that of images is an image. */
function withImage(input: ExampleInput): ExampleInput {
  const isImage = input.dtype === "bytes" && input.isKnown !== true && isImageInput(input);
  return isImage ? { ...input, element: Buffer.from(exampleImage(input), "base64") } : input;
}

/** A shell line that asks for what a model, or its hooks, make of texts; undefined for a model of anything else. */
export async function textRequest(
  httpUrl: string,
  name: string,
  { service }: Pick<Server, "service">,
): Promise<string | undefined> {
  const example = await textExample(name, service);
  if (example === undefined) return undefined;
  const url = httpUrl + example.path;
  return `${curlFor(url)} ${url} -d ${shellQuoted(JSON.stringify(example.body))}`;
}

/** Sizes of a side from which an input is taken for a photo. */
const MIN_SIDE = 16;

/** A shell line that sends a photo to a model whose only input is a colour image; undefined for other models. */
export function photoRequest(httpUrl: string, name: string, inputs: readonly ExampleInput[]): string | undefined {
  const [input, ...others] = inputs;
  if (input === undefined || others.length > 0 || typeof input.element !== "number") return undefined;
  const [, one = 0, two = 0, three = 0, ...more] = input.shape;
  const sides = three === 3 ? [one, two] : one === 3 ? [two, three] : [];
  if (more.length > 0 || sides.length === 0 || sides.some((side) => side < MIN_SIDE)) return undefined;
  const url = `${httpUrl}/predict/${encodeURIComponent(name)}`;
  return `${curlFor(url)} ${url} -F ${shellQuoted(`${fileField(input.name)}=@photo.jpg`)}`;
}

/** The line before the example: if the example ran, and which parts of it are a guess. */
export function exampleHeading({ inputs, ran, guessed }: ExampleInputs): string {
  if (ran === false) return "Try it with sizes and values of your own; what was tried here did not run:";
  const guesses = inputs.filter(({ name }) => guessed.includes(name));
  if (guesses.length === 0) return ran ? "Try it:" : "Try it with values of your own; this guess was not tried:";
  const shapes = guesses.map(({ name, shape }) => `${name} [${shape}]`).join(", ");
  return `Try it; the model leaves sizes open, of which these are guessed and ${ran ? "ran" : "were not tried"}, ${shapes}:`;
}

/** The model that is served, and its address. */
export interface ExampleTarget {
  readonly name: string;
  readonly inputs: readonly ExampleInput[];
  /** See {@link ExampleInputs.isTable}. */
  readonly isTable?: boolean | undefined;
  readonly grpcAddress: string;
  readonly httpUrl?: string;
  /** True for a server with a certificate, which may not be for the name by which the line calls it. */
  readonly isEncrypted?: boolean;
  /** True if it answers in parts, and no request for one answer will do. */
  readonly decoupled?: boolean | undefined;
  /** Checks for a protocol that is not left out. */
  readonly serves: (protocol: string) => boolean;
}

/** Up to so many elements a value is written out. */
const MAX_INLINE_ELEMENTS = 24;

/**
 * A shell line that sends a request with the inputs. Over HTTP if that is served, else over gRPC; undefined where the
 * protocols that are served have no short one.
 */
export function exampleRequest(target: ExampleTarget): string | undefined {
  const { inputs, httpUrl, name, isTable = false, serves } = target;
  const hasJsonForm = inputs.every(({ dtype }) => !dtype.startsWith("complex"));
  const path = encodeURIComponent(name);
  if (httpUrl !== undefined && hasJsonForm) {
    if (isTable && serves("kibernetika")) return rowLine(`${httpUrl}/predict/${path}`, inputs);
    if (serves("tensorflow-serving")) return curlLine(`${httpUrl}/v1/models/${path}:predict`, target, namedInputs);
    if (serves("kserve") && target.decoupled !== true)
      return curlLine(`${httpUrl}/v2/models/${path}/infer`, target, kserveInputs);
    // A member "inputs" would be taken for another form of /predict.
    if (serves("kibernetika") && inputs.every((input) => input.name !== "inputs"))
      return curlLine(`${httpUrl}/predict/${path}`, target, membersOf);
  }
  return serves("tensorflow-serving") ? grpcLine(target) : undefined;
}

/** Sends a row by the names of its columns. */
function rowLine(url: string, inputs: readonly ExampleInput[]): string {
  const members = inputs.map((input) => `${JSON.stringify(input.name)}:${elementText(input)}`);
  return `${curlFor(url)} ${url} -d ${shellQuoted(`[{${members.join()}}]`)}`;
}

/** The server's certificate may be for another name. */
function curlFor(url: string): string {
  return url.startsWith("https:") ? "curl -k" : "curl";
}

/** Writes a body; `asCode`: see {@link exampleValue}. */
type WriteBody = (inputs: readonly ExampleInput[], asCode: boolean) => string;

/** An object with each input under its name, as /predict takes it. */
const membersOf: WriteBody = (inputs, asCode) =>
  `{${inputs.map((input) => `${JSON.stringify(input.name)}:${exampleValue(input, asCode)}`).join()}}`;

/** As TensorFlow Serving takes them. */
const namedInputs: WriteBody = (inputs, asCode) => `{"inputs":${membersOf(inputs, asCode)}}`;

/** As KServe V2 takes them. */
const kserveInputs: WriteBody = (inputs, asCode) => {
  const members = inputs.map((input) => {
    const { name, dtype, shape } = input;
    const data = exampleValue({ ...input, shape: [elementCount(shape)] }, asCode);
    return `{"name":${JSON.stringify(name)},"datatype":"${datatypeOf(dtype)?.name}","shape":[${shape}],"data":${data}}`;
  });
  return `{"inputs":[${members.join()}]}`;
};

function curlLine(url: string, { inputs, decoupled = false }: ExampleTarget, write: WriteBody): string {
  const count = inputs.reduce((sum, { shape }) => sum + elementCount(shape), 0);
  const body = write(inputs, count > MAX_INLINE_ELEMENTS);
  const curl = curlFor(url);
  const request = decoupled ? `${curl} -N ${url} -H 'accept: application/x-ndjson'` : `${curl} ${url}`;
  if (count <= MAX_INLINE_ELEMENTS) return `${request} -d ${shellQuoted(body)}`;
  return `node -p ${shellQuoted(`JSON.stringify(${body})`)} | ${request} -d @-`;
}

/** Needs no files: the client reads the schema by reflection. */
function grpcLine({ name, grpcAddress, inputs, isEncrypted = false, decoupled = false }: ExampleTarget): string {
  const protos = Object.fromEntries(inputs.map((input) => [input.name, exampleTensorProto(input)]));
  const body = JSON.stringify({ model_spec: { name }, inputs: protos });
  // Not for its own name, perhaps.
  const [scheme, options] = isEncrypted ? ["https", "--insecure"] : ["http", "--http2-prior-knowledge"];
  const [, path] = /^unix:(.*)$/.exec(grpcAddress) ?? [];
  const place = path === undefined ? grpcAddress : "localhost";
  const socket = path === undefined ? "" : `--unix-socket ${shellQuoted(path)} `;
  const method = decoupled ? "PredictStreamed" : "Predict";
  const url = `${scheme}://${place}/tensorflow.serving.PredictionService/${method}`;
  return `npx @bufbuild/buf curl --protocol grpc ${options} ${socket}${url} -d ${shellQuoted(body)}`;
}

/** A TensorProto in protobuf's JSON: one element stands for all. */
function exampleTensorProto(input: ExampleInput): object {
  const { name, fieldName } = typeOfDType(input.dtype);
  const shape = { dim: input.shape.map((size) => ({ size })) };
  return { dtype: name, tensor_shape: shape, [fieldName]: exampleElement(input) };
}

/** One element; a complex one is its two parts. */
function exampleElement({ dtype, element }: ExampleInput): readonly unknown[] {
  if (typeof element !== "number") return [Buffer.from(element).toString("base64")];
  if (dtype === "bool") return [element === 1];
  return dtype.startsWith("complex") ? [element, 0] : [element];
}

/**
 * A JSON value of an example's input; with `asCode` a JavaScript expression, which is short however large the value is.
 */
export function exampleValue({ shape, ...input }: ExampleInput, asCode: boolean): string {
  const repeat = asCode
    ? (inner: string, size: number) => `Array(${size}).fill(${inner})`
    : (inner: string, size: number) => `[${new Array(size).fill(inner).join()}]`;
  return shape.reduceRight(repeat, elementText(input));
}

/** Characters that no one reads, such as those of lines. */
const CONTROL = /\p{Cc}/u;

/** Bytes other than text are written as TensorFlow Serving takes them. */
function elementText({ dtype, element }: Pick<ExampleInput, "dtype" | "element">): string {
  if (typeof element === "number") return dtype === "bool" ? String(element === 1) : String(element);
  const bytes = Buffer.from(element);
  const text = bytes.toString();
  const isText = isUtf8(bytes) && !CONTROL.test(text);
  return JSON.stringify(isText ? text : { b64: bytes.toString("base64") });
}
