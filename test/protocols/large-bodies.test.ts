import { describe, expect, test } from "vitest";
import { startServer } from "../helpers/start-server.ts";

const COUNT = 200_000;
const TEXTS = JSON.stringify(Array.from({ length: COUNT }, (_, index) => `text ${index}`));
const OBJECTS = JSON.stringify(Array.from({ length: COUNT }, (_, index) => ({ x: index })));
const LOOKS_LIKE = '{"dtype":"bytes","shape":[0],"data":[]}';
const FORM = new FormData();
FORM.set("strings_x", Array.from({ length: COUNT }, (_, index) => `text ${index}`).join());

const V2 = `{"inputs": [{"name": "x", "datatype": "BYTES", "shape": [${COUNT}], "data": ${TEXTS}}]}`;
const CLASSES = `{"inputs": [{"name": "x", "datatype": "FP32", "shape": [${COUNT}], "data": [${new Array(COUNT).fill("0.5")}]}],
  "outputs": [{"name": "x", "parameters": {"classification": ${COUNT}}}]}`;

/** Bodies that take long to decode and to encode, with what the answer has. */
const LARGE: readonly (readonly [what: string, path: string, body: string | FormData, answer: string])[] = [
  ["texts in rows", "/v1/models/default:predict", `{"instances": ${TEXTS}}`, `"text ${COUNT - 1}"`],
  ["objects in rows", "/v1/models/default:predict", `{"instances": ${OBJECTS}}`, `${COUNT - 1}`],
  ["texts in columns", "/v1/models/default:predict", `{"inputs": {"x": ${TEXTS}}}`, `"text ${COUNT - 1}"`],
  ["texts of KServe", "/v2/models/default/infer", V2, `"text ${COUNT - 1}"`],
  ["classes of KServe", "/v2/models/default/infer", CLASSES, `0.500000:${COUNT - 1}"`],
  [
    "the original's JSON",
    "/predict",
    `{"inputs": {"x": {"dtype": "string", "data": ${TEXTS}}}}`,
    `"text ${COUNT - 1}"`,
  ],
  ["PredictJSON with empty lists", "/serving-proxy", `{"x": [${new Array(COUNT).fill("[]")}]}`, "[],[]"],
  [
    "PredictJSON with what looks like tensors",
    "/serving-proxy",
    `{"x": [${new Array(COUNT / 4).fill(LOOKS_LIKE)}]}`,
    LOOKS_LIKE,
  ],
  ["a form", "/predict", FORM, `"text ${COUNT - 1}"`],
];

describe("a large body", () => {
  test.each(LARGE)("of %s is answered after a small request that came later", async (_, path, body, answer) => {
    const { httpUrl } = await startServer({ stages: [{ driver: "null" }] });
    const order: string[] = [];
    const headers = typeof body === "string" ? { "content-type": "application/json" } : {};
    const large = fetch(httpUrl + path, { method: "POST", body, headers }).then(async (response) => {
      order.push("large");
      return response.text();
    });
    await small(httpUrl);
    await small(httpUrl);
    order.push("small");
    expect((await large).slice(-100)).toContain(answer);
    expect(order).toEqual(["small", "large"]);
  });
});

async function small(url: string): Promise<void> {
  const response = await fetch(`${url}/v1/models/default:predict`, { method: "POST", body: '{"instances": [1]}' });
  expect(await response.json()).toEqual({ predictions: [1] });
}
