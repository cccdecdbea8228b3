import type { IncomingMessage } from "node:http";
import { cutText } from "../../platform/text/cut-text.ts";
import { type ErrorForm, HttpError } from "../../proxy/http-errors.ts";
import type { InferenceRoute } from "../../proxy/http-route.ts";
import { type Endpoint, endpointPaths, type Paths } from "../endpoint-paths.ts";
import type { Protocol } from "../protocol.ts";

const PATH = "/mcp";
const PREFIX = /^\/mcp(?:\/|$)/;
const POST = /^\/mcp\/?(?:\?|$)/;

/**
 * The Model Context Protocol over HTTP: every model whose inputs are known is a tool of assistants. Without sessions:
 * each request is answered by itself, in the revisions that have a handshake and in 2026-07-28, which has none.
 */
export const mcp: Protocol = {
  name: "mcp",
  http: ({ service, settings, log }) => {
    if (!settings.mcp) return { inference: [], turnedOff: { paths: PREFIX, without: "--mcp" } };
    const route: InferenceRoute = {
      path: PATH,
      inParts: true,
      // Loaded with the first request.
      find: (url) =>
        POST.test(url)
          ? async (exchange) => (await import("./answer-http.ts")).answerHttp(exchange, service, log)
          : undefined,
    };
    return { inference: [route], prefix: PREFIX, refuse, errorForm: rpcError };
  },
};

/** There are no streams of the server's own, and no sessions to end. */
function refuse({ method, url = "" }: IncomingMessage): Error {
  const [path = ""] = url.split("?", 1);
  if (!POST.test(path)) return new HttpError(404, `There is no ${path}; there is POST ${PATH}.`);
  return new HttpError(405, `${method} is not possible here; send POST.`, { allow: "POST" });
}

/** A refusal before a message was looked at, as an answer to none. */
const rpcError: ErrorForm = ({ status, message }) => ({
  body: {
    jsonrpc: "2.0",
    id: null,
    error: { code: status >= 500 ? -32603 : -32000, message: cutText(message) },
  },
});

const MESSAGE = {
  type: "object",
  required: ["jsonrpc", "method"],
  properties: {
    jsonrpc: { const: "2.0" },
    id: { type: ["string", "integer"] },
    method: { type: "string" },
    params: { type: "object" },
  },
};

const ENDPOINT: Endpoint = {
  ...{ method: "POST", path: PATH, summary: "Let an assistant list and call models as tools", statuses: [200, 202] },
  description:
    "The Model Context Protocol without sessions. 202 = a notification. A call with a progressToken may be answered by events.",
  schemas: { body: MESSAGE, answer: { type: "object", properties: { result: { type: "object" } } } },
};

/** Paths of OpenAPI for the Model Context Protocol, if it is on. */
export function mcpPaths(isOn: boolean): Paths {
  return isOn ? endpointPaths("MCP", [ENDPOINT]) : {};
}
