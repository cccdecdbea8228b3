import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { startServer } from "../helpers/start-server.ts";
import { tempFolder } from "../helpers/temp-folder.ts";

const COUNT = 200_000;
const TEXTS = JSON.stringify(Array.from({ length: COUNT }, (_, index) => `text ${index}`));
const OBJECTS = JSON.stringify(Array.from({ length: COUNT }, (_, index) => ({ x: index })));
const LOOKS_LIKE = '{"dtype":"bytes","shape":[0],"data":[]}';
const FORM = new FormData();
FORM.set("strings_x", Array.from({ length: COUNT }, (_, index) => `text ${index}`).join());

const V2 = `{"inputs": [{"name": "x", "datatype": "BYTES", "shape": [${COUNT}], "data": ${TEXTS}}]}`;
const CLASSES = `{"inputs": [{"name": "x", "datatype": "FP32", "shape": [${COUNT}], "data": [${new Array(COUNT).fill("0.5")}]}],
  "outputs": [{"name": "x", "parameters": {"classification": ${COUNT}}}]}`;

const HOOKS = "export const process = ({ x, name }: any) => ({ length: x.length, name });";

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

/** Large JSON for hooks, with what they get of it: kinds of values that take long in different ways. */
const FOR_HOOKS: readonly (readonly [what: string, x: string, length: number])[] = [
  ["lists", `[${new Array(4 * COUNT).fill("[]")}]`, 4 * COUNT],
  ["objects", OBJECTS, COUNT],
  ["numbers", `[${new Array(8 * COUNT).fill("0.5")}]`, 8 * COUNT],
  ["one text", `"${"\\n".repeat(8 * COUNT)}"`, 8 * COUNT],
];

describe("large JSON for hooks", () => {
  const serve = (workers: number) =>
    startServer({ stages: [{ driver: "null" }], hooks: join(tempFolder({ "hooks.ts": HOOKS }), "hooks.ts"), workers });
  const json = (url: string, body: string) => fetch(`${url}/serving-proxy`, { method: "POST", body });

  test.each(FOR_HOOKS)("with %s lets the same thread answer a small request that came later", async (_, x, length) => {
    const { httpUrl } = await serve(1);
    const order: string[] = [];
    const large = json(httpUrl, `{"x":${x},"name":"large"}`).then((response) => {
      order.push("large");
      return response.json();
    });
    for (const _ of [1, 2, 3])
      expect(await (await json(httpUrl, '{"x":[1],"name":"small"}')).json()).toEqual({ length: 1, name: "small" });
    order.push("small");
    expect(await large).toEqual({ length, name: "large" });
    expect(order).toEqual(["small", "large"]);
  });

  test.each([0, 1])("is refused for the same reasons as small JSON, with %d workers", async (workers) => {
    const { httpUrl } = await serve(workers);
    const space = " ".repeat(2_000_000);
    for (const bad of ['{"x":[1,]}', "[1]", '{"x":1,"ml-serving-ignore":true}', `{"x":${"[".repeat(1001)}`, '{"x":"']) {
      const [one, other] = [await json(httpUrl, bad), await json(httpUrl, bad + space)];
      expect([one.status, other.status]).toEqual([400, 400]);
      const errors = [await one.json(), await other.json()].map((body) =>
        String((body as { error: unknown }).error).replace(/, ".*| in JSON.*/s, ""),
      );
      expect(errors[1]).toBe(errors[0]);
    }
    expect(await (await json(httpUrl, `{"x":[1]${space}}`)).json()).toEqual({ length: 1 });
  });
});

async function small(url: string): Promise<void> {
  const response = await fetch(`${url}/v1/models/default:predict`, { method: "POST", body: '{"instances": [1]}' });
  expect(await response.json()).toEqual({ predictions: [1] });
}
