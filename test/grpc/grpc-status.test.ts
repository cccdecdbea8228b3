import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type ServiceDefinition, type ServiceError, status } from "@grpc/grpc-js";
import { loadSync } from "@grpc/proto-loader";
import { describe, expect, it, onTestFinished, test } from "vitest";
import { createRemoteService } from "../../src/client/remote/remote-service.ts";
import { type ErrorCode, ServingError, STATUS } from "../../src/errors.ts";
import { toGrpcStatus } from "../../src/grpc/grpc-status.ts";
import { PREDICT_JSON_PATH } from "../../src/protocols/kibernetika/grpc-service.ts";
import { startServer } from "../helpers/start-server.ts";
import { tempFolder } from "../helpers/temp-folder.ts";
import { connect } from "./byte-client.ts";
import { oracle } from "./oracle.ts";
import { serve } from "./scripted-service.ts";

const definitions = loadSync(fileURLToPath(new URL("rpc-status.proto", import.meta.url)));
const { Decode } = definitions["google.rpc.Decoder"] as ServiceDefinition;
const TYPE = "type.googleapis.com/google.rpc.RetryInfo";
/** A RetryInfo of 5 seconds. */
const RETRY = Buffer.of(0x0a, 2, 8, 5);

async function failureOf(address: string): Promise<ServiceError> {
  const message = oracle.encodeJson({ json_string: Buffer.from("{}") });
  return connect(address)
    .call(PREDICT_JSON_PATH, message)
    .then(
      () => expect.unreachable(),
      (error) => error,
    );
}

function decode({ metadata }: ServiceError): unknown {
  return metadata.get("grpc-status-details-bin").map((bytes) => Decode!.responseDeserialize(bytes as Buffer));
}

/** Hooks whose error has these details, in the words of JavaScript. */
function failingWith(details: string): string {
  const source = `import { ServingError } from "kserving";
    export function process() {
      throw new ServingError("resource_exhausted", "The quota is used up.", { details: ${details} as never });
    }`;
  return join(tempFolder({ "hooks.ts": source }), "hooks.ts");
}

const RETRY_DETAILS = `[{ type: "${TYPE}", value: "${RETRY.toString("base64")}" }]`;

test.each([0, 1])(
  "details of a hook's error reach the client, through %i hook threads and a proxy",
  async (workers) => {
    const { grpcAddress } = await startServer({
      stages: [{ driver: "null" }],
      hooks: failingWith(RETRY_DETAILS),
      workers,
    });
    const remote = createRemoteService(grpcAddress, {});
    onTestFinished(() => remote.close());
    const proxy = await serve(remote);
    for (const address of [grpcAddress, proxy.address]) {
      const error = await failureOf(address);
      expect(error).toMatchObject({ code: 8, details: "The quota is used up." });
      const status = { code: 8, message: "The quota is used up.", details: [{ type_url: TYPE, value: RETRY }] };
      expect(decode(error)).toEqual([status]);
    }
  },
);

test.each([
  ["more than clients take", `[{ type: "x", value: Buffer.alloc(4000).toString("base64") }]`],
  ["not a list", `"x"`],
  ["not texts", "[{ type: 1, value: null }, undefined]"],
])("details that are %s are left out, and the status is sent", async (_, details) => {
  for (const workers of [0, 1]) {
    const { grpcAddress } = await startServer({ stages: [{ driver: "null" }], hooks: failingWith(details), workers });
    const error = await failureOf(grpcAddress);
    expect([error.code, decode(error)]).toEqual([8, []]);
  }
});

describe("a status", () => {
  it.each(Object.keys(STATUS) as ErrorCode[])("has gRPC's own number and the message for %s", (code) => {
    const number = status[code.toUpperCase() as keyof typeof status];
    expect(toGrpcStatus(new ServingError(code, "why"))).toEqual({ code: number, details: "why" });
  });

  it("contain nothing that is not meant for clients", () => {
    const cause = new Error("/secret/path");
    expect(toGrpcStatus(cause)).toEqual({
      code: status.INTERNAL,
      details: "Internal error; the server's log has the cause.",
    });
    expect(toGrpcStatus(new ServingError("unavailable", "Busy.", { cause })).details).toBe("Busy.");
  });

  it("cuts a long message as TensorFlow Serving does, at 1024 bytes and never inside a character", () => {
    expect(toGrpcStatus(new ServingError("internal", "a".repeat(1024))).details).toBe("a".repeat(1024));
    expect(toGrpcStatus(new ServingError("internal", "a".repeat(1025))).details).toBe(
      `${"a".repeat(1024)}...TRUNCATED`,
    );
    expect(toGrpcStatus(new ServingError("internal", `a${"€".repeat(400)}`)).details).toBe(
      `a${"€".repeat(341)}...TRUNCATED`,
    );
  });

  it("carries no half of a surrogate pair, on which grpc-js would fail", () => {
    expect(toGrpcStatus(new ServingError("internal", "a\ud800b")).details).toBe("a\ufffdb");
  });
});
