import { credentials } from "@grpc/grpc-js";
import { describe, expect, it, onTestFinished } from "vitest";
import { datatypeOf } from "../../../src/protocols/kserve/datatype.ts";
import { writeAnswer } from "../../../src/protocols/kserve/http-response.ts";
import type { KserveAnswer } from "../../../src/protocols/kserve/kserve-answer.ts";
import { rawSize, toRaw } from "../../../src/protocols/kserve/raw-tensor.ts";
import { DTYPES, type DType } from "../../../src/tensor/dtype.ts";
import type { Tensor } from "../../../src/tensor/tensor.ts";
import type { Plain } from "../../grpc/oracle.ts";
import { Random } from "../../grpc/random.ts";
import { startServer } from "../../helpers/start-server.ts";
import { KserveClient } from "./kserve-oracle.ts";

const ROUNDS = 60;
const CARRIED = DTYPES.filter((dtype) => datatypeOf(dtype) !== undefined);
const TYPED = CARRIED.filter((dtype) => datatypeOf(dtype)?.contents !== undefined);
const FORM = { isStrict: false, outputs: [] };

function randomTensors(random: Random, dtypes: readonly DType[]): Tensor[] {
  return Array.from({ length: 1 + random.below(3) }, () => random.tensor(random.pick(dtypes)));
}

function nameOf({ dtype }: Tensor): string {
  return datatypeOf(dtype)?.name ?? "";
}

function toAnswer(tensors: readonly Tensor[]): KserveAnswer {
  const outputs = tensors.map((tensor, index) => {
    return { name: `x${index}`, datatype: nameOf(tensor), shape: tensor.shape, tensor };
  });
  return { model: "default", version: 1n, id: "7", outputs, metadata: {} };
}

/** The answer that an echo gives, and what it is to be asked with. */
function asJson(tensors: readonly Tensor[]) {
  const answer = writeAnswer(toAnswer(tensors), { ...FORM, isBinary: false }).json.toString();
  return { answer, request: answer.replace('"outputs":', '"inputs":') };
}

async function connect() {
  const { httpUrl, grpcAddress } = await startServer({ stages: [{ driver: "null" }] });
  const client = new KserveClient(grpcAddress, credentials.createInsecure());
  onTestFinished(() => client.close());
  const infer = (request: Plain) =>
    new Promise<Plain>((resolve, reject) => {
      const done = (error: Error | null, answer: Plain) => (error === null ? resolve(answer) : reject(error));
      (client.ModelInfer as (request: Plain, done: unknown) => void).call(client, request, done);
    });
  const post = async (body: string | Buffer, headers: Record<string, string> = {}) => {
    const response = await fetch(`${httpUrl}/v2/models/default/infer`, { method: "POST", body, headers });
    const bytes = Buffer.from(await response.arrayBuffer());
    expect([response.status, response.status === 200 ? "" : bytes.toString()]).toEqual([200, ""]);
    const length = Number(response.headers.get("inference-header-content-length") ?? bytes.length);
    return { json: bytes.toString("utf8", 0, length), binary: bytes.subarray(length) };
  };
  return { infer, post };
}

describe("any tensors come back from an echo as they were sent", () => {
  it("over HTTP in JSON, to the last letter", async () => {
    const { post } = await connect();
    const random = new Random(21);
    for (let round = 0; round < ROUNDS; round++) {
      const { request, answer } = asJson(randomTensors(random, CARRIED));
      expect((await post(request)).json).toBe(answer);
    }
  });

  it("over HTTP in binary form, to the last bit, and from it in JSON", async () => {
    const { post } = await connect();
    const random = new Random(22);
    for (let round = 0; round < ROUNDS; round++) {
      const tensors = randomTensors(random, CARRIED);
      const raws = tensors.map(toRaw);
      const send = (parameters: object) => {
        const inputs = tensors.map((tensor, index) => ({
          name: `x${index}`,
          datatype: nameOf(tensor),
          shape: tensor.shape,
          parameters: { binary_data_size: rawSize(tensor) },
        }));
        const json = Buffer.from(JSON.stringify({ id: "7", parameters, inputs }));
        return post(Buffer.concat([json, ...raws]), { "inference-header-content-length": String(json.length) });
      };
      expect((await send({ binary_data_output: true })).binary).toEqual(Buffer.concat(raws));
      expect((await send({})).json).toBe(asJson(tensors).answer);
    }
  });

  it("over gRPC in raw contents, to the last bit", async () => {
    const { infer } = await connect();
    const random = new Random(23);
    for (let round = 0; round < ROUNDS; round++) {
      const tensors = randomTensors(random, CARRIED);
      const inputs = tensors.map((tensor, index) => ({
        name: `x${index}`,
        datatype: nameOf(tensor),
        shape: tensor.shape,
      }));
      const raws = tensors.map((tensor) => Buffer.from(toRaw(tensor)));
      const answer = await infer({ model_name: "default", inputs, raw_input_contents: raws });
      expect(answer.raw_output_contents).toEqual(raws);
      expect(answer.outputs).toMatchObject(inputs.map((input) => ({ ...input, shape: input.shape.map(String) })));
    }
  });

  it("over gRPC in typed contents", async () => {
    const { infer } = await connect();
    const random = new Random(24);
    for (let round = 0; round < ROUNDS; round++) {
      const inputs = randomTensors(random, TYPED).map((tensor, index) => {
        const field = datatypeOf(tensor.dtype)?.contents?.name as string;
        const values = Array.from(tensor.data as Iterable<number | bigint | Uint8Array>, toProto);
        const contents = { [field]: tensor.dtype === "bool" ? values.map(Boolean) : values };
        return { name: `x${index}`, datatype: nameOf(tensor), shape: tensor.shape, contents };
      });
      const { outputs } = await infer({ model_name: "default", inputs });
      expect(outputs).toMatchObject(inputs.map(({ name, contents }) => ({ name, contents })));
    }
  });
});

function toProto(value: number | bigint | Uint8Array): unknown {
  if (typeof value === "bigint") return String(value);
  return typeof value === "number" ? value : Buffer.from(value);
}
