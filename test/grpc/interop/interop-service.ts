import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { loadSync, type MethodDefinition, type ServiceDefinition } from "@grpc/proto-loader";
import { fromGrpcStatus, ServingError } from "../../../src/errors.ts";
import { frameBytes } from "../../../src/grpc/framed-message.ts";
import type { StreamExchange, StreamRoute, UnaryRoute } from "../../../src/grpc/grpc-route.ts";
import type { Protocol } from "../../../src/protocols/protocol.ts";

const SERVICE = loadSync(fileURLToPath(new URL("interop.proto", import.meta.url)), { keepCase: true })[
  "grpc.testing.TestService"
] as ServiceDefinition;

interface EchoStatus {
  readonly code: number;
  readonly message: string;
}

interface Requested {
  readonly response_size?: number;
  readonly response_status?: EchoStatus | null;
  readonly response_parameters?: readonly { readonly size: number; readonly interval_us: number }[];
  readonly payload?: { readonly body: Buffer } | null;
}

/** grpc.testing.TestService, which answers gRPC's interoperability clients over our transport. */
export const interop: Protocol = {
  name: "interop",
  grpc: () => ({
    routes: {
      [pathOf("EmptyCall")]: unary("EmptyCall", () => ({})),
      [pathOf("UnaryCall")]: unary("UnaryCall", (request) => {
        throwStatus(request);
        return { payload: { body: Buffer.alloc(request.response_size ?? 0) } };
      }),
      [pathOf("StreamingInputCall")]: stream(async (exchange) => {
        let bytes = 0;
        for await (const { payload } of requests(exchange, "StreamingInputCall")) bytes += payload?.body.length ?? 0;
        await exchange.write(encode("StreamingInputCall", { aggregated_payload_size: bytes }));
      }),
      [pathOf("StreamingOutputCall")]: stream((exchange) => answerEach(exchange, "StreamingOutputCall")),
      [pathOf("FullDuplexCall")]: stream((exchange) => answerEach(exchange, "FullDuplexCall")),
    },
  }),
};

async function answerEach(exchange: StreamExchange, name: string): Promise<void> {
  for await (const request of requests(exchange, name)) {
    throwStatus(request);
    for (const { size, interval_us: pauseUs } of request.response_parameters ?? []) {
      if (pauseUs > 0) await wait(pauseUs / 1000);
      await exchange.write(encode(name, { payload: { body: Buffer.alloc(size) } }));
    }
  }
}

async function* requests(exchange: StreamExchange, name: string): AsyncGenerator<Requested> {
  for await (const message of exchange.messages) {
    yield methodOf(name).requestDeserialize(Buffer.from(message)) as Requested;
    exchange.memory.shrink(message.length);
  }
}

function unary(name: string, answer: (request: Requested) => object): UnaryRoute {
  return {
    kind: "read",
    method: async (message) => {
      const request = methodOf(name).requestDeserialize(Buffer.from(message)) as Requested;
      return { message: encode(name, answer(request)), metadata: {} };
    },
  };
}

function stream(answer: StreamRoute["stream"]): StreamRoute {
  return { kind: "read", stream: answer };
}

function encode(name: string, answer: object): ReturnType<typeof frameBytes> {
  return frameBytes(methodOf(name).responseSerialize(answer));
}

function throwStatus({ response_status: status }: Requested): void {
  if (status?.code) throw new ServingError(fromGrpcStatus(status.code), status.message);
}

function methodOf(name: string): MethodDefinition<object, object> {
  return SERVICE[name] as MethodDefinition<object, object>;
}

function pathOf(name: string): string {
  return `/grpc.testing.TestService/${name}`;
}
