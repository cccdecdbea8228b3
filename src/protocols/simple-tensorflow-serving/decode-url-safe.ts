import { decodeBase64 } from "../../codecs/json/decode-base64.ts";

/** The bytes of base64 in the URL-safe alphabet or the standard one; undefined for any other text. */
export function decodeUrlSafe(text: string): Uint8Array | undefined {
  return decodeBase64(text.replaceAll("-", "+").replaceAll("_", "/"));
}
