import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { onTestFinished } from "vitest";

/** An answer of HTTP/1.1 that is read as it comes. */
export class PartReader {
  readonly answer: IncomingMessage;
  readonly #leave: () => void;
  #text = "";

  constructor(answer: IncomingMessage, leave: () => void) {
    this.answer = answer;
    this.#leave = leave;
    answer.setEncoding("utf8");
  }

  /** The text up to the next end mark, without that; undefined at the end of the answer. */
  async next(mark = "\n\n"): Promise<string | undefined> {
    while (!this.#text.includes(mark)) {
      const piece: string | null = this.answer.read();
      if (piece !== null) this.#text += piece;
      else if (this.answer.readableEnded) return undefined;
      else await this.#change();
    }
    const at = this.#text.indexOf(mark);
    const part = this.#text.slice(0, at);
    this.#text = this.#text.slice(at + mark.length);
    return part;
  }

  #change(): Promise<void> {
    const { answer } = this;
    return new Promise((resolve) => {
      const wake = () => {
        answer.off("readable", wake).off("end", wake);
        resolve();
      };
      answer.on("readable", wake).on("end", wake);
    });
  }

  /** All parts that are left. */
  async rest(mark = "\n\n"): Promise<readonly string[]> {
    const parts: string[] = [];
    for (let part = await this.next(mark); part !== undefined; part = await this.next(mark)) parts.push(part);
    return parts;
  }

  /** Closes the connection. */
  leave(): void {
    this.#leave();
  }
}

/** Sends JSON and reads the answer in parts. */
export async function postForParts(
  url: string,
  body: unknown,
  headers: Record<string, string> = {},
): Promise<PartReader> {
  const sent = request(url, { method: "POST", headers, agent: false });
  sent.on("error", () => {});
  sent.end(typeof body === "string" ? body : JSON.stringify(body));
  onTestFinished(() => {
    sent.destroy();
  });
  const [answer] = (await once(sent, "response")) as [IncomingMessage];
  return new PartReader(answer, () => sent.destroy());
}
