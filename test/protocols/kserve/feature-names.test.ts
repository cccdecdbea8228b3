import { join } from "node:path";
import { expect, test } from "vitest";
import { connectKserve } from "../../helpers/kserve-grpc.ts";
import { startServer } from "../../helpers/start-server.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";

const FEATURES = ["width", 'height, or "depth"'];
const NAMES = JSON.stringify(FEATURES);
const DRIVER = `
import { defineDriver } from "kserving";
const input = { name: "input", dtype: "float64", shape: [-1, 2], features: ${NAMES} };
export default defineDriver({
  name: "rows",
  options: {},
  pathless: true,
  load: async () => ({
    signatures: { serving_default: { suggestedInputs: [input] } },
    predict: async (inputs) => inputs,
    close: async () => {},
  }),
});`;

test("metadata of a model whose requests are long points to the document that has one", async () => {
  const inputs = Array.from(
    { length: 33 },
    (_, index) => ({ name: `x${index}`, dtype: "float32", shape: [-1] }) as const,
  );
  const hooks = (count: number) => ({ inputs: inputs.slice(0, count), process: () => ({ y: 1 }) });
  const { httpUrl } = await startServer({
    models: { wide: { driver: "null", hooks: hooks(33) }, narrow: { driver: "null", hooks: hooks(32) } },
  });
  const read = async (path: string) => (await (await fetch(httpUrl + path)).json()) as Record<string, Told>;
  const { parameters } = await read("/v2/models/wide");
  expect(parameters).toEqual({ docs: "/v2/models/wide/openapi.json" });
  expect(JSON.stringify(await read(parameters?.docs ?? ""))).toContain('"name":"x32"');
  expect((await read("/v2/models/narrow")).parameters).toEqual({ sample_request: expect.any(String) });
});

interface Told {
  readonly docs?: string;
}

test("metadata names the features of a model's rows, as the text of a list", async () => {
  const driver = join(tempFolder({ "rows.ts": DRIVER }), "rows.ts");
  const { httpUrl, grpcAddress } = await startServer({ stages: [{ driver }] });
  const input = { name: "input", datatype: "FP64" };
  const overHttp = (await (await fetch(`${httpUrl}/v2/models/default`)).json()) as { inputs: unknown };
  expect(overHttp.inputs).toEqual([{ ...input, shape: [-1, 2], parameters: { feature_names: NAMES } }]);
  const { inputs } = await connectKserve(grpcAddress)("ModelMetadata", { name: "default" });
  const parameters = { feature_names: expect.objectContaining({ string_param: NAMES }) };
  expect(inputs).toEqual([{ ...input, shape: ["-1", "2"], parameters }]);
});
