import { defaultSignatureName, type Signature, type TensorSpec } from "../../signature/signature.ts";
import { exampleTensorProto } from "./example-tensor-proto.ts";
import { exampleShape, exampleValue } from "./example-value.ts";

/** What is served, and where. */
export interface ExampleTarget {
  readonly name: string;
  readonly signatures: Readonly<Record<string, Signature>>;
  readonly grpcAddress: string;
  readonly httpUrl?: string;
}

/** Up to so many elements a value is written out. */
const MAX_INLINE_ELEMENTS = 24;

/** A shell line that sends a request the model accepts: its input names, dtypes and the smallest shapes. Over HTTP where that is served, else over gRPC. */
export function exampleRequest(target: ExampleTarget): string {
  const specs = exampleInputs(target.signatures);
  const hasJsonForm = specs.every(({ dtype }) => !dtype.startsWith("complex"));
  return target.httpUrl !== undefined && hasJsonForm
    ? curlLine(`${target.httpUrl}/v1/models/${encodeURIComponent(target.name)}:predict`, specs)
    : grpcLine(target, specs);
}

/** Inputs that must be given; where the names are not known, one that a pipeline of any names takes. */
function exampleInputs(signatures: ExampleTarget["signatures"]): readonly TensorSpec[] {
  const signature = signatures[defaultSignatureName(signatures)];
  const specs = signature?.inputs ?? [{ name: "x", dtype: "float32", shape: [3] } satisfies TensorSpec];
  return specs.filter((spec) => spec.default === undefined);
}

function curlLine(url: string, specs: readonly TensorSpec[]): string {
  const count = specs.reduce((sum, spec) => sum + exampleShape(spec).reduce((product, size) => product * size, 1), 0);
  const members = specs.map(
    (spec) => `${JSON.stringify(spec.name)}:${exampleValue(spec, count > MAX_INLINE_ELEMENTS)}`,
  );
  const body = `{"inputs":{${members.join()}}}`;
  if (count <= MAX_INLINE_ELEMENTS) return `curl ${url} -d ${quote(body)}`;
  return `node -p ${quote(`JSON.stringify(${body})`)} | curl ${url} -d @-`;
}

/** Needs no files: the server tells its schema through reflection. */
function grpcLine({ name, grpcAddress }: ExampleTarget, specs: readonly TensorSpec[]): string {
  const inputs = Object.fromEntries(specs.map((spec) => [spec.name, exampleTensorProto(spec)]));
  const body = JSON.stringify({ model_spec: { name }, inputs });
  const url = `http://${grpcAddress}/tensorflow.serving.PredictionService/Predict`;
  return `npx @bufbuild/buf curl --protocol grpc --http2-prior-knowledge ${url} -d ${quote(body)}`;
}

function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
