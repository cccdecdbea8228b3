import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";

/** A CloudEvent of KServe's logger. */
interface LoggedEvent {
  readonly id: string;
  /** Last word of its type. */
  readonly type: string;
  /** The InferenceService. */
  readonly service: string;
  readonly metadata: unknown;
  readonly body: unknown;
}

/**
 * Takes CloudEvents in binary mode (attributes in headers) over HTTP, at any port of this machine unless one is named.
 */
export async function collectEvents({ host = "127.0.0.1", port = 0 } = {}) {
  const received: LoggedEvent[] = [];
  const server = createServer(async (request, response) => {
    const body = await text(request);
    const attribute = (name: string) => String(request.headers[`ce-${name}`]);
    received.push({
      id: attribute("id"),
      type: attribute("type").replace("org.kubeflow.serving.inference.", ""),
      service: attribute("inferenceservicename"),
      metadata: JSON.parse(attribute("metadata")),
      // A request without a body is logged too.
      body: body === "" ? undefined : JSON.parse(body),
    });
    response.end();
  });
  await once(server.listen(port, host), "listening");
  return {
    url: `http://${host}:${(server.address() as AddressInfo).port}`,
    received: received as readonly LoggedEvent[],
    close: () => server.close(),
  };
}
