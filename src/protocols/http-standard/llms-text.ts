import type { InferenceService } from "../../serving/inference-service.ts";
import {
  defaultSignatureName,
  type KnownInput,
  knownInputs,
  type Signature,
  takesImages,
  toSize,
} from "../../tensor/signature/signature.ts";
import { readVersion } from "../../version.ts";
import type { Endpoint } from "../endpoint-paths.ts";
import { exampleRow, exampleValues } from "../example-values.ts";
import { datatypeOf } from "../kserve/datatype.ts";
import { describeAll, type NamedSignature } from "../kserve/describe-all.ts";
import { describeModel } from "../kserve/model-ref.ts";
import { documentPath } from "../kserve/openapi.ts";
import { textExample } from "../openai/text-example.ts";

/** The description of the text, for OpenAPI. */
export const LLMS_ENDPOINT: Endpoint = {
  ...{ method: "GET", path: "/llms.txt", summary: "Tell in text what is served, and how to call it" },
  contentType: "text/plain",
  schemas: { answer: { type: "string" } },
};

/** Inputs or outputs that are told one by one; a wide model has thousands. */
const MAX_LISTED = 50;
/** Columns, labels or known values of one of them. */
const MAX_VALUES = 20;
/** Inputs and outputs of signatures beside the usual ones, of all models. */
const MAX_FURTHER = 500;

/** Parts of a server that the text points to. */
interface Documented {
  readonly page: boolean;
  readonly mcp: boolean;
  /** Checks for a protocol that is not left out. */
  readonly serves: (protocol: string) => boolean;
}

/**
 * The text for language models (llmstxt.org) about all that is served: every model that the caller may know of with its
 * inputs, its outputs and a request whose values are of the right kind.
 */
export async function llmsText(service: InferenceService, has: Documented): Promise<string> {
  const models = await describeAll(service);
  const left = { tensors: MAX_FURTHER };
  const about = models.map(async (model) => {
    const [name] = model;
    const text = has.serves("openai") ? await textExample(name, service) : undefined;
    const description = await describeModel(service, { model: name }).catch(() => undefined);
    const { signatures = {} } = description ?? {};
    return [...aboutModel(model, has, text), ...furtherSignatures(name, signatures, { has, left }), ""];
  });
  return [...head(has), "## Models", "", ...(await Promise.all(about)).flat()].join("\n");
}

function head({ page, mcp, serves }: Documented): readonly string[] {
  const documents = [
    ...(serves("kserve") ? [`- [All calls of KServe V2](${documentPath("")}): OpenAPI 3.1`] : []),
    ...(mcp ? ["- [Models as tools](/mcp): the Model Context Protocol, by POST, without sessions"] : []),
    ...(page ? ["- [All calls of all protocols](/docs/openapi.json): OpenAPI 3.1; for people at /docs"] : []),
    `- [Health](/health), ${serves("kserve") ? "[models](/v2/models), " : ""}[metrics](/metrics)`,
  ];
  return [
    "# kserving",
    "",
    `> A model server, version ${readVersion()}. ${howToCall({ page, mcp, serves })}`,
    "",
    '- Bytes that are not text, such as images, are {"b64": "BASE64"}. Null is a missing value where a model takes tables.',
    ...(serves("kibernetika") ? FORMS : []),
    "- The answer has a member for each output. Where the first dimension of an input is -1, it counts rows: send several at once.",
    '- An error is {"error": "…"}; beside it is its code in KServe V2 and /predict, and, where a name, a dtype or a shape is wrong, reason, field, expected, did_you_mean and docs.',
    "- 429 and 503 may be sent again after the seconds that Retry-After has; 400 and 404 may not.",
    "",
    ...documents,
    "",
  ];
}

/** Further forms of bodies of /predict. */
const FORMS = [
  "- CSV with a line of names goes with the header content-type: text/csv. Files go as multipart/form-data.",
];

/** The simplest way there is; without the two protocols that take plain JSON the documents say how. */
function howToCall({ page, mcp, serves }: Documented): string {
  if (serves("kibernetika"))
    return "POST JSON to /predict/NAME to run a model: an object with a value for each input, or a list of rows.";
  if (serves("tensorflow-serving"))
    return 'POST {"inputs": …} to /v1/models/NAME:predict to run a model: an object with a value for each input.';
  if (page || mcp || serves("kserve")) return "The documents below say how a model is run.";
  return "Clients of the protocols that it serves run its models.";
}

function aboutModel(
  [name, signature]: NamedSignature,
  { serves }: Documented,
  text: Awaited<ReturnType<typeof textExample>>,
): readonly string[] {
  const [inputs, outputs] = [knownInputs(signature), signature.outputs];
  const isForTexts = text !== undefined && inputs === undefined && outputs === undefined;
  return [
    `### ${oneLine(name)}`,
    "",
    ...(isForTexts ? [] : [...listed("input", inputs), ...listed("output", outputs)]),
    ...(text ? [`- a request of OpenAI's API: POST ${text.path} ${JSON.stringify(text.body)}`] : []),
    ...exampleOf(name, signature, serves),
    ...(serves("kserve") ? [`- [Its calls](${documentPath(name)}): OpenAPI 3.1`] : []),
  ];
}

/** Limits on further signatures that are told: parts of the server, and tensors of all models that are left. */
interface FurtherTold {
  readonly has: Documented;
  readonly left: { tensors: number };
}

/** A line for each signature beside the usual one, as far as a reader wants to know so many. */
function furtherSignatures(
  model: string,
  signatures: Readonly<Record<string, Signature>>,
  { has, left }: FurtherTold,
): readonly string[] {
  const usual = defaultSignatureName(signatures);
  const names = Object.keys(signatures).filter((name) => name !== usual);
  const told = names.slice(0, MAX_VALUES).filter((name) => {
    const { inputs = [], outputs = [] } = signatures[name] ?? {};
    const count = inputs.length + outputs.length;
    if (count > Math.min(MAX_LISTED, left.tensors)) return false;
    left.tensors -= count;
    return true;
  });
  const more = names.length - told.length;
  return [
    ...told.map((name) => aboutSignature(model, name, { signature: signatures[name] ?? {}, has })),
    ...(more > 0 ? [`- and ${more} signatures more`] : []),
  ];
}

function aboutSignature(
  model: string,
  name: string,
  { signature, has }: { readonly signature: Signature; readonly has: Documented },
): string {
  const all = (specs: readonly KnownInput[] | undefined) =>
    specs === undefined ? "what the model does not say" : specs.map(aboutTensor).join(", ") || "nothing";
  const said = `- signature ${oneLine(name)}: takes ${all(knownInputs(signature))}; gives ${all(signature.outputs)}`;
  const inputs = signature.method === undefined ? exampleValues(signature) : undefined;
  if (inputs === undefined || !has.serves("tensorflow-serving")) return said;
  const body = JSON.stringify({ signature_name: name, inputs });
  return `${said}; with values that are a guess: POST /v1/models/${encodeURIComponent(model)}:predict ${body}`;
}

function listed(role: "input" | "output", specs: readonly KnownInput[] | undefined): readonly string[] {
  if (specs === undefined) return [`- ${role}s: the model does not say`];
  const more = specs.length - MAX_LISTED;
  return [
    ...specs.slice(0, MAX_LISTED).map((spec) => `- ${role} ${aboutTensor(spec)}`),
    ...(more > 0 ? [`- and ${more} ${role}s more`] : []),
  ];
}

/** An input or output in words: its name, type and shape, and what its values mean. */
export function aboutTensor(spec: KnownInput): string {
  const { name, dtype, shape, labels, features, categories, default: value } = spec;
  const type = dtype === undefined ? "of any type" : (datatypeOf(dtype)?.name ?? dtype);
  const size = shape === undefined ? "of any shape" : `[${shape.map(toSize).join(", ")}]`;
  const notes = [
    ...(dtype !== undefined && takesImages({ ...spec, dtype }) ? ["or encoded images"] : []),
    ...(features ? [`columns: ${values(features)}`] : []),
    ...(categories ? [`one of ${values(categories)}`] : []),
    ...(labels ? [`by index: ${values(labels)}`] : []),
    ...(value ? ["may be left out"] : []),
  ];
  return oneLine([`${name}: ${type} ${size}`, ...notes].join("; "));
}

function values(all: readonly (string | number)[]): string {
  const more = all.length - MAX_VALUES;
  return `${all.slice(0, MAX_VALUES).join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}

/** A value that would be too long to be read is left out. */
function exampleOf(name: string, signature: Signature, serves: Documented["serves"]): readonly string[] {
  const path = encodeURIComponent(name);
  const row = exampleRow(signature);
  if (serves("kibernetika") && row !== undefined && Object.keys(row).length <= MAX_LISTED)
    return [`- a request, with values that are a guess, by column: POST /predict/${path} ${JSON.stringify([row])}`];
  const example = exampleValues(signature);
  if (example === undefined || Object.keys(example).length > MAX_LISTED) return [];
  // A member "inputs" would be taken for another form of /predict.
  const isPlain = serves("kibernetika") && !Object.hasOwn(example, "inputs");
  if (!isPlain && !serves("tensorflow-serving")) return [];
  const [call, body] = isPlain ? [`/predict/${path}`, example] : [`/v1/models/${path}:predict`, { inputs: example }];
  return [`- a request, with values that are a guess: POST ${call} ${JSON.stringify(body)}`];
}

/** Names come from files of models. */
function oneLine(text: string): string {
  return text.replace(/\p{Cc}+/gu, " ");
}
