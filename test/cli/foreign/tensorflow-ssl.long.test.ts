import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, it } from "vitest";
import { probePort } from "../../../src/cli/addresses/probe-port.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";
import { missingTensorflow, TENSORFLOW_PYTHON } from "../../helpers/tensorflow-python.ts";
import { tlsFile, tlsPath } from "../../helpers/tls-fixture.ts";
import { startKserving } from "../start-kserving.ts";

const SCRIPT = fileURLToPath(new URL("tls_client.py", import.meta.url));
const CLIENT = [tlsPath("client.pem"), tlsPath("client.key")];
const missing = missingTensorflow("grpcio over TLS");

/** The lines of a PEM file but its first and last on one line, as a well-known script writes them. */
function pasted(name: string): string {
  const [begin, ...rest] = tlsFile(name).toString().trim().split("\n");
  return `'${begin}\\n${rest.slice(0, -1).join("")}\\n${rest.at(-1)}'`;
}

async function start(more: string) {
  const half = readFileSync("test/fixtures/models/half-plus-two.onnx");
  const text = `server_key: ${pasted("server.key")}\nserver_cert: ${pasted("server.pem")}\n${more}`;
  const folder = tempFolder({ "half/1/model.onnx": half, "ssl.cfg": text });
  const [port, restPort] = [await probePort("127.0.0.1", 0, "port"), await probePort("127.0.0.1", 0, "port")];
  const socket = join(folder, "tf.sock");
  const flags = [`--port=${port}`, `--rest_api_port=${restPort}`, "--model_name=half", `--grpc_socket_path=${socket}`];
  const files = [`--model_base_path=${join(folder, "half")}`, `--ssl_config_file=${join(folder, "ssl.cfg")}`];
  const program = startKserving(["tensorflow_model_server", ...flags, ...files]);
  await program.output(/NET_LOG: Entering the event loop/, "stderr");
  return { addresses: [`localhost:${port}`, `unix:${socket}`], restPort };
}

/** One process for all calls, since importing TensorFlow takes most of the time; each has a channel of its own. */
let client: ChildProcess | undefined;
let answers: AsyncIterator<string> | undefined;
afterAll(async () => {
  client?.stdin?.end();
  if (client !== undefined) await once(client, "exit");
});

async function predict(address: string, ...own: readonly string[]): Promise<unknown> {
  const env = { ...process.env, TF_CPP_MIN_LOG_LEVEL: "3" };
  client ??= spawn(TENSORFLOW_PYTHON, [SCRIPT], { env, stdio: ["pipe", "pipe", "inherit"] });
  answers ??= createInterface({ input: client.stdout! })[Symbol.asyncIterator]();
  client.stdin!.write(`${JSON.stringify([address, tlsPath("ca.pem"), ...own])}\n`);
  const { value } = await answers.next();
  return JSON.parse(value);
}

describe.skipIf(missing)("grpcio, with an ssl_config_file of tensorflow_model_server", () => {
  it("gets answers over TLS on the port and on the Unix socket, while REST is plain", async () => {
    const { addresses, restPort } = await start("client_verify: false");
    for (const address of addresses) expect(await predict(address)).toEqual([2.5, 3, 4.5]);
    const url = `http://127.0.0.1:${restPort}/v1/models/half:predict`;
    const answer = await fetch(url, { method: "POST", body: '{"instances": [1.0, 2.0, 5.0]}' });
    expect(await answer.json()).toEqual({ predictions: [2.5, 3, 4.5] });
  });

  it("needs a certificate where the file says so", async () => {
    const { addresses } = await start(`custom_ca: ${pasted("ca.pem")} client_verify: true`);
    expect(await predict(addresses[0]!, ...CLIENT)).toEqual([2.5, 3, 4.5]);
    expect(await predict(addresses[0]!)).toBe("UNAVAILABLE");
  });
});
