import { connect, type Socket } from "node:net";
import { AnswerCheck } from "./answer-check.ts";
import { type Done, failLater, type LoadConnection, type LoadMessage } from "./load-connection.ts";

const HEAD_END = "\r\n\r\n";

/** Posts JSON over one HTTP/1.1 connection, one request at a time: checks the status and every byte. */
export class HttpConnection implements LoadConnection {
  readonly #socket: Socket;
  readonly #path: string;
  #message: LoadMessage | undefined;
  #done: Done = () => {};
  #check: AnswerCheck | undefined;
  #bodyLeft = 0;
  #status = "";
  #rest: Buffer = Buffer.alloc(0);

  constructor(port: number, path: string) {
    this.#path = path;
    this.#socket = connect(port, "127.0.0.1").setNoDelay();
    this.#socket.on("data", (chunk: Buffer) => this.#onData(chunk));
    this.#socket.on("error", () => this.#end("connection error"));
    this.#socket.on("close", () => this.#end("connection closed"));
  }

  send(message: LoadMessage, done: Done): void {
    if (this.#socket.destroyed) {
      failLater(done);
      return;
    }
    this.#message = message;
    this.#done = done;
    const { body, headers = "" } = message;
    this.#socket.cork();
    this.#socket.write(
      `POST ${this.#path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n${headers}\r\n`,
    );
    this.#socket.write(body);
    this.#socket.uncork();
  }

  close(): void {
    this.#message = undefined;
    this.#socket.destroy();
  }

  #onData(chunk: Buffer): void {
    const body = this.#check === undefined ? this.#readHead(chunk) : chunk;
    if (body === undefined) return;
    this.#check?.add(body);
    this.#bodyLeft -= body.length;
    if (this.#bodyLeft > 0) return;
    if (this.#status !== "200") this.#end(`status ${this.#status}`);
    else this.#end(this.#check?.isRight() ? undefined : "wrong answer");
  }

  /** Bytes after the head, once that is complete. */
  #readHead(chunk: Buffer): Buffer | undefined {
    const bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    const end = bytes.indexOf(HEAD_END);
    this.#rest = end < 0 ? bytes : Buffer.alloc(0);
    if (end < 0 || this.#message === undefined) return undefined;
    const head = bytes.toString("latin1", 0, end);
    const length = /^content-length: *(\d+)/im.exec(head)?.[1];
    this.#status = head.slice(9, 12);
    this.#bodyLeft = Number(length ?? Number.NaN);
    this.#check = new AnswerCheck(this.#message.expected);
    return bytes.subarray(end + HEAD_END.length);
  }

  #end(problem: string | undefined): void {
    if (this.#message === undefined) return;
    this.#message = undefined;
    this.#check = undefined;
    this.#done(problem);
  }
}
