/** Called with the error when a thread sent a malformed message. */
export type MalformedListener = (reason: MalformedMessage) => void;

/** The error for a message from another thread that violates the protocol; its text is the reason. */
export class MalformedMessage extends Error {
  override readonly name = "MalformedMessage";
}
