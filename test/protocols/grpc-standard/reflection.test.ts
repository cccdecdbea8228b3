import { execFile } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { promisify } from "node:util";
import { Client, credentials, status } from "@grpc/grpc-js";
import { describe, expect, it, onTestFinished } from "vitest";
import { startNullServer } from "../../grpc/start-null-server.ts";

const run = promisify(execFile);
const require = createRequire(import.meta.url);
const BUF = require.resolve("@bufbuild/buf/bin/buf");
const TSX = require.resolve("tsx/cli");
const SERVICE = "tensorflow.serving.PredictionService";
const STATUS = "tensorflow.serving.ModelService/GetModelStatus";

/** `buf curl`, which knows of the server nothing but what reflection tells it. */
async function bufCurl(...flags: string[]): Promise<string> {
  const { grpcAddress } = await startNullServer();
  const url = `http://${grpcAddress}/${flags.at(-1)}`;
  const common = ["--http2-prior-knowledge", "--protocol", "grpc"];
  return (await run(process.execPath, [BUF, "curl", ...common, ...flags.slice(0, -1), url])).stdout;
}

describe.each(["grpc-v1", "grpc-v1alpha"])("a client of reflection %s", (version) => {
  it("sends a Predict written in JSON", async () => {
    const body = {
      modelSpec: { name: "default", version: "1" },
      inputs: { x: { dtype: "DT_FLOAT", tensorShape: { dim: [{ size: "2" }] }, floatVal: [1, 2.5] } },
    };
    const answer = await bufCurl("--reflect-protocol", version, "-d", JSON.stringify(body), `${SERVICE}/Predict`);
    expect(JSON.parse(answer)).toEqual({
      outputs: body.inputs,
      modelSpec: { name: "default", version: "1", signatureName: "serving_default" },
    });
  });
});

describe("a client of reflection", () => {
  it("sends a PredictJSON and a health check", async () => {
    const jsonString = Buffer.from('{"x":[1,2]}').toString("base64");
    expect(JSON.parse(await bufCurl("-d", JSON.stringify({ jsonString }), `${SERVICE}/PredictJSON`))).toEqual({
      jsonString,
    });
    expect(JSON.parse(await bufCurl("-d", "{}", "grpc.health.v1.Health/Check"))).toEqual({ status: "SERVING" });
  });

  it("sees every method", async () => {
    const methods = (await bufCurl("--list-methods", "")).trim().split("\n");
    const health = ["Check", "List", "Watch"].map((name) => `grpc.health.v1.Health/${name}`);
    expect(methods).toEqual(
      expect.arrayContaining([...health, `${SERVICE}/Predict`, `${SERVICE}/PredictJSON`, STATUS]),
    );
    expect(methods.filter((name) => name.startsWith("inference.GRPCInferenceService/"))).toHaveLength(20);
  });
});

/** Asks once, in bytes of the protocol. */
async function askInBytes(request: Buffer): Promise<Buffer> {
  const { grpcAddress } = await startNullServer();
  const client = new Client(grpcAddress, credentials.createInsecure());
  onTestFinished(() => client.close());
  const asIs = (bytes: Buffer) => bytes;
  const stream = client.makeBidiStreamRequest("/grpc.reflection.v1.ServerReflection/ServerReflectionInfo", asIs, asIs);
  stream.end(request);
  const [answer] = await once(stream, "data");
  return answer;
}

describe("a request of reflection in bytes", () => {
  it("for what is not there gets an answer that says so", async () => {
    const name = "no.such.Symbol";
    const answer = await askInBytes(Buffer.concat([Buffer.of(0x22, name.length), Buffer.from(name)]));
    expect(String(answer)).toContain("Symbol not found: no.such.Symbol");
  });

  it("of thousands of fields is refused", async () => {
    const asked = askInBytes(Buffer.alloc(10_000, Buffer.of(0x1a, 0)));
    await expect(asked).rejects.toMatchObject({
      code: status.INVALID_ARGUMENT,
      details: expect.stringContaining("10000 bytes"),
    });
  });
});

it("the commands in docs/grpc.md work as they stand", async () => {
  const { grpcAddress } = await startNullServer();
  const page = readFileSync(new URL("../../../docs/grpc.md", import.meta.url), "utf8");
  const commands = [...page.matchAll(/```sh\n(.*?)```/gs)].map(([, command]) => command as string);
  const outputs: string[] = [];
  for (const command of commands) {
    const here = command.replace("npx buf", `"${process.execPath}" "${BUF}"`).replace("127.0.0.1:9000", grpcAddress);
    outputs.push((await run("sh", ["-c", here])).stdout);
  }
  expect(outputs).toEqual([expect.stringContaining(`${SERVICE}/Predict\n`), expect.stringContaining('"floatVal"')]);
});

it("the committed descriptors are those of the .proto files", async () => {
  await run(process.execPath, [TSX, "scripts/generate-descriptors.ts", "--check"]);
});
