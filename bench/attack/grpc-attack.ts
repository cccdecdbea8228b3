import { type ClientHttp2Session, type ClientHttp2Stream, connect } from "node:http2";
import type { Target } from "./attack-row.ts";
import { ANY_CERTIFICATE, codeOf } from "./http-attack.ts";

/** Paths of the methods that are attacked. */
export const METHODS = {
  predict: "/tensorflow.serving.PredictionService/Predict",
  predictJson: "/tensorflow.serving.PredictionService/PredictJSON",
  infer: "/inference.GRPCInferenceService/ModelInfer",
  stream: "/inference.GRPCInferenceService/ModelStreamInfer",
} as const;

/** A call of a hostile client. */
export interface GrpcMessage {
  readonly path: string;
  readonly message: Buffer;
  readonly headers?: Readonly<Record<string, string | string[]>>;
  /** True for a compressed message. */
  readonly isCompressed?: boolean;
  /** Number of times that the message is sent on one stream. */
  readonly times?: number;
}

const WINDOW_BYTES = 2 ** 30;

/** A connection that takes whatever is sent, unless another window is asked for. */
export async function openSession({ grpc }: Target, windowBytes = WINDOW_BYTES): Promise<ClientHttp2Session> {
  const session = connect(toUrl(grpc), { settings: { initialWindowSize: windowBytes }, ...ANY_CERTIFICATE });
  session.on("error", () => {});
  await new Promise<void>((resolve) => session.once("connect", () => resolve()));
  if (windowBytes > 0) session.setLocalWindowSize(windowBytes);
  return session;
}

/** The URL of a {@link Target}'s gRPC as node:http2 takes it. */
export function toUrl(grpc: string): string {
  return grpc.startsWith("grpcs:") ? grpc.replace("grpcs:", "https:") : `http://${grpc}`;
}

/** Calls a method on a connection of its own and throws the answer away; resolves to `grpc N`, or to what broke. */
export async function call(target: Target, message: GrpcMessage): Promise<string> {
  const session = await openSession(target);
  const status = await callOn(session, message);
  session.destroy();
  return status;
}

/** {@link call} on an open connection. */
export function callOn(session: ClientHttp2Session, { times = 1, ...message }: GrpcMessage): Promise<string> {
  return new Promise((resolve) => {
    const stream = openStream(session, message);
    let status: string | undefined;
    stream.on("trailers", (trailers) => {
      status = `grpc ${trailers["grpc-status"]}`;
    });
    stream.on("response", (headers) => {
      if (headers["grpc-status"] !== undefined) status = `grpc ${headers["grpc-status"]}`;
    });
    stream.on("error", (reason) => {
      status ??= codeOf(reason);
    });
    stream.on("close", () => resolve(status ?? `reset ${stream.rstCode}`));
    stream.resume();
    const framed = frame(message.message, message.isCompressed === true);
    for (let sent = 1; sent < times; sent++) stream.write(framed);
    stream.end(framed);
  });
}

/** A call's stream, on which nothing was sent but its headers. */
export function openStream(
  session: ClientHttp2Session,
  { path, headers }: Omit<GrpcMessage, "message">,
): ClientHttp2Stream {
  return session.request({
    ":method": "POST",
    ":path": path,
    "content-type": "application/grpc",
    te: "trailers",
    ...headers,
  });
}

/** A message with gRPC's prefix. */
export function frame(message: Buffer, isCompressed = false): Buffer {
  const prefix = Buffer.from([isCompressed ? 1 : 0, 0, 0, 0, 0]);
  prefix.writeUInt32BE(message.length, 1);
  return Buffer.concat([prefix, message]);
}
