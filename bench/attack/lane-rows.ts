import type { AttackRow, Target } from "./attack-row.ts";
import { tally } from "./attack-row.ts";
import { post } from "./http-attack.ts";
import { LANE_MODELS, LANE_NUMBERS } from "./lane-models.ts";

/** Requests after which runs in the main thread are usual. */
const CHEAP = 200;
const DEAR = 3;

/** Models whose runs are cheap until a request has values that make one dear. */
export const LANE_ROWS: readonly AttackRow[] = Object.keys(LANE_MODELS).map((name) => ({
  name: `lane-${name}`,
  server: "lane",
  prepare: () => async (target) => {
    const statuses: string[] = [];
    for (let sent = 0; sent < CHEAP; sent++) statuses.push(await infer(target, name, 0));
    for (let sent = 0; sent < DEAR; sent++) statuses.push(await infer(target, name, 1));
    return { got: tally(statuses) };
  },
}));

function infer(target: Target, model: string, value: number): Promise<string> {
  const data = Array.from({ length: LANE_NUMBERS }, (_, index) => (index === 0 ? 1 : value));
  const json = { inputs: [{ name: "x", shape: [LANE_NUMBERS], datatype: "FP32", data }] };
  return post(target, { path: `/v2/models/${model}/infer`, body: Buffer.from(JSON.stringify(json)) });
}
