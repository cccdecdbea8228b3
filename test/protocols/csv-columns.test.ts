import { expect, test } from "vitest";
import type { ModelRef } from "../../src/serving/inference-service.ts";
import type { ServableDescription } from "../../src/serving/servable-description.ts";
import { ScriptedService } from "../grpc/scripted-service.ts";
import { serveHttp } from "../proxy/serve-http.ts";

/** A model whose signatures take the same columns, one as numbers and one as texts. */
class Tables extends ScriptedService {
  override describe(ref: ModelRef): ServableDescription {
    const of = (dtype: "float64" | "bytes") => ({
      inputs: ["zip", "age"].map((name) => ({ name, dtype: name === "zip" ? dtype : "float64", shape: [-1] }) as const),
    });
    return { ...super.describe(ref), signatures: { serving_default: of("float64"), texts: of("bytes") } };
  }
}

const NUMBERS = Float64Array.of(1234, 1234);

/** Beyond this a codec thread reads it. */
const MANY = 20_000;

test.each([
  { path: "/predict/default", rows: 2, data: NUMBERS },
  // Handlers are looked for before.
  { path: "/invocations", rows: 2, data: NUMBERS, leases: 2 },
  { path: "/predict/default/texts", rows: 2 },
  { path: "/predict/default/texts", rows: MANY },
])("CSV of $rows rows at $path is read by the columns of the signature that runs, in its lease", async (sample) => {
  const { path, rows, data, leases = 1 } = sample;
  const service = new Tables();
  const { url } = await serveHttp(service);
  const body = `zip,age\n${"01234,1\n".repeat(rows)}`;
  const answer = await fetch(`${url}${path}`, { method: "POST", body, headers: { "content-type": "text/csv" } });
  expect([answer.status, await answer.text()]).toEqual([200, expect.any(String)]);
  expect([service.acquired, service.leases]).toEqual([leases, 0]);
  const [request] = service.requests;
  const zip = request?.inputs.kind === "tensors" ? request.inputs.tensors.zip : undefined;
  expect(zip?.shape).toEqual([rows]);
  if (data !== undefined) expect(zip?.data).toEqual(data);
  else expect(String(Buffer.from(zip?.data[0] as Uint8Array))).toBe("01234");
});
