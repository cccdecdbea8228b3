import { type Agent, type IncomingMessage, request } from "node:http";
import { request as requestOverTls } from "node:https";
import { type Client, status as GRPC_STATUS, Metadata, type ServiceError } from "@grpc/grpc-js";
import { decodeStreamResponse, encodeInferRequest, methodPath } from "../../src/client/remote/infer-message.ts";
import { createTensor } from "../../src/tensor/tensor.ts";
import { type NumberedAnswer, numberedValues, oracle, partsOf, Refused } from "./numbered-request.ts";

/** Name of the model that answers in parts: bench/soak-stream-hooks.ts. */
export const STREAM_MODEL = "streams";
/** One in so many clients leaves after a part. */
const LEAVERS = 5;

/** A part as it came. */
interface NumberedPart extends NumberedAnswer {
  readonly part: number;
}

/** Compares the parts of one answer with what they have to be. */
class PartsCheck {
  readonly #number: number;
  readonly #size: number;
  #count = 0;
  #answer: NumberedAnswer | undefined;

  constructor(number: number, size: number) {
    this.#number = number;
    this.#size = size;
  }

  /** Takes a part; gives whether the client stays. */
  take(part: NumberedPart): boolean {
    const isRight = part.part === this.#count++ && oracle(this.#number, this.#size, part) === "right";
    this.#answer ??= isRight ? undefined : { ...part, y: part.answered === this.#number ? [] : part.y };
    return this.#answer === undefined && !(this.isLeaver && this.#count === 1 + (this.#number % 3));
  }

  get isLeaver(): boolean {
    return (this.#number / 2) % LEAVERS === 0;
  }

  /** The answer to judge: the first wrong part, nothing if one is missing, else that of the number. */
  finish(): NumberedAnswer {
    if (this.#answer !== undefined) return this.#answer;
    const isWhole = this.isLeaver || this.#count === partsOf(this.#number);
    const y = numberedValues(this.#number, this.#size).map((value) => value / 2 + 2);
    return { y: isWhole ? y : [], answered: this.#number };
  }
}

/** Asks in a stream of gRPC, of which a part of the clients leaves early. */
export async function streamOverGrpc(client: Client, number: number, size: number): Promise<NumberedAnswer> {
  const check = new PartsCheck(number, size);
  const stream = openStream(client, { x: createTensor("float32", [size], numberedValues(number, size)) });
  try {
    for await (const message of stream) {
      const { outputs, errorText } = decodeStreamResponse(message as Buffer);
      if (errorText !== "") throw new Refused("error in the stream", errorText);
      const { y, number: answered, part } = outputs;
      const came = { y: y?.data as Float32Array, answered: Number(answered?.data[0]), part: Number(part?.data[0]) };
      if (!check.take(came)) break;
    }
    return check.finish();
  } catch (reason) {
    throw reason instanceof Refused ? reason : refusedBy(reason as ServiceError);
  } finally {
    stream.cancel();
  }
}

/** Makes a thread of the model end (1) or hang (2); never answered. */
export async function streamCommand(client: Client, number: number, command: number): Promise<void> {
  const x = createTensor("float32", [1], numberedValues(number, 1));
  const stream = openStream(client, { x, command: createTensor("int32", [1], Int32Array.of(command)) });
  try {
    for await (const part of stream) throw new Error(`a command was answered: ${part}`);
  } catch (reason) {
    throw refusedBy(reason as ServiceError);
  }
}

function openStream(client: Client, inputs: Parameters<typeof encodeInferRequest>[0]["inputs"]) {
  const metadata = new Metadata();
  // A failure has its status then.
  metadata.set("triton_grpc_error", "true");
  const message = encodeInferRequest({ model: STREAM_MODEL, inputs });
  return client.makeServerStreamRequest(methodPath("ModelStreamInfer"), asIs, asIs, message, metadata);
}

function refusedBy({ code, details, message }: ServiceError): Refused {
  return new Refused(GRPC_STATUS[code] ?? String(code), details ?? message);
}

/** The server that is asked for events. */
interface EventPlace {
  readonly agent: Agent;
  /** `http://host:port`, or `https:`. */
  readonly url: string;
}

/** Asks for events over HTTP, likewise. */
export async function streamOverHttp(
  { agent, url }: EventPlace,
  number: number,
  size: number,
): Promise<NumberedAnswer> {
  const check = new PartsCheck(number, size);
  const data = Array.from(numberedValues(number, size));
  const body = JSON.stringify({ inputs: [{ name: "x", datatype: "FP32", shape: [size], data }] });
  const response = await post(`${url}/v2/models/${STREAM_MODEL}/infer_stream`, agent, body);
  try {
    for await (const event of eventsOf(response)) {
      const { outputs = [], error } = JSON.parse(event) as EventBody;
      if (error !== undefined) throw new Refused(IS_UNAVAILABLE.test(error) ? "UNAVAILABLE" : "error event", error);
      const of = (wanted: string) => outputs.find(({ name }) => name === wanted)?.data ?? [];
      if (!check.take({ y: of("y"), answered: Number(of("number")[0]), part: Number(of("part")[0]) })) break;
    }
    return check.finish();
  } finally {
    response.destroy();
  }
}

interface EventBody {
  readonly outputs?: readonly { readonly name: string; readonly data: readonly number[] }[];
  readonly error?: string;
}

/** An event has no status, but the words of one. */
const IS_UNAVAILABLE = /thread has ended|blocked its thread|again/;

function post(url: string, agent: Agent, body: string): Promise<IncomingMessage> {
  const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(body) };
  return new Promise((resolve, reject) => {
    const call = requestTo(url)(url, { method: "POST", agent, headers }, (response) => {
      if (response.statusCode === 200) resolve(response);
      else {
        response.resume();
        reject(new Refused(response.statusCode === 503 ? "UNAVAILABLE" : `HTTP ${response.statusCode}`, url));
      }
    });
    call.on("error", (reason) => reject(new Refused("connection", String(reason))));
    call.end(body);
  });
}

/** Node has one function for each scheme. */
export function requestTo(url: string): typeof request {
  return url.startsWith("https:") ? requestOverTls : request;
}

/** The data of each event. Throws if the answer breaks off. */
async function* eventsOf(response: IncomingMessage): AsyncGenerator<string> {
  let text = "";
  response.setEncoding("utf8");
  for await (const piece of response) {
    text += piece;
    for (let end = text.indexOf("\n\n"); end >= 0; end = text.indexOf("\n\n")) {
      const event = text.slice(0, end);
      text = text.slice(end + 2);
      if (event.startsWith("data: ")) yield event.slice("data: ".length);
    }
  }
}

function asIs(bytes: Buffer): Buffer {
  return bytes;
}
