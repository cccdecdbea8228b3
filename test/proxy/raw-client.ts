import { connect, type Socket } from "node:net";
import { onTestFinished } from "vitest";

/** A client that writes any bytes, right or wrong. */
export class RawClient {
  readonly socket: Socket;
  #received = "";
  #waiting: (() => void)[] = [];

  constructor(port: number) {
    this.socket = connect(port, "127.0.0.1");
    this.socket.setEncoding("latin1");
    this.socket.on("data", (chunk: string) => this.#wake(chunk));
    this.socket.on("close", () => this.#wake());
    this.socket.on("error", () => this.#wake());
    onTestFinished(() => {
      this.socket.destroy();
    });
  }

  write(text: string): void {
    this.socket.write(text, "latin1");
  }

  /** The received text, once it matches. */
  async received(pattern: RegExp): Promise<string> {
    while (!pattern.test(this.#received)) {
      if (this.socket.destroyed) throw new Error(`closed after ${JSON.stringify(this.#received)}`);
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
    return this.#received;
  }

  /** All that has come when the server closes. */
  async closed(): Promise<string> {
    while (!this.socket.destroyed) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    return this.#received;
  }

  #wake(chunk = ""): void {
    this.#received += chunk;
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}
