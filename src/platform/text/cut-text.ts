/**
 * TensorFlow Serving's maximum length of messages, in bytes; far below headers of 8
 * KB, which some clients do not accept.
 */
const MAX_BYTES = 1024;
const CUT_MARK = "...TRUNCATED";

/**
 * A message as clients get it, on every wire: cut at 1024 bytes, never inside a character, since parts of it may be
 * names that clients chose. Halves of surrogate pairs, which a header cannot carry, are replaced.
 */
export function cutText(message: string): string {
  // A character takes three bytes at most for each of its UTF-16 units.
  const bytes = Buffer.from(message.length > MAX_BYTES ? message.slice(0, MAX_BYTES + 2) : message);
  if (bytes.length <= MAX_BYTES) return bytes.toString();
  let end = MAX_BYTES;
  while (isContinuation(bytes[end]!)) end--;
  return bytes.toString("utf8", 0, end) + CUT_MARK;
}

/** Checks that a byte is the second or a later one of a UTF-8 character. */
function isContinuation(byte: number): boolean {
  return (byte & 0xc0) === 0x80;
}
