import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, it, onTestFinished } from "vitest";
import type { Hooks } from "../../../src/hooks/hooks.ts";
import { createDeferred, type Deferred } from "../../../src/platform/async/promises.ts";
import type { Tensors } from "../../../src/tensor/tensor.ts";
import { missingPython, PYTHON } from "../../helpers/missing-python.ts";
import { shareServer } from "../../helpers/start-server.ts";

const SCRIPT = fileURLToPath(new URL("stream_clients_checks.py", import.meta.url));
const variable = "KSERVING_TEST_PARTS";
const python = process.env[variable] ?? "python3";
/** Clients by the modules of Python that they are, and what the script has for each. */
const CLIENTS = [
  ["tritonclient.grpc.aio", { python: PYTHON, variable: "KSERVING_TEST_PYTHON" }, ["tritonclient", "tritonclient_aio"]],
  ["mlserver, httpx_sse", { python, variable }, ["mlserver", "mlserver_aio"]],
  ["kserve", { python, variable }, ["kserve"]],
  ["boto3", { python, variable }, ["boto3"]],
] as const;

/** As the clients' script has it: `go` lets `paced` make the part with a number of those who gave a key. */
function pacedModels(): Readonly<Record<string, { readonly driver: string; readonly hooks: Hooks }>> {
  const gates = new Map<string, Deferred<void>>();
  const gate = (key: number, number: number) => {
    const found = gates.get(`${key} ${number}`) ?? createDeferred<void>();
    gates.set(`${key} ${number}`, found);
    return found;
  };
  const numbers = ({ x }: Tensors) => Array.from(x?.data as ArrayLike<number>, Number) as [number, number];
  const paced: Hooks = {
    async *process(inputs) {
      const [key, count] = numbers(inputs);
      for (let number = 1; number <= count; number++) {
        if (number > 1) await gate(key, number).promise;
        yield { y: Int32Array.of(number) };
      }
    },
  };
  const go: Hooks = {
    process(inputs) {
      gate(...numbers(inputs)).resolve();
      return { y: Int32Array.of(0) };
    },
  };
  return { paced: { driver: "null", hooks: paced }, go: { driver: "null", hooks: go } };
}

const serve = shareServer(() => ({ models: pacedModels() }));

describe.each(CLIENTS)("%s, as it comes from PyPI,", (module, interpreter, checks) => {
  const missing = missingPython("Reading answers in parts by a client in Python", module, interpreter);

  it.skipIf(missing)("has each part as it is made", async () => {
    const { grpcAddress: grpc, httpUrl } = await serve();
    const server = JSON.stringify({ grpc, http: new URL(httpUrl).host });
    const { stdout } = await promisify(execFile)(interpreter.python, [SCRIPT, server, ...checks], { timeout: 50_000 });
    const told = stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(told).toEqual(checks.map((check) => ({ check, problem: null })));
  });
});

describe("curl -N", () => {
  it("shows each event as it is made, of each route that streams, and ends well", async () => {
    const { httpUrl: url } = await serve();
    const input = (...data: number[]) => ({ name: "x", datatype: "INT32", shape: [data.length], data });
    const bodies = [
      ["v2/models/paced/infer_stream", { inputs: [input(20, 3)] }],
      ["v2/models/paced/generate_stream", { x: [21, 3] }],
      ["v1/models/paced:predict", { inputs: { x: [22, 3] } }],
      ["invocations", { inputs: { x: [23, 3] } }],
    ] as const;
    for (const [index, [path, body]] of bodies.entries()) {
      const headers = ["accept: text/event-stream", "x-amzn-sagemaker-custom-attributes: tfs-model-name=paced"];
      const given = headers.flatMap((header) => ["-H", header]);
      const json = ["-H", "content-type: application/json", "-d", JSON.stringify(body)];
      const curl = spawn("curl", ["-sSN", ...given, ...json, `${url}/${path}`], {
        stdio: ["ignore", "pipe", "inherit"],
      });
      onTestFinished(() => void curl.kill());
      const ended = once(curl, "exit");
      let shown = 0;
      for await (const line of createInterface({ input: curl.stdout })) {
        if (line === "") continue;
        shown++;
        expect(line).toMatch(new RegExp(`^data: \\{.*[[:]${shown}[\\]}]+$`));
        const go = { method: "POST", body: JSON.stringify({ inputs: [input(20 + index, shown + 1)] }) };
        await fetch(`${url}/v2/models/go/infer`, go);
      }
      expect([path, shown, ...(await ended)]).toEqual([path, 3, 0, null]);
    }
  });
});
