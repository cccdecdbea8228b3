import { expect, it, onTestFinished } from "vitest";
import type { FrameHead } from "../../../src/http2/frame-reader.ts";
import type { RequestHead } from "../../../src/http2/message-head.ts";
import { ConnectionError, ERROR, FRAME } from "../../../src/http2/protocol.ts";
import { ServerSession } from "../../../src/http2/server-session.ts";
import { Random } from "../../grpc/random.ts";
import { findDifference } from "./differential.ts";
import { startServers } from "./servers.ts";

const CONVERSATIONS = 400;
const LIMIT_MS = 120_000;

/** Resets malformed requests by another code. */
class OtherReset extends ServerSession {
  override resetId(id: number, code: number): void {
    super.resetId(id, code === ERROR.protocol ? ERROR.cancel : code);
  }
}

/** Ends connections by another code, with a reason that fits. */
class OtherGoaway extends ServerSession {
  override fail(_: number, reason: string): void {
    super.fail(ERROR.compression, reason);
  }
}

/** Takes what a client cannot send. */
class TakesPushes extends ServerSession {
  override takeControl(frame: FrameHead, bytes: Buffer, start: number): void {
    if (frame.type !== FRAME.pushPromise) super.takeControl(frame, bytes, start);
  }
}

/** Passes over settings that are wrong. */
class TakesSettings extends ServerSession {
  override takeControl(frame: FrameHead, bytes: Buffer, start: number): void {
    try {
      super.takeControl(frame, bytes, start);
    } catch (reason) {
      if (frame.type !== FRAME.settings || !(reason instanceof ConnectionError)) throw reason;
    }
  }
}

/** Loses the last field of a head. */
class LosesField extends ServerSession {
  override open(id: number, head: RequestHead, endsStream: boolean): void {
    super.open(id, { ...head, raw: head.raw.slice(0, -2) }, endsStream);
  }
}

/** Ends requests with their heads, whatever follows. */
class LosesData extends ServerSession {
  override open(id: number, head: RequestHead, _: boolean): void {
    super.open(id, head, true);
    this.streams.get(id)?.receiveEnd();
  }
}

/** Connections of ours with one fault each, by its name. */
const PLANTED_FAULTS = {
  OtherReset,
  OtherGoaway,
  TakesPushes,
  TakesSettings,
  LosesField,
  LosesData,
};

it.each(Object.entries(PLANTED_FAULTS))("a planted fault is found: %s", { timeout: LIMIT_MS }, async (_, Session) => {
  const servers = await startServers(Session);
  onTestFinished(servers.close);
  expect(await findDifference(servers, new Random(11), CONVERSATIONS)).toBeDefined();
});
