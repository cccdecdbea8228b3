import { randomBytes, timingSafeEqual } from "node:crypto";

/** Header by which the server's own page shows that it is that. */
const HEADER = "x-kserving-page";

/** A secret of a running server that its own page knows, and pages of other origins cannot read. */
export class PageToken {
  readonly text: string;

  /** A new one, or the one that another thread has made. */
  constructor(text = randomBytes(24).toString("base64url")) {
    this.text = text;
  }

  /** Checks that a call's headers have it. */
  isIn(headers: Readonly<Record<string, unknown>>): boolean {
    const given = Buffer.from(String(headers[HEADER] ?? ""));
    const own = Buffer.from(this.text);
    return given.length === own.length && timingSafeEqual(given, own);
  }
}
