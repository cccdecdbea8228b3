import type { ExampleInput } from "../../signature/example-inputs.ts";
import { shellQuoted } from "../../text/shell-word.ts";
import { exampleTensorProto } from "./example-tensor-proto.ts";
import { exampleValue } from "./example-value.ts";

/** The model that is served, and its address. */
export interface ExampleTarget {
  readonly name: string;
  readonly inputs: readonly ExampleInput[];
  readonly grpcAddress: string;
  readonly httpUrl?: string;
  /** True for a server with a certificate, which may not be for the name by which the line calls it. */
  readonly isEncrypted?: boolean;
}

/** Up to so many elements a value is written out. */
const MAX_INLINE_ELEMENTS = 24;

/** A shell line that sends a request with the inputs. Over HTTP where that is served, else over gRPC. */
export function exampleRequest(target: ExampleTarget): string {
  const { inputs } = target;
  const hasJsonForm = inputs.every(({ dtype }) => !dtype.startsWith("complex"));
  return target.httpUrl !== undefined && hasJsonForm
    ? curlLine(`${target.httpUrl}/v1/models/${encodeURIComponent(target.name)}:predict`, inputs)
    : grpcLine(target);
}

function curlLine(url: string, inputs: readonly ExampleInput[]): string {
  const count = inputs.reduce((sum, { shape }) => sum + shape.reduce((product, size) => product * size, 1), 0);
  const members = inputs.map(
    (input) => `${JSON.stringify(input.name)}:${exampleValue(input, count > MAX_INLINE_ELEMENTS)}`,
  );
  const body = `{"inputs":{${members.join()}}}`;
  const curl = url.startsWith("https:") ? "curl -k" : "curl";
  if (count <= MAX_INLINE_ELEMENTS) return `${curl} ${url} -d ${shellQuoted(body)}`;
  return `node -p ${shellQuoted(`JSON.stringify(${body})`)} | ${curl} ${url} -d @-`;
}

/** Needs no files: the client reads the schema by reflection. */
function grpcLine({ name, grpcAddress, inputs, isEncrypted = false }: ExampleTarget): string {
  const protos = Object.fromEntries(inputs.map((input) => [input.name, exampleTensorProto(input)]));
  const body = JSON.stringify({ model_spec: { name }, inputs: protos });
  // Not for its own name, perhaps.
  const [scheme, options] = isEncrypted ? ["https", "--insecure"] : ["http", "--http2-prior-knowledge"];
  const [, path] = /^unix:(.*)$/.exec(grpcAddress) ?? [];
  const place = path === undefined ? grpcAddress : "localhost";
  const socket = path === undefined ? "" : `--unix-socket ${shellQuoted(path)} `;
  const url = `${scheme}://${place}/tensorflow.serving.PredictionService/Predict`;
  return `npx @bufbuild/buf curl --protocol grpc ${options} ${socket}${url} -d ${shellQuoted(body)}`;
}
