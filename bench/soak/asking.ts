import { Agent } from "node:http";
import { Agent as TlsAgent } from "node:https";
import { Client, credentials, status as GRPC_STATUS, type ServiceError } from "@grpc/grpc-js";
import { decodeInferResponse, encodeInferRequest, methodPath } from "../../src/client/remote/infer-message.ts";
import { decodePredictJson, encodePredictJson } from "../../src/protocols/kibernetika/grpc-codec.ts";
import { PREDICT_JSON_PATH } from "../../src/protocols/kibernetika/grpc-service.ts";
import { decodePredictResponse, encodePredictRequest } from "../../src/protocols/tensorflow-serving/grpc-codec.ts";
import { PREDICT_PATH } from "../../src/protocols/tensorflow-serving/grpc-service.ts";
import { NO_MODEL_SPEC } from "../../src/protocols/tensorflow-serving/model-spec.ts";
import { createTensor, createTensors, type Tensors } from "../../src/tensor/tensor.ts";
import { type NumberedAnswer, numberedValues, Refused } from "./numbered-request.ts";
import { requestTo, streamCommand, streamOverGrpc, streamOverHttp } from "./stream-asking.ts";

/** One way to ask; throws {@link Refused}. */
export type Ask = (number: number, size: number) => Promise<NumberedAnswer>;

/** Makes a hook thread end (1) or hang (2); never answered. */
export type Command = 1 | 2;

/** Name of the pipeline. */
export const HOOKED_MODEL = "default";
/** Name of the model without hooks, small enough for the fast lane. */
export const LANE_MODEL = "lane";
/** In the times of an answer: the run waited for no other thread. */
const NO_WAIT = /\bqueue;dur=0(,|$)/;

/** All ways to ask one server. */
export class Asking {
  readonly #client: Client;
  readonly #url: string;
  #laneRuns = 0;
  /**
   * Lets idle connections go before the server does, which would look like a failure of the request that is just sent.
   */
  readonly #agent: Agent;

  /** `authority`: that of the server's certificate, where it encrypts. */
  constructor(grpcAddress: string, httpUrl: string, authority?: Buffer) {
    const unlimited = { "grpc.max_receive_message_length": -1, "grpc.max_send_message_length": -1 };
    const kept = { keepAlive: true, maxSockets: 64, timeout: 3000 };
    const isPlain = authority === undefined;
    this.#client = new Client(
      grpcAddress,
      isPlain ? credentials.createInsecure() : credentials.createSsl(authority),
      unlimited,
    );
    this.#agent = isPlain ? new Agent(kept) : new TlsAgent({ ...kept, ca: authority });
    this.#url = httpUrl;
  }

  readonly overGrpc: Ask = async (number, size) => {
    const outputs = await this.#predict(createTensors(Object.entries({ x: tensorOf(number, size) })));
    return { y: outputs.y?.data as Float32Array, answered: Number(outputs.number?.data[0]) };
  };

  readonly overPredictJson: Ask = async (number, size) => {
    const json = Buffer.from(JSON.stringify({ x: Array.from(numberedValues(number, size)) }));
    const answer = await this.#call(PREDICT_JSON_PATH, encodePredictJson(json));
    return fromLists(JSON.parse(Buffer.from(decodePredictJson(answer)).toString()));
  };

  readonly overRest: Ask = async (number, size) => {
    const body = JSON.stringify({ inputs: { x: Array.from(numberedValues(number, size)) } });
    return fromLists(JSON.parse(await this.#post(HOOKED_MODEL, body)).outputs);
  };

  /** The model without hooks, whose answer has the number in its first value. */
  readonly laneOverGrpc: Ask = async (number, size) => {
    const request = encodeInferRequest({ model: LANE_MODEL, inputs: { x: tensorOf(number, size) } });
    const { outputs } = decodeInferResponse(await this.#call(methodPath("ModelInfer"), request));
    return fromLane(outputs.y?.data as Float32Array);
  };

  readonly laneOverRest: Ask = async (number, size) => {
    const body = JSON.stringify({ inputs: Array.from(numberedValues(number, size)) });
    return fromLane(JSON.parse(await this.#post(LANE_MODEL, body)).outputs);
  };

  /** The model that answers in parts, over gRPC, and as events. */
  readonly streamOverGrpc: Ask = (number, size) => streamOverGrpc(this.#client, number, size);
  readonly streamOverHttp: Ask = (number, size) => streamOverHttp({ agent: this.#agent, url: this.#url }, number, size);

  /**
   * Answers over REST since the last question that were computed in the server's main
   * thread, where the server sends its times.
   */
  laneRuns(): number {
    const count = this.#laneRuns;
    this.#laneRuns = 0;
    return count;
  }

  async command(number: number, command: Command, inParts: boolean): Promise<void> {
    if (inParts) return streamCommand(this.#client, number, command);
    await this.#predict({ x: tensorOf(number, 1), command: createTensor("int32", [1], Int32Array.of(command)) });
  }

  close(): void {
    this.#client.close();
    this.#agent.destroy();
  }

  async #predict(inputs: Tensors): Promise<Tensors> {
    const message = encodePredictRequest(
      { spec: { ...NO_MODEL_SPEC, model: HOOKED_MODEL }, inputs, outputFilter: [] },
      "content",
    );
    return decodePredictResponse(await this.#call(PREDICT_PATH, message), 2 ** 30).outputs;
  }

  #call(path: string, message: Buffer): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      const settle = (error: ServiceError | null, answer?: Buffer) => {
        if (error === null) resolve(answer as Buffer);
        else reject(new Refused(GRPC_STATUS[error.code] ?? String(error.code), error.details));
      };
      this.#client.makeUnaryRequest(path, asIs, asIs, message, settle);
    });
  }

  #post(model: string, body: string): Promise<string> {
    const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(body) };
    return new Promise((resolve, reject) => {
      const call = requestTo(this.#url)(
        `${this.#url}/v1/models/${model}:predict`,
        { method: "POST", agent: this.#agent, headers },
        (response) => {
          let text = "";
          if (NO_WAIT.test(String(response.headers["server-timing"]))) this.#laneRuns++;
          response.setEncoding("utf8").on("data", (chunk: string) => {
            text += chunk;
          });
          response.on("end", () => {
            if (response.statusCode === 200) resolve(text);
            else reject(new Refused(response.statusCode === 503 ? "UNAVAILABLE" : `HTTP ${response.statusCode}`, text));
          });
        },
      );
      call.on("error", (reason) => reject(new Refused("connection", String(reason))));
      call.end(body);
    });
  }
}

function tensorOf(number: number, size: number) {
  return createTensor("float32", [size], numberedValues(number, size));
}

function fromLists({ y, number }: { y: number[]; number: number[] }): NumberedAnswer {
  return { y, answered: Number(number[0]) };
}

/** Each value is halved, plus two. */
function fromLane(y: ArrayLike<number>): NumberedAnswer {
  return { y, answered: 2 * ((y[0] ?? Number.NaN) - 2) };
}

function asIs(bytes: Buffer): Buffer {
  return bytes;
}
