import type { Server } from "../../server/server.ts";
import { exampleHeading } from "./example-heading.ts";
import { exampleRequest } from "./example-request.ts";
import type { ReadyFacts, StatusReporter } from "./status-reporter.ts";

/** Reports a request that the model answers; finding one may take as long as some runs of the model. */
export async function reportExample(
  server: Server,
  { name = "", grpcAddress, httpUrl }: ReadyFacts,
  reporter: StatusReporter,
): Promise<void> {
  if (reporter.example === undefined || name === "") return;
  const example = await server.exampleInputs();
  if (example === undefined) return;
  // Which requests another program understands is not known here.
  const own = server.httpUrl === undefined || httpUrl === undefined ? {} : { httpUrl };
  const { isEncrypted } = server;
  const line = exampleRequest({ name, inputs: example.inputs, grpcAddress, isEncrypted, ...own });
  reporter.example(exampleHeading(example), line);
}
