import { parseExactJson, tensorFromJson } from "../../codecs/json/tensor-from-json.ts";
import { failedPrecondition, reasonText } from "../../errors.ts";
import { datatypeNamed } from "../../protocols/kserve/datatype.ts";
import { createTensors } from "../../tensor/tensor.ts";
import { inferBody } from "./infer-body.ts";
import type { DescribedTensor, KserveCaller } from "./kserve-caller.ts";
import type { ModelAddress } from "./model-address.ts";

/** Calls a model over HTTP with JSON, which every server of V2 takes. */
export function openHttpCaller(address: ModelAddress, authorization?: string): KserveCaller {
  const url = toModelUrl(address);
  const headers = authorization === undefined ? {} : { authorization };
  return {
    inputs: async () => {
      const { inputs = [] } = (await ask(url, { headers })) as { readonly inputs?: readonly DescribedTensor[] };
      return inputs;
    },
    predict: async (inputs) => {
      const sent = inferBody({ inputs }, false);
      const request = { method: "POST", body: sent.body, headers: { ...sent.headers, ...headers } };
      const { outputs = [] } = (await ask(`${url}/infer`, request)) as {
        readonly outputs?: readonly DescribedTensor[];
      };
      return createTensors(
        outputs.map((output) => [output.name, tensorFromJson(output.name, { ...output, dtype: typeOf(output) })]),
      );
    },
    close: () => {},
  };
}

/** The URL of a model, to which `/infer` is added. */
export function toModelUrl({ server, model, version }: ModelAddress): string {
  const chosen = version === undefined ? "" : `/versions/${version}`;
  return `${server}/v2/models/${encodeURIComponent(model)}${chosen}`;
}

function typeOf({ datatype }: DescribedTensor) {
  return datatypeNamed(datatype)?.dtype ?? datatype;
}

async function ask(url: string, request: RequestInit): Promise<unknown> {
  const answer = await fetch(url, request).catch((cause) => {
    throw failedPrecondition(`${url} does not answer: ${reasonText(cause.cause ?? cause)}.`, cause);
  });
  const text = await answer.text();
  if (answer.ok) return parseExactJson(text);
  throw failedPrecondition(`${url} answers with status ${answer.status}: ${text.slice(0, 300)}`);
}
