/** Told when a thread sent a malformed message. */
export type MalformedListener = (reason: MalformedMessage) => void;

/** The error for a message from another thread that does not follow the protocol; its text says what was wrong. */
export class MalformedMessage extends Error {
  override readonly name = "MalformedMessage";
}
