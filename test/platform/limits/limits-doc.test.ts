import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { SETTINGS } from "../../../src/cli/settings/settings.ts";
import { parseHostOptions } from "../../../src/models/host-options.ts";
import { MAX_ID_LENGTH } from "../../../src/observability/request-id.ts";
import { MAX_CLIENT_ENDS, MAX_ENDS } from "../../../src/pipeline/poison/poison-guard.ts";
import { MAX_CLIENTS } from "../../../src/platform/limits/client-account.ts";
import { RESERVED_PART } from "../../../src/platform/limits/connection-limit.ts";
import { MAX_INPUTS } from "../../../src/platform/limits/memory/decode-budget.ts";
import {
  HANDSHAKE_TIMEOUT_MS,
  SMALL_REQUEST_BYTES,
  TRANSPORT_LIMITS,
} from "../../../src/platform/limits/transport-limits.ts";
import { MAX_CONTENT_BYTES } from "../../../src/platform/threads/frame-writer.ts";
import { MAX_OF_CLIENT } from "../../../src/protocols/grpc-standard/grpc-standard.ts";
import { MAX_IN_FLIGHT } from "../../../src/protocols/kserve/grpc-stream.ts";
import { MAX_JSON_DEPTH } from "../../../src/tensor/codecs/json/json-extent.ts";
import { MAX_MESSAGE_BYTES } from "../../../src/tensor/codecs/protobuf/wire-writer.ts";
import { DEFAULT_MAX_PIXELS } from "../../../src/tensor/media/image-tensor.ts";
import { MAX_NAMES } from "../../../src/tensor/signature/choose-signature.ts";
import { MAX_NAME, MAX_RANK } from "../../../src/tensor/tensor.ts";

const bytes = (size: number) => (size >= 2 ** 20 ? `${size / 2 ** 20} MB` : `${Math.round(size / 1024)} KB`);
const seconds = (ms: number) => `${ms / 1000} s`;
const orNone = (count: number) => (count === 0 ? "none" : String(count));
const { maxMessageBytes, maxQueueBytes, maxQueue, clientRate, clientMaxInFlight, maxConnections } = SETTINGS;
const { sendTimeoutMs, minClientRate, requestTimeoutMs, firstPartTimeoutMs, partTimeoutMs } = SETTINGS;

const { batching, maxRequestRows } = parseHostOptions({ max_batch_size: "1" });

/**
 * Every limit of docs/limits.md: its default by the code, and the test that meets it, as file and part of the title.
 */
const ROWS: readonly (readonly [limit: string, value: string, file: string, title: string])[] = [
  [
    "message or body, and what it is inflated to",
    bytes(maxMessageBytes.default),
    "protocols/wire-contract",
    "a message that is too large",
  ],
  [
    "memory of all requests together",
    bytes(maxQueueBytes.default),
    "serving/local-service",
    "of bytes is refused at once",
  ],
  ["requests at a time", String(maxQueue.default), "serving/local-service", "of requests is refused at once"],
  [
    "full batches that wait for a copy of a model",
    orNone(batching?.maxWaiting ?? 0),
    "models/queue/run-queue",
    "a full queue refuses further rows",
  ],
  ["rows of a request", orNone(maxRequestRows), "models/start-model", "a request of more rows than one may have"],
  [
    "requests of a client in a second",
    orNone(clientRate.default),
    "server/client-limits",
    "gets 429 with the time to wait",
  ],
  [
    "requests of a client at a time",
    orNone(clientMaxInFlight.default),
    "server/client-limits",
    "count until they are answered",
  ],
  ["clients that are remembered", String(MAX_CLIENTS), "platform/limits/client-account", "do not make the table grow"],
  ["connections", String(maxConnections.default), "platform/limits/connection-limit", "are reset"],
  [
    "connections of `--admin-port`, and of `--metrics-port`",
    String(TRANSPORT_LIMITS.sideConnections),
    "platform/limits/connection-limit",
    "limits of their own, and the oldest idle one",
  ],
  [
    "connections of the Unix socket",
    String(TRANSPORT_LIMITS.unixConnections),
    "platform/limits/connection-limit",
    "where all are busy",
  ],
  [
    "descriptors for connections",
    `${RESERVED_PART - 1}/${RESERVED_PART} of \`ulimit -n\``,
    "platform/limits/connection-limit",
    "where descriptors come to an end",
  ],
  [
    "requests of HTTP of a client that `--listeners` pass on at a time",
    "1/8 of `ulimit -n`",
    "platform/limits/connection-limit",
    "are shared by the clients",
  ],
  [
    "requests of an HTTP connection at a time",
    String(TRANSPORT_LIMITS.requestsAhead),
    "proxy/open-exchanges",
    "are begun a few at a time",
  ],
  [
    "calls of a gRPC connection at a time",
    String(TRANSPORT_LIMITS.concurrentCalls),
    "grpc/connection-rules",
    "limit the calls of a connection",
  ],
  ["requests of a V2 stream at a time", String(MAX_IN_FLIGHT), "protocols/kserve/grpc-stream", "few at a time"],
  [
    "head of an HTTP request, with its URL",
    bytes(TRANSPORT_LIMITS.headBytes),
    "proxy/request-refusal",
    "too many bytes",
  ],
  [
    "metadata of a gRPC call",
    bytes(TRANSPORT_LIMITS.metadataBytes),
    "http2/http2-connections",
    "metadata than a call may have",
  ],
  [
    "entries of a gRPC call's metadata",
    String(TRANSPORT_LIMITS.metadataEntries),
    "http2/http2-connections",
    "metadata than a call may have",
  ],
  [
    "rest of all requests of a connection of HTTP/2 whose answers are sent already",
    bytes(TRANSPORT_LIMITS.lateBytes),
    "http2/unended-requests",
    "one that takes more is reset",
  ],
  [
    "tensor that hooks or a model in a thread give",
    bytes(MAX_CONTENT_BYTES + 1),
    "platform/threads/channel",
    "a tensor of more than 2 GB is refused",
  ],
  [
    "message of an answer over gRPC",
    bytes(MAX_MESSAGE_BYTES + 1),
    "tensor/codecs/protobuf/wire-writer",
    "refuses a message that is longer than protobuf's readers take",
  ],
  [
    "message of health, reflection and settings",
    bytes(SMALL_REQUEST_BYTES),
    "grpc/messages",
    "may have 64 KB and no more",
  ],
  [
    "open streams of `Watch` of a client; 10000 of all",
    String(MAX_OF_CLIENT),
    "protocols/grpc-standard/health",
    "has no more streams of a client than some",
  ],
  ["inputs of a request", String(MAX_INPUTS), "platform/limits/memory/decode-budget", "2048 inputs are taken"],
  [
    "characters of the name of an input or output",
    String(MAX_NAME),
    "tensor/signature/choose-signature",
    "names of a request may be long, each",
  ],
  [
    "characters of all these names of a request",
    String(MAX_NAMES),
    "tensor/signature/choose-signature",
    "each and together",
  ],
  [
    "dimensions of a tensor, levels of its lists",
    String(MAX_RANK),
    "tensor/codecs/json/json-tensor",
    "has at most 254 dimensions",
  ],
  ["levels of JSON for hooks", String(MAX_JSON_DEPTH), "pipeline/pipeline", "nest deeper than anyone can walk"],
  [
    "pixels of a decoded image",
    String(DEFAULT_MAX_PIXELS),
    "tensor/media/decode-image",
    "refuses more pixels than allowed",
  ],
  ["characters of a request's id", String(MAX_ID_LENGTH), "observability/request-id", "an id that is too long is cut"],
  [
    "times that a request [ends what runs its model](isolation.md#a-request-that-ends-the-process-again)",
    String(MAX_ENDS),
    "server/poison",
    "twice is not run again",
  ],
  [
    "processes and threads of a model that a client [ends](isolation.md#a-request-that-ends-the-process-again) in a minute",
    String(MAX_CLIENT_ENDS),
    "server/poison",
    "with one request after another has to wait",
  ],
  [
    "time for the head of a request, or to set a connection up",
    seconds(HANDSHAKE_TIMEOUT_MS),
    "http2/connection-watch",
    "is closed in time",
  ],
  [
    "time for a message or body to arrive",
    seconds(TRANSPORT_LIMITS.messageMs),
    "proxy/request-refusal",
    "a body that comes in drops",
  ],
  [
    "time for which a client takes nothing of its answer",
    seconds(sendTimeoutMs.default),
    "proxy/open-exchanges",
    "is cut after a time",
  ],
  [
    "bytes per second that a client sends or takes at least",
    bytes(minClientRate.default),
    "platform/limits/fair-shares",
    "a body that comes too slowly",
  ],
  ["time of a request", orNone(requestTimeoutMs.default), "serving/local-service", "longer than the request timeout"],
  [
    "time until the first part of an answer in parts",
    orNone(firstPartTimeoutMs.default),
    "server/part-limits",
    "where that is the first one",
  ],
  ["time between parts of an answer", orNone(partTimeoutMs.default), "server/part-limits", "an error after its parts"],
  [
    "idle time of an HTTP connection",
    seconds(TRANSPORT_LIMITS.keepAliveMs),
    "proxy/open-exchanges",
    "is closed some time after",
  ],
  ["idle time of a gRPC connection", "none", "grpc/connection-rules", "grpc.max_connection_idle_ms=50"],
  [
    "time between pings of a gRPC connection",
    seconds(TRANSPORT_LIMITS.pingIntervalMs),
    "grpc/connection-rules",
    "set how often a client is pinged",
  ],
  ["time to answer a ping", seconds(HANDSHAKE_TIMEOUT_MS), "http2/connection-watch", "no answer to a ping"],
  [
    "pings and other frames without use, besides some for each call",
    String(TRANSPORT_LIMITS.idlePings),
    "http2/http2-connections",
    "does nothing but ping",
  ],
];

test("docs/limits.md has every limit with its default, and no other", () => {
  const doc = readFileSync(new URL("../../../docs/limits.md", import.meta.url), "utf8");
  const [, table = ""] = /^\| limit \| default .*\n\| ---.*\n((?:\|.*\n)*)/m.exec(doc) ?? [];
  const cells = table
    .trim()
    .split("\n")
    .map((row) =>
      row
        .split("|")
        .slice(1, 3)
        .map((cell) => cell.trim()),
    );
  expect(cells).toEqual(ROWS.map(([limit, value]) => [limit, value]));
});

test.each(ROWS)("a test meets the limit: %s", (_limit, _value, file, title) => {
  expect(readFileSync(new URL(`../../${file}.test.ts`, import.meta.url), "utf8")).toContain(title);
});
