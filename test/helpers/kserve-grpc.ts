import { type ClientDuplexStream, credentials, type Metadata, type ServiceError } from "@grpc/grpc-js";
import { onTestFinished } from "vitest";
import type { Plain } from "../grpc/oracle.ts";
import { KserveClient } from "../protocols/kserve/kserve-oracle.ts";

type Done = (error: ServiceError | null, answer: Plain) => void;

/** Calls a method of inference.GRPCInferenceService by its name; rejects with a ServiceError. */
export type CallKserve = (method: string, message: Plain, metadata?: Metadata) => Promise<Plain>;

/** Connects to a server until the test ends. */
export function connectKserve(address: string): CallKserve {
  const client = new KserveClient(address, credentials.createInsecure());
  onTestFinished(() => client.close());
  return (name, message, ...metadata) =>
    new Promise((resolve, reject) => {
      const done: Done = (error, answer) => (error === null ? resolve(answer) : reject(error));
      (client[name] as (...given: unknown[]) => void).call(client, message, ...metadata, done);
    });
}

/** Sends requests in one ModelStreamInfer; resolves with its answers, in their order. */
export async function streamKserve(
  address: string,
  requests: readonly Plain[],
  metadata: Metadata,
): Promise<readonly Plain[]> {
  const client = new KserveClient(address, credentials.createInsecure());
  onTestFinished(() => client.close());
  const stream: ClientDuplexStream<Plain, Plain> = client.ModelStreamInfer!(metadata);
  for (const request of requests) stream.write(request);
  stream.end();
  const answers: Plain[] = [];
  for await (const answer of stream) answers.push(answer as Plain);
  return answers;
}
