import { cutText } from "../../platform/text/cut-text.ts";
import { readVersion } from "../../version.ts";
import { callTool, type ToolCall } from "./call-tool.ts";
import { type Message, RPC, RpcError, type RpcResult, writeResult } from "./messages.ts";
import { describeTools, toolNames } from "./tools.ts";

/** Revisions with a handshake, newest first, and those without one. */
const HANDSHAKES = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05", "2024-10-07"] as const;
const STATELESS = ["2026-07-28"] as const;
const VERSIONS: readonly string[] = [...STATELESS, ...HANDSHAKES];

/** The revision of a request that names none (2025-06-18, transports). */
const ASSUMED_VERSION = "2025-03-26";
/** Revisions in which messages may come as a list. */
const WITH_BATCHES: readonly string[] = ["2025-03-26", "2024-11-05", "2024-10-07"];

/** Headers in which a request repeats what its message says. */
export interface RoutingHeaders {
  readonly version: string | undefined;
  readonly method: string | undefined;
  readonly name: string | undefined;
}

/** A message, with its headers if it came over HTTP. */
interface Arrived {
  readonly message: Message;
  readonly headers: RoutingHeaders | undefined;
}

/** Checks if a request is of a revision without a handshake. */
export function isStateless({ message, headers }: Arrived): boolean {
  return message.envelope !== undefined || STATELESS.some((version) => version === headers?.version);
}

/**
 * Throws {@link RpcError} for a message that is none, a revision that is not spoken, a request without a handshake that
 * does not say what it has to, and headers that contradict it.
 */
export function checkMessage({ message, headers }: Arrived): void {
  const { fault, method } = message;
  if (fault !== undefined) throw new RpcError(RPC.invalidRequest, `The message is no JSON-RPC 2.0: ${fault}.`);
  // To a request without a handshake, only revisions without one are of use.
  checkVersion(headers?.version, message.envelope === undefined ? VERSIONS : STATELESS);
  if (method === undefined || message.id === undefined || !isStateless({ message, headers })) return;
  const { version, hasCapabilities = false } = message.envelope ?? {};
  if (version === undefined || !hasCapabilities) throw lacksEnvelope(version === undefined);
  if (headers !== undefined) checkHeaders(message, headers, version);
  if (!STATELESS.some((known) => known === version)) throw unsupported(version, STATELESS);
}

/** Throws for a list of messages that has none, or in a revision without lists. */
export function checkBatch(messages: readonly Message[], version: string = ASSUMED_VERSION): void {
  checkVersion(version);
  if (!WITH_BATCHES.includes(version))
    throw new RpcError(RPC.invalidRequest, `The revision ${version} has no lists of messages; expected one message.`);
  if (messages.length === 0) throw new RpcError(RPC.invalidRequest, "The list has no message.");
}

function checkVersion(version: string | undefined, offered: readonly string[] = VERSIONS): void {
  if (version !== undefined && !VERSIONS.includes(version)) throw unsupported(version, offered);
}

function unsupported(requested: string, supported: readonly string[]): RpcError {
  const message = `Unsupported protocol version: ${cutText(requested)}; expected ${supported.join(", ")}.`;
  return new RpcError(RPC.unsupportedVersion, message, { supported, requested: cutText(requested) });
}

function lacksEnvelope(isVersion: boolean): RpcError {
  const name = isVersion ? "protocolVersion" : "clientCapabilities";
  return new RpcError(RPC.invalidParams, `params._meta lacks io.modelcontextprotocol/${name}.`);
}

function checkHeaders({ method, name }: Message, headers: RoutingHeaders, version: string): void {
  const wanted = [
    ["MCP-Protocol-Version", headers.version, version],
    ["Mcp-Method", headers.method, method],
    ...(method === "tools/call" && name !== undefined ? [["Mcp-Name", decoded(headers.name), name] as const] : []),
  ] as const;
  const wrong = wanted.find(([, came, expected]) => came !== expected);
  if (wrong === undefined) return;
  const [header, came, expected = ""] = wrong;
  const what = came === undefined ? "missing" : `"${cutText(came)}"`;
  throw new RpcError(RPC.headerMismatch, `The header ${header} is ${what}; the message says "${cutText(expected)}".`);
}

const ENCODED = /^=\?base64\?([A-Za-z0-9+/]*={0,2})\?=$/;

/** A name that is not plain ASCII is sent in base64. */
function decoded(value: string | undefined): string | undefined {
  const text = value === undefined ? undefined : ENCODED.exec(value)?.[1];
  return text === undefined ? value : Buffer.from(text, "base64").toString();
}

/** Means that a transport lends to a message. */
export type MessageContext = Omit<ToolCall, "name"> & Pick<Arrived, "headers">;

/**
 * Answers one request that {@link checkMessage} has let pass; undefined for a notification, and for what answers the
 * server. Throws {@link RpcError}.
 */
export async function answerMessage(message: Message, context: MessageContext): Promise<Buffer | undefined> {
  const { id, method } = message;
  if (method === undefined || id === undefined) return undefined;
  const isOfNow = isStateless({ message, headers: context.headers });
  const result = await resultOf(message, context, isOfNow);
  return writeResult(id, isOfNow ? complete(result) : result);
}

const SERVER = { name: "kserving", title: "kserving", version: readVersion() };
const CAPABILITIES = { tools: {} };
const INSTRUCTIONS =
  'Each tool runs a model. Bytes that are not text, such as images, are {"b64": "BASE64"}; lists have the shape that a tool\'s schema tells.';
/** Models come and go, and not everybody sees the same. */
const FRESHNESS = { ttlMs: 0, cacheScope: "private" };

/** Adds the members that every result has in a revision without a handshake. */
function complete({ members, written }: RpcResult): RpcResult {
  const meta = { "io.modelcontextprotocol/serverInfo": SERVER };
  return { members: { resultType: "complete", ...members, _meta: meta }, written };
}

async function resultOf(message: Message, context: MessageContext, isOfNow: boolean): Promise<RpcResult> {
  const { method, name } = message;
  if (method === "tools/list") return { members: { ...(await listPage(message, context)), ...(isOfNow && FRESHNESS) } };
  if (method === "tools/call") {
    if (name === undefined) throw new RpcError(RPC.invalidParams, "params.name is missing; expected a tool's name.");
    return callTool({ ...context, name });
  }
  if (isOfNow && method === "server/discover") return { members: { ...discovered(), ...FRESHNESS } };
  if (!isOfNow && method === "initialize") return { members: initialized(message) };
  if (!isOfNow && method === "ping") return { members: {} };
  throw new RpcError(RPC.methodNotFound, `Method not found: ${cutText(method ?? "")}`);
}

function discovered(): object {
  return { supportedVersions: STATELESS, capabilities: CAPABILITIES, instructions: INSTRUCTIONS };
}

/** The revision of a handshake: one that is not spoken is answered with the newest one that is. */
export function negotiated({ version }: Message): string {
  return HANDSHAKES.find((known) => known === version) ?? HANDSHAKES[0];
}

function initialized(message: Message): object {
  return {
    protocolVersion: negotiated(message),
    capabilities: CAPABILITIES,
    serverInfo: SERVER,
    instructions: INSTRUCTIONS,
  };
}

/** Models of a page. */
const PAGE = 100;

/** A cursor is the name of the last model before. */
async function listPage({ cursor }: Message, { service }: MessageContext): Promise<object> {
  const all = [...toolNames(service, "ready")];
  const before = cursor === undefined ? -1 : all.findIndex(([name]) => name === cursor);
  if (cursor !== undefined && before < 0)
    throw new RpcError(RPC.invalidParams, "params.cursor is none that was given; list from the beginning.");
  const page = all.slice(before + 1, before + 1 + PAGE);
  const nextCursor = before + 1 + PAGE < all.length ? page.at(-1)?.[0] : undefined;
  return { tools: await describeTools(service, page), ...(nextCursor !== undefined && { nextCursor }) };
}

/** HTTP statuses of errors, in a revision without a handshake; of others they are 200. */
export function statusOf(error: RpcError, isOfNow: boolean): number {
  const { code } = error;
  const isRefused = code === RPC.invalidRequest || code === RPC.parseError || code === RPC.unsupportedVersion;
  if (!isOfNow && !isRefused) return 200;
  return code === RPC.methodNotFound ? 404 : 400;
}
