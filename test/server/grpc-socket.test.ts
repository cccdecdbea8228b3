import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { probePort } from "../../src/cli/addresses/probe-port.ts";
import { connect } from "../grpc/byte-client.ts";
import { oracle, type Plain } from "../grpc/oracle.ts";
import { startNullServer } from "../grpc/start-null-server.ts";
import { startServer } from "../helpers/start-server.ts";
import { tempFolder } from "../helpers/temp-folder.ts";

const PREDICT = "/tensorflow.serving.PredictionService/Predict";
const RELOAD = "/tensorflow.serving.ModelService/HandleReloadConfigRequest";
const x = { dtype: "DT_FLOAT", float_val: [2.5] };

async function predict(address: string): Promise<Plain> {
  const { bytes } = await connect(address).call(PREDICT, oracle.encodeRequest({ inputs: { x } }));
  return oracle.decodeResponse(bytes);
}

it("answers gRPC on a Unix socket and on the port, and removes the socket at the end", async () => {
  const grpcSocketPath = join(tempFolder(), "grpc.sock");
  const server = await startNullServer({ grpcSocketPath });
  const answers = await Promise.all([predict(`unix:${grpcSocketPath}`), predict(server.grpcAddress)]);
  for (const answer of answers) expect(answer).toMatchObject({ outputs: { x: { float_val: [2.5] } } });
  await server.close();
  expect(existsSync(grpcSocketPath)).toBe(false);
});

it("takes a client of the socket for one of this machine", async () => {
  const grpcSocketPath = join(tempFolder(), "grpc.sock");
  const ask = async (allowControl: "local" | "off") => {
    const server = await startNullServer({ grpcSocketPath, allowControl });
    const code = await connect(`unix:${grpcSocketPath}`)
      .call(RELOAD, Buffer.alloc(0))
      .catch((error) => error.code);
    await server.close();
    return code;
  };
  // An empty configuration is refused, though the client may send one.
  expect([await ask("local"), await ask("off")]).toEqual([3, 7]);
});

it("is the only way to gRPC where no port is wanted, whatever HTTP has", async () => {
  const grpcSocketPath = join(tempFolder(), "grpc.sock");
  const port = await probePort("127.0.0.1", 0, "port");
  const server = await startServer({
    ...{ stages: [{ driver: "null" }], port, grpcSocketPath, grpcSocketOnly: true },
    http: { port },
  });
  expect(server.grpcAddress).toBe(`unix:${grpcSocketPath}`);
  expect(await predict(server.grpcAddress)).toHaveProperty("outputs");
  expect((await fetch(`${server.httpUrl}/v2/health/ready`)).status).toBe(200);
  await expect(predict(`127.0.0.1:${port}`)).rejects.toThrow();
  await expect(startServer({ stages: [{ driver: "null" }], grpcSocketOnly: true })).rejects.toThrow(
    "The option grpcSocketOnly goes with grpcSocketPath",
  );
});

it("fails the start, and leaves no port open, where the socket cannot be had", async () => {
  const path = join(tempFolder(), "x".repeat(200));
  await expect(startNullServer({ grpcSocketPath: path })).rejects.toMatchObject({
    code: "unavailable",
    message: expect.stringContaining("choose a shorter one"),
  });
});

it("refuses a message above the length that a channel argument sets", async () => {
  const { grpcAddress } = await startNullServer({ grpcChannelArguments: ["grpc.max_receive_message_length=1000"] });
  expect(await predict(grpcAddress)).toHaveProperty("outputs");
  const large = oracle.encodeRequest({ inputs: { x: { dtype: "DT_FLOAT", tensor_content: Buffer.alloc(1000) } } });
  await expect(connect(grpcAddress).call(PREDICT, large)).rejects.toMatchObject({ code: 8 });
});
