import { connect, type Http2Session, constants as http2 } from "node:http2";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";
import { encodePredictRequest } from "../../src/protocols/tensorflow-serving/grpc-codec.ts";
import { PREDICT_PATH } from "../../src/protocols/tensorflow-serving/grpc-service.ts";
import { NO_MODEL_SPEC } from "../../src/protocols/tensorflow-serving/model-spec.ts";
import { createTensor } from "../../src/tensor/tensor.ts";
import { ByteClient } from "../grpc/byte-client.ts";
import { pssMb } from "../helpers/process-usage.ts";
import { startCommand } from "../helpers/start-command.ts";

const PROGRAM = fileURLToPath(new URL("../../bin/kserving.cjs", import.meta.url));

/** The real program in a process of its own. */
export interface FaultServer {
  readonly grpcPort: number;
  readonly httpPort: number;
  readonly pid: number;
  memoryMb(): number;
  /** Asks over both wires as a well-behaved client, and throws unless both answer. */
  answersNext(): Promise<void>;
  /** Ends it with SIGINT; rejects unless it exits with 0. */
  stop(): Promise<void>;
  kill(): void;
}

/** Starts it, with the null driver unless a stage is given. */
export async function startFaultServer(
  flags: readonly string[] = [],
  stage: readonly string[] = ["--driver", "null"],
): Promise<FaultServer> {
  const local = ["--host", "127.0.0.1", "--port", "0", "--http-enable", "--http-port", "0"];
  const command = [process.execPath, PROGRAM, ...stage, ...local, ...flags];
  const { grpc, http, child, stop } = await startCommand(command);
  const [grpcPort, httpPort, pid] = [portOf(grpc), portOf(http), child.pid as number];
  const answersNext = async () => {
    await askOverGrpc(grpcPort);
    await askOverHttp(httpPort);
  };
  return { grpcPort, httpPort, pid, memoryMb: () => pssMb(pid), answersNext, stop, kill: () => child.kill("SIGKILL") };
}

function portOf(address: string): number {
  return Number(address.split(":").at(-1));
}

/** A Predict message with so many floats, each the index it has; the first one is `first`. */
export function predictMessage(count: number, first = 0): Buffer {
  const data = new Float32Array(count);
  for (let index = 0; index < count; index++) data[index] = index;
  data[0] = first;
  const x = createTensor("float32", [1, count], data);
  return Buffer.from(encodePredictRequest({ spec: NO_MODEL_SPEC, inputs: { x }, outputFilter: [] }, "content"));
}

async function askOverGrpc(port: number): Promise<void> {
  const client = new ByteClient(`127.0.0.1:${port}`);
  const message = predictMessage(3);
  const { bytes } = await client.call(PREDICT_PATH, message, { deadlineMs: 5000 });
  client.close();
  if (!bytes.includes(Buffer.from(Float32Array.of(0, 1, 2).buffer))) throw new Error("gRPC gave another answer");
}

async function askOverHttp(port: number): Promise<void> {
  const body = JSON.stringify({ instances: [1.5, 2.5] });
  const url = `http://127.0.0.1:${port}/v1/models/default:predict`;
  const answer = await fetch(url, { method: "POST", body, signal: AbortSignal.timeout(5000) });
  const { predictions } = (await answer.json()) as { predictions?: unknown };
  if (JSON.stringify(predictions) !== "[1.5,2.5]") throw new Error(`HTTP gave ${answer.status}`);
}

/** A gRPC connection that may break every rule; it is cut when the test ends. */
export function openGrpc(
  port: number,
  settings: { initialWindowSize?: number } = {},
): Http2Session & ReturnType<typeof connect> {
  const session = connect(`http://127.0.0.1:${port}`, { settings });
  session.on("error", () => {});
  onTestFinished(() => session.destroy());
  return session;
}

/** Starts a Predict call; the body is up to the test. */
export function startCall(session: ReturnType<typeof openGrpc>) {
  const { HTTP2_HEADER_METHOD, HTTP2_HEADER_PATH, HTTP2_HEADER_CONTENT_TYPE, HTTP2_HEADER_TE } = http2;
  const call = session.request({
    [HTTP2_HEADER_METHOD]: "POST",
    [HTTP2_HEADER_PATH]: PREDICT_PATH,
    [HTTP2_HEADER_CONTENT_TYPE]: "application/grpc",
    [HTTP2_HEADER_TE]: "trailers",
  });
  call.on("error", () => {});
  return call;
}
