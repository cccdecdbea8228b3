/**
 * A grpc-js and a node:http server that send back what they get, with nothing around
 * them; sends their addresses to the parent.
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Server, ServerCredentials } from "@grpc/grpc-js";

process.send?.({ grpc: await startGrpc(), http: await startHttp() });
process.on("disconnect", () => process.exit());

async function startGrpc(): Promise<string> {
  const identity = (bytes: Buffer) => bytes;
  const method = {
    path: "/tensorflow.serving.PredictionService/Predict",
    requestStream: false,
    responseStream: false,
    requestSerialize: identity,
    requestDeserialize: identity,
    responseSerialize: identity,
    responseDeserialize: identity,
  };
  const server = new Server({ "grpc.max_receive_message_length": -1, "grpc.max_send_message_length": -1 });
  server.addService({ Predict: method }, { Predict: echo });
  const port = await new Promise<number>((resolve, reject) =>
    server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, bound) =>
      error === null ? resolve(bound) : reject(error),
    ),
  );
  return `127.0.0.1:${port}`;
}

function echo(call: { readonly request: Buffer }, done: (error: null, answer: Buffer) => void): void {
  done(null, call.request);
}

async function startHttp(): Promise<string> {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk) => chunks.push(chunk));
    request.on("end", () => response.end(Buffer.concat(chunks)));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
