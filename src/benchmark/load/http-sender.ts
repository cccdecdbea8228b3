import * as http from "node:http";
import * as https from "node:https";
import type { LoadTarget } from "./load-job.ts";
import type { Done, Sender } from "./sender.ts";

/** Posts over HTTP/1.1, on connections that are kept. */
export class HttpSender implements Sender {
  readonly #target: LoadTarget;
  readonly #agent: http.Agent;
  readonly #options: http.RequestOptions;
  readonly #request: typeof http.request;

  constructor(target: LoadTarget) {
    const { protocol, hostname, port } = new URL(target.origin);
    const library = protocol === "https:" ? https : http;
    this.#target = target;
    this.#request = library.request;
    this.#agent = new library.Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY, noDelay: true });
    const headers = { ...target.headers, "content-length": String(target.body.length) };
    this.#options = {
      ...{ method: "POST", agent: this.#agent, path: target.path, headers },
      // The brackets of an IPv6 address belong to the URL.
      ...{ hostname: hostname.replace(/^\[|\]$/g, ""), port },
    };
  }

  send(done: Done): void {
    let problem: string | undefined = "the connection ended before the answer";
    const request = this.#request(this.#options, (response) => {
      const { statusCode } = response;
      response.resume();
      response.on("end", () => {
        problem = statusCode === 200 ? undefined : `status ${statusCode}`;
      });
    });
    request.on("error", (error: NodeJS.ErrnoException) => {
      problem = error.code ?? error.message;
    });
    request.on("close", () => done(problem));
    request.end(this.#target.body);
  }

  close(): void {
    this.#agent.destroy();
  }
}
