import { type ErrorCode, ServingError } from "../../errors.ts";
import type { ProtocolSettings } from "../../platform/limits/settings/server-settings.ts";
import type { ServableDescription } from "../../serving/servable-description.ts";
import { type ChosenSignature, chooseSignature } from "../../tensor/signature/choose-signature.ts";
import type { Signature, TensorSpec } from "../../tensor/signature/signature.ts";
import type { PredictRequest } from "./grpc-codec.ts";
import { checkMethodName } from "./method-names.ts";

/**
 * Chooses a request's signature and checks its input names as TensorFlow Serving does, with the texts that its clients
 * assert on; if it is asked for, its method name too. What a servable does not tell is not checked,
 * and neither are dtypes and shapes.
 */
export function checkSignature(
  request: PredictRequest,
  servable: ServableDescription,
  settings?: ProtocolSettings,
): ChosenSignature {
  const { signature: name } = request.spec;
  const sent = Object.keys(request.inputs);
  const chosen = chooseSignature(name, servable.signatures, { inputs: sent, outputs: request.outputFilter });
  if (chosen === undefined) throw refusal(`Serving signature key "${name}" not found.`, "failed_precondition");
  const { spec } = chosen;
  checkMethodName("predict", spec, settings);
  if (spec?.inputs !== undefined) checkInputNames(sent, spec.inputs);
  return chosen;
}

function checkInputNames(sent: readonly string[], specs: readonly TensorSpec[]): void {
  const names = specs.map((spec) => spec.name);
  const defaults = specs.filter((spec) => spec.default !== undefined).map((spec) => spec.name);
  if (sent.length > names.length || (sent.length < names.length && defaults.length === 0)) {
    throw wrongCount(sent, names);
  }
  const absent = specs.filter(({ name }) => !sent.includes(name) && !defaults.includes(name));
  const [first] = absent.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  if (first !== undefined) throw missing(first, sent, defaults);
  const used = sent.filter((name) => names.includes(name));
  if (used.length === sent.length) return;
  throw refusal(`Inputs contains invalid name. Used request inputs: ${list(used)}, request input: ${list(sent)}`);
}

function wrongCount(sent: readonly string[], names: readonly string[]): ServingError {
  const extra = sent.filter((name) => !names.includes(name));
  const absent = names.filter((name) => !sent.includes(name));
  return refusal(
    `input size does not match signature: ${sent.length}!=${names.length} len({${list(sent)}}) != len({${list(names)}}). ` +
      `Sent extra: {${list(extra)}}. Missing but required: {${list(absent)}}.`,
  );
}

function missing(
  { name, nativeName = name }: TensorSpec,
  sent: readonly string[],
  defaults: readonly string[],
): ServingError {
  return refusal(
    `Signature input alias: ${name}(feed name: ${nativeName}) not found in request and no default value provided. ` +
      `Inputs expected to be in the request {${list(sent)}}, or default input alias set: ${list(defaults)}`,
  );
}

/**
 * The outputs that a filter wants; undefined = all. Throws `invalid_argument`, with TensorFlow Serving's text, for
 * names that are not outputs, unless these are ignored, and for repeated ones.
 */
export function wantedOutputs(
  filter: readonly string[],
  spec: Signature | undefined,
  settings?: Pick<ProtocolSettings, "ignoreUnknownOutputs">,
): readonly string[] | undefined {
  const { outputs } = spec ?? {};
  const isKnown = (name: string) => outputs === undefined || outputs.some((output) => output.name === name);
  const wanted = settings?.ignoreUnknownOutputs === true ? filter.filter(isKnown) : filter;
  if (spec !== undefined) checkOutputFilter(wanted, outputs);
  return wanted.length > 0 ? wanted : undefined;
}

function checkOutputFilter(filter: readonly string[], specs: readonly TensorSpec[] | undefined): void {
  const names = specs?.map((spec) => spec.name);
  const seen = new Set<string>();
  for (const name of filter) {
    if (names !== undefined && !names.includes(name)) {
      const known = list(names);
      throw refusal(
        `output tensor alias not found in signature: ${name} Outputs expected to be in the set {${known}}.`,
      );
    }
    if (seen.has(name)) throw refusal(`duplicate output tensor alias: ${name}`);
    seen.add(name);
  }
}

function list(names: readonly string[]): string {
  return names.toSorted().join(",");
}

function refusal(message: string, code: ErrorCode = "invalid_argument"): ServingError {
  return new ServingError(code, message);
}
