import { invalidArgument } from "../../errors.ts";
import type { JsonInput } from "./http-request.ts";
import type { SharedInput } from "./kserve-request.ts";
import { readPlace } from "./read-place.ts";

/** The inputs of a request by where their values are. */
interface SplitInputs {
  /** In the message. */
  readonly sent: readonly JsonInput[];
  /** In shared memory; undefined = none is. */
  readonly shared: readonly SharedInput[] | undefined;
}

/** Divides inputs by where their values are; throws `invalid_argument` for one that states several places. */
export function splitInputs(inputs: readonly JsonInput[]): SplitInputs {
  const sent: JsonInput[] = [];
  const shared: SharedInput[] = [];
  for (const input of inputs) {
    const place = readPlace(input.parameters, input.name);
    if (place === undefined) {
      sent.push(input);
      continue;
    }
    assertNotSent(input);
    const { name, datatype, shape } = input;
    shared.push({ head: { name, datatype, shape }, place });
  }
  return { sent, shared: shared.length > 0 ? shared : undefined };
}

function assertNotSent({ name, data, parameters }: JsonInput): void {
  const isBinary = parameters.has("binary_data_size");
  if (data === undefined && !isBinary) return;
  const set = [...(data === undefined ? [] : ["'data'"]), ...(isBinary ? ["'binary_data_size'"] : [])].join(" ");
  throw invalidArgument(
    "Input must set only one of the following fields: 'data', 'binary_data_size' in 'parameters', " +
      `'shared_memory_region' in 'parameters'. But set ${set} 'shared_memory_region' for input '${name}'`,
  );
}
