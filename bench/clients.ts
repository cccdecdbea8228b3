import { Agent, request } from "node:http";
import { Client, credentials } from "@grpc/grpc-js";
import type { Send } from "./load.ts";

const identity = (bytes: Buffer) => bytes;
const PREDICT = "/tensorflow.serving.PredictionService/Predict";

/** Sends one Predict message; an answer must be as long as the first one, which must hold `marker`. */
export function grpcSend(address: string, message: Buffer, marker: Buffer): { send: Send; close: () => void } {
  const unlimited = { "grpc.max_receive_message_length": -1, "grpc.max_send_message_length": -1 };
  const client = new Client(address, credentials.createInsecure(), unlimited);
  const check = answerCheck(marker);
  const send = () =>
    new Promise<void>((resolve, reject) => {
      client.makeUnaryRequest(PREDICT, identity, identity, message, (error, answer) => {
        if (error !== null) return reject(error);
        settle(() => check(answer as Buffer), resolve, reject);
      });
    });
  return { send, close: () => client.close() };
}

/** Posts one body; the answer is checked likewise. */
export function httpSend(url: string, body: Buffer, marker: Buffer): { send: Send; close: () => void } {
  const agent = new Agent({ keepAlive: true });
  const check = answerCheck(marker);
  const headers = { "content-type": "application/json", "content-length": body.length };
  const send = () =>
    new Promise<void>((resolve, reject) => {
      const call = request(url, { method: "POST", agent, headers }, (response) => {
        const chunks: Buffer[] = [];
        response.on("data", (chunk) => chunks.push(chunk));
        response.on("end", () => {
          const answer = Buffer.concat(chunks);
          if (response.statusCode !== 200)
            return reject(new Error(`status ${response.statusCode}: ${answer.toString()}`));
          settle(() => check(answer), resolve, reject);
        });
      });
      call.on("error", reject);
      call.end(body);
    });
  return { send, close: () => agent.destroy() };
}

/** The first answer is searched for the marker, later ones must be as long. */
function answerCheck(marker: Buffer): (answer: Buffer) => void {
  let length: number | undefined;
  return (answer) => {
    if (length === undefined && !answer.includes(marker)) throw new Error("the answer does not hold what was sent");
    length ??= answer.length;
    if (answer.length !== length) throw new Error(`an answer has ${answer.length} bytes, the first one had ${length}`);
  };
}

function settle(check: () => void, resolve: () => void, reject: (reason: unknown) => void): void {
  try {
    check();
    resolve();
  } catch (reason) {
    reject(reason);
  }
}
